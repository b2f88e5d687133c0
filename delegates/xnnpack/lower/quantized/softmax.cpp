// Softmax over codes: a code's distance from the largest one of its row decides its exponential.
#include <algorithm>
#include <cmath>

#include "core/code_range.h"
#include "delegates/xnnpack/lower/quantized/codes.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kCodes = 256;
constexpr size_t kStrip = 16;  // So many are made side by side in vectors.

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

  void ComputeRow(const From* x, To* y) const {
    const size_t n = from_.length;
    const From largest = *std::max_element(x, x + n);
    const double sum = SumOf(x, largest);
    if constexpr (std::is_same_v<To, float>) {
      for (size_t i = 0; i < n; ++i) y[i] = static_cast<float>(exponentials_[largest - x[i]] / sum);
    } else {
      // By distance, because these follow one another in memory: all of them take less than a long row's
      // elements.
      To results[kCodes];
      const double factor = 1 / (sum * params_.scale);
      const From smallest = *std::min_element(x, x + n);
      const size_t end = (static_cast<size_t>(largest - smallest) / kStrip + 1) * kStrip;
      for (size_t begin = 0; begin < end; begin += kStrip) {
        for (size_t i = begin; i < begin + kStrip; ++i) results[i] = CodeOf(exponentials_[i] * factor);
      }
      for (size_t i = 0; i < n; ++i) y[i] = results[largest - x[i]];
    }
  }

  double SumOf(const From* x, int largest) const {
    constexpr size_t kSums = 4;  // An addition does not wait for the one before it.
    double sums[kSums] = {};
    size_t i = 0;
    for (; i + kSums <= from_.length; i += kSums) {
      for (size_t k = 0; k < kSums; ++k) sums[k] += exponentials_[largest - x[i + k]];
    }
    for (; i < from_.length; ++i) sums[0] += exponentials_[largest - x[i]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  /// Half to even. Only equal elements can have a result half way between codes, and then the factor is a
  /// power of two and exact: the reference kernel finds the same ties.
  To CodeOf(double steps) const {
    constexpr double kWhole = 6755399441055744;  // 1.5 times 2^52: a sum has no bits left for fractions.
    const double limited = steps > params_.high ? params_.high : steps;
    return static_cast<To>(static_cast<int>(limited + kWhole - kWhole) + params_.zero_point);
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
