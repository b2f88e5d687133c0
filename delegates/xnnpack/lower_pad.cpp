// Padding: with one value on XNNPACK, with what is there already by copies of ours.
#include <cstring>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lowerings.h"
#include "delegates/xnnpack/operator.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Padding with one value.
class PadStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const TensorView& from = node_.in(0);
    const int rank = from.shape.rank();
    if (!from.dense() || !node_.out(0).dense() || rank > XNN_MAX_TENSOR_DIMS) return Refuse();
    const int64_t count = node_.Has(3) ? node_.in(3).shape.elements() : rank;
    size_t shape[XNN_MAX_TENSOR_DIMS];
    size_t before[XNN_MAX_TENSOR_DIMS] = {};
    size_t after[XNN_MAX_TENSOR_DIMS] = {};
    for (int i = 0; i < rank; ++i) shape[i] = static_cast<size_t>(from.shape[i]);
    for (int64_t i = 0; i < count; ++i) {
      const int axis = NormalizeAxis(node_.Has(3) ? IntegerAt(node_.in(3), i) : i, rank);
      const int64_t begin = IntegerAt(node_.in(1), i);
      const int64_t end = IntegerAt(node_.in(1), count + i);
      if (axis < 0 || begin < 0 || end < 0) return Refuse();
      before[axis] = static_cast<size_t>(begin);
      after[axis] = static_cast<size_t>(end);
    }
    const Functions& f = kFunctions[ElementBytes(from) / 2];
    setup_ = f.setup;
    if (!operator_) {
      const uint64_t zero = 0;
      const void* value = node_.Has(2) ? node_.in(2).data : &zero;
      SKIFF_RETURN_IF_ERROR(FromXnn(f.create(value, /*flags=*/0, operator_.Fresh())));
    }
    return FromXnn(
        f.reshape(operator_.get(), static_cast<size_t>(rank), shape, before, after, environment_.pool));
  }

  Status Bind(void*) override {
    return FromXnn(setup_(operator_.get(), node_.in(0).data, node_.out(0).data));
  }

 private:
  struct Functions {
    xnn_status (*create)(const void*, uint32_t, xnn_operator_t*);
    xnn_status (*reshape)(xnn_operator_t, size_t, const size_t*, const size_t*, const size_t*, pthreadpool_t);
    xnn_status (*setup)(xnn_operator_t, const void*, void*);
  };
  /// Elements of 1, 2 and 4 bytes.
  static constexpr Functions kFunctions[] = {
      {xnn_create_constant_pad_nd_x8, xnn_reshape_constant_pad_nd_x8, xnn_setup_constant_pad_nd_x8},
      {xnn_create_constant_pad_nd_x16, xnn_reshape_constant_pad_nd_x16, xnn_setup_constant_pad_nd_x16},
      {xnn_create_constant_pad_nd_x32, xnn_reshape_constant_pad_nd_x32, xnn_setup_constant_pad_nd_x32},
  };

  xnn_status (*setup_)(xnn_operator_t, const void*, void*) = nullptr;
};

/// Where position `i` comes from, counted from the first of `extent` elements that are there.
int64_t SourceOf(PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == PadMode::kEdge) return i < 0 ? 0 : extent - 1;
  const int64_t period = mode == PadMode::kWrap ? extent : 2 * (extent - 1);
  if (period == 0) return 0;
  const int64_t phase = (i % period + period) % period;
  return phase < extent ? phase : period - phase;
}

