// Padding: with one value, or with what is there already.
#include <algorithm>
#include <cstring>

#include "core/code_range.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "ops/shape_rules.h"
#include "skiff/quantization.h"

namespace skiff::xnnpack {
namespace {

/// One axis, or neighbours that are not padded and count as one.
struct Axis {
  int64_t from = 1;    ///< Extent of the input.
  int64_t to = 1;      ///< Extent of the output.
  int64_t begin = 0;   ///< Where the input begins in the output; negative where it is cropped.
  int64_t stride = 0;  ///< Of the input, in bytes.

  bool padded() const { return begin != 0 || from != to; }
};

/// Positions of an output's axis that follow on: where they come from.
struct Source {
  int64_t count = 0;
  int64_t first = 0;  ///< Of the input, the first of them.
  int64_t step = 0;   ///< From one to the next: 1, 0 or -1.
  bool outside = false;
};

/// From position `i` of the output on, as many as follow one rule.
Source SourceOf(PadMode mode, const Axis& axis, int64_t i) {
  const int64_t end = axis.to - axis.begin;
  const int64_t at = i - axis.begin;
  if (at >= 0 && at < axis.from) return {std::min(axis.from, end) - at, at, 1};
  const int64_t beside = (at < 0 ? std::min<int64_t>(0, end) : end) - at;
  if (mode == PadMode::kConstant) return {beside, 0, 0, /*outside=*/true};
  const int64_t last = axis.from - 1;
  if (mode == PadMode::kEdge || last == 0) return {beside, at < 0 ? 0 : last, 0};
  const int64_t period = mode == PadMode::kWrap ? axis.from : 2 * last;
  const int64_t phase = (at % period + period) % period;
  if (mode == PadMode::kWrap) return {std::min(beside, period - phase), phase, 1};
  if (phase < last) return {std::min(beside, last - phase), phase, 1};
  return {std::min(beside, period - phase), period - phase, -1};
}

/// The output as rows of the innermost axis that is padded. Neighbouring rows are copied and filled together.
class PadStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Shape& to = node_.out(0).shape;
    mode_ = node_.As<PadAttrs>().mode;
    const int rank = x.shape.rank();
    if (rank == 0 || !x.dense() || !node_.out(0).dense()) return Refuse();
    int64_t begins[kMaxRank] = {};
    const int64_t count = node_.Has(3) ? node_.in(3).shape.elements() : rank;
    for (int64_t i = 0; i < count; ++i) {
      const int axis = NormalizeAxis(node_.Has(3) ? IntegerAt(node_.in(3), i) : i, rank);
      begins[axis < 0 ? 0 : axis] = IntegerAt(node_.in(1), i);
      const bool crops = IntegerAt(node_.in(1), i) < 0 || IntegerAt(node_.in(1), count + i) < 0;
      if (axis < 0 || (crops && mode_ != PadMode::kConstant)) return Refuse();
    }
    int last = rank - 1;
    while (last > 0 && begins[last] == 0 && to[last] == x.shape[last]) --last;
    const auto element = static_cast<int64_t>(ElementBytes(x));
    outer_[0] = Axis();
    outer_count_ = 1;
    for (int i = 0; i <= last; ++i) {
      const Axis axis = {x.shape[i], to[i], begins[i], x.shape.ElementsBetween(i + 1, rank) * element};
      Axis& before = outer_[outer_count_ - 1];
      if (i == last) {
        inner_ = axis;
      } else if (!before.padded() && !axis.padded()) {
        before = {before.from * axis.from, before.to * axis.to, 0, axis.stride};
      } else {
        outer_[outer_count_++] = axis;
      }
    }
    return OkStatus();
  }

  Status Bind(void*) override {
    from_ = node_.in(0).as<const char>();
    to_ = node_.out(0).as<char>();
    return OkStatus();
  }

