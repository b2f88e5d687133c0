/* Runs a net that has an operator of its author's own. Exit codes: 0 done, 1 failed, 2 usage. */
#include <stdio.h>

#include "frame_energy.h"

enum { kSamples = 1024 };

static int Classify(SkiffSession* session, float level, char* message, size_t size) {
  static float samples[kSamples];
  SkiffTensor probabilities;
  const SkiffTensor signal = {samples, SKIFF_DTYPE_F32, 2, {1, kSamples}};
  for (int i = 0; i < kSamples; ++i) samples[i] = i % 2 == 0 ? level : -level; /* Of the energy level^2. */
  if (skiff_session_set_input(session, 0, &signal, message, size) != SKIFF_OK ||
      skiff_session_run(session, message, size) != SKIFF_OK ||
      skiff_session_output(session, 0, &probabilities, message, size) != SKIFF_OK)
    return 0;
  const float* p = probabilities.data;
  printf("level %.3f: silent %.3f, quiet %.3f, loud %.3f\n", (double)level, (double)p[0], (double)p[1],
         (double)p[2]);
  return 1;
}

int main(int argc, char** argv) {
  char message[1024] = "";
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffModelOptions options;
  int good = 0;
  if (argc != 2) {
    fprintf(stderr,
            "usage: skiff-custom-operator MODEL\nMODEL: samples/custom_operator/loudness.onnx, converted\n");
    return 2;
  }
  skiff_model_options_init(&options, sizeof(options));
  options.custom_operators = &kFrameEnergy;
  options.custom_operator_count = 1;
  if (skiff_model_open_with(argv[1], &options, &model, message, sizeof(message)) == SKIFF_OK &&
      skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK)
    good = Classify(session, 0.001f, message, sizeof(message)) &&
           Classify(session, 0.1f, message, sizeof(message)) &&
           Classify(session, 1.0f, message, sizeof(message));
  if (!good) fprintf(stderr, "skiff-custom-operator: error: %s\n", message);
  skiff_session_destroy(session);
  skiff_model_close(model);
  return good ? 0 : 1;
}
