// A While whose loop variables change their shapes: its bodies are made ready for each shape that comes up.
// The variables that do lie in buffers of their own, which grow with them; the others lie in the node's
// outputs, as those of a loop that keeps its shapes.
#include <cstring>

#include "core/platform.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"
#include "session/control_segment.h"
#include "session/late_body.h"

namespace skiff {
namespace {

constexpr size_t kCondition = 0;
constexpr size_t kBody = 1;

class GrowingLoop final : public BodySegment {
 public:
  GrowingLoop(ShapedPlan& shaped, uint32_t node)
      : shaped_(shaped), node_(shaped.plan().nodes[node]), index_(node) {}

  Status Prepare(const SessionOptions& options, DelegateSessions& sessions) {
    sessions_ = &sessions;
    for (size_t b = 0; b < 2; ++b) {
      SKIFF_RETURN_IF_ERROR(bodies_[b].Prepare(node_.bodies[b], options, sessions));
      for (size_t i = 0; i < LoopVariables(node_); ++i) {
        if (Grows(i)) bodies_[b].SetVaries(i);
      }
    }
    return buffers_.Allocate(LoopVariables(node_));
  }

  Status Reshape() override {
    for (LateBody& body : bodies_) body.SetStale();
    return OkStatus();
  }

  Status Bind() override {
    for (LateBody& body : bodies_) body.SetMoved();
    return OkStatus();
  }

  Status Run(const RunContext& context) override {
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (i < LoopVariables(node_)) {
        SKIFF_RETURN_IF_ERROR(Take(i, View(node_.inputs[i])));
      } else {
        for (LateBody& body : bodies_) body.inputs()[i] = View(node_.inputs[i]);
      }
    }
    while (true) {
      SKIFF_RETURN_IF_ERROR(bodies_[kCondition].Run(View(ScratchOf(node_)), context));
      const TensorView& condition = bodies_[kCondition].output(0);
      if (condition.dtype != DType::kBool || condition.shape.elements() != 1)
        return Fail(StatusCode::kInvalidArgument,
                    "node '%s' (%s): the condition is %s, it must be one element", node_.name, node_.op->name,
                    ShapeText(condition.shape).c_str());
      if (*condition.as<uint8_t>() == 0) break;
      SKIFF_RETURN_IF_ERROR(TakeLoopStep(node_, context));
      SKIFF_RETURN_IF_ERROR(bodies_[kBody].Run(View(ScratchOf(node_)), context));
      for (size_t i = 0; i < LoopVariables(node_); ++i)
        SKIFF_RETURN_IF_ERROR(Take(i, bodies_[kBody].output(i)));
    }
    for (size_t i = 0; i < LoopVariables(node_); ++i) {
      if (Grows(i)) SKIFF_RETURN_IF_ERROR(TakeLate(shaped_, node_, i, bodies_[kBody].inputs()[i]));
    }
    if (context.timer != nullptr) context.timer->Record(index_, begin, platform::NowNanoseconds());
    return OkStatus();
  }

  bool FellBack(uint32_t) const override {
    return bodies_[kCondition].SomethingFellBack() || bodies_[kBody].SomethingFellBack();
  }
  uint64_t workspace_bytes() const override {
    uint64_t bytes = bodies_[kCondition].workspace_bytes() + bodies_[kBody].workspace_bytes();
    for (const Buffer& buffer : buffers_) bytes += buffer.size();
    return bytes;
  }
  const PreparedPlan* body(size_t i) const override { return i < 2 ? bodies_[i].prepared() : nullptr; }

 private:
  const TensorView& View(int32_t tensor) { return shaped_.tensors()[static_cast<size_t>(tensor)].view; }
  bool Grows(size_t variable) const { return shaped_.plan().IsLate(node_.outputs[variable]); }

  /// `value` becomes that of the variable.
  Status Take(size_t variable, const TensorView& value) {
    TensorView place = View(node_.outputs[variable]);
    if (Grows(variable)) {
      SKIFF_RETURN_IF_ERROR(MakeRoom(variable, static_cast<uint64_t>(value.bytes())));
      place = TensorView(buffers_[variable].data(), value.dtype, value.shape, value.quantization);
    } else if (!(value.shape == place.shape)) {
      return Fail(StatusCode::kInvalidArgument,
                  "node '%s' (%s): loop variable %zu is %s in this run, %s was expected", node_.name,
                  node_.op->name, variable, ShapeText(value.shape).c_str(), ShapeText(place.shape).c_str());
    }
    if (value.bytes() > 0) std::memcpy(place.data, value.data, static_cast<size_t>(value.bytes()));
    for (LateBody& body : bodies_) body.inputs()[variable] = place;
    return OkStatus();
  }

  /// By halves: a variable that grows in each iteration moves seldom.
  Status MakeRoom(size_t variable, uint64_t bytes) {
    Buffer& buffer = buffers_[variable];
    if (buffer.data() != nullptr && bytes <= buffer.size()) return OkStatus();
    const uint64_t room =
        bytes > buffer.size() + buffer.size() / 2 ? bytes : buffer.size() + buffer.size() / 2;
    SKIFF_RETURN_IF_ERROR(sessions_->CheckGrowth(room, "a loop variable that grows"));
    return buffer.Grow(room, "a loop variable");
  }

  ShapedPlan& shaped_;
  const PlanNode& node_;
  const uint32_t index_;
  DelegateSessions* sessions_ = nullptr;
  LateBody bodies_[2];
  FixedArray<Buffer> buffers_;  ///< By variable; of those that change their shape.
};

}  // namespace

Result<std::unique_ptr<PreparedSegment>> PrepareGrowingLoop(ShapedPlan& shaped, uint32_t node,
                                                            const SessionOptions& options,
                                                            DelegateSessions& sessions) {
  std::unique_ptr<GrowingLoop> prepared(new (std::nothrow) GrowingLoop(shaped, node));
  if (!prepared) return Fail(StatusCode::kOutOfMemory, "cannot allocate a control segment");
  SKIFF_RETURN_IF_ERROR(prepared->Prepare(options, sessions));
  return std::unique_ptr<PreparedSegment>(std::move(prepared));
}

}  // namespace skiff
