#include "files/exif.h"

namespace skiff {
namespace {

/// Numbers of a block whose first two bytes say their order; 0 behind its end.
class Tiff {
 public:
  explicit Tiff(std::span<const uint8_t> bytes) : bytes_(bytes), big_(!bytes.empty() && bytes[0] == 'M') {}
  uint32_t Number(size_t at, size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | bytes_[at + (big_ ? i : size - 1 - i)];
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool big_;
};

}  // namespace

int ExifOrientation(std::span<const uint8_t> tiff) {
  constexpr uint32_t kMagic = 42;
  constexpr uint32_t kOrientation = 0x0112;
  constexpr uint32_t kShort = 3;
  constexpr size_t kEntryBytes = 12;
  const Tiff numbers(tiff);
  if (numbers.Number(2, 2) != kMagic) return 1;
  const size_t directory = numbers.Number(4, 4);
  const size_t entries = numbers.Number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (numbers.Number(entry, 2) != kOrientation || numbers.Number(entry + 2, 2) != kShort) continue;
    const uint32_t value = numbers.Number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace skiff
