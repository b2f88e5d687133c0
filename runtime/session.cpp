#include "skiff/session.h"

#include <atomic>
#include <cstring>

#include "core/platform.h"
#include "eager/reference_node.h"
#include "format/container.h"
#include "format/model_data.h"
#include "ops/op.h"

namespace skiff {
namespace {

int DefaultThreads() {
  const int cores = platform::UsableCores();
  return cores < 4 ? cores : 4;
}

constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 46;

/// An input's place: its arena tensor, or the caller's memory.
struct InputState {
  bool set = false;
  void* arena = nullptr;
};

/// Multiply-adds of one node, 0 for operators that are bound by memory.
uint64_t MultiplyAdds(const PlanNode& node, Span<const PlanTensor> tensors) {
  const Shape& out = tensors[static_cast<size_t>(node.outputs[0])].view.shape;
  const auto input = [&](size_t i) -> const Shape& {
    return tensors[static_cast<size_t>(node.inputs[i])].view.shape;
  };
  int64_t per_output = 0;
  switch (node.op->code) {
    case OpCode::kConv2d:
      per_output = input(1).ElementsBetween(1, 4);
      break;
    case OpCode::kConvTranspose2d:
      return static_cast<uint64_t>(input(0).elements() * input(1).elements() /
                                   (input(1)[3] > 0 ? input(1)[3] : 1) /
                                   node.attrs->as<ConvTranspose2dAttrs>().groups);
    case OpCode::kMatMul:
    case OpCode::kFullyConnected:
      per_output = input(0).last();
      break;
    default:
      break;
  }
  return static_cast<uint64_t>(out.elements() * per_output);
}

}  // namespace

struct Session::Internals final : NodeTimer {
  Model* model = nullptr;
  SessionOptions options;
  const SignatureData* signature = nullptr;
  const PlanData* plan = nullptr;
  FixedArray<PlanTensor> tensors;  ///< The plan's, with this Session's addresses.
  FixedArray<SegmentData> segments;
  unsigned char* arena = nullptr;
  uint64_t arena_bytes = 0;
  FixedArray<InputState> inputs;
  FixedArray<DelegateKind> node_delegates;
  std::unique_ptr<DelegateSession> sessions[kDelegateKindCount];
  FixedArray<std::unique_ptr<PreparedSegment>> prepared;
  std::atomic<bool> cancelled{false};
  bool rebind = true;
  uint64_t run_begin_ns = 0;
  struct Times {
    uint64_t begin_ns = 0;
    uint64_t duration_ns = 0;
  };
  FixedArray<Times> times;

  ~Internals() {
    prepared = {};
    for (auto& session : sessions) session.reset();
    platform::FreeAligned(arena);
  }

  void Record(uint32_t node, uint64_t begin_ns, uint64_t end_ns) override {
    times[node] = {begin_ns - run_begin_ns, end_ns - begin_ns};
  }

