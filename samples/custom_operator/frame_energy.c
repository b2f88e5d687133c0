/* The operator: its shape rule and its kernel. The application links this file; as a shared library, the tool
   loads it with --custom-library. */
#include "frame_energy.h"

#include <stdio.h>

static SkiffStatus Refuse(char* message, size_t size, const char* why) {
  snprintf(message, size, "%s", why);
  return SKIFF_INVALID_ARGUMENT;
}

static SkiffStatus Infer(void* user, const SkiffCustomCall* call, char* message, size_t size) {
  (void)user;
  if (call->input_count != 2 || call->output_count != 1)
    return Refuse(message, size, "it reads a signal and the numbers of its frames, and makes one output");
  const SkiffTensor* signal = &call->inputs[0];
  const SkiffTensor* frames = &call->inputs[1];
  if (signal->dtype != SKIFF_DTYPE_F32 || signal->rank != 2)
    return Refuse(message, size, "the signal must be f32 [batch, samples]");
  if (frames->dtype != SKIFF_DTYPE_I64 || frames->rank != 1 || frames->extents[0] != 2 ||
      frames->data == NULL)
    return Refuse(message, size, "the numbers of frames must be constants, i64 [2]");
  const int64_t* numbers = frames->data;
  if (numbers[0] < 1 || numbers[1] < 1)
    return Refuse(message, size, "frames and the steps between them are positive");
  const int64_t samples = signal->extents[1];
  SkiffTensor* energies = &call->outputs[0];
  energies->dtype = SKIFF_DTYPE_F32;
  energies->rank = 2;
  energies->extents[0] = signal->extents[0];
  energies->extents[1] = samples < numbers[0] ? 0 : (samples - numbers[0]) / numbers[1] + 1;
  return SKIFF_OK;
}

static SkiffStatus Run(void* user, const SkiffCustomCall* call, char* message, size_t size) {
  (void)user, (void)message, (void)size;
  const float* signal = call->inputs[0].data;
  const int64_t* numbers = call->inputs[1].data;
  float* energies = call->outputs[0].data;
  for (int64_t b = 0; b < call->outputs[0].extents[0]; ++b, signal += call->inputs[0].extents[1]) {
    for (int64_t f = 0; f < call->outputs[0].extents[1]; ++f) {
      double sum = 0;
      for (int64_t i = 0; i < numbers[0]; ++i) {
        const double sample = signal[f * numbers[1] + i];
        sum += sample * sample;
      }
      *energies++ = (float)(sum / (double)numbers[0]);
    }
  }
  return SKIFF_OK;
}

const SkiffCustomOperator kFrameEnergy = {"acme::FrameEnergy", Infer, Run, NULL};

SKIFF_API const SkiffCustomOperator* skiff_custom_operators(size_t* count);
const SkiffCustomOperator* skiff_custom_operators(size_t* count) {
  *count = 1;
  return &kFrameEnergy;
}
