// Softmax over codes: a code's distance from the largest one of its row decides its exponential.
#include <algorithm>
#include <cmath>

#include "core/code_range.h"
#include "delegates/xnnpack/lower/quantized/codes.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kCodes = 256;

template <class From, class To>
class QuantizedSoftmaxStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    from_ = RowsOf(node_.in(0));
    to_ = RowsOf(node_.out(0));
    const auto scale = static_cast<double>(node_.in(0).quantization->scale);
    for (size_t i = 0; i < kCodes; ++i) exponentials_[i] = std::exp(-scale * static_cast<double>(i));
    return OkStatus();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).template as<const From>();
    y_ = node_.out(0).template as<To>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          const auto* s = static_cast<const QuantizedSoftmaxStep*>(self);
          for (size_t i = begin; i < begin + count; ++i)
            s->ComputeRow(s->x_ + i * s->from_.stride, s->y_ + i * s->to_.stride);
        },
        this, from_.count, 1 + kBlock / from_.length, /*flags=*/0);
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 1024;

  /// No more distances than a row has elements are computed, and none twice.
  void ComputeRow(const From* x, To* y) const {
    const size_t n = from_.length;
    const From largest = *std::max_element(x, x + n);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += exponentials_[largest - x[i]];
    if (n < kCodes) {
      for (size_t i = 0; i < n; ++i) y[i] = ResultOf(static_cast<size_t>(largest - x[i]), sum);
      return;
    }
    To results[kCodes];
    const From smallest = *std::min_element(x, x + n);
    for (int i = 0; i <= largest - smallest; ++i) results[i] = ResultOf(static_cast<size_t>(i), sum);
    for (size_t i = 0; i < n; ++i) y[i] = results[largest - x[i]];
  }

  To ResultOf(size_t distance, double sum) const {
    const double result = exponentials_[distance] / sum;
    if constexpr (std::is_same_v<To, float>) {
      return static_cast<float>(result);
    } else {
      const double steps = result / params_.scale;
      const double limited = steps > params_.high ? params_.high : steps;
      return static_cast<To>(static_cast<int>(NearestWhole(limited)) + params_.zero_point);
    }
  }

  CodeParams ParamsOf() const {
    if constexpr (std::is_same_v<To, float>) return {};
    return CodeParamsOf(node_.out(0), -kInfinity, kInfinity);
  }

  const CodeParams params_ = ParamsOf();
  double exponentials_[kCodes] = {};
  Rows from_, to_;
  const From* x_ = nullptr;
  To* y_ = nullptr;
};

template <class From>
LowerFn LoweringTo(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return MakeStep<QuantizedSoftmaxStep<From, int8_t>>;
    case DType::kU8:
      return MakeStep<QuantizedSoftmaxStep<From, uint8_t>>;
    default:
      return MakeStep<QuantizedSoftmaxStep<From, float>>;
  }
}

}  // namespace

Result<StepPointer> LowerQuantizedSoftmax(const NodeView& node, const Environment& environment) {
  const DType to = node.out(0).dtype;
  const LowerFn lower = node.in(0).dtype == DType::kI8 ? LoweringTo<int8_t>(to) : LoweringTo<uint8_t>(to);
  return lower(node, environment);
}

}  // namespace skiff::xnnpack
