/// What this build of the delegate leaves out, as constants: the compiler drops the branches, the linker what
/// they call.
#pragma once

#include "core/features.h"
#include "skiff/tensor.h"

namespace skiff::xnnpack {

/// XNNPACK's f16 operators are in the build (SKIFF_OPERATORS_F16 of the operator list).
inline constexpr bool kHasF16 = SKIFF_XNNPACK_F16;

/// Unary operators run on kernels of ours only (SKIFF_XNNPACK_UNARY is off): XNNPACK's come all or none.
inline constexpr bool kOwnUnary = !SKIFF_XNNPACK_UNARY;

/// The f16 branch of a lowering. A build without f16 sees none: XnnpackSupport() refuses such nodes.
constexpr bool IsF16(DType dtype) { return kHasF16 && dtype == DType::kF16; }

/// Whether any table of this architecture has kernels of convolutions, pools and products; where none has,
/// none of their steps is linked.
#if defined(__x86_64__)
inline constexpr bool kHasOwnKernels = true;
#else
inline constexpr bool kHasOwnKernels = false;
#endif

/// Convolutions by Winograd's way, and depthwise ones.
#if defined(__x86_64__) || (defined(__aarch64__) && SKIFF_OWN_CONVOLUTIONS)
inline constexpr bool kHasOwnConvolutions = true;
#else
inline constexpr bool kHasOwnConvolutions = false;
#endif

/// Convolutions of codes by Winograd's way.
inline constexpr bool kHasCodeWinograd = kHasOwnConvolutions && BuildHas(Feature::kQuantization);

/// Products of floats with weights that stay integers of few bits.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kHasFewBits = BuildHas(Feature::kQuantization);
#else
inline constexpr bool kHasFewBits = false;
#endif

/// The branches for codes of a lowering that knows floats and codes: in builds with quantised tensors.
constexpr bool IsI8(DType dtype) { return BuildHas(Feature::kQuantization) && dtype == DType::kI8; }
constexpr bool IsU8(DType dtype) { return BuildHas(Feature::kQuantization) && dtype == DType::kU8; }

}  // namespace skiff::xnnpack