  Status ChoosePlan();
  Status ChooseSegments();
  Status PlaceTensors();
  Status PrepareSegments();
  Status CheckLimit(uint64_t bytes, const char* what) const;
  Status CheckType(int index, const TensorView& tensor) const;
  void MoveInput(int index, void* memory);
  uint64_t workspace_bytes() const;
};

Status Session::Internals::ChoosePlan() {
  for (const SignatureData& candidate : model->data().signatures) {
    if (options.signature == nullptr || std::strcmp(options.signature, candidate.name) == 0) {
      signature = &candidate;
      break;
    }
  }
  if (signature == nullptr) {
    return Fail(StatusCode::kInvalidArgument, "the model has no signature '%s'; its first is '%s'",
                options.signature, model->data().signatures[0].name);
  }
  for (const PlanData& candidate : signature->plans) {
    if (candidate.target == options.target) {
      plan = &candidate;
      return OkStatus();
    }
  }
  return Fail(StatusCode::kUnsupported,
              "the model has no plan for the target %s; make one with: skiff convert MODEL --target %s",
              TargetName(options.target), TargetName(options.target));
}

Status Session::Internals::ChooseSegments() {
  if (options.backend == Backend::kPlanned) {
    SKIFF_RETURN_IF_ERROR(segments.Allocate(plan->segments.size()));
    for (size_t i = 0; i < segments.size(); ++i) segments[i] = plan->segments[i];
  } else if (!plan->nodes.empty()) {
    SKIFF_RETURN_IF_ERROR(segments.Allocate(1));
    segments[0] = {DelegateKind::kReference, 0, static_cast<uint32_t>(plan->nodes.size())};
  }
  SKIFF_RETURN_IF_ERROR(node_delegates.Allocate(plan->nodes.size()));
  for (const SegmentData& segment : segments) {
    for (uint32_t i = segment.begin; i < segment.end; ++i) node_delegates[i] = segment.delegate;
  }
  return times.Allocate(plan->nodes.size());
}

Status Session::Internals::CheckLimit(uint64_t bytes, const char* what) const {
  if (options.memory_limit == 0 || bytes <= options.memory_limit) return OkStatus();
  return Fail(StatusCode::kOutOfMemory, "%s needs %llu bytes, the memory limit is %llu", what,
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(options.memory_limit));
}

/// Allocates the arena and gives every tensor its address.
Status Session::Internals::PlaceTensors() {
  SKIFF_RETURN_IF_ERROR(tensors.Allocate(plan->tensors.size()));
  FixedArray<uint64_t> offsets;
  SKIFF_RETURN_IF_ERROR(offsets.Allocate(tensors.size()));
  uint64_t separate = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = plan->tensors[i];
    if (tensors[i].constant || plan->placements[i].view_of != TensorPlacement::kRoot) continue;
    offsets[i] = options.keep_intermediates ? separate : plan->placements[i].offset;
    separate += format::AlignUp(static_cast<uint64_t>(tensors[i].view.bytes()));
    if (separate > kMaxArenaBytes)
      return Fail(StatusCode::kOutOfMemory, "keeping every intermediate tensor needs too much memory");
  }
  arena_bytes = options.keep_intermediates ? separate : plan->arena_bytes;
  SKIFF_RETURN_IF_ERROR(CheckLimit(arena_bytes, "the arena"));
  arena = static_cast<unsigned char*>(platform::AllocateAligned(arena_bytes + format::kReadableTail));
  if (arena == nullptr) {
    return Fail(StatusCode::kOutOfMemory, "cannot allocate an arena of %llu bytes",
                static_cast<unsigned long long>(arena_bytes));
  }
  std::memset(arena, 0, arena_bytes + format::kReadableTail);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].constant) continue;
    const TensorPlacement& placement = plan->placements[i];
    const bool root = placement.view_of == TensorPlacement::kRoot;
    tensors[i].view.data =
        arena + (root ? offsets[i] : offsets[static_cast<size_t>(placement.view_of)] + placement.offset);
  }
  SKIFF_RETURN_IF_ERROR(inputs.Allocate(plan->inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].arena = tensors[static_cast<size_t>(plan->inputs[i])].view.data;
  return OkStatus();
}

Status Session::Internals::PrepareSegments() {
  const DelegateSessionOptions delegate_options{options.threads, options.thread_pool};
  SKIFF_RETURN_IF_ERROR(prepared.Allocate(segments.size()));
  for (size_t i = 0; i < segments.size(); ++i) {
    std::unique_ptr<DelegateSession>& session = sessions[static_cast<size_t>(segments[i].delegate)];
    if (!session) {
      SKIFF_ASSIGN_OR_RETURN(ModelState * state, model->StateOf(segments[i].delegate));
      SKIFF_ASSIGN_OR_RETURN(session, state->CreateSession(delegate_options));
    }
    const SegmentView view{tensors, plan->nodes, segments[i].begin, segments[i].end};
    SKIFF_ASSIGN_OR_RETURN(prepared[i], session->Prepare(view));
    SKIFF_RETURN_IF_ERROR(prepared[i]->Reshape());
  }
  return CheckLimit(arena_bytes + workspace_bytes(), "the arena with the delegates' workspace");
}

uint64_t Session::Internals::workspace_bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : prepared) bytes += segment->workspace_bytes();
  return bytes;
}

