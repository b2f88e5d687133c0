#include "skiff/session.h"

#include <atomic>
#include <cstring>

#include "core/thread_count.h"
#include "session/input_contract.h"
#include "session/internals.h"

namespace skiff {
namespace {

int FindPort(Span<const PortInfo> ports, const char* name) {
  for (size_t i = 0; name != nullptr && i < ports.size(); ++i) {
    if (std::strcmp(ports[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

/// Two runs at once would write to the same memory: the second one is refused.
class OnlyRun {
 public:
  explicit OnlyRun(std::atomic<bool>& running)
      : running_(running), taken_(!running.exchange(true, std::memory_order_acquire)) {}
  ~OnlyRun() {
    if (taken_) running_.store(false, std::memory_order_release);
  }
  OnlyRun(const OnlyRun&) = delete;
  OnlyRun& operator=(const OnlyRun&) = delete;
  bool taken() const { return taken_; }

 private:
  std::atomic<bool>& running_;
  const bool taken_;
};

}  // namespace

Session::Session(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::Create(Model& model, const SessionOptions& options) {
  std::unique_ptr<Internals> made(new (std::nothrow) Internals);
  if (!made) return Fail(StatusCode::kOutOfMemory, "cannot allocate a session");
  made->model = &model;
  made->options = options;
  SKIFF_ASSIGN_OR_RETURN(made->options.threads, ThreadCount(options.threads));
  SKIFF_RETURN_IF_ERROR(made->ChooseSignature());
  if (const Status status = made->Start(); !status.ok()) {
    if (!made->MayFallBack(status)) return status;
    SessionOptions on_cpu = options;
    on_cpu.target = Target::kCpu;
    return Create(model, on_cpu);
  }
  model.TrySaveCache();  // Not at the Model's end alone: processes are killed.
  std::unique_ptr<Session> session(new (std::nothrow) Session(std::move(made)));
  if (!session) return Fail(StatusCode::kOutOfMemory, "cannot allocate a session");
  return session;
}

SignatureInfo Session::signature() const {
  return {internals_->signature->name, internals_->signature->caller_inputs(),
          internals_->signature->caller_outputs()};
}

int Session::FindInput(const char* name) const {
  return FindPort(internals_->signature->caller_inputs(), name);
}
int Session::FindOutput(const char* name) const {
  return FindPort(internals_->signature->caller_outputs(), name);
}

Status Session::SetInput(int index, const ConstTensorView& tensor) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckSettable(index));
  SKIFF_RETURN_IF_ERROR(CheckInput(s.model->data(), s.signature->inputs[static_cast<size_t>(index)], tensor));
  SKIFF_ASSIGN_OR_RETURN(const TensorView place, s.OwnPlace(index, tensor.shape));
  // Overlapping where the caller has a part of what InputBuffer() gave.
  if (tensor.bytes() > 0 && place.data != tensor.data)
    std::memmove(place.data, tensor.data, static_cast<size_t>(tensor.bytes()));
  return OkStatus();
}

Status Session::SetInput(const char* name, const ConstTensorView& tensor) {
  const int index = FindInput(name);
  if (index < 0) {
    return Fail(StatusCode::kInvalidArgument, "there is no input '%s'; the first of %zu is '%s'", name,
                internals_->signature->input_count,
                internals_->signature->input_count == 0 ? "" : internals_->signature->inputs[0].name);
  }
  return SetInput(index, tensor);
}

Status Session::BindInput(int index, const ConstTensorView& tensor) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckSettable(index));
  SKIFF_RETURN_IF_ERROR(CheckInput(s.model->data(), s.signature->inputs[static_cast<size_t>(index)], tensor));
  if (reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(DTypeSize(tensor.dtype)) != 0) {
    return Fail(StatusCode::kInvalidArgument, "the memory bound to input '%s' is not aligned to %lld bytes",
                s.signature->inputs[static_cast<size_t>(index)].name,
                static_cast<long long>(DTypeSize(tensor.dtype)));
  }
  // Places are of one type, that of the inputs' own memory; nodes never write to their inputs.
  s.SetPlace(index, const_cast<void*>(tensor.data), tensor.shape);
  return OkStatus();
}

Result<TensorView> Session::InputBuffer(int index) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckSettable(index));
  const PortInfo& port = s.signature->inputs[static_cast<size_t>(index)];
  for (int64_t extent : port.shape) {
    if (extent < 0) {
      return Fail(StatusCode::kInvalidArgument,
                  "input '%s' has open dimensions; say which shape its buffer is for", port.name);
    }
  }
  return s.OwnPlace(index, port.shape);
}

Result<TensorView> Session::InputBuffer(int index, const Shape& shape) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckSettable(index));
  const PortInfo& port = s.signature->inputs[static_cast<size_t>(index)];
  char anything = 0;
  SKIFF_RETURN_IF_ERROR(CheckInput(s.model->data(), port, TensorView(&anything, port.dtype, shape)));
  return s.OwnPlace(index, shape);
}

