/// The container around the FlatBuffer: a fixed header, the FlatBuffer part (kilobytes; copied, then
/// verified), and the weights part (mapped, never copied). All integers are little-endian; offsets count from
/// the file's beginning.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/align.h"

namespace skiff::format {

static_assert(std::endian::native == std::endian::little, "a .skiff file is read as it lies in memory");

/// A file says the oldest format that can hold it: 4 where a scatter writes into its variable's memory, 3
/// where a constant is stored narrower than it is used, 2 where a tensor is quantised, else 1.
inline constexpr uint32_t kPlainFormatVersion = 1;
inline constexpr uint32_t kQuantizedFormatVersion = 2;
inline constexpr uint32_t kNarrowFormatVersion = 3;
inline constexpr uint32_t kStateFormatVersion = 4;
/// The newest one that this build reads.
inline constexpr uint32_t kFormatVersion = kStateFormatVersion;

/// The newline bytes show a file that went through a text-mode transfer.
inline constexpr unsigned char kMagic[8] = {'S', 'K', 'I', 'F', 'F', '\r', '\n', 0x1a};

struct FileHeader {
  unsigned char magic[8];
  uint32_t container_version;
  uint32_t reserved;
  uint64_t model_offset;  ///< The FlatBuffer part.
  uint64_t model_size;
  uint64_t weights_offset;  ///< 64-byte aligned.
  uint64_t weights_size;    ///< Without the readable tail.
  uint64_t file_size;       ///< All of the file: a truncated one shows at once.
  uint64_t reserved_2;
};
static_assert(sizeof(FileHeader) == 64);

using skiff::AlignUp;
using skiff::kAlignment;
using skiff::kReadableTail;

}  // namespace skiff::format
