// Averages and sums of codes: exact sums in 32 bits, then one rounding in f64.
#include <algorithm>

#include "delegates/xnnpack/lower/quantized/codes.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Codes whose sum 32 bits hold.
constexpr int64_t kMostCodes = int64_t{1} << 22;
/// Channels that are summed at once, on the stack.
constexpr size_t kBlock = 256;

class SumsStep : public Step {
 public:
  SumsStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), kernels_(environment.kernels->codes) {}

 protected:
  double Factor() const {
    return static_cast<double>(node_.in(0).quantization->scale) /
           static_cast<double>(node_.out(0).quantization->scale);
  }
  void Narrow(size_t n, const int32_t* sums, void* y, double factor) const {
    CodeParams params = params_;
    params.scale = factor;
    kernels_.narrow_sums[type_](n, sums, y, params);
  }

  const CodeKernels& kernels_;
  const size_t type_ = CodeTypeOf(node_.in(0).dtype);
  const int32_t zero_point_ = node_.in(0).quantization->zero_point;
  const CodeParams params_ = CodeParamsOf(node_.out(0), -kInfinity, kInfinity);
};

/// Taps of a window along one axis.
struct Taps {
  int64_t first = 0;  ///< Inside the input.
  int64_t count = 0;
  int64_t counted = 0;  ///< Inside the padded input.
};

class QuantizedAveragePoolStep final : public SumsStep {
 public:
  using SumsStep::SumsStep;

  Status Reshape() override {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const TensorView& x = node_.in(0);
    for (int axis = 0; axis < 2; ++axis) {
      pads_[axis] = ResolvePads(attrs.auto_pad, x.shape[1 + axis], attrs.kernel[axis], attrs.strides[axis], 1,
                                attrs.pads[axis], attrs.pads[2 + axis]);
    }
    x_stride_ = static_cast<int64_t>(RowsOf(x).stride);
    y_stride_ = static_cast<int64_t>(RowsOf(node_.out(0)).stride);
    return OkStatus();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const uint8_t>();
    y_ = node_.out(0).as<uint8_t>();
    return OkStatus();
  }

  Status Run() override {
    const Shape& y = node_.out(0).shape;
    pthreadpool_parallelize_2d(
        environment_.pool,
        [](void* self, size_t image, size_t row) {
          static_cast<const QuantizedAveragePoolStep*>(self)->ComputeRow(static_cast<int64_t>(image),
                                                                         static_cast<int64_t>(row));
        },
        this, static_cast<size_t>(y[0]), static_cast<size_t>(y[1]), /*flags=*/0);
    return OkStatus();
  }

 private:
  Taps TapsOf(int axis, int64_t out) const {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const int64_t extent = node_.in(0).shape[1 + axis];
    const int64_t begin = out * attrs.strides[axis] - pads_[axis].begin;
    const int64_t end = begin + attrs.kernel[axis];
    const int64_t first = std::max<int64_t>(begin, 0);
    return {first, std::max<int64_t>(std::min(end, extent) - first, 0),
            std::max<int64_t>(std::min(end, extent + pads_[axis].end) - begin, 0)};
  }

  void ComputeRow(int64_t image, int64_t row) const {
    const Shape& y = node_.out(0).shape;
    const Taps rows = TapsOf(0, row);
    for (int64_t column = 0; column < y[2]; ++column) {
      const Taps columns = TapsOf(1, column);
      const int64_t inside = rows.count * columns.count;
      const int64_t counted =
          node_.As<Pool2dAttrs>().count_include_pad ? rows.counted * columns.counted : inside;
      // A window that lies in the padding alone averages to 0.
      const double factor = Factor() / static_cast<double>(counted == 0 ? 1 : counted);
      uint8_t* const to = y_ + ((image * y[1] + row) * y[2] + column) * y_stride_;
      for (size_t channel = 0; channel < static_cast<size_t>(y[3]); channel += kBlock) {
        const size_t count = std::min(kBlock, static_cast<size_t>(y[3]) - channel);
        int32_t sums[kBlock];
        std::fill_n(sums, count, -static_cast<int32_t>(inside) * zero_point_);
        AddWindow(image, rows, columns, channel, count, sums);
        Narrow(count, sums, to + channel, factor);
      }
    }
  }

