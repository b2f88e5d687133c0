#include "delegates/xnnpack/segment.h"

#include "core/align.h"
#include "core/error_capture.h"
#include "core/memory_account.h"
#include "core/platform.h"
#include "core/wide_constant.h"
#include "delegates/xnnpack/lower/follow.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/memory.h"
#include "delegates/xnnpack/support.h"
#include "delegates/xnnpack/weights/packing_scope.h"
#include "plan/work.h"

namespace skiff::xnnpack {
namespace {

/// How long one thread takes, from the rates of a middling core. Only the order of magnitude matters.
double Nanoseconds(const Work& work) {
#if defined(__x86_64__)
  constexpr double kMultiplyAdds = 20;  // Per nanosecond.
  constexpr double kBytes = 8;
#else
  constexpr double kMultiplyAdds = 5;
  constexpr double kBytes = 3;
#endif
  return static_cast<double>(work.multiply_adds) / kMultiplyAdds + static_cast<double>(work.bytes) / kBytes;
}

/// To wake a pool takes tens of microseconds; once it is awake, to share a node takes a few.
constexpr double kWorthWaking = 200e3;
constexpr double kWorthSharing = 10e3;

bool IsEmpty(const PlanTensor& tensor) { return tensor.view.shape.elements() == 0; }

}  // namespace

Segment::Segment(const SegmentView& segment, const Environment& environment,
                 const DelegateSessionOptions& options)
    : segment_(segment), environment_(environment), options_(options) {}

Segment::~Segment() { platform::FreeAligned(workspace_); }

Status Segment::Prepare() {
  SKIFF_RETURN_IF_ERROR(nodes_.Allocate(segment_.end - segment_.begin));
  for (uint32_t i = segment_.begin; i < segment_.end; ++i) {
    const PlanNode& node = segment_.nodes[i];
    nodes_[i - segment_.begin].environment = environment_;
    SKIFF_RETURN_IF_ERROR(Describe(node, nodes_[i - segment_.begin]));
    nodes_[i - segment_.begin].lower = FindLowering(nodes_[i - segment_.begin].types);
  }
  if (kHasRowCodes) SKIFF_RETURN_IF_ERROR(FindCodes());
  return kHasOwnKernels ? FindPassing() : OkStatus();
}

Status Segment::Describe(const PlanNode& plan_node, Node& node) {
  const size_t inputs = plan_node.inputs.size();
  SKIFF_RETURN_IF_ERROR(node.tensors.Allocate(inputs + plan_node.outputs.size()));
  for (size_t i = 0; i < node.tensors.size(); ++i) {
    const int32_t tensor = i < inputs ? plan_node.inputs[i] : plan_node.outputs[i - inputs];
    node.tensors[i] = tensor < 0 ? nullptr : &segment_.tensors[static_cast<size_t>(tensor)];
  }
  node.types = {plan_node.op,
                plan_node.attrs,
                {node.tensors.data(), inputs},
                {node.tensors.data() + inputs, plan_node.outputs.size()}};
  const size_t packed = PackedInput(node.types);
  for (size_t i = 0; i < inputs; ++i) {
    WideConstant* const wide = node.tensors[i] == nullptr ? nullptr : node.tensors[i]->wide;
    if (wide == nullptr) continue;
    if (i == packed && packed > 0) {
      node.packed = wide;
    } else {
      wide->Pin();
    }
  }
  return OkStatus();
}

/// Makes the node's step at the first shape that the predicate accepts. kUnsupported: not at this one.
Status Segment::Lower(uint32_t index) {
  Node& node = nodes_[index];
  if (node.lower == nullptr || !XnnpackSupport().Supports(node.types)) return Refuse();
  if (node.step != nullptr) return OkStatus();
  Result<StepPointer> step =
      node.lower(NodeView(segment_, segment_.nodes[segment_.begin + index]), node.environment);
  if (!step.ok()) return step.status();
  node.step = std::move(*step);
  return OkStatus();
}

/// XNNPACK's operators do not agree with each other on extents of zero, so none gets to see one.
Segment::Mode Segment::ModeFor(const PlanNode& node) const {
  bool nothing = true;
  for (const int32_t output : node.outputs) {
    if (output >= 0) nothing = nothing && IsEmpty(segment_.tensors[static_cast<size_t>(output)]);
  }
  if (nothing) return Mode::kNothing;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0 || node.op->NeedsValues(i)) continue;
    if (IsEmpty(segment_.tensors[static_cast<size_t>(node.inputs[i])])) return Mode::kReference;
  }
  return Mode::kStep;
}

