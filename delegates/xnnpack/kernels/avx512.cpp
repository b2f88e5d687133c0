#define SKIFF_KERNELS kAvx512Kernels
#define SKIFF_KERNELS_NAME "avx512"
#include "delegates/xnnpack/kernels/generic.h"
