#include "skiff/session.h"

#include <atomic>
#include <cstring>

#include "core/platform.h"
#include "format/container.h"
#include "format/model_data.h"
#include "input_contract.h"
#include "operator_check.h"
#include "plan/work.h"
#include "shape_state.h"

namespace skiff {
namespace {

int DefaultThreads() {
  const int cores = platform::UsableCores();
  return cores < 4 ? cores : 4;
}

/// Aligned memory with readable bytes behind it, as XNNPACK wants them. Grows; the content is then lost.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { platform::FreeAligned(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Status Grow(uint64_t bytes, const char* what) {
    if (data_ != nullptr && bytes <= size_) return OkStatus();
    platform::FreeAligned(data_);
    size_ = 0;
    data_ = static_cast<unsigned char*>(platform::AllocateAligned(bytes + format::kReadableTail));
    if (data_ == nullptr) {
      return Fail(StatusCode::kOutOfMemory, "cannot allocate %s of %llu bytes", what,
                  static_cast<unsigned long long>(bytes));
    }
    std::memset(data_, 0, bytes + format::kReadableTail);
    size_ = bytes;
    return OkStatus();
  }
  unsigned char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  uint64_t size_ = 0;
};

struct InputSlot {
  bool set = false;
  bool borrowed = false;       ///< Lives in the caller's memory.
  bool decides_shape = false;  ///< By its elements, in some plan.
  Shape shape;
  Buffer buffer;  ///< Unused where the input lies in the arena.
};

}  // namespace

struct Session::Internals final : NodeTimer, DelegateSessions {
  Model* model = nullptr;
  SessionOptions options;
  const SignatureData* signature = nullptr;
  bool one_shape = false;  ///< One exact plan: ready at creation, with its inputs in the arena.
  FixedArray<InputSlot> inputs;
  FixedArray<void*> input_places;      ///< Null: in the arena.
  FixedArray<TensorView> input_views;  ///< Of the values that are set.
  FixedArray<int64_t> sizes;           ///< Of the model's Symbols, in the last call.
  std::unique_ptr<Variables> own_variables;
  Variables* variables = nullptr;
  Buffer arena;
  std::unique_ptr<DelegateSession> sessions[kDelegateKindCount];
  FixedArray<ShapeState> states;
  ShapeState* current = nullptr;
  bool reshape = true;     ///< A shape, or a shape input's value, may have changed since the last run.
  uint64_t addresses = 1;  ///< Counts changes of the arena's and the inputs' addresses.
  uint64_t runs = 0;
  std::atomic<bool> cancelled{false};
  uint64_t run_begin_ns = 0;
  struct Times {
    uint64_t begin_ns = 0;
    uint64_t duration_ns = 0;
  };
  FixedArray<Times> times;

  void Record(uint32_t node, uint64_t begin_ns, uint64_t end_ns) override {
    times[node] = {begin_ns - run_begin_ns, end_ns - begin_ns};
  }
  Result<DelegateSession*> Get(DelegateKind kind) override;

  Status ChooseSignature();
  Status CheckPlans(Target target) const;
  Status TakeVariables();
  void KeepVariables();
  Status Start();
  Status Allocate();
  Status AllocateStates();
  bool MayFallBack(Status status) const;
  Status PrepareOneShape();
  Status ChooseState();
  Status PrepareState();
  Status GrowArena(uint64_t bytes);
  void Poison();
  Status CheckLimit(uint64_t bytes, const char* what) const;
  Status CheckIndex(int index) const;
  void SetPlace(int index, void* place, const Shape& shape);
  Result<TensorView> OwnPlace(int index, const Shape& shape);
  uint64_t workspace_bytes() const;
  uint64_t input_bytes() const;
};

Status Session::Internals::ChooseSignature() {
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
  size_t plans = 0;
  for (const PlanData& plan : signature->plans) {
    if (plan.target != options.target) continue;
    one_shape = ++plans == 1 && !plan.inputs_outside;
  }
  if (plans > 0) return OkStatus();
  return Fail(StatusCode::kUnsupported,
              "the model has no plan for the target %s; make one with: skiff convert MODEL --target %s",
              TargetName(options.target), TargetName(options.target));
}

