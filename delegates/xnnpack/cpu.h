/// What the CPU can do, and using less of it: one machine tests and measures the kernels of several.
#pragma once

#include "skiff/status.h"

namespace skiff::xnnpack {

/// The environment variable that names the highest tier whose kernels may be chosen.
inline constexpr char kCpuVariable[] = "SKIFF_CPU";

/// A class of CPUs by what XNNPACK and our own kernels choose their code by; each has all that those before
/// it have.
struct CpuTier {
  const char* name;
  const char* meaning;
};
/// From the lowest to the highest; ends with a row without a name. Empty where tiers cannot be forced: on
/// Arm, where kernels are chosen by the core, an emulator shows another one.
extern const CpuTier kCpuTiers[];

/// Takes from what cpuinfo found all that is above the tier that the environment variable names; nothing
/// where it is not set. Before XNNPACK looks, once. kInvalidArgument where no tier has the name, kUnsupported
/// where this CPU is below it.
Status LimitCpu();

}  // namespace skiff::xnnpack
