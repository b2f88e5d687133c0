// A Stage: the rest of a plan, made ready during the run, when the elements that decide its shapes are there.
#include "core/platform.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"
#include "session/control_segment.h"
#include "session/late_body.h"

namespace skiff {
namespace {

class StageSegment final : public BodySegment {
 public:
  StageSegment(ShapedPlan& shaped, uint32_t node)
      : shaped_(shaped), node_(shaped.plan().nodes[node]), index_(node) {}

  Status Prepare(const SessionOptions& options, DelegateSessions& sessions) {
    SKIFF_RETURN_IF_ERROR(rest_.Prepare(node_.bodies[0], options, sessions));
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (shaped_.plan().IsLate(node_.inputs[i])) rest_.SetVaries(i);
    }
    return OkStatus();
  }

  Status Reshape() override {
    rest_.SetStale();
    return OkStatus();
  }

  Status Bind() override {
    rest_.SetMoved();
    return OkStatus();
  }

  Status Run(const RunContext& context) override {
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) rest_.inputs()[i] = View(node_.inputs[i]);
    SKIFF_RETURN_IF_ERROR(rest_.Run(View(ScratchOf(node_)), context));
    for (size_t i = 0; i < BodyResults(node_).size(); ++i)
      SKIFF_RETURN_IF_ERROR(TakeLate(shaped_, node_, i, rest_.output(i)));
    if (context.timer != nullptr) context.timer->Record(index_, begin, platform::NowNanoseconds());
    return OkStatus();
  }

  bool FellBack(uint32_t) const override { return rest_.SomethingFellBack(); }
  uint64_t workspace_bytes() const override { return rest_.workspace_bytes(); }
  const PreparedPlan* body(size_t i) const override { return i == 0 ? rest_.prepared() : nullptr; }

 private:
  const TensorView& View(int32_t tensor) { return shaped_.tensors()[static_cast<size_t>(tensor)].view; }

  ShapedPlan& shaped_;
  const PlanNode& node_;
  const uint32_t index_;
  LateBody rest_;
};

}  // namespace

Status TakeLate(ShapedPlan& shaped, const PlanNode& node, size_t i, const TensorView& view) {
  const int32_t result = node.outputs[i];
  const TensorView& stated = shaped.plan().tensors[static_cast<size_t>(result)].view;
  bool same = view.dtype == stated.dtype && view.shape.rank() == stated.shape.rank();
  for (int axis = 0; same && axis < view.shape.rank(); ++axis)
    same = stated.shape[axis] < 0 || stated.shape[axis] == view.shape[axis];
  if (!same)
    return Fail(StatusCode::kInvalidArgument, "node '%s' (%s): result %zu is %s, the model says %s",
                node.name, node.op->name, i, ShapeText(view.shape).c_str(), ShapeText(stated.shape).c_str());
  shaped.SetLate(result, view);
  return OkStatus();
}

Result<std::unique_ptr<PreparedSegment>> PrepareStageSegment(ShapedPlan& shaped, uint32_t node,
                                                             const SessionOptions& options,
                                                             DelegateSessions& sessions) {
  std::unique_ptr<StageSegment> prepared(new (std::nothrow) StageSegment(shaped, node));
  if (!prepared) return Fail(StatusCode::kOutOfMemory, "cannot allocate a control segment");
  SKIFF_RETURN_IF_ERROR(prepared->Prepare(options, sessions));
  return std::unique_ptr<PreparedSegment>(std::move(prepared));
}

}  // namespace skiff