Status Session::Run() {
  Internals& s = *internals_;
  const OnlyRun only(s.running);
  if (!only.taken()) return s.Running();
  s.cancelled.store(false, std::memory_order_relaxed);
  s.outputs = Internals::Outputs::kLost;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (!s.inputs[i].set)
      return Fail(StatusCode::kInvalidArgument, "input '%s' was never set", s.signature->inputs[i].name);
    // The values in the session's own buffer, or the caller's, may be others than at the last run.
    if (!s.one_shape() && s.inputs[i].decides_shape) s.reshape = true;
  }
  s.ReadVariables();
  if (!s.one_shape() && s.reshape) SKIFF_RETURN_IF_ERROR(s.ChooseState());
  s.current->last_use = ++s.runs;
  if (s.current->bound_to != s.addresses) {
    SKIFF_RETURN_IF_ERROR(s.current->Bind(s.arena.data(), s.input_places));
    s.current->bound_to = s.addresses;
  }
  if (s.options.poison) s.Poison();
  if (s.options.profile) s.run_begin_ns = platform::NowNanoseconds();
  uint64_t loop_steps_left = s.options.loop_limit != 0 ? s.options.loop_limit : kDefaultLoopLimit;
  const RunContext context{s.options.profile ? &s : nullptr, &s.cancelled, &loop_steps_left};
  const Status status = s.current->Run(context);
  for (const auto& session : s.sessions) {
    if (session) session->Idle();
  }
  if (!status.ok()) return status;
  s.KeepVariables();
  s.outputs = Internals::Outputs::kThere;
  return status;
}

void Session::Cancel() { internals_->cancelled.store(true, std::memory_order_relaxed); }

Result<TensorView> Session::Output(int index) const {
  if (index < 0 || index >= static_cast<int>(internals_->signature->output_count)) {
    return Fail(StatusCode::kInvalidArgument, "there is no output %d; the signature has %zu", index,
                internals_->signature->output_count);
  }
  if (internals_->outputs != Internals::Outputs::kThere) {
    return Fail(StatusCode::kInvalidArgument, "there are no outputs: %s",
                internals_->outputs == Internals::Outputs::kNone ? "the session has not run yet"
                                                                 : "the last run failed");
  }
  ShapeState* state = internals_->current;
  return state->tensors()[static_cast<size_t>(state->plan().outputs[static_cast<size_t>(index)])].view;
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
  // What was bound may be gone: an input that was set since may have other memory, and so may what a failed
  // run was about to grow.
  if (internals_->outputs != Internals::Outputs::kThere ||
      internals_->current->bound_to != internals_->addresses)
    return Fail(StatusCode::kInvalidArgument, "there is nothing to tap before a run that succeeds");
  const PlanData& plan = internals_->current->plan();
  // A tensor that holds the source's elements wins over one that only shares the name.
  for (const bool by_source : {true, false}) {
    for (size_t i = 0; name != nullptr && i < plan.tensors.size(); ++i) {
      const char* candidate = by_source ? plan.placements[i].source : plan.tensors[i].name;
      if (plan.tensors[i].constant || std::strcmp(candidate, name) != 0) continue;
      if (source_perm != nullptr) *source_perm = by_source ? plan.placements[i].source_perm : Ints();
      return internals_->current->tensors()[i].view;
    }
  }
  return Fail(StatusCode::kInvalidArgument,
              "the plan has no tensor '%s': it was fused away, or the file was stripped", name);
}

Variables& Session::variables() { return *internals_->variables; }

MemoryUsage Session::memory_usage() const {
  const PackedBytes packed = internals_->model->packed_bytes();
  return {internals_->arena.size(),
          internals_->workspace_bytes(),
          packed.heap,
          internals_->model->weights_bytes(),
          internals_->variable_bytes(),
          internals_->input_bytes(),
          packed.mapped,
          internals_->model->widened_bytes()};
}

Target Session::target() const { return internals_->options.target; }

int Session::threads() const { return internals_->options.threads; }

int Session::node_count() const {
  return internals_->current == nullptr ? 0 : static_cast<int>(internals_->current->plan().nodes.size());
}

NodeInfo Session::node(int index) const {
  if (index < 0 || index >= node_count()) return {};
  const auto i = static_cast<uint32_t>(index);
  NodeInfo info = internals_->Named(internals_->current->prepared().Describe(i));
  info.last_ns = internals_->times[i].duration_ns;
  info.last_begin_ns = internals_->times[i].begin_ns;
  return info;
}

int Session::inner_node_count() const {
  return internals_->current == nullptr ? 0 : internals_->current->prepared().inner_node_count();
}

NodeInfo Session::inner_node(int index) const {
  NodeInfo info;
  const ShapeState* const state = internals_->current;
  if (index < 0 || state == nullptr || !state->prepared().FindInner(&index, &info)) return {};
  return internals_->Named(info);
}

}  // namespace skiff