  void AddWindow(int64_t image, const Taps& rows, const Taps& columns, size_t channel, size_t count,
                 int32_t* sums) const {
    const Shape& x = node_.in(0).shape;
    for (int64_t r = rows.first; r < rows.first + rows.count; ++r) {
      const uint8_t* from = x_ + ((image * x[1] + r) * x[2] + columns.first) * x_stride_ + channel;
      for (int64_t c = 0; c < columns.count; ++c, from += x_stride_)
        kernels_.add_to_sums[type_](count, from, sums);
    }
  }

  AxisPads pads_[2];
  int64_t x_stride_ = 0;
  int64_t y_stride_ = 0;
  const uint8_t* x_ = nullptr;
  uint8_t* y_ = nullptr;
};

/// Over neighbouring axes.
class QuantizedReduceStep final : public SumsStep {
 public:
  using SumsStep::SumsStep;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    uint32_t mask = 0;
    if (!x.dense() || !node_.out(0).dense()) return Refuse();
    if (!ReducedAxes(node_.As<ReduceAttrs>(), x.shape.rank(), &mask)) return Refuse();
    outer_ = reduced_ = inner_ = 1;
    bool ended = false;
    for (int i = 0; i < x.shape.rank(); ++i) {
      const int64_t extent = x.shape[i];
      if (extent == 1) continue;
      const bool is_reduced = ((mask >> i) & 1u) != 0;
      if (is_reduced && ended) return Refuse();
      if (!is_reduced && reduced_ > 1) ended = true;
      (is_reduced ? reduced_ : (ended ? inner_ : outer_)) *= extent;
    }
    return reduced_ <= kMostCodes ? OkStatus() : Refuse();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const uint8_t>();
    y_ = node_.out(0).as<uint8_t>();
    return OkStatus();
  }

  Status Run() override {
    const bool is_row = inner_ == 1;
    pthreadpool_parallelize_2d_tile_1d(
        environment_.pool,
        [](void* self, size_t outer, size_t begin, size_t count) {
          const auto* s = static_cast<const QuantizedReduceStep*>(self);
          s->inner_ == 1 ? s->ComputeRows(begin, count) : s->ComputeColumns(outer, begin, count);
        },
        this, is_row ? 1 : static_cast<size_t>(outer_), static_cast<size_t>(is_row ? outer_ : inner_), kBlock,
        /*flags=*/0);
    return OkStatus();
  }

 private:
  double FactorOfSum() const {
    return node_.op() == OpCode::kReduceMean ? Factor() / static_cast<double>(reduced_) : Factor();
  }

  void ComputeRows(size_t begin, size_t count) const {
    const auto length = static_cast<size_t>(reduced_);
    int32_t sums[kBlock];
    for (size_t i = 0; i < count; ++i) {
      sums[i] = kernels_.sum[type_](length, x_ + (begin + i) * length) -
                static_cast<int32_t>(reduced_) * zero_point_;
    }
    Narrow(count, sums, y_ + begin, FactorOfSum());
  }

  void ComputeColumns(size_t outer, size_t begin, size_t count) const {
    const auto inner = static_cast<size_t>(inner_);
    const auto reduced = static_cast<size_t>(reduced_);
    int32_t sums[kBlock];
    std::fill_n(sums, count, -static_cast<int32_t>(reduced_) * zero_point_);
    for (size_t i = 0; i < reduced; ++i)
      kernels_.add_to_sums[type_](count, x_ + (outer * reduced + i) * inner + begin, sums);
    Narrow(count, sums, y_ + outer * inner + begin, FactorOfSum());
  }

  int64_t outer_ = 1;
  int64_t reduced_ = 1;
  int64_t inner_ = 1;
  const uint8_t* x_ = nullptr;
  uint8_t* y_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerQuantizedAveragePool2d(const NodeView& node, const Environment& environment) {
  return MakeStep<QuantizedAveragePoolStep>(node, environment);
}

Result<StepPointer> LowerQuantizedReduce(const NodeView& node, const Environment& environment) {
  return MakeStep<QuantizedReduceStep>(node, environment);
}

}  // namespace skiff::xnnpack
