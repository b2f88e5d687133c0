#include "delegates/xnnpack/cpu.h"

#include <cpuinfo.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <iterator>

#include "skiff/log.h"

namespace skiff::xnnpack {

#if defined(__x86_64__)

namespace {

/// Classes of CPUs by what XNNPACK and our own kernels choose their code by.
struct Tier {
  const char* name;
  unsigned bit;
};
enum : unsigned { kSse = 1, kAvx = 2, kAvx2 = 4, kAvxVnni = 8, kAvx512 = 16, kAvx512Vnni = 32 };
constexpr Tier kTiers[] = {
    {"sse", kSse},                // What every 64-bit CPU has, and SSE4.1 where it is there.
    {"avx", kAvx},                // Sandy Bridge, Jaguar.
    {"avx2", kAvx2},              // With FMA and f16 conversion: Haswell, Zen 1 to 3.
    {"avxvnni", kAvxVnni},        // AVX2 with integer dot products: Alder Lake, N100.
    {"avx512", kAvx512},          // F, BW, CD, DQ and VL: Skylake-X.
    {"avx512vnni", kAvx512Vnni},  // With integer dot products: Ice Lake, Zen 4.
};

/// An instruction set that kernels are chosen by, and the tiers that have it. What none has (AMX) is left to
/// CPUs that are not limited.
struct Feature {
  const char* name;
  bool cpuinfo_x86_isa::*set;
  unsigned tiers;
};
using Isa = cpuinfo_x86_isa;
constexpr unsigned kFromAvx512 = kAvx512 | kAvx512Vnni;
constexpr unsigned kFromAvx2 = kAvx2 | kAvxVnni | kFromAvx512;
constexpr Feature kFeatures[] = {
    {"AVX", &Isa::avx, kAvx | kFromAvx2},
    {"F16C", &Isa::f16c, kFromAvx2},
    {"FMA3", &Isa::fma3, kFromAvx2},
    {"AVX2", &Isa::avx2, kFromAvx2},
    {"AVX-VNNI", &Isa::avxvnni, kAvxVnni},
    {"AVX512F", &Isa::avx512f, kFromAvx512},
    {"AVX512BW", &Isa::avx512bw, kFromAvx512},
    {"AVX512CD", &Isa::avx512cd, kFromAvx512},
    {"AVX512DQ", &Isa::avx512dq, kFromAvx512},
    {"AVX512VL", &Isa::avx512vl, kFromAvx512},
    {"AVX512-VBMI", &Isa::avx512vbmi, kAvx512Vnni},
    {"AVX512-VNNI", &Isa::avx512vnni, kAvx512Vnni},
    {"GFNI", &Isa::gfni, kAvx512Vnni},
    {"AVX-VNNI-INT8", &Isa::avx_vnni_int8, 0},
    {"AVX512-FP16", &Isa::avx512fp16, 0},
    {"AVX512-BF16", &Isa::avx512bf16, 0},
    {"AMX-TILE", &Isa::amx_tile, 0},
    {"AMX-INT8", &Isa::amx_int8, 0},
    {"AMX-FP16", &Isa::amx_fp16, 0},
};

}  // namespace

Status LimitCpu() {
  const char* const name = getenv(kCpuVariable);
  if (name == nullptr || *name == '\0') return OkStatus();
  const Tier* const tier = std::find_if(std::begin(kTiers), std::end(kTiers),
                                        [&](const Tier& t) { return strcmp(name, t.name) == 0; });
  if (tier == std::end(kTiers)) {
    return Fail(StatusCode::kInvalidArgument, "%s=%s: expected sse, avx, avx2, avxvnni, avx512 or avx512vnni",
                kCpuVariable, name);
  }
  if (!cpuinfo_initialize()) return OkStatus();  // XNNPACK says so.
  for (const Feature& feature : kFeatures) {
    if ((feature.tiers & tier->bit) != 0 && !(cpuinfo_isa.*feature.set)) {
      return Fail(StatusCode::kUnsupported, "%s=%s: this CPU lacks %s", kCpuVariable, name, feature.name);
    }
  }
  for (const Feature& feature : kFeatures) {
    if ((feature.tiers & tier->bit) == 0) cpuinfo_isa.*feature.set = false;
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
