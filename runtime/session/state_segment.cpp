#include "session/state_segment.h"

#include <cstring>

#include "core/error_capture.h"
#include "core/platform.h"
#include "eager/kernels/scatter_places.h"
#include "eager/reference_node.h"

namespace skiff {
namespace {

class ScatterIntoState final : public StateSegment {
 public:
  ScatterIntoState(ShapedPlan& shaped, uint32_t node, bool kept_apart)
      : shaped_(shaped), node_(shaped.plan().nodes[node]), index_(node), kept_apart_(kept_apart) {}

  Status Reshape() override {
    const TensorView& indices = View(node_.inputs[1]);
    places_ = eager::ScatterPlaces(node_.op->code, node_.attrs->as<ScatterAttrs>(),
                                   View(node_.outputs[0]).shape, indices.shape);
    const TensorView& updates = View(node_.inputs[2]);
    empty_ = updates.shape.elements() == 0 || View(node_.outputs[0]).shape.elements() == 0;
    const auto runs = empty_ ? 0 : static_cast<size_t>(places_.runs());
    if (runs_.size() < runs) SKIFF_RETURN_IF_ERROR(runs_.Allocate(runs));
    const size_t bytes = kept_apart_ || empty_ ? 0 : static_cast<size_t>(updates.bytes());
    return saved_.size() < bytes ? saved_.Allocate(bytes) : OkStatus();
  }

  Status Bind() override { return OkStatus(); }

  /// Nothing is written before all indices are known to be inside, and before what they name is saved.
  Status Run(const RunContext& context) override {
    if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
      return Status(StatusCode::kCancelled);
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    const TensorView& out = View(node_.outputs[0]);
    SKIFF_RETURN_IF_ERROR(OfNode(node_, CheckIndices()));
    if (!empty_) FindRuns();
    if (kept_apart_ && out.bytes() > 0)
      std::memcpy(out.data, View(node_.inputs[0]).data, static_cast<size_t>(out.bytes()));
    if (!empty_ && !kept_apart_)
      ForEachRun(
          [&](char* place, size_t at, size_t bytes) { std::memcpy(saved_.data() + at, place, bytes); });
    const char* const updates = View(node_.inputs[2]).as<const char>();
    if (!empty_)
      ForEachRun([&](char* place, size_t at, size_t bytes) { std::memcpy(place, updates + at, bytes); });
    if (context.timer != nullptr) context.timer->Record(index_, begin, platform::NowNanoseconds());
    return OkStatus();
  }

  void Restore() override {
    if (empty_ || kept_apart_) return;
    ForEachRun([&](char* place, size_t at, size_t bytes) { std::memcpy(place, saved_.data() + at, bytes); });
  }

  bool FellBack(uint32_t) const override { return false; }
  uint64_t workspace_bytes() const override { return saved_.size() + runs_.size() * sizeof(ElementRun); }

 private:
  /// Elements of the variable that lie side by side, as the updates for them do.
  struct ElementRun {
    int64_t offset;
    int64_t count;
  };

  const TensorView& View(int32_t tensor) { return shaped_.tensors()[static_cast<size_t>(tensor)].view; }

  Status CheckIndices() {
    const ErrorCapture quiet;
    return empty_ ? OkStatus() : places_.Check(View(node_.inputs[1]));
  }

  void FindRuns() {
    const TensorView& indices = View(node_.inputs[1]);
    used_ = 0;
    places_.ForEach(indices, [this](int64_t offset, int64_t, int64_t count) {
      if (used_ > 0 && runs_[used_ - 1].offset + runs_[used_ - 1].count == offset) {
        runs_[used_ - 1].count += count;
      } else {
        runs_[used_++] = {offset, count};
      }
    });
  }

  /// Calls visit(place in the output, offset in the updates, bytes).
  template <class Visit>
  void ForEachRun(const Visit& visit) {
    const TensorView& out = View(node_.outputs[0]);
    const auto size = static_cast<size_t>(DTypeSize(out.dtype));
    size_t at = 0;
    for (size_t i = 0; i < used_; ++i) {
      const size_t bytes = static_cast<size_t>(runs_[i].count) * size;
      visit(out.as<char>() + static_cast<size_t>(runs_[i].offset) * size, at, bytes);
      at += bytes;
    }
  }

  ShapedPlan& shaped_;
  const PlanNode& node_;
  const uint32_t index_;
  const bool kept_apart_;
  bool empty_ = false;
  eager::ScatterPlaces places_;
  FixedArray<ElementRun> runs_;  ///< Of the last run; the first `used_`.
  size_t used_ = 0;
  FixedArray<char> saved_;  ///< What the updates have overwritten, in their order.
};

}  // namespace

Result<std::unique_ptr<StateSegment>> PrepareStateSegment(ShapedPlan& shaped, uint32_t node,
                                                          bool kept_apart) {
  std::unique_ptr<StateSegment> made(new (std::nothrow) ScatterIntoState(shaped, node, kept_apart));
  if (!made) return Fail(StatusCode::kOutOfMemory, "cannot allocate what updates a variable");
  return made;
}

}  // namespace skiff
