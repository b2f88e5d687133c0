#define SKIFF_KERNELS kAvx2Kernels
#define SKIFF_KERNELS_NAME "avx2"
#define SKIFF_VNNI_KERNELS kAvxVnniKernels
#define SKIFF_VNNI_KERNELS_NAME "avxvnni"
#include "delegates/xnnpack/kernels/generic.h"