/// Inputs that are variables lie where these are.
Status Session::Internals::TakeVariables() {
  variables = options.variables;
  if (variables == nullptr) {
    SKIFF_ASSIGN_OR_RETURN(own_variables, Variables::Create(*model));
    variables = own_variables.get();
  }
  if (&variables->model() != model)
    return Fail(StatusCode::kInvalidArgument, "SessionOptions::variables are those of another Model");
  for (size_t i = signature->input_count; i < inputs.size(); ++i) {
    const PortInfo& port = signature->inputs[i];
    SetPlace(static_cast<int>(i), variables->data(port.variable), port.shape);
    inputs[i].borrowed = true;
  }
  return OkStatus();
}

/// After a run that went well: a failed one leaves the state as it was.
void Session::Internals::KeepVariables() {
  for (size_t i = signature->output_count; i < signature->outputs.size(); ++i) {
    const TensorView& view = current->tensors()[static_cast<size_t>(current->plan().outputs[i])].view;
    if (view.bytes() > 0)
      std::memcpy(variables->data(signature->outputs[i].variable), view.data,
                  static_cast<size_t>(view.bytes()));
  }
}

Status Session::Internals::CheckLimit(uint64_t bytes, const char* what) const {
  if (options.memory_limit == 0 || bytes <= options.memory_limit) return OkStatus();
  return Fail(StatusCode::kOutOfMemory, "%s needs %llu bytes, the memory limit is %llu", what,
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(options.memory_limit));
}

Status Session::Internals::Allocate() {
  const size_t count = signature->inputs.size();
  SKIFF_RETURN_IF_ERROR(inputs.Allocate(count));
  for (const PlanData& plan : signature->plans) {
    for (size_t i = 0; i < count; ++i) inputs[i].decides_shape |= plan.shape_inputs[i];
  }
  SKIFF_RETURN_IF_ERROR(input_places.Allocate(count));
  SKIFF_RETURN_IF_ERROR(input_views.Allocate(count));
  SKIFF_RETURN_IF_ERROR(sizes.Allocate(model->data().symbols.size()));
  return AllocateStates();
}

Status Session::Internals::AllocateStates() {
  const int kept = options.kept_shapes > 1 ? options.kept_shapes : 1;
  SKIFF_RETURN_IF_ERROR(states.Allocate(one_shape ? 1 : static_cast<size_t>(kept)));
  size_t nodes = 0;
  uint64_t largest = 0;
  for (const PlanData& plan : signature->plans) {
    if (plan.target != options.target) continue;
    nodes = plan.nodes.size() > nodes ? plan.nodes.size() : nodes;
    largest = plan.arena_bytes > largest ? plan.arena_bytes : largest;
  }
  SKIFF_RETURN_IF_ERROR(times.Allocate(nodes));
  return options.keep_intermediates ? OkStatus() : GrowArena(largest);
}

Status Session::Internals::GrowArena(uint64_t bytes) {
  if (arena.data() != nullptr && bytes <= arena.size()) return OkStatus();
  SKIFF_RETURN_IF_ERROR(CheckLimit(bytes, "the arena"));
  ++addresses;
  return arena.Grow(bytes, "an arena");
}

/// Where inputs lie in the arena, they stay.
void Session::Internals::Poison() {
  if (one_shape) return current->Poison();
  std::memset(arena.data(), 0xFF, arena.size() + format::kReadableTail);
}

Result<DelegateSession*> Session::Internals::Get(DelegateKind kind) {
  std::unique_ptr<DelegateSession>& session = sessions[static_cast<size_t>(kind)];
  if (!session) {
    SKIFF_ASSIGN_OR_RETURN(ModelState * state, model->StateOf(kind));
    SKIFF_ASSIGN_OR_RETURN(
        session, state->CreateSession({options.threads, options.thread_pool, options.keep_intermediates,
                                       options.profile, options.thread_small_work}));
  }
  return session.get();
}

