// TopK: the best elements of each line along an axis, best first.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "delegates/xnnpack/lower/lowerings.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// One line, and the indices of the best of its elements as a heap in the output, the worst on top
/// (J. W. J. Williams, Algorithm 232, 1964). In the order of the reference kernel: of equal elements the one
/// with the smaller index is better, and NaN is larger than every number.
template <class T>
struct Line {
  const T* x;
  int64_t stride;  ///< Elements from one index to the next, of the input and of both outputs.
  int64_t* heap;
  bool largest;

  static bool IsNan(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
    return false;
  }
  static bool Less(T a, T b) { return a < b || (IsNan(b) && !IsNan(a)); }
  bool Better(T a, T b) const { return largest ? Less(b, a) : Less(a, b); }
  T At(int64_t index) const { return x[index * stride]; }
  int64_t& Heap(int64_t i) const { return heap[i * stride]; }
  bool Worse(int64_t a, int64_t b) const { return Better(At(b), At(a)) || (!Better(At(a), At(b)) && b < a); }

  void Sink(int64_t hole, int64_t size) const {
    const int64_t index = Heap(hole);
    for (int64_t child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && Worse(Heap(child + 1), Heap(child))) ++child;
      if (!Worse(Heap(child), index)) break;
      Heap(hole) = Heap(child);
      hole = child;
    }
    Heap(hole) = index;
  }

  void Select(int64_t k, int64_t extent) const {
    for (int64_t i = 0; i < k; ++i) Heap(i) = i;
    for (int64_t i = k / 2 - 1; i >= 0; --i) Sink(i, k);
    T worst = At(Heap(0));
    for (int64_t i = k; i < extent; ++i) {
      if (!Better(At(i), worst)) continue;
      Heap(0) = i;
      Sink(0, k);
      worst = At(Heap(0));
    }
    for (int64_t size = k - 1; size > 0; --size) {
      std::swap(Heap(0), Heap(size));
      Sink(0, size);
    }
  }
};

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
    const Line<T> of{node_.in(0).template as<const T>() + outer * extent_ * inner_ + line % inner_, inner_,
                     node_.out(1).template as<int64_t>() + first, node_.As<TopKAttrs>().largest};
    of.Select(k_, extent_);
    T* const values = node_.out(0).template as<T>() + first;
    for (int64_t i = 0; i < k_; ++i) values[i * inner_] = of.At(of.Heap(i));
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
