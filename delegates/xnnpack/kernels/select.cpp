#include <cpuinfo.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {

#if defined(__x86_64__)
namespace {

/// Linux gives a process the registers of AMX when it asks for them (Documentation/arch/x86/xstate.rst).
bool MayUseAmx() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, which older headers lack.
  constexpr long kTileData = 18;
  return cpuinfo_has_x86_amx_tile() && cpuinfo_has_x86_amx_int8() &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

const Kernels& BestWithAvx512() {
  if (!cpuinfo_has_x86_avx512vnni()) return kAvx512Kernels;
  return MayUseAmx() ? kAmxKernels : kAvx512VnniKernels;
}

}  // namespace
#endif

const Bounds kBounds = {0, 0.5f, 1, 6, 5.75f, -104, 89, -88.73f, 87.3f};

const Kernels& SelectKernels() {
#if defined(__x86_64__)
  if (!cpuinfo_initialize()) return kBaselineKernels;
  if (cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512vl() && cpuinfo_has_x86_avx512dq() &&
      cpuinfo_has_x86_avx512bw())
    return BestWithAvx512();
  if (cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3())
    return cpuinfo_has_x86_avxvnni() ? kAvxVnniKernels : kAvx2Kernels;
#endif
  return kBaselineKernels;
}

bool WideVectorsAreTwoHalves() {
#if defined(__x86_64__)
  const cpuinfo_core* const core = cpuinfo_initialize() ? cpuinfo_get_core(0) : nullptr;
  return core != nullptr && core->uarch == cpuinfo_uarch_zen4;
#else
  return false;
#endif
}

}  // namespace skiff::xnnpack
