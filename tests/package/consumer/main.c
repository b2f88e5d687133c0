/* Opens the model named on the command line with the C API, and runs it once on zeros. */
#include <stdio.h>
#include <string.h>

#include "skiff/skiff.h"

int main(int argc, char** argv) {
  char message[256] = "usage: MODEL.skiff";
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffTensor tensor;
  int ok = argc == 2 && skiff_model_open(argv[1], &model, message, sizeof(message)) == SKIFF_OK &&
           skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK &&
           skiff_session_input_buffer(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK &&
           skiff_session_run(session, message, sizeof(message)) == SKIFF_OK &&
           skiff_session_output(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK;
  if (ok) printf("Skiff %s: %g\n", skiff_version_string(), (double)*(const float*)tensor.data);
  if (!ok) fprintf(stderr, "%s\n", message);
  skiff_session_destroy(session);
  skiff_model_close(model);
  return ok ? 0 : 1;
}
