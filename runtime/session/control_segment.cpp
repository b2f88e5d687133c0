#include "session/control_segment.h"

#include <cstring>

#include "core/platform.h"
#include "ops/build_ops.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"

namespace skiff {
namespace {

void Copy(const TensorView& from, const TensorView& to) {
  if (from.bytes() > 0) std::memcpy(to.data, from.data, static_cast<size_t>(from.bytes()));
}

class ControlSegment final : public BodySegment {
 public:
  ControlSegment(ShapedPlan& shaped, uint32_t node)
      : shaped_(shaped), node_(shaped.plan().nodes[node]), index_(node), bodies_(shaped.BodiesOf(node)) {}

  Status Prepare(const SessionOptions& options, DelegateSessions& sessions) {
    for (size_t b = 0; b < kMaxBodies; ++b)
      SKIFF_RETURN_IF_ERROR(prepared_[b].Adopt(bodies_[b], options, sessions));
    return places_.Allocate(node_.inputs.size() - FirstBodyInput(node_.op->code));
  }

  Status Reshape() override {
    for (PreparedPlan& body : prepared_) SKIFF_RETURN_IF_ERROR(body.Reshape());
    return OkStatus();
  }

  Status Bind() override {
    const size_t variables = LoopVariables(node_);
    const size_t first = FirstBodyInput(node_.op->code);
    for (size_t i = 0; i < places_.size(); ++i)
      places_[i] = View(i < variables ? node_.outputs[i] : node_.inputs[i + first]).data;
    for (size_t b = 0; b < kMaxBodies; ++b) {
      bodies_[b].Locate(View(ScratchOf(node_)).as<unsigned char>(), places_);
      SKIFF_RETURN_IF_ERROR(prepared_[b].Bind());
    }
    return OkStatus();
  }

  Status Run(const RunContext& context) override {
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    const RunContext inner{nullptr, context.cancelled, context.loop_steps_left};
    SKIFF_RETURN_IF_ERROR(node_.op->code == OpCode::kIf ? RunIf(inner) : RunWhile(inner));
    if (context.timer != nullptr) context.timer->Record(index_, begin, platform::NowNanoseconds());
    return OkStatus();
  }

  bool FellBack(uint32_t) const override {
    for (const PreparedPlan& body : prepared_) {
      if (body.SomethingFellBack()) return true;
    }
    return false;
  }

  uint64_t workspace_bytes() const override {
    uint64_t bytes = 0;
    for (const PreparedPlan& body : prepared_) bytes += body.workspace_bytes();
    return bytes;
  }

  const PreparedPlan* body(size_t i) const override { return i < kMaxBodies ? &prepared_[i] : nullptr; }

 private:
  const TensorView& View(int32_t tensor) { return shaped_.tensors()[static_cast<size_t>(tensor)].view; }
  const TensorView& Output(size_t body, size_t i) {
    return bodies_[body].tensors()[static_cast<size_t>(bodies_[body].plan().outputs[i])].view;
  }

  Status RunBody(size_t body, const RunContext& context) {
    if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
      return Status(StatusCode::kCancelled);
    return prepared_[body].Run(context);
  }

  /// What a Stage in the body has made may be of another shape than was expected.
  Status TakeResults(size_t body) {
    const Span<const int32_t> results = BodyResults(node_);
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorView& from = Output(body, i);
      if (shaped_.plan().IsLate(results[i])) {
        SKIFF_RETURN_IF_ERROR(TakeLate(shaped_, node_, i, from));
        continue;
      }
      const TensorView& to = View(results[i]);
      if (BuildHas(OpCode::kStage) && !(from.shape == to.shape))
        return Fail(StatusCode::kInvalidArgument,
                    "node '%s' (%s): output %zu is %s in this run, %s was expected", node_.name,
                    node_.op->name, i, ShapeText(from.shape).c_str(), ShapeText(to.shape).c_str());
      Copy(from, to);
    }
    return OkStatus();
  }

  Status RunIf(const RunContext& context) {
    const size_t chosen = *View(node_.inputs[0]).as<const uint8_t>() != 0 ? 0 : 1;
    SKIFF_RETURN_IF_ERROR(RunBody(chosen, context));
    return TakeResults(chosen);
  }

  Status RunWhile(const RunContext& context) {
    for (size_t i = 0; i < LoopVariables(node_); ++i) Copy(View(node_.inputs[i]), View(node_.outputs[i]));
    while (true) {
      SKIFF_RETURN_IF_ERROR(RunBody(0, context));
      if (*Output(0, 0).as<const uint8_t>() == 0) return OkStatus();
      SKIFF_RETURN_IF_ERROR(TakeLoopStep(node_, context));
      SKIFF_RETURN_IF_ERROR(RunBody(1, context));
      SKIFF_RETURN_IF_ERROR(TakeResults(1));
    }
  }

  ShapedPlan& shaped_;
  const PlanNode& node_;
  const uint32_t index_;
  const Span<ShapedPlan> bodies_;
  PreparedPlan prepared_[kMaxBodies];
  FixedArray<void*> places_;  ///< Of the bodies' inputs.
};

}  // namespace

Status TakeLoopStep(const PlanNode& node, const RunContext& context) {
  if (context.loop_steps_left == nullptr || *context.loop_steps_left > 0) {
    if (context.loop_steps_left != nullptr) --*context.loop_steps_left;
    return OkStatus();
  }
  return Fail(StatusCode::kUnsupported,
              "node '%s': the loops of this run go on after as many steps as SessionOptions::loop_limit "
              "allows; is it endless?",
              node.name);
}

Result<std::unique_ptr<PreparedSegment>> PrepareControlSegment(ShapedPlan& shaped, uint32_t node,
                                                               const SessionOptions& options,
                                                               DelegateSessions& sessions) {
  if (IsShapedInRun(shaped.plan(), shaped.plan().nodes[node])) {
    const bool stage = shaped.plan().nodes[node].op->code == OpCode::kStage;
    return (stage ? PrepareStageSegment : PrepareGrowingLoop)(shaped, node, options, sessions);
  }
  std::unique_ptr<ControlSegment> prepared(new (std::nothrow) ControlSegment(shaped, node));
  if (!prepared) return Fail(StatusCode::kOutOfMemory, "cannot allocate a control segment");
  SKIFF_RETURN_IF_ERROR(prepared->Prepare(options, sessions));
  return std::unique_ptr<PreparedSegment>(std::move(prepared));
}

}  // namespace skiff
