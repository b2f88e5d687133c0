// TopK: the best elements of each line along an axis, best first, in the order of the reference kernel.
#include "delegates/xnnpack/lower/lowerings.h"
#include "eager/kernels/best_indices.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

template <class T>
class TopKStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    if (!x.dense() || !node_.out(0).dense() || !node_.out(1).dense()) return Refuse();
    const int axis = NormalizeAxis(node_.As<TopKAttrs>().axis, x.shape.rank());
    if (axis < 0) return Refuse();
    extent_ = x.shape[axis];
    k_ = node_.out(0).shape[axis];
    inner_ = x.shape.ElementsBetween(axis + 1, x.shape.rank());
    lines_ = x.shape.ElementsBetween(0, axis) * inner_;
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    pthreadpool_parallelize_1d(
        environment_.pool,
        [](void* self, size_t line) {
          static_cast<const TopKStep*>(self)->RunLine(static_cast<int64_t>(line));
        },
        this, static_cast<size_t>(lines_), /*flags=*/0);
    return OkStatus();
  }

 private:
  void RunLine(int64_t line) const {
    const int64_t outer = line / inner_;
    const int64_t first = outer * k_ * inner_ + line % inner_;
    const T* const x = node_.in(0).template as<const T>() + outer * extent_ * inner_ + line % inner_;
    const auto at = [&](int64_t index) { return x[index * inner_]; };
    const eager::BestIndices<T, decltype(at)> best{at, node_.out(1).template as<int64_t>() + first, inner_,
                                                   node_.As<TopKAttrs>().largest};
    T worst = best.Begin(k_);
    for (int64_t i = k_; i < extent_; ++i) worst = best.Offer(k_, i, at(i), worst);
    best.Sort(k_);
    T* const values = node_.out(0).template as<T>() + first;
    for (int64_t i = 0; i < k_; ++i) values[i * inner_] = at(best.Heap(i));
  }

  int64_t extent_ = 0;
  int64_t k_ = 0;
  int64_t inner_ = 1;
  int64_t lines_ = 0;
};

}  // namespace

Result<StepPointer> LowerTopK(const NodeView& node, const Environment& environment) {
  switch (node.in(0).dtype) {
    case DType::kF32:
      return MakeStep<TopKStep<float>>(node, environment);
    case DType::kI32:
      return MakeStep<TopKStep<int32_t>>(node, environment);
    case DType::kI64:
      return MakeStep<TopKStep<int64_t>>(node, environment);
    default:
      return Refuse();
  }
}

}  // namespace skiff::xnnpack