Status Segment::UseReference(uint32_t index) {
  Node& node = nodes_[index];
  node.mode = Mode::kReference;
  if (node.packed != nullptr) node.packed->Pin();
  if (!node.reference_prepared) {
    SKIFF_RETURN_IF_ERROR(node.reference.Prepare(segment_, segment_.begin + index));
    node.reference_prepared = true;
  }
  return node.reference.Reshape();
}

/// Which nodes share their work among the threads: none where all that could be shared is over before the
/// threads are awake.
void Segment::ChooseThreads() {
  if (environment_.pool == nullptr || options_.thread_small_work) return;
  double shared = 0;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const double alone = Nanoseconds(WorkOf(segment_.nodes[segment_.begin + i], segment_.tensors));
    nodes_[i].environment.pool = alone >= kWorthSharing ? environment_.pool : nullptr;
    shared += alone >= kWorthSharing ? alone : 0;
  }
  if (shared >= kWorthWaking) return;
  for (Node& node : nodes_) node.environment.pool = nullptr;
}

Status Segment::PrepareStep(uint32_t index) {
  SKIFF_RETURN_IF_ERROR(Lower(index));
  const Node& node = nodes_[index];
  const PackingScope scope(node.step->packs_stored() ? nullptr : node.packed);
  return node.step->Reshape();
}

Status Segment::ReshapeNode(uint32_t index, const AllocationLimit& limit) {
  Node& node = nodes_[index];
  node.mode = ModeFor(segment_.nodes[segment_.begin + index]);
  if (node.mode == Mode::kNothing) return OkStatus();
  if (node.mode == Mode::kReference) return UseReference(index);
  Status status = PrepareStep(index);
  const bool reached = limit.reached();
  if (status.ok() && reached) status = Status(StatusCode::kOutOfMemory);
  if (status.ok()) return status;
  if (status.code() == StatusCode::kUnsupported) return UseReference(index);
  // What XNNPACK leaves behind when memory runs out half way is not worth finding out: the next time begins
  // anew.
  node.step.reset();
  const PlanNode& plan_node = segment_.nodes[segment_.begin + index];
  if (reached) {
    return Fail(status.code(),
                "node '%s' (%s): XNNPACK needs more for it than the memory limit of %llu bytes leaves "
                "(SessionOptions::memory_limit)",
                plan_node.name, plan_node.op->name, static_cast<unsigned long long>(options_.memory_limit));
  }
  return Fail(status.code(), "node '%s' (%s): XNNPACK could not prepare it: %s", plan_node.name,
              plan_node.op->name, StatusCodeName(status.code()));
}

Status Segment::ReshapeNodes(const AllocationLimit& limit, size_t* workspace) {
  for (uint32_t i = 0; i < nodes_.size(); ++i) SKIFF_RETURN_IF_ERROR(ReshapeNode(i, limit));
  if (kHasRowCodes) SKIFF_RETURN_IF_ERROR(LinkCodes());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].mode == Mode::kStep && nodes_[i].step->workspace_bytes() > *workspace)
      *workspace = nodes_[i].step->workspace_bytes();
  }
  if (kHasAttention) SKIFF_RETURN_IF_ERROR(FindAttentions(workspace));
  return kHasOwnKernels ? FindStrips(workspace) : OkStatus();
}

Status Segment::Reshape() {
  reshaped_ = bound_ = false;
  ChooseThreads();
  const int64_t before = MemoryOfThisThread();
  size_t workspace = 0;
  const uint64_t held = step_bytes_ > 0 ? static_cast<uint64_t>(step_bytes_) : 0;
  const AllocationLimit limit(options_.memory_limit > held ? options_.memory_limit - held : 0);
  const Status status = ReshapeNodes(limit, &workspace);
  step_bytes_ += MemoryOfThisThread() - before;
  SKIFF_RETURN_IF_ERROR(status);
  if (workspace > options_.memory_limit) {
    return Fail(
        StatusCode::kOutOfMemory,
        "XNNPACK needs a workspace of %zu bytes, the memory limit is %llu (SessionOptions::memory_limit)",
        workspace, static_cast<unsigned long long>(options_.memory_limit));
  }
  SKIFF_RETURN_IF_ERROR(GrowWorkspace(workspace));
  scratch_bytes_ = 0;
  for (const Node& node : nodes_) scratch_bytes_ += node.reference.scratch_bytes();
  reshaped_ = true;
  return OkStatus();
}

