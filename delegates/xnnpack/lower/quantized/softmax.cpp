// Softmax over codes: a code's distance from the largest one of its row decides its exponential.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/align.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/codes.h"
#include "delegates/xnnpack/lower/quantized/look_up.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kStrip = 32;

template <class From, class To>
class QuantizedSoftmaxStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const int rank = x.shape.rank();
    const int axis = NormalizeAxis(node_.template As<AxisAttrs>().axis, rank);
    from_ = RowsOf(x);
    to_ = RowsOf(node_.out(0));
    inner_ = 0;
    if (axis < rank - 1) {
      if (!x.dense() || !node_.out(0).dense()) return Refuse();
      inner_ = static_cast<size_t>(x.shape.ElementsBetween(axis + 1, rank));
      from_.length = static_cast<size_t>(x.shape[axis]);
      from_.count = static_cast<size_t>(x.shape.elements()) / from_.length;
    }
    row_bytes_ = AlignUp(from_.length * sizeof(From));
    thread_bytes_ = row_bytes_ + AlignUp(from_.length * sizeof(To));
    workspace_bytes_ = inner_ == 0 ? 0 : pthreadpool_get_threads_count(environment_.pool) * thread_bytes_;
    const auto scale = static_cast<double>(node_.in(0).quantization->scale);
    for (size_t i = 0; i < kCodes; ++i) exponentials_[i] = std::exp(-scale * static_cast<double>(kLast - i));
    return OkStatus();
  }

  Status Bind(void* workspace) override {
    workspace_ = static_cast<char*>(workspace);
    x_ = node_.in(0).template as<const From>();
    y_ = node_.out(0).template as<To>();
    return OkStatus();
  }

  Status Run() override {
    if (inner_ > 0) {
      pthreadpool_parallelize_1d_with_thread(
          environment_.pool,
          [](void* self, size_t thread, size_t index) {
            static_cast<const QuantizedSoftmaxStep*>(self)->ComputeColumn(thread, index);
          },
          this, from_.count, /*flags=*/0);
      return OkStatus();
    }
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

  /// Along another axis than the last one: by way of a row.
  void ComputeColumn(size_t thread, size_t index) const {
    const size_t n = from_.length;
    const size_t at = index / inner_ * n * inner_ + index % inner_;
    char* const room = workspace_ + thread * thread_bytes_;
    From* const x = reinterpret_cast<From*>(room);
    To* const y = reinterpret_cast<To*>(room + row_bytes_);
    for (size_t i = 0; i < n; ++i) x[i] = x_[at + i * inner_];
    ComputeRow(x, y);
    for (size_t i = 0; i < n; ++i) y_[at + i * inner_] = y[i];
  }

  void ComputeRow(const From* x, To* y) const {
    const size_t n = from_.length;
    const ExtremeCodes codes = kernels_.extremes[std::is_unsigned_v<From>](n, x);
    const double* const largest = exponentials_ + kLast;  // From there back by distance.
    const double sum = SumOf(x, largest, codes.largest);
    if constexpr (std::is_same_v<To, float>) {
      for (size_t i = 0; i < n; ++i) y[i] = static_cast<float>(largest[x[i] - codes.largest] / sum);
    } else {
      // Only equal elements can have a result half way between codes, and then the factor is a power of two
      // and exact: the reference kernel finds the same ties.
      CodeParams params = params_;
      params.scale = 1 / (sum * params_.scale);
      // Whole vectors of codes down from the largest one; those below the smallest one are of no use.
      uint8_t results[kStrip + kCodes] = {};
      uint8_t* const lowest = results + kStrip;
      const size_t made = DivideUp(static_cast<size_t>(codes.largest - codes.smallest) + 1, kStrip) * kStrip;
      kernels_.narrow_reals[std::is_unsigned_v<To>](made, largest + 1 - made,
                                                    lowest + (codes.largest - kLowest) + 1 - made, params);
      CodeTable table;  // From byte 0 on: negative codes' bytes come last.
      constexpr size_t kNegative = -kLowest;
      std::memcpy(table.bytes, lowest + kNegative, kCodes - kNegative);
      std::memcpy(table.bytes + (kCodes - kNegative), lowest, kNegative);
      look_up_(n, reinterpret_cast<const uint8_t*>(x), reinterpret_cast<uint8_t*>(y), table.bytes);
    }
  }

  double SumOf(const From* x, const double* largest, int code) const {
    constexpr size_t kSums = 4;  // An addition does not wait for the one before it.
    double sums[kSums] = {};
    size_t i = 0;
    for (; i + kSums <= from_.length; i += kSums) {
      for (size_t k = 0; k < kSums; ++k) sums[k] += largest[x[i + k] - code];
    }
    for (; i < from_.length; ++i) sums[0] += largest[x[i] - code];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  CodeParams ParamsOf() const {
    if constexpr (std::is_same_v<To, float>) return {};
    return CodeParamsOf(node_.out(0), -kInfinity, kInfinity);
  }

  static constexpr size_t kLast = kCodes - 1;
  static constexpr int kLowest = int{std::numeric_limits<From>::min()};

  const CodeKernels& kernels_ = environment_.kernels->codes;
  const SkiffLookUpFn look_up_ = xnn_init_x8_lut_config()->microkernel;
  const CodeParams params_ = ParamsOf();
  double exponentials_[kCodes] = {};  ///< By the distance from the largest code, which is last.
  Rows from_, to_;
  size_t inner_ = 0;  ///< Of columns: elements from one to the next. 0: these are rows.
  size_t row_bytes_ = 0;
  size_t thread_bytes_ = 0;
  char* workspace_ = nullptr;
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
