/// What the CPU can do, and using less of it: one machine tests and measures the kernels of several.
#pragma once

#include "skiff/status.h"

namespace skiff::xnnpack {

/// The environment variable that names the highest tier of CPUs whose kernels may be chosen (cpu.cpp lists
/// them).
inline constexpr char kCpuVariable[] = "SKIFF_CPU";

/// Takes from what cpuinfo found all that is above the tier that the environment variable names; nothing
/// where it is not set. Before XNNPACK looks. kInvalidArgument where no tier has the name, kUnsupported
/// where this CPU is below it.
Status LimitCpu();

}  // namespace skiff::xnnpack
