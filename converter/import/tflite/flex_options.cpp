// The library's reader trusts the bytes, and its verifier does not find each key that has no end: this one
// reads what it needs, and looks before each step.
#include "import/tflite/flex_options.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace skiff {
namespace {

enum class FlexType : uint8_t {
  kInt = 1,
  kUint = 2,
  kFloat = 3,
  kIndirectInt = 6,
  kIndirectUint = 7,
  kIndirectFloat = 8,
  kMap = 9,
  kBool = 26,
};

/// Says that bytes end or point where they must not.
struct Malformed {};

/// Many long keys could be read for as long as an attacker likes.
constexpr uint64_t kMostOptions = 1024;
constexpr size_t kLongestName = 256;

/// Every offset points back from where it stands.
class Reader {
 public:
  explicit Reader(Span<const uint8_t> bytes) : bytes_(bytes) {}

  std::map<std::string, double> Numbers() const {
    if (bytes_.size() < 3) throw Malformed();
    const uint64_t width = Width(bytes_[bytes_.size() - 1]);
    const uint8_t type = bytes_[bytes_.size() - 2];
    if (FlexType(type >> 2) != FlexType::kMap || width + 2 > bytes_.size()) throw Malformed();
    return Map(Target(bytes_.size() - 2 - width, width), uint64_t{1} << (type & 3));
  }

 private:
  static uint64_t Width(uint64_t bytes) {
    if (bytes > 8 || !std::has_single_bit(bytes)) throw Malformed();
    return bytes;
  }
  static uint64_t Before(uint64_t at, uint64_t distance) {
    if (distance > at) throw Malformed();
    return at - distance;
  }
  /// Little-endian, as the format is.
  uint64_t Unsigned(uint64_t at, uint64_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) throw Malformed();
    uint64_t number = 0;
    for (uint64_t i = 0; i < width; ++i) number |= uint64_t{bytes_[at + i]} << (8 * i);
    return number;
  }
  uint64_t Target(uint64_t at, uint64_t width) const { return Before(at, Unsigned(at, width)); }

  /// In front of the values are where the keys are, how wide their places are, and the count; behind them, a
  /// byte for the type of each.
  std::map<std::string, double> Map(uint64_t values, uint64_t width) const {
    const uint64_t keys = Target(Before(values, 3 * width), width);
    const uint64_t key_width = Width(Unsigned(Before(values, 2 * width), width));
    const uint64_t count = Unsigned(Before(values, width), width);
    if (count > kMostOptions) throw Malformed();
    std::map<std::string, double> numbers;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string name = Text(Target(keys + i * key_width, key_width));
      const uint64_t type = Unsigned(values + count * width + i, 1);
      if (const std::optional<double> number = Number(type, values + i * width, width))
        numbers.emplace(name, *number);
    }
    return numbers;
  }

  std::string Text(uint64_t at) const {
    std::string text;
    while (const uint64_t letter = Unsigned(at++, 1)) {
      if (text.size() == kLongestName) throw Malformed();
      text.push_back(static_cast<char>(letter));
    }
    return text;
  }

  std::optional<double> Number(uint64_t packed, uint64_t at, uint64_t width) const {
    const auto type = FlexType(packed >> 2);
    const uint64_t far = uint64_t{1} << (packed & 3);
    switch (type) {
      case FlexType::kInt:
        return Signed(at, width);
      case FlexType::kUint:
      case FlexType::kBool:
        return static_cast<double>(Unsigned(at, width));
      case FlexType::kFloat:
        return Float(at, width);
      case FlexType::kIndirectInt:
        return Signed(Target(at, width), far);
      case FlexType::kIndirectUint:
        return static_cast<double>(Unsigned(Target(at, width), far));
      case FlexType::kIndirectFloat:
        return Float(Target(at, width), far);
      default:
        return {};
    }
  }
  double Signed(uint64_t at, uint64_t width) const {
    const uint64_t unused = 64 - 8 * width;
    return static_cast<double>(static_cast<int64_t>(Unsigned(at, width) << unused) >> unused);
  }
  double Float(uint64_t at, uint64_t width) const {
    if (width == 8) return std::bit_cast<double>(Unsigned(at, width));
    if (width != 4) throw Malformed();
    return std::bit_cast<float>(static_cast<uint32_t>(Unsigned(at, width)));
  }

  Span<const uint8_t> bytes_;
};

}  // namespace

FlexOptions::FlexOptions(const TfliteBuilder& b) : b_(b) {
  try {
    numbers_ = Reader(b.CustomOptions()).Numbers();
  } catch (const Malformed&) {
    b.Invalid("its options are no FlexBuffer map");
  }
}

double FlexOptions::Real(const char* name, std::optional<double> otherwise) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end() && !otherwise) b_.Invalid("its option '{}' is missing", name);
  const double number = found == numbers_.end() ? *otherwise : found->second;
  if (!std::isfinite(number)) b_.Invalid("its option '{}' is {}", name, number);
  return number;
}

int64_t FlexOptions::Int(const char* name, int64_t lowest, int64_t highest,
                         std::optional<int64_t> otherwise) const {
  const auto fallback = otherwise ? std::optional(static_cast<double>(*otherwise)) : std::nullopt;
  const double number = std::trunc(Real(name, fallback));
  if (number < static_cast<double>(lowest) || number > static_cast<double>(highest))
    b_.Invalid("its option '{}' is {}; a number from {} to {} was expected", name, number, lowest, highest);
  return static_cast<int64_t>(number);
}

}  // namespace skiff
