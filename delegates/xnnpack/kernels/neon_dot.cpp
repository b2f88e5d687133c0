// For 64-bit Arm whose instructions add four products of bytes in each lane: codes times weights of few bits.
#include <arm_neon.h>

#include <utility>

#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

#include "delegates/xnnpack/kernels/tier.inc"

#include "delegates/xnnpack/kernels/panels.inc"

#include "delegates/xnnpack/kernels/few_bits_panels.inc"

#include "delegates/xnnpack/kernels/few_bits_of_codes.inc"

}  // namespace

const FewBitsOfCodesKernels kNeonDotFewBits[] = {kFewBitsOfCodes<4, true>, kFewBitsOfCodes<8, true>};

}  // namespace skiff::xnnpack