Status Session::Internals::CheckType(int index, const TensorView& tensor) const {
  if (index < 0 || index >= static_cast<int>(signature->inputs.size())) {
    return Fail(StatusCode::kInvalidArgument, "there is no input %d; the signature has %zu", index,
                signature->inputs.size());
  }
  const PortInfo& port = signature->inputs[static_cast<size_t>(index)];
  if (tensor.dtype != port.dtype) {
    return Fail(StatusCode::kInvalidArgument, "input '%s' must be %s, got %s", port.name,
                DTypeName(port.dtype), DTypeName(tensor.dtype));
  }
  if (!(tensor.shape == port.shape)) {
    return Fail(
        tensor.shape.rank() == port.shape.rank() ? StatusCode::kNoMatchingBucket
                                                 : StatusCode::kInvalidArgument,
        "input '%s' must have the shape %s, got %s; a file for another shape comes from 'skiff convert'",
        port.name, ShapeText(port.shape).c_str(), ShapeText(tensor.shape).c_str());
  }
  if (tensor.data == nullptr && tensor.bytes() > 0)
    return Fail(StatusCode::kInvalidArgument, "input '%s' has no data", port.name);
  if (!tensor.dense()) return Fail(StatusCode::kInvalidArgument, "input '%s' must be dense", port.name);
  return OkStatus();
}

/// Lets an input, and every view of it, live at `memory`.
void Session::Internals::MoveInput(int index, void* memory) {
  const int32_t tensor = plan->inputs[static_cast<size_t>(index)];
  inputs[static_cast<size_t>(index)].set = true;
  if (tensors[static_cast<size_t>(tensor)].view.data == memory) return;
  tensors[static_cast<size_t>(tensor)].view.data = memory;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (plan->placements[i].view_of == tensor)
      tensors[i].view.data = static_cast<unsigned char*>(memory) + plan->placements[i].offset;
  }
  rebind = true;
}

