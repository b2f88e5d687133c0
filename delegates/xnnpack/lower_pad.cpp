// Padding: with one value, or with what is there already.
#include <algorithm>
#include <cstring>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lowerings.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Outside of the input, where a value stands.
constexpr int64_t kOutside = -1;

/// Where position `i` comes from, counted from the first of `extent` elements that are there.
int64_t SourceOf(PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == PadMode::kConstant) return kOutside;
  if (mode == PadMode::kEdge) return i < 0 ? 0 : extent - 1;
  const int64_t period = mode == PadMode::kWrap ? extent : 2 * (extent - 1);
  if (period == 0) return 0;
  const int64_t phase = (i % period + period) % period;
  return phase < extent ? phase : period - phase;
}

template <class T>
void Fill(char* to, const void* value, size_t bytes) {
  T element;
  std::memcpy(&element, value, sizeof(T));
  std::fill_n(reinterpret_cast<T*>(to), bytes / sizeof(T), element);
}
using FillFn = void (*)(char* to, const void* value, size_t bytes);
/// By log2 of the element's bytes.
constexpr FillFn kFill[] = {Fill<uint8_t>, Fill<uint16_t>, Fill<uint32_t>, Fill<uint64_t>};

/// A table says where each position along each axis comes from. Along the innermost padded axis the part that
/// stays is copied in one run.
class PadStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Shape& to = node_.out(0).shape;
    const PadMode mode = node_.As<PadAttrs>().mode;
    const int rank = x.shape.rank();
    if (rank == 0 || !x.dense() || !node_.out(0).dense()) return Refuse();
    int64_t begins[kMaxRank] = {};
    const int64_t count = node_.Has(3) ? node_.in(3).shape.elements() : rank;
    for (int64_t i = 0; i < count; ++i) {
      const int axis = NormalizeAxis(node_.Has(3) ? IntegerAt(node_.in(3), i) : i, rank);
      begins[axis < 0 ? 0 : axis] = IntegerAt(node_.in(1), i);
      const bool crops = IntegerAt(node_.in(1), i) < 0 || IntegerAt(node_.in(1), count + i) < 0;
      if (axis < 0 || (crops && mode != PadMode::kConstant)) return Refuse();
    }
    axis_ = rank - 1;
    while (axis_ > 0 && begins[axis_] == 0 && to[axis_] == x.shape[axis_]) --axis_;
    kept_begin_ = std::clamp<int64_t>(begins[axis_], 0, to[axis_]);
    kept_end_ = std::clamp<int64_t>(begins[axis_] + x.shape[axis_], kept_begin_, to[axis_]);
    return FillSources(x, to, begins, mode);
  }

  Status Bind(void*) override {
    static constexpr uint64_t kZero = 0;
    const TensorView& x = node_.in(0);
    from_ = x.as<const char>();
    to_ = node_.out(0).as<char>();
    value_ = node_.Has(2) ? node_.in(2).data : &kZero;
    size_t log2 = 0;
    while ((size_t{1} << log2) < ElementBytes(x)) ++log2;
    fill_ = kFill[log2];
    return OkStatus();
  }

  Status Run() override {
    const auto rows = static_cast<size_t>(node_.out(0).shape.ElementsBetween(0, axis_));
    const auto row_bytes = static_cast<size_t>(node_.out(0).shape[axis_] * run_bytes_);
    const size_t tile = environment_.pool == nullptr ? rows : 1 + kBytesPerTask / row_bytes;
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          const auto* s = static_cast<const PadStep*>(self);
          for (size_t row = begin; row < begin + count; ++row) s->CopyRow(static_cast<int64_t>(row));
        },
        this, rows, tile, /*flags=*/0);
    return OkStatus();
  }

 private:
  static constexpr size_t kBytesPerTask = 64 * 1024;

  Status FillSources(const TensorView& x, const Shape& to, const int64_t (&begins)[kMaxRank], PadMode mode) {
    int64_t total = 0;
    for (int axis = 0; axis <= axis_; ++axis) {
      first_source_[axis] = total;
      total += to[axis];
    }
    SKIFF_RETURN_IF_ERROR(sources_.Allocate(static_cast<size_t>(total)));
    const auto element = static_cast<int64_t>(ElementBytes(x));
    for (int axis = 0; axis <= axis_; ++axis) {
      const int64_t stride = x.shape.ElementsBetween(axis + 1, x.shape.rank()) * element;
      for (int64_t i = 0; i < to[axis]; ++i) {
        const int64_t source = SourceOf(mode, i - begins[axis], x.shape[axis]);
        sources_[static_cast<size_t>(first_source_[axis] + i)] =
            source == kOutside ? kOutside : source * stride;
      }
      run_bytes_ = stride;
    }
    return OkStatus();
  }

  void CopyRow(int64_t row) const {
    const Shape& shape = node_.out(0).shape;
    char* to = to_ + row * shape[axis_] * run_bytes_;
    const char* from = from_;
    int64_t rest = row;
    for (int axis = axis_ - 1; axis >= 0; --axis) {
      const int64_t source = sources_[static_cast<size_t>(first_source_[axis] + rest % shape[axis])];
      if (source == kOutside) return fill_(to, value_, static_cast<size_t>(shape[axis_] * run_bytes_));
      from += source;
      rest /= shape[axis];
    }
    WritePieces(from, to, 0, kept_begin_);
    if (kept_end_ > kept_begin_) {
      std::memcpy(to + kept_begin_ * run_bytes_, from + SourceAt(kept_begin_),
                  static_cast<size_t>((kept_end_ - kept_begin_) * run_bytes_));
    }
    WritePieces(from, to, kept_end_, shape[axis_]);
  }

  /// Positions [begin, end) of the innermost padded axis, none of which stays.
  void WritePieces(const char* from, char* to, int64_t begin, int64_t end) const {
    if (node_.As<PadAttrs>().mode == PadMode::kConstant)
      return fill_(to + begin * run_bytes_, value_, static_cast<size_t>((end - begin) * run_bytes_));
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + i * run_bytes_, from + SourceAt(i), static_cast<size_t>(run_bytes_));
  }

  int64_t SourceAt(int64_t i) const { return sources_[static_cast<size_t>(first_source_[axis_] + i)]; }

  FixedArray<int64_t> sources_;  ///< Offsets in bytes, or kOutside, axis after axis.
  int64_t first_source_[kMaxRank] = {};
  int axis_ = 0;            ///< The innermost one that is padded.
  int64_t kept_begin_ = 0;  ///< Along it, of the output.
  int64_t kept_end_ = 0;
  int64_t run_bytes_ = 0;  ///< Inside of it.
  const char* from_ = nullptr;
  char* to_ = nullptr;
  const void* value_ = nullptr;
  FillFn fill_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerPad(const NodeView& node, const Environment& environment) {
  return MakeStep<PadStep>(node, environment);
}

}  // namespace skiff::xnnpack
