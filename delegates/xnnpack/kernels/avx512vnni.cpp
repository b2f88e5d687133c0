#define SKIFF_KERNELS kAvx512VnniKernels
#define SKIFF_KERNELS_NAME "avx512vnni"
#include "delegates/xnnpack/kernels/generic.h"
