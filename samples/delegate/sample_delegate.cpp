#include "sample_delegate.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "core/fixed_array.h"
#include "ops/op.h"
#include "ops/op_codes.h"

namespace sample {
namespace {

using namespace skiff;  // NOLINT: a delegate speaks Skiff's words

std::atomic<long> nodes_run{0};

bool IsF32(const PlanTensor* tensor) { return tensor != nullptr && tensor->view.dtype == DType::kF32; }

class Support final : public DelegateSupport {
 public:
  DelegateKind kind() const override { return kKind; }
  const char* name() const override { return "sample"; }

  /// Both operands have the output's shape. A size that is open while converting may repeat an operand in a
  /// call; the segment then refuses that call.
  bool Supports(const NodeTypes& node) const override {
    switch (node.op->code) {
      case OpCode::kClamp:
        return IsF32(node.inputs[0]);
      case OpCode::kAdd:
      case OpCode::kMul:
        return IsF32(node.inputs[0]) && IsF32(node.inputs[1]) &&
               node.inputs[0]->view.shape == node.outputs[0]->view.shape &&
               node.inputs[1]->view.shape == node.outputs[0]->view.shape;
      default:
        return false;
    }
  }
};

constexpr Support kSupport;

/// A node made ready. Attributes and shapes are looked at before the run, so that a run only computes.
struct Step {
  OpCode op = OpCode::kInvalid;
  float min = 0;
  float max = 0;
  int64_t elements = 0;
  const float* inputs[2] = {};
  float* output = nullptr;

  void Run() const {
    for (int64_t i = 0; i < elements; ++i) {
      const float a = inputs[0][i];
      const float result =
          op == OpCode::kClamp ? a : (op == OpCode::kAdd ? a + inputs[1][i] : a * inputs[1][i]);
      // A NaN stays one.
      output[i] = result < min ? min : (result > max ? max : result);
    }
  }
};

class Segment final : public PreparedSegment {
 public:
  explicit Segment(const SegmentView& view) : view_(view) {}

  Status Prepare() {
    SKIFF_RETURN_IF_ERROR(steps_.Allocate(view_.end - view_.begin));
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const PlanNode& node = NodeAt(i);
      const auto& clamp = node.attrs->as<ClampAttrs>();  // All three carry one.
      steps_[i] = {node.op->code, clamp.min, clamp.max, 0, {}, nullptr};
    }
    return OkStatus();
  }

  Status Reshape() override {
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const PlanNode& node = NodeAt(i);
      const Shape& shape = TensorAt(node.outputs[0]).shape;
      for (const int32_t input : node.inputs) {
        if (!(TensorAt(input).shape == shape))
          return Fail(StatusCode::kUnsupported, "node '%s': the sample delegate repeats no operand",
                      node.name);
      }
      steps_[i].elements = shape.elements();
    }
    return OkStatus();
  }

  Status Bind() override {
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const PlanNode& node = NodeAt(i);
      for (size_t input = 0; input < node.inputs.size(); ++input)
        steps_[i].inputs[input] = TensorAt(node.inputs[input]).as<const float>();
      steps_[i].output = TensorAt(node.outputs[0]).as<float>();
    }
    return OkStatus();
  }

  Status Run(const RunContext& context) override {
    for (const Step& step : steps_) {
      if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
        return Status(StatusCode::kCancelled);
      step.Run();
    }
    nodes_run += static_cast<long>(steps_.size());
    return OkStatus();
  }

  bool FellBack(uint32_t) const override { return false; }
  uint64_t workspace_bytes() const override { return steps_.size() * sizeof(Step); }

 private:
  const PlanNode& NodeAt(uint32_t i) const { return view_.nodes[view_.begin + i]; }
  const TensorView& TensorAt(int32_t tensor) const { return view_.tensors[static_cast<size_t>(tensor)].view; }

  const SegmentView view_;
  FixedArray<Step> steps_;
};

class DelegateSessionOfSample final : public DelegateSession {
 public:
  Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& view) override {
    std::unique_ptr<Segment> segment(new (std::nothrow) Segment(view));
    if (!segment) return Fail(StatusCode::kOutOfMemory, "cannot allocate a segment");
    SKIFF_RETURN_IF_ERROR(segment->Prepare());
    return std::unique_ptr<PreparedSegment>(std::move(segment));
  }
  void Idle() override {}
};

class State final : public ModelState {
 public:
  Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions&) override {
    std::unique_ptr<DelegateSession> session(new (std::nothrow) DelegateSessionOfSample);
    if (!session) return Fail(StatusCode::kOutOfMemory, "cannot allocate a session");
    return session;
  }
  PackedBytes packed_bytes() const override { return {}; }
};

class Implementation final : public Delegate {
 public:
  const DelegateSupport& support() const override { return kSupport; }
  bool Has(const OpDef& op) const override {
    return op.code == OpCode::kAdd || op.code == OpCode::kMul || op.code == OpCode::kClamp;
  }
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions&) const override {
    std::unique_ptr<ModelState> state(new (std::nothrow) State);
    if (!state) return Fail(StatusCode::kOutOfMemory, "cannot allocate the state");
    return state;
  }
};

constexpr Implementation kDelegate;

}  // namespace

const skiff::Delegate& SampleDelegate() { return kDelegate; }
long NodesRun() { return nodes_run; }

}  // namespace sample
