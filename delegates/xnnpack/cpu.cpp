#include "delegates/xnnpack/cpu.h"

#include <cpuinfo.h>
#include <stdlib.h>
#include <string.h>

#include "skiff/log.h"

namespace skiff::xnnpack {

#if defined(__x86_64__)

namespace {

/// Classes of CPUs by what XNNPACK and our own kernels choose their code by; each has all that those before
/// it have.
enum Tier : size_t { kSse, kAvx, kAvx2, kAvx512, kAvx512Vnni, kAboveAll };
constexpr const char* kTierNames[] = {
    "sse",         // What every 64-bit CPU has, and SSE4.1 where it is there.
    "avx",         // Sandy Bridge, Jaguar.
    "avx2",        // With FMA and f16 conversion: Haswell, Zen 1 to 3.
    "avx512",      // F, BW, CD, DQ and VL: Skylake-X.
    "avx512vnni",  // With integer dot products: Ice Lake, Zen 4.
};

/// An instruction set that kernels are chosen by, and the lowest tier that has it. Those that belong to no
/// tier (AVX-VNNI of CPUs without AVX-512, AMX) are left to CPUs that are not limited.
struct Feature {
  bool cpuinfo_x86_isa::*set;
  Tier from;
};
using Isa = cpuinfo_x86_isa;
constexpr Feature kFeatures[] = {
    {&Isa::avx, kAvx},
    {&Isa::f16c, kAvx2},
    {&Isa::fma3, kAvx2},
    {&Isa::avx2, kAvx2},
    {&Isa::avx512f, kAvx512},
    {&Isa::avx512bw, kAvx512},
    {&Isa::avx512cd, kAvx512},
    {&Isa::avx512dq, kAvx512},
    {&Isa::avx512vl, kAvx512},
    {&Isa::avx512vbmi, kAvx512Vnni},
    {&Isa::avx512vnni, kAvx512Vnni},
    {&Isa::gfni, kAvx512Vnni},
    {&Isa::avxvnni, kAboveAll},
    {&Isa::avx_vnni_int8, kAboveAll},
    {&Isa::avx512fp16, kAboveAll},
    {&Isa::avx512bf16, kAboveAll},
    {&Isa::amx_tile, kAboveAll},
    {&Isa::amx_int8, kAboveAll},
    {&Isa::amx_fp16, kAboveAll},
};

/// The first tier that lacks something of this CPU's, less one.
size_t TierOfCpu() {
  size_t tier = kAvx512Vnni;
  for (const Feature& feature : kFeatures) {
    if (feature.from <= tier && !(cpuinfo_isa.*feature.set)) tier = feature.from - 1;
  }
  return tier;
}

}  // namespace

Status LimitCpu() {
  const char* const name = getenv(kCpuVariable);
  if (name == nullptr || *name == '\0') return OkStatus();
  size_t tier = 0;
  while (tier < kAboveAll && strcmp(name, kTierNames[tier]) != 0) ++tier;
  if (tier == kAboveAll) {
    return Fail(StatusCode::kInvalidArgument, "%s=%s: expected sse, avx, avx2, avx512 or avx512vnni",
                kCpuVariable, name);
  }
  if (!cpuinfo_initialize()) return OkStatus();  // XNNPACK says so.
  const size_t highest = TierOfCpu();
  if (tier > highest) {
    return Fail(StatusCode::kUnsupported, "%s=%s: the highest tier of this CPU is %s", kCpuVariable, name,
                kTierNames[highest]);
  }
  for (const Feature& feature : kFeatures) {
    if (feature.from > tier) cpuinfo_isa.*feature.set = false;
  }
  return OkStatus();
}

#else

Status LimitCpu() {
  const char* const name = getenv(kCpuVariable);
  if (name == nullptr || *name == '\0') return OkStatus();
  return Fail(StatusCode::kInvalidArgument,
              "%s=%s: tiers can be forced on x86-64 only; an emulator shows kernels another Arm core",
              kCpuVariable, name);
}

#endif

}  // namespace skiff::xnnpack
