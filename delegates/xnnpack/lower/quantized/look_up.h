/// XNNPACK's lookup of bytes. No operator in its header takes a table that its caller has filled.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
/// y[i] = table[x[i]] of 256 bytes, which lie as vectors do.
using SkiffLookUpFn = void (*)(size_t n, const uint8_t* x, uint8_t* y, const uint8_t* table);
struct xnn_x8_lut_config {
  SkiffLookUpFn microkernel;
};
/// The kernel for this CPU.
const xnn_x8_lut_config* xnn_init_x8_lut_config();
}

namespace skiff::xnnpack {

inline constexpr size_t kCodes = 256;

/// What becomes of each byte.
struct alignas(std::max_align_t) CodeTable {  // 16 bytes on x86-64, where kernels want that.
  uint8_t bytes[kCodes] = {};
};

}  // namespace skiff::xnnpack