Session::Session(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::Create(Model& model, const SessionOptions& options) {
  std::unique_ptr<Internals> made(new (std::nothrow) Internals);
  if (!made) return Fail(StatusCode::kOutOfMemory, "cannot allocate a session");
  made->model = &model;
  made->options = options;
  if (options.threads < 0)
    return Fail(StatusCode::kInvalidArgument, "%d threads are not possible", options.threads);
  if (options.threads == 0) made->options.threads = DefaultThreads();
  SKIFF_RETURN_IF_ERROR(made->ChoosePlan());
  SKIFF_RETURN_IF_ERROR(made->ChooseSegments());
  SKIFF_RETURN_IF_ERROR(made->PlaceTensors());
  SKIFF_RETURN_IF_ERROR(made->PrepareSegments());
  std::unique_ptr<Session> session(new (std::nothrow) Session(std::move(made)));
  if (!session) return Fail(StatusCode::kOutOfMemory, "cannot allocate a session");
  return session;
}

SignatureInfo Session::signature() const {
  return {internals_->signature->name, internals_->signature->inputs, internals_->signature->outputs};
}

namespace {

int FindPort(const FixedArray<PortInfo>& ports, const char* name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (std::strcmp(ports[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int Session::FindInput(const char* name) const { return FindPort(internals_->signature->inputs, name); }
int Session::FindOutput(const char* name) const { return FindPort(internals_->signature->outputs, name); }

Status Session::SetInput(int index, const TensorView& tensor) {
  SKIFF_RETURN_IF_ERROR(internals_->CheckType(index, tensor));
  SKIFF_ASSIGN_OR_RETURN(const TensorView buffer, InputBuffer(index));
  if (tensor.bytes() > 0) std::memcpy(buffer.data, tensor.data, static_cast<size_t>(tensor.bytes()));
  return OkStatus();
}

Status Session::SetInput(const char* name, const TensorView& tensor) {
  const int index = FindInput(name);
  if (index < 0) {
    return Fail(StatusCode::kInvalidArgument, "there is no input '%s'; the first of %zu is '%s'", name,
                internals_->signature->inputs.size(),
                internals_->signature->inputs.empty() ? "" : internals_->signature->inputs[0].name);
  }
  return SetInput(index, tensor);
}

Status Session::BindInput(int index, const TensorView& tensor) {
  SKIFF_RETURN_IF_ERROR(internals_->CheckType(index, tensor));
  if (reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(DTypeSize(tensor.dtype)) != 0) {
    return Fail(StatusCode::kInvalidArgument, "the memory bound to input %d is not aligned to %lld bytes",
                index, static_cast<long long>(DTypeSize(tensor.dtype)));
  }
  internals_->MoveInput(index, tensor.data);
  return OkStatus();
}

Result<TensorView> Session::InputBuffer(int index) {
  if (index < 0 || index >= static_cast<int>(internals_->inputs.size())) {
    return Fail(StatusCode::kInvalidArgument, "there is no input %d; the signature has %zu", index,
                internals_->inputs.size());
  }
  internals_->MoveInput(index, internals_->inputs[static_cast<size_t>(index)].arena);
  return internals_->tensors[static_cast<size_t>(internals_->plan->inputs[static_cast<size_t>(index)])].view;
}

Status Session::Run() {
  Internals& s = *internals_;
  s.cancelled.store(false, std::memory_order_relaxed);
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (!s.inputs[i].set)
      return Fail(StatusCode::kInvalidArgument, "input '%s' was never set", s.signature->inputs[i].name);
  }
  if (s.rebind) {
    for (const auto& segment : s.prepared) SKIFF_RETURN_IF_ERROR(segment->Bind());
    s.rebind = false;
  }
  if (s.options.profile) s.run_begin_ns = platform::NowNanoseconds();
  const RunContext context{s.options.profile ? &s : nullptr, &s.cancelled};
  Status status;
  for (const auto& segment : s.prepared) {
    status = segment->Run(context);
    if (!status.ok()) break;
  }
  for (const auto& session : s.sessions) {
    if (session) session->Idle();
  }
  return status;
}

void Session::Cancel() { internals_->cancelled.store(true, std::memory_order_relaxed); }

Result<TensorView> Session::Output(int index) const {
  if (index < 0 || index >= static_cast<int>(internals_->plan->outputs.size())) {
    return Fail(StatusCode::kInvalidArgument, "there is no output %d; the signature has %zu", index,
                internals_->plan->outputs.size());
  }
  return internals_->tensors[static_cast<size_t>(internals_->plan->outputs[static_cast<size_t>(index)])].view;
}

Result<TensorView> Session::Output(const char* name) const {
  const int index = FindOutput(name);
  if (index < 0) return Fail(StatusCode::kInvalidArgument, "there is no output '%s'", name);
  return Output(index);
}

Result<TensorView> Session::Tap(const char* name, Ints* source_perm) const {
  if (!internals_->options.keep_intermediates) {
    return Fail(StatusCode::kInvalidArgument, "tapping '%s' needs SessionOptions::keep_intermediates", name);
  }
  const PlanData& plan = *internals_->plan;
  // A tensor that holds the source's elements wins over one that only shares the name.
  for (const bool by_source : {true, false}) {
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
      const char* candidate = by_source ? plan.placements[i].source : plan.tensors[i].name;
      if (plan.tensors[i].constant || std::strcmp(candidate, name) != 0) continue;
      if (source_perm != nullptr) *source_perm = by_source ? plan.placements[i].source_perm : Ints();
      return internals_->tensors[i].view;
    }
  }
  return Fail(StatusCode::kInvalidArgument,
              "the plan has no tensor '%s': it was fused away, or the file was stripped", name);
}

MemoryUsage Session::memory_usage() const {
  return {internals_->arena_bytes, internals_->workspace_bytes(), internals_->model->packed_bytes(),
          internals_->model->weights_bytes()};
}

int Session::threads() const { return internals_->options.threads; }
int Session::node_count() const { return static_cast<int>(internals_->plan->nodes.size()); }

NodeInfo Session::node(int index) const {
  const auto i = static_cast<size_t>(index);
  const PlanNode& node = internals_->plan->nodes[i];
  NodeInfo info;
  info.name = node.name;
  info.op = node.op->name;
  info.delegate = internals_->node_delegates[i];
  for (size_t s = 0; s < internals_->segments.size(); ++s) {
    if (i >= internals_->segments[s].begin && i < internals_->segments[s].end) {
      info.fell_back = internals_->prepared[s]->FellBack(static_cast<uint32_t>(index));
    }
  }
  if (info.fell_back) info.delegate = DelegateKind::kReference;
  info.last_ns = internals_->times[i].duration_ns;
  info.last_begin_ns = internals_->times[i].begin_ns;
  info.multiply_adds = MultiplyAdds(node, internals_->tensors);
  for (const Span<const int32_t>& indices : {node.inputs, node.outputs}) {
    for (int32_t tensor : indices) {
      if (tensor >= 0)
        info.bytes += static_cast<uint64_t>(internals_->tensors[static_cast<size_t>(tensor)].view.bytes());
    }
  }
  return info;
}

}  // namespace skiff