/// Everything that a run needs, because there is nothing to wait for.
Status Session::Internals::PrepareOneShape() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].shape = signature->inputs[i].shape;
    input_views[i] = TensorView(nullptr, signature->inputs[i].dtype, inputs[i].shape);
  }
  const PlanData* plan = nullptr;
  for (const PlanData& candidate : signature->plans) {
    if (candidate.target == options.target) plan = &candidate;
  }
  current = &states[0];
  SKIFF_RETURN_IF_ERROR(current->Prepare(*plan, options, sizes, input_views, *this));
  SKIFF_RETURN_IF_ERROR(GrowArena(current->arena_bytes()));
  reshape = false;
  return CheckLimit(arena.size() + workspace_bytes(), "the arena with the delegates' workspace");
}

/// Nothing that a run may need is missing from this build.
Status Session::Internals::CheckPlans(Target target) const {
  for (const PlanData& plan : signature->plans) {
    if (plan.target == target) SKIFF_RETURN_IF_ERROR(CheckOperators(plan, options.backend, *model));
  }
  return OkStatus();
}

Status Session::Internals::Start() {
  SKIFF_RETURN_IF_ERROR(CheckPlans(options.target));
  SKIFF_RETURN_IF_ERROR(Allocate());
  SKIFF_RETURN_IF_ERROR(TakeVariables());
  if (options.target == Target::kVulkan) SKIFF_RETURN_IF_ERROR(Get(DelegateKind::kVulkan).status());
  return one_shape ? PrepareOneShape() : OkStatus();
}

/// A device that is absent, unable or full; the cpu plan needs none.
bool Session::Internals::MayFallBack(Status status) const {
  if (!options.fall_back || options.target == Target::kCpu) return false;
  if (status.code() != StatusCode::kUnsupported && status.code() != StatusCode::kOutOfMemory) return false;
  for (const PlanData& plan : signature->plans) {
    if (plan.target != Target::kCpu) continue;
    if (!CheckPlans(Target::kCpu).ok()) return false;
    Log(LogLevel::kWarning, "the %s plan cannot run here (%s); the cpu plan runs instead",
        TargetName(options.target), StatusCodeName(status.code()));
    return true;
  }
  return false;
}

Status Session::Internals::ChooseState() {
  const Status status = PrepareState();
  if (status.ok() || !MayFallBack(status)) return status;
  options.target = Target::kCpu;
  current = nullptr;
  SKIFF_RETURN_IF_ERROR(AllocateStates());
  return PrepareState();
}

/// The state for the inputs' shapes: one that is ready, or the one used longest ago, made ready.
Status Session::Internals::PrepareState() {
  SKIFF_RETURN_IF_ERROR(SolveSymbols(model->data(), *signature, input_views, sizes));
  SKIFF_ASSIGN_OR_RETURN(const PlanData* plan, ChoosePlan(model->data(), *signature, options.target, sizes));
  ShapeState* chosen = nullptr;
  for (size_t i = 0; chosen == nullptr && i < states.size(); ++i)
    chosen = states[i].Is(*plan, sizes, input_views) ? &states[i] : nullptr;
  if (chosen == nullptr) {
    chosen = &states[0];
    for (ShapeState& state : states) chosen = state.last_use < chosen->last_use ? &state : chosen;
    current = nullptr;
    SKIFF_RETURN_IF_ERROR(chosen->Prepare(*plan, options, sizes, input_views, *this));
    SKIFF_RETURN_IF_ERROR(GrowArena(chosen->arena_bytes()));
    SKIFF_RETURN_IF_ERROR(CheckLimit(arena.size() + input_bytes() + workspace_bytes(),
                                     "the arena with the delegates' workspace"));
  }
  current = chosen;
  reshape = false;
  return OkStatus();
}

uint64_t Session::Internals::workspace_bytes() const {
  uint64_t bytes = 0;
  for (const ShapeState& state : states) bytes += state.ready() ? state.workspace_bytes() : 0;
  return bytes;
}

