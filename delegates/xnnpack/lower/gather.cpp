// Gather along one axis: each index copies a run.
#include <cstring>

#include "delegates/xnnpack/lower/lowerings.h"
#include "eager/kernels/indices.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

class GatherStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& indices = node_.in(1);
    if (!x.dense() || !indices.dense() || !node_.out(0).dense()) return Refuse();
    const int axis = NormalizeAxis(node_.As<AxisAttrs>().axis, x.shape.rank());
    if (axis < 0) return Refuse();
    extent_ = x.shape[axis];
    count_ = indices.shape.elements();
    outer_ = x.shape.ElementsBetween(0, axis);
    run_bytes_ = static_cast<size_t>(x.shape.ElementsBetween(axis + 1, x.shape.rank())) * ElementBytes(x);
    return OkStatus();
  }

  Status Bind(void*) override {
    from_ = node_.in(0).as<const char>();
    to_ = node_.out(0).as<char>();
    return OkStatus();
  }

  Status Run() override {
    SKIFF_RETURN_IF_ERROR(eager::CheckIndices(node_.op(), node_.in(1), &extent_, 1));
    const auto total = static_cast<size_t>(outer_ * count_);
    const size_t tile = environment_.pool == nullptr ? total : 1 + kBytesPerTask / (run_bytes_ + 1);
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t begin, size_t count) {
          static_cast<const GatherStep*>(self)->Copy(static_cast<int64_t>(begin),
                                                     static_cast<int64_t>(count));
        },
        this, total, tile, /*flags=*/0);
    return OkStatus();
  }

 private:
  static constexpr size_t kBytesPerTask = 64 * 1024;

  void Copy(int64_t begin, int64_t count) const {
    const auto bytes = static_cast<int64_t>(run_bytes_);
    for (int64_t i = begin; i < begin + count; ++i) {
      const int64_t index = eager::FromEnd(IntegerAt(node_.in(1), i % count_), extent_);
      std::memcpy(to_ + i * bytes, from_ + (i / count_ * extent_ + index) * bytes, run_bytes_);
    }
  }

  int64_t extent_ = 0;
  int64_t count_ = 0;  ///< Indices.
  int64_t outer_ = 0;
  size_t run_bytes_ = 0;
  const char* from_ = nullptr;
  char* to_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerGather(const NodeView& node, const Environment& environment) {
  return MakeStep<GatherStep>(node, environment);
}

}  // namespace skiff::xnnpack
