#include "core/widen.h"

#include <algorithm>

#include "core/code_range.h"
#include "core/half.h"

namespace skiff {
namespace {

/// Elements at a time. Where their number is known, compilers widen several at once.
constexpr int64_t kChunk = 256;

/// Codes [first, first + kChunk), or `count` of them.
using LoadFn = void (*)(const void* from, int64_t first, int64_t count, int32_t* lanes);

template <class Code>
void LoadCodes(const void* from, int64_t first, int64_t count, int32_t* lanes) {
  const Code* codes = static_cast<const Code*>(from) + first;
  // The sign is meant. NOLINTNEXTLINE(bugprone-signed-char-misuse)
  for (int64_t i = 0; i < count; ++i) lanes[i] = codes[i];
}

template <int32_t kHighest>
void LoadPacked(const void* from, int64_t first, int64_t count, int32_t* lanes) {
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t byte = static_cast<const uint8_t*>(from)[(first + i) / 2];
    const int32_t code = (first + i) % 2 == 0 ? byte & 15 : byte >> 4;
    lanes[i] = code > kHighest ? code - 16 : code;
  }
}

struct Loading {
  DType dtype;
  LoadFn load;
};
constexpr Loading kLoadings[] = {
    {DType::kI4, LoadPacked<7>},       {DType::kU4, LoadPacked<15>},      {DType::kI8, LoadCodes<int8_t>},
    {DType::kU8, LoadCodes<uint8_t>},  {DType::kI16, LoadCodes<int16_t>}, {DType::kU16, LoadCodes<uint16_t>},
    {DType::kI32, LoadCodes<int32_t>},
};

/// Differences of integers of 32 bits are exact in f64, and so is their product with a float's scale where
/// they have 16 bits.
float Widened(int32_t code, int32_t zero_point, float scale) {
  return static_cast<float>((static_cast<double>(code) - static_cast<double>(zero_point)) *
                            static_cast<double>(scale));
}

/// Elements [first, first + count) of a tensor, whose scales are the one at `scale`, or those from it on.
struct Run {
  int64_t first = 0;
  int64_t count = 0;
  int64_t scale = 0;
  bool many = false;
};

class CodeWidener {
 public:
  CodeWidener(const ConstTensorView& codes, LoadFn load, float* to)
      : codes_(codes), quantization_(*codes.quantization), load_(load), to_(to) {}

  /// Runs are as long as the order of scales allows.
  void Widen() {
    const Shape& shape = codes_.shape;
    const int64_t elements = shape.elements();
    if (elements == 0) return;
    if (quantization_.per_tensor()) return WidenRun({0, elements, 0, false});
    const int axis = quantization_.axis;
    const int64_t outer = shape.ElementsBetween(0, axis);
    const int64_t inner = shape.ElementsBetween(axis + 1, shape.rank());
    const int64_t extent = shape[axis];
    const int64_t block = quantization_.block;
    if (block > 0) return WidenBlocks(outer, extent, inner, block);
    for (int64_t o = 0; o < outer; ++o) {
      if (inner == 1) {
        WidenRun({o * extent, extent, 0, true});
        continue;
      }
      for (int64_t e = 0; e < extent; ++e) WidenRun({(o * extent + e) * inner, inner, e, false});
    }
  }

 private:
  void WidenBlocks(int64_t outer, int64_t extent, int64_t inner, int64_t block) {
    const int64_t blocks = (extent - 1) / block + 1;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t begin = b * block;
        const int64_t end = std::min(extent - begin, block) + begin;
        const int64_t scale = (o * blocks + b) * inner;
        if (inner == 1) {
          WidenRun({o * extent + begin, end - begin, scale, false});
          continue;
        }
        for (int64_t e = begin; e < end; ++e) WidenRun({(o * extent + e) * inner, inner, scale, true});
      }
    }
  }

  void WidenRun(const Run& run) {
    int32_t lanes[kChunk];
    for (int64_t i = 0; i < run.count; i += kChunk) {
      const int64_t count = std::min(run.count - i, kChunk);
      load_(codes_.data, run.first + i, count, lanes);
      float* to = to_ + run.first + i;
      if (run.many) {
        for (int64_t j = 0; j < count; ++j) {
          const int64_t at = run.scale + i + j;
          to[j] = Widened(lanes[j], quantization_.ZeroPointAt(at), quantization_.ScaleAt(at));
        }
        continue;
      }
      const int32_t zero_point = quantization_.ZeroPointAt(run.scale);
      const float scale = quantization_.ScaleAt(run.scale);
      for (int64_t j = 0; j < count; ++j) to[j] = Widened(lanes[j], zero_point, scale);
    }
  }

  const ConstTensorView& codes_;
  const Quantization& quantization_;
  const LoadFn load_;
  float* const to_;
};

}  // namespace

bool CanWiden(DType dtype, bool quantized) {
  return quantized ? CodeRangeOf(dtype) != nullptr : dtype == DType::kF16;
}

void WidenHalves(const uint16_t* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    for (int64_t j = 0; j < kChunk; ++j) to[i + j] = HalfToFloat(from[i + j]);
  }
  for (; i < count; ++i) to[i] = HalfToFloat(from[i]);
}

void WidenCodes(const ConstTensorView& codes, float* to) {
  for (const Loading& loading : kLoadings) {
    if (loading.dtype == codes.dtype) CodeWidener(codes, loading.load, to).Widen();
  }
}

}  // namespace skiff
