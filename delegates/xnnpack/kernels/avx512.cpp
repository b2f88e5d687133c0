#define SKIFF_KERNELS kAvx512Kernels
#define SKIFF_KERNELS_NAME "avx512"
#define SKIFF_VNNI_KERNELS kAvx512VnniKernels
#define SKIFF_VNNI_KERNELS_NAME "avx512vnni"
#define SKIFF_AMX_KERNELS kAmxKernels
#define SKIFF_AMX_KERNELS_NAME "amx"
#include "delegates/xnnpack/kernels/generic.h"
