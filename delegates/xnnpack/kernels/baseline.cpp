#define SKIFF_KERNELS kBaselineKernels
#define SKIFF_KERNELS_NAME "baseline"
#include "delegates/xnnpack/kernels/generic.h"
