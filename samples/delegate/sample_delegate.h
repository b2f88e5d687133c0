/// A delegate that lives outside of Skiff: what the driver of an accelerator would be. It runs Add, Mul and
/// Clamp of f32 tensors, with plain loops in the place of the accelerator.
#pragma once

#include "skiff/delegate.h"

namespace sample {

/// The number that files say. Another delegate of the same application would take the next one.
inline constexpr auto kKind = skiff::DelegateKind::kOfApplications;

/// For ModelOptions::delegates, and for FunctionOptions::delegates on the host.
const skiff::Delegate& SampleDelegate();

/// How many nodes it has run in this process.
long NodesRun();

}  // namespace sample