  Status Run() override {
    TakeValue();
    size_t rows = 1;
    for (int i = 0; i < outer_count_; ++i) rows *= static_cast<size_t>(outer_[i].to);
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          static_cast<const PadStep*>(self)->PadRows(static_cast<int64_t>(begin),
                                                     static_cast<int64_t>(count));
        },
        this, rows, 1 + kBytesPerTask / static_cast<size_t>(RowBytes()), /*flags=*/0);
    return OkStatus();
  }

 private:
  /// Rows are walked over twice, by the copy and by the fill, the second time in the cache.
  static constexpr size_t kBytesPerTask = 16 * 1024;
  static constexpr size_t kFillBytes = 64;

  /// The value may be an input, or computed: it is there when the step runs, not before.
  void TakeValue() {
    static constexpr uint64_t kZero = 0;
    const size_t bytes = ElementBytes(node_.in(0));
    const void* value = node_.Has(2) ? node_.in(2).data : &kZero;
    [[maybe_unused]] uint8_t code = 0;
    if (IsI8(node_.in(0).dtype) || IsU8(node_.in(0).dtype)) {
      code = TakeCode();
      value = &code;
    }
    for (size_t i = 0; i < kFillBytes; i += bytes) std::memcpy(fill_ + i, value, bytes);
  }

  /// Of 8 bits: the value itself, or the code that stands for a real number.
  uint8_t TakeCode() const {
    const Quantization* const quantization = node_.in(0).quantization;
    const bool real = node_.Has(2) && node_.in(2).dtype == DType::kF32;
    if (node_.Has(2) && !real) return *node_.in(2).as<const uint8_t>();
    if (quantization == nullptr) return 0;
    const double value = real ? static_cast<double>(*node_.in(2).as<const float>()) : 0;
    const CodeRounder round(*CodeRangeOf(node_.in(0).dtype));
    return static_cast<uint8_t>(
        round(value / static_cast<double>(quantization->scale), quantization->zero_point));
  }

  int64_t RowBytes() const { return inner_.to * inner_.stride; }

  void PadRows(int64_t row, int64_t count) const {
    for (int64_t done = 0; count > 0; row += done, count -= done) {
      const char* from = from_;
      bool outside = false;
      int64_t rest = row;
      int64_t stride = 0;
      for (int i = outer_count_ - 1; i >= 0; --i) {
        const Axis& axis = outer_[i];
        const Source source = SourceOf(mode_, axis, rest % axis.to);
        rest /= axis.to;
        from += source.first * axis.stride;
        outside = outside || source.outside;
        if (i < outer_count_ - 1) continue;
        done = std::min(source.count, count);
        stride = source.step * axis.stride;
      }
      char* to = to_ + row * RowBytes();
      outside ? FillRows(1, done * RowBytes(), to) : PadInner(done, from, stride, to);
    }
  }

  /// Rows that come from rows of the input, which lie `stride` bytes apart.
  void PadInner(int64_t rows, const char* from, int64_t stride, char* to) const {
    for (int64_t i = 0; i < inner_.to;) {
      const Source source = SourceOf(mode_, inner_, i);
      const int64_t bytes = source.count * inner_.stride;
      char* target = to + i * inner_.stride;
      i += source.count;
      if (source.outside) {
        FillRows(rows, bytes, target);
      } else if (source.step == 1) {
        CopyRows(static_cast<size_t>(rows), static_cast<size_t>(bytes), from + source.first * inner_.stride,
                 stride, target, RowBytes());
      } else {
        for (int64_t row = 0; row < rows; ++row) {
          CopyRows(static_cast<size_t>(source.count), static_cast<size_t>(inner_.stride),
                   from + row * stride + source.first * inner_.stride, source.step * inner_.stride,
                   target + row * RowBytes(), inner_.stride);
        }
      }
    }
  }

  void FillRows(int64_t rows, int64_t bytes, char* to) const {
    const auto whole = static_cast<size_t>(bytes) / kFillBytes;
    const auto rest = static_cast<size_t>(bytes) % kFillBytes;
    for (int64_t row = 0; whole > 0 && row < rows; ++row)
      CopyRows(whole, kFillBytes, fill_, 0, to + row * RowBytes(), kFillBytes);
    CopyRows(static_cast<size_t>(rows), rest, fill_, 0, to + whole * kFillBytes, RowBytes());
  }

  PadMode mode_ = PadMode::kConstant;
  Axis outer_[kMaxRank];  ///< The first one may have one position only.
  Axis inner_;            ///< The innermost one that is padded.
  int outer_count_ = 0;
  const char* from_ = nullptr;
  char* to_ = nullptr;
  char fill_[kFillBytes] = {};  ///< The value, repeated.
};

}  // namespace

Result<StepPointer> LowerPad(const NodeView& node, const Environment& environment) {
  return MakeStep<PadStep>(node, environment);
}

}  // namespace skiff::xnnpack