Status Segment::GrowWorkspace(size_t bytes) {
  if (bytes <= workspace_size_) return OkStatus();
  platform::FreeAligned(workspace_);
  workspace_size_ = 0;
  workspace_ = platform::AllocateAligned(bytes + kReadableTail);  // Products read what is in it.
  if (workspace_ == nullptr)
    return Fail(StatusCode::kOutOfMemory, "cannot allocate a workspace of %zu bytes for XNNPACK", bytes);
  workspace_size_ = bytes;
  return OkStatus();
}

Status Segment::BindNode(uint32_t index) {
  Node& node = nodes_[index];
  if (node.mode == Mode::kNothing) return OkStatus();
  if (node.mode == Mode::kReference) return node.reference.Bind();
  const Status status = node.step->Bind(workspace_);
  if (status.ok()) return status;
  const PlanNode& plan_node = segment_.nodes[segment_.begin + index];
  return Fail(StatusCode::kInternal, "node '%s' (%s): XNNPACK takes the extents, not the addresses",
              plan_node.name, plan_node.op->name);
}

/// Elementwise nodes directly behind a product compute its rows while they are in the cache.
void Segment::FindFollowers() {
  for (Node& node : nodes_) {
    node.follows = false;
    if (node.step != nullptr) node.step->SetFollower(nullptr);
  }
  constexpr size_t kLongest = 4;
  for (uint32_t head = 0, end = 0; head < nodes_.size(); head = end) {
    end = head + 1;
    if (nodes_[head].mode != Mode::kStep || !nodes_[head].step->leads()) continue;
    NodeTypes chain[kLongest] = {nodes_[head].types};
    for (size_t links = 1; links < kLongest && end < nodes_.size(); ++links, ++end) {
      Node& next = nodes_[end];
      if (next.mode != Mode::kStep || !next.step->works_by_rows() || !MayFollow({chain, links}, next.types))
        break;
      nodes_[end - 1].step->SetFollower(next.step.get());
      next.follows = true;
      chain[links] = next.types;
    }
  }
}

Status Segment::Bind() {
  bound_ = false;
  if (!reshaped_) return Fail(StatusCode::kInternal, "bound before it had a shape");
  for (uint32_t i = 0; i < nodes_.size(); ++i) SKIFF_RETURN_IF_ERROR(BindNode(i));
  if (kHasOwnKernels) {
    FindFollowers();
    for (Node& node : nodes_) node.group = nullptr;
    BindStrips();
    if (kHasAttention) BindAttentions();
  }
  bound_ = true;
  return OkStatus();
}

Status Segment::Run(const RunContext& context) {
  if (!bound_) return Fail(StatusCode::kInternal, "run before it was bound");
  uint32_t at = 0;
  const Status status = RunNodes(context, at);
  return status.ok() ? status : OfNode(segment_.nodes[segment_.begin + at], status);
}

Status Segment::RunNodes(const RunContext& context, uint32_t& i) {
  const ErrorCapture quiet;
  for (; i < nodes_.size(); ++i) {
    if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
      return Status(StatusCode::kCancelled);
    Node& node = nodes_[i];
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    if (kHasOwnKernels && node.group != nullptr) {
      node.group->Run();
    } else if (node.mode == Mode::kStep) {
      if (!node.follows) SKIFF_RETURN_IF_ERROR(node.step->Run());
    } else if (node.mode == Mode::kReference) {
      SKIFF_RETURN_IF_ERROR(node.reference.Run());
    }
    if (context.timer != nullptr)
      context.timer->Record(segment_.begin + i, begin, node.follows ? begin : platform::NowNanoseconds());
  }
  return OkStatus();
}

bool Segment::FellBack(uint32_t node) const {
  return node >= segment_.begin && node < segment_.end &&
         nodes_[node - segment_.begin].mode == Mode::kReference;
}

uint64_t Segment::workspace_bytes() const {
  uint64_t bytes = workspace_size_ + scratch_bytes_ + nodes_.size() * sizeof(Node);
  if (kHasOwnKernels && strips_ != nullptr) bytes += strips_->size() * sizeof(PlacedStrip);
  if (step_bytes_ > 0) bytes += static_cast<uint64_t>(step_bytes_);
  return bytes;
}

}  // namespace skiff::xnnpack
