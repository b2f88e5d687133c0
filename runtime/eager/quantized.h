/// Operators over quantised operands, with the kernels that compute on f64.
///
/// The meaning (docs/numerics.md): an operator computes on the real numbers that its operands stand for, and
/// rounds once into its output, half to even, saturating; NaN becomes the zero point. Where all scales stand
/// outside of what is computed (ops/quantized.def), the kernel gets the integers less their zero points,
/// whose sums and products are exact in f64 below 2^53, and one factor per output channel is applied
/// afterwards.
#pragma once

#include "ops/op.h"

namespace skiff::eager {

/// Whether RunQuantized() is for this call; else the operator's kernel is. Looks at types alone.
bool ComputesQuantized(const KernelArgs& args);

/// What RunQuantized() needs.
uint64_t QuantizedScratchBytes(const KernelArgs& args);

/// `scratch` is aligned for doubles. Views are dense.
Status RunQuantized(const OpDef& op, const KernelArgs& args, unsigned char* scratch);

}  // namespace skiff::eager