uint64_t Session::Internals::input_bytes() const {
  uint64_t bytes = 0;
  for (const InputSlot& slot : inputs) bytes += slot.buffer.size();
  return bytes;
}

Status Session::Internals::CheckIndex(int index) const {
  if (index >= 0 && index < static_cast<int>(signature->input_count)) return OkStatus();
  return Fail(StatusCode::kInvalidArgument, "there is no input %d; the signature has %zu", index,
              signature->input_count);
}

/// An input now lives at `place` (null: in the arena) with this shape.
void Session::Internals::SetPlace(int index, void* place, const Shape& shape) {
  const auto i = static_cast<size_t>(index);
  if (input_places[i] != place) ++addresses;
  input_places[i] = place;
  if (!one_shape && (!inputs[i].set || !(inputs[i].shape == shape) || inputs[i].decides_shape))
    reshape = true;
  inputs[i].set = true;
  inputs[i].shape = shape;
  input_views[i] = TensorView(place, signature->inputs[i].dtype, shape);
}

/// The Session's own memory for an input of this shape.
Result<TensorView> Session::Internals::OwnPlace(int index, const Shape& shape) {
  const auto i = static_cast<size_t>(index);
  inputs[i].borrowed = false;
  if (one_shape) {
    SetPlace(index, nullptr, shape);
    const TensorView& view = current->tensors()[static_cast<size_t>(current->plan().inputs[i])].view;
    if (view.data != nullptr && current->bound_to == addresses) return view;
    SKIFF_RETURN_IF_ERROR(current->Bind(arena.data(), input_places));
    current->bound_to = addresses;
    return current->tensors()[static_cast<size_t>(current->plan().inputs[i])].view;
  }
  const TensorView wanted(nullptr, signature->inputs[i].dtype, shape);
  const auto bytes = static_cast<uint64_t>(wanted.bytes());
  SKIFF_RETURN_IF_ERROR(CheckLimit(arena.size() + input_bytes() + bytes, "the arena with the inputs"));
  SKIFF_RETURN_IF_ERROR(inputs[i].buffer.Grow(bytes, "an input"));
  SetPlace(index, inputs[i].buffer.data(), shape);
  return input_views[i];
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

namespace {

int FindPort(Span<const PortInfo> ports, const char* name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (std::strcmp(ports[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int Session::FindInput(const char* name) const {
  return FindPort(internals_->signature->caller_inputs(), name);
}
int Session::FindOutput(const char* name) const {
  return FindPort(internals_->signature->caller_outputs(), name);
}

Status Session::SetInput(int index, const TensorView& tensor) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckIndex(index));
  SKIFF_RETURN_IF_ERROR(CheckInput(s.model->data(), s.signature->inputs[static_cast<size_t>(index)], tensor));
  SKIFF_ASSIGN_OR_RETURN(const TensorView place, s.OwnPlace(index, tensor.shape));
  if (tensor.bytes() > 0 && place.data != tensor.data)
    std::memcpy(place.data, tensor.data, static_cast<size_t>(tensor.bytes()));
  return OkStatus();
}

Status Session::SetInput(const char* name, const TensorView& tensor) {
  const int index = FindInput(name);
  if (index < 0) {
    return Fail(StatusCode::kInvalidArgument, "there is no input '%s'; the first of %zu is '%s'", name,
                internals_->signature->input_count,
                internals_->signature->input_count == 0 ? "" : internals_->signature->inputs[0].name);
  }
  return SetInput(index, tensor);
}

Status Session::BindInput(int index, const TensorView& tensor) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckIndex(index));
  SKIFF_RETURN_IF_ERROR(CheckInput(s.model->data(), s.signature->inputs[static_cast<size_t>(index)], tensor));
  if (reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(DTypeSize(tensor.dtype)) != 0) {
    return Fail(StatusCode::kInvalidArgument, "the memory bound to input %d is not aligned to %lld bytes",
                index, static_cast<long long>(DTypeSize(tensor.dtype)));
  }
  s.SetPlace(index, tensor.data, tensor.shape);
  s.inputs[static_cast<size_t>(index)].borrowed = true;
  return OkStatus();
}

Result<TensorView> Session::InputBuffer(int index) {
  Internals& s = *internals_;
  SKIFF_RETURN_IF_ERROR(s.CheckIndex(index));
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
  SKIFF_RETURN_IF_ERROR(s.CheckIndex(index));
  const PortInfo& port = s.signature->inputs[static_cast<size_t>(index)];
  char anything = 0;
  SKIFF_RETURN_IF_ERROR(CheckInput(s.model->data(), port, TensorView(&anything, port.dtype, shape)));
  return s.OwnPlace(index, shape);
}

Status Session::Run() {
  Internals& s = *internals_;
  s.cancelled.store(false, std::memory_order_relaxed);
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (!s.inputs[i].set)
      return Fail(StatusCode::kInvalidArgument, "input '%s' was never set", s.signature->inputs[i].name);
    // The values in the session's own buffer, or the caller's, may be others than at the last run.
    if (!s.one_shape && s.inputs[i].decides_shape) s.reshape = true;
  }
  if (s.reshape) SKIFF_RETURN_IF_ERROR(s.ChooseState());
  s.current->last_use = ++s.runs;
  if (s.current->bound_to != s.addresses) {
    SKIFF_RETURN_IF_ERROR(s.current->Bind(s.arena.data(), s.input_places));
    s.current->bound_to = s.addresses;
  }
  if (s.options.poison) s.Poison();
  if (s.options.profile) s.run_begin_ns = platform::NowNanoseconds();
  const RunContext context{s.options.profile ? &s : nullptr, &s.cancelled};
  const Status status = s.current->Run(context);
  for (const auto& session : s.sessions) {
    if (session) session->Idle();
  }
  if (status.ok()) s.KeepVariables();
  return status;
}

void Session::Cancel() { internals_->cancelled.store(true, std::memory_order_relaxed); }

Result<TensorView> Session::Output(int index) const {
  if (index < 0 || index >= static_cast<int>(internals_->signature->output_count)) {
    return Fail(StatusCode::kInvalidArgument, "there is no output %d; the signature has %zu", index,
                internals_->signature->output_count);
  }
  ShapeState* state = internals_->current;
  if (state == nullptr || (!internals_->one_shape && internals_->runs == 0))
    return Fail(StatusCode::kInvalidArgument, "the outputs have no shape before the first run");
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
  if (internals_->current == nullptr)
    return Fail(StatusCode::kInvalidArgument, "there is nothing to tap before a run");
  const PlanData& plan = internals_->current->plan();
  // A tensor that holds the source's elements wins over one that only shares the name.
  for (const bool by_source : {true, false}) {
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
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
          internals_->own_variables ? internals_->own_variables->bytes() : 0,
          internals_->input_bytes(),
          packed.mapped};
}

Target Session::target() const { return internals_->options.target; }

int Session::threads() const { return internals_->options.threads; }

int Session::node_count() const {
  return internals_->current == nullptr ? 0 : static_cast<int>(internals_->current->plan().nodes.size());
}

NodeInfo Session::node(int index) const {
  const auto i = static_cast<uint32_t>(index);
  ShapeState& state = *internals_->current;
  const PlanNode& node = state.plan().nodes[i];
  NodeInfo info;
  info.name = node.name;
  info.op = node.op->name;
  info.shape_program = i < state.plan().shape_node_count;
  info.fell_back = state.FellBack(i);
  info.delegate = info.fell_back ? DelegateKind::kReference : state.delegate(i);
  info.last_ns = internals_->times[i].duration_ns;
  info.last_begin_ns = internals_->times[i].begin_ns;
  if (info.shape_program) return info;
  const Work work = WorkOf(node, state.tensors());
  info.multiply_adds = work.multiply_adds;
  info.bytes = work.bytes;
  return info;
}

}  // namespace skiff