/// Padding by reflection, by the edge, or around: a table says where each position along each axis comes
/// from. Inside the innermost padded axis whole runs are copied.
class RepeatedPadStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Shape& to = node_.out(0).shape;
    const int rank = x.shape.rank();
    if (rank == 0 || !x.dense() || !node_.out(0).dense()) return Refuse();
    int64_t begins[kMaxRank] = {};
    const int64_t count = node_.Has(3) ? node_.in(3).shape.elements() : rank;
    for (int64_t i = 0; i < count; ++i) {
      const int axis = NormalizeAxis(node_.Has(3) ? IntegerAt(node_.in(3), i) : i, rank);
      const int64_t begin = IntegerAt(node_.in(1), i);
      if (axis < 0 || begin < 0 || IntegerAt(node_.in(1), count + i) < 0) return Refuse();
      begins[axis] = begin;
    }
    axis_ = rank - 1;
    while (axis_ > 0 && to[axis_] == x.shape[axis_]) --axis_;
    begin_ = begins[axis_];
    kept_ = x.shape[axis_];
    return FillSources(x, to, begins);
  }

  Status Bind(void*) override {
    from_ = node_.in(0).as<const char>();
    to_ = node_.out(0).as<char>();
    return OkStatus();
  }

  Status Run() override {
    const auto rows = static_cast<size_t>(node_.out(0).shape.ElementsBetween(0, axis_));
    const auto row_bytes = static_cast<size_t>(node_.out(0).shape[axis_] * run_bytes_);
    const size_t tile = environment_.pool == nullptr ? rows : 1 + kBytesPerTask / row_bytes;
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          const auto* s = static_cast<const RepeatedPadStep*>(self);
          for (size_t row = begin; row < begin + count; ++row) s->CopyRow(static_cast<int64_t>(row));
        },
        this, rows, tile, /*flags=*/0);
    return OkStatus();
  }

 private:
  static constexpr size_t kBytesPerTask = 64 * 1024;

  Status FillSources(const TensorView& x, const Shape& to, const int64_t (&begins)[kMaxRank]) {
    int64_t total = 0;
    for (int axis = 0; axis <= axis_; ++axis) {
      first_source_[axis] = total;
      total += to[axis];
    }
    SKIFF_RETURN_IF_ERROR(sources_.Allocate(static_cast<size_t>(total)));
    const PadMode mode = node_.As<PadAttrs>().mode;
    const auto element = static_cast<int64_t>(ElementBytes(x));
    for (int axis = 0; axis <= axis_; ++axis) {
      const int64_t stride = x.shape.ElementsBetween(axis + 1, x.shape.rank()) * element;
      for (int64_t i = 0; i < to[axis]; ++i) {
        sources_[static_cast<size_t>(first_source_[axis] + i)] =
            SourceOf(mode, i - begins[axis], x.shape[axis]) * stride;
      }
      run_bytes_ = stride;
    }
    return OkStatus();
  }

  void CopyRow(int64_t row) const {
    const Shape& shape = node_.out(0).shape;
    const char* from = from_;
    int64_t rest = row;
    for (int axis = axis_ - 1; axis >= 0; --axis) {
      from += sources_[static_cast<size_t>(first_source_[axis] + rest % shape[axis])];
      rest /= shape[axis];
    }
    char* to = to_ + row * shape[axis_] * run_bytes_;
    CopyPieces(from, to, 0, begin_);
    std::memcpy(to + begin_ * run_bytes_, from, static_cast<size_t>(kept_ * run_bytes_));
    CopyPieces(from, to, begin_ + kept_, shape[axis_]);
  }

  void CopyPieces(const char* from, char* to, int64_t begin, int64_t end) const {
    const int64_t* sources = sources_.data() + first_source_[axis_];
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + i * run_bytes_, from + sources[i], static_cast<size_t>(run_bytes_));
  }

  FixedArray<int64_t> sources_;  ///< Offsets in bytes, axis after axis.
  int64_t first_source_[kMaxRank] = {};
  int axis_ = 0;  ///< The innermost one that is padded.
  int64_t begin_ = 0;
  int64_t kept_ = 0;
  int64_t run_bytes_ = 0;  ///< Inside of it.
  const char* from_ = nullptr;
  char* to_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerPad(const NodeView& node, const Environment& environment) {
  if (node.As<PadAttrs>().mode == PadMode::kConstant) return MakeStep<PadStep>(node, environment);
  return MakeStep<RepeatedPadStep>(node, environment);
}

}  // namespace skiff::xnnpack
