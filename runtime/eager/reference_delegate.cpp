// The delegate that accepts every operator: a loop over ReferenceNodes.
#include "core/platform.h"
#include "eager/reference_node.h"
#include "ops/build_ops.h"
#include "ops/op.h"

namespace skiff {
namespace {

class ReferenceSegment final : public PreparedSegment {
 public:
  explicit ReferenceSegment(const SegmentView& segment) : segment_(segment) {}

  Status Prepare() {
    SKIFF_RETURN_IF_ERROR(nodes_.Allocate(segment_.end - segment_.begin));
    for (uint32_t i = segment_.begin; i < segment_.end; ++i)
      SKIFF_RETURN_IF_ERROR(nodes_[i - segment_.begin].Prepare(segment_, i));
    return OkStatus();
  }

  Status Reshape() override {
    for (ReferenceNode& node : nodes_) SKIFF_RETURN_IF_ERROR(node.Reshape());
    return OkStatus();
  }

  Status Bind() override {
    for (ReferenceNode& node : nodes_) SKIFF_RETURN_IF_ERROR(node.Bind());
    return OkStatus();
  }

  Status Run(const RunContext& context) override {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
        return Status(StatusCode::kCancelled);
      const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
      SKIFF_RETURN_IF_ERROR(nodes_[i].RunNamed());
      if (context.timer != nullptr)
        context.timer->Record(segment_.begin + i, begin, platform::NowNanoseconds());
    }
    return OkStatus();
  }

  bool FellBack(uint32_t) const override { return false; }

  uint64_t workspace_bytes() const override {
    uint64_t bytes = nodes_.size() * sizeof(ReferenceNode);
    for (const ReferenceNode& node : nodes_) bytes += node.scratch_bytes();
    return bytes;
  }

 private:
  const SegmentView segment_;
  FixedArray<ReferenceNode> nodes_;
};

class ReferenceSession final : public DelegateSession {
 public:
  Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& segment) override {
    if constexpr (!kBuildHasKernels)
      return Fail(StatusCode::kUnsupported, "this build of Skiff has no reference kernels; %s", kRebuildHint);
    std::unique_ptr<ReferenceSegment> prepared(new (std::nothrow) ReferenceSegment(segment));
    if (!prepared) return Fail(StatusCode::kOutOfMemory, "cannot allocate a reference segment");
    SKIFF_RETURN_IF_ERROR(prepared->Prepare());
    return std::unique_ptr<PreparedSegment>(std::move(prepared));
  }
  void Idle() override {}
};

class ReferenceModelState final : public ModelState {
 public:
  Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions&) override {
    std::unique_ptr<DelegateSession> session(new (std::nothrow) ReferenceSession);
    if (!session) return Fail(StatusCode::kOutOfMemory, "cannot allocate a reference session");
    return session;
  }
  PackedBytes packed_bytes() const override { return {}; }
};

class ReferenceSupport final : public DelegateSupport {
 public:
  DelegateKind kind() const override { return DelegateKind::kReference; }
  const char* name() const override { return DelegateKindName(kind()); }
  bool Supports(const NodeTypes& node) const override { return node.op->kernel != nullptr; }
  /// It makes dense copies.
  bool TakesStridedInput(const NodeTypes&, size_t) const override { return true; }
  bool WritesStridedOutput(const NodeTypes&) const override { return true; }
};

constexpr ReferenceSupport kReferenceSupport;

class ReferenceDelegateImplementation final : public Delegate {
 public:
  const DelegateSupport& support() const override { return kReferenceSupport; }
  bool Has(const OpDef& op) const override { return op.kernel != nullptr; }
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions&) const override {
    std::unique_ptr<ModelState> state(new (std::nothrow) ReferenceModelState);
    if (!state) return Fail(StatusCode::kOutOfMemory, "cannot allocate the reference state");
    return state;
  }
};

constexpr ReferenceDelegateImplementation kReferenceDelegate;

}  // namespace

const Delegate& ReferenceDelegate() { return kReferenceDelegate; }

const char* DelegateKindName(DelegateKind kind) {
  constexpr const char* kNames[] = {"reference", "xnnpack", "vulkan", "control"};
  if (kind >= DelegateKind::kOfApplications) return "application";
  const auto index = static_cast<size_t>(kind);
  return index < sizeof(kNames) / sizeof(*kNames) ? kNames[index] : "unknown";
}

}  // namespace skiff
