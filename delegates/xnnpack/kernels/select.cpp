#include <cpuinfo.h>

#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {

const Kernels& SelectKernels() {
#if defined(__x86_64__)
  if (!cpuinfo_initialize()) return kBaselineKernels;
  if (cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512vl() && cpuinfo_has_x86_avx512dq() &&
      cpuinfo_has_x86_avx512bw())
    return cpuinfo_has_x86_avx512vnni() ? kAvx512VnniKernels : kAvx512Kernels;
  if (cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3())
    return cpuinfo_has_x86_avxvnni() ? kAvxVnniKernels : kAvx2Kernels;
#endif
  return kBaselineKernels;
}

}  // namespace skiff::xnnpack
