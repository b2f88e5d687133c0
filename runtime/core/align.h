/// How memory that kernels read is aligned and ends.
#pragma once

#include <cstdint>

namespace skiff {

/// Kernels may read so far past a tensor's end; the file and every buffer of ours end with as many spare
/// bytes.
inline constexpr uint64_t kReadableTail = 16;

inline constexpr uint64_t kAlignment = 64;
constexpr uint64_t AlignUp(uint64_t value) { return (value + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace skiff
