#define SKIFF_KERNELS kAvx2Kernels
#define SKIFF_KERNELS_NAME "avx2"
#include "delegates/xnnpack/kernels/generic.h"
