#include "session/internals.h"

#include <algorithm>
#include <cstring>

#include "core/extents.h"
#include "core/memory_account.h"
#include "plan/limits.h"
#include "session/input_contract.h"
#include "session/operator_check.h"

namespace skiff {

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
    one_exact_plan = ++plans == 1 && !plan.inputs_outside;
  }
  if (plans > 0) return OkStatus();
  return Fail(StatusCode::kUnsupported,
              "the model has no plan for the target %s; make one with: skiff convert MODEL --target %s",
              TargetName(options.target), TargetName(options.target));
}

/// Inputs that are variables lie where these are; or in buffers, where Tap() shall find what a run has read.
Status Session::Internals::TakeVariables() {
  variables = options.variables;
  if (variables == nullptr) {
    SKIFF_ASSIGN_OR_RETURN(own_variables, Variables::Create(*model, options.memory_limit));
    variables = own_variables.get();
  }
  if (&variables->model() != model)
    return Fail(StatusCode::kInvalidArgument, "SessionOptions::variables are those of another Model");
  for (size_t i = signature->input_count; BuildHas(Feature::kVariables) && i < inputs.size(); ++i) {
    const PortInfo& port = signature->inputs[i];
    void* place = variables->data(port.variable);
    if (options.keep_intermediates) {
      const TensorView view(nullptr, port.dtype, port.shape, port.quantization);
      const auto bytes = static_cast<uint64_t>(view.bytes());
      SKIFF_RETURN_IF_ERROR(CheckGrowth(bytes, "the memory of kept variables"));
      SKIFF_RETURN_IF_ERROR(inputs[i].buffer.Grow(bytes, "a variable"));
      place = inputs[i].buffer.data();
    }
    SetPlace(static_cast<int>(i), place, port.shape);
  }
  return OkStatus();
}

/// Before a run.
void Session::Internals::ReadVariables() {
  if (!BuildHas(Feature::kVariables) || !options.keep_intermediates) return;
  for (size_t i = signature->input_count; i < inputs.size(); ++i) {
    const PortInfo& port = signature->inputs[i];
    const int64_t bytes = model->data().variables[static_cast<size_t>(port.variable)].initial.bytes();
    if (bytes > 0) std::memcpy(input_places[i], variables->data(port.variable), static_cast<size_t>(bytes));
  }
}

/// Whether what the plan computes for the variables at this shape can be kept. The loader has compared the
/// ports; the plan may leave the extents of its tensors to the device.
Status Session::Internals::CheckVariables(ShapeState& state) const {
  if (!BuildHas(Feature::kVariables)) return OkStatus();
  for (size_t i = signature->output_count; i < signature->outputs.size(); ++i) {
    const TensorView& view = state.tensors()[static_cast<size_t>(state.plan().outputs[i])].view;
    const VariableInfo& variable =
        model->data().variables[static_cast<size_t>(signature->outputs[i].variable)];
    if (view.dtype == variable.initial.dtype && view.shape == variable.initial.shape) continue;
    return Fail(StatusCode::kInvalidArgument,
                "these input shapes cannot be run: variable '%s' is %s %s, its next value would be %s %s",
                variable.name, DTypeName(variable.initial.dtype), ShapeText(variable.initial.shape).c_str(),
                DTypeName(view.dtype), ShapeText(view.shape).c_str());
  }
  return OkStatus();
}

/// After a run that went well: a failed one leaves the state as it was.
void Session::Internals::KeepVariables() {
  if (!BuildHas(Feature::kVariables)) return;
  for (size_t i = signature->output_count; i < signature->outputs.size(); ++i) {
    const PortInfo& port = signature->outputs[i];
    const TensorView& view = current->tensors()[static_cast<size_t>(current->plan().outputs[i])].view;
    const int64_t bytes = model->data().variables[static_cast<size_t>(port.variable)].initial.bytes();
    void* const place = variables->data(port.variable);
    if (bytes > 0 && view.data != place) std::memmove(place, view.data, static_cast<size_t>(bytes));
  }
}

uint64_t MemoryLimitOf(const Model& model, uint64_t asked) {
  return asked != 0 ? asked : kDefaultMemoryLimit + kMemoryPerFileByte * model.file_bytes();
}

Status CheckMemoryLimit(uint64_t bytes, uint64_t limit, const char* what) {
  if (bytes <= limit) return OkStatus();
  return Fail(StatusCode::kOutOfMemory,
              "%s needs %llu bytes, the memory limit is %llu (SessionOptions::memory_limit)", what,
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limit));
}

Status Session::Internals::CheckLimit(uint64_t bytes, const char* what) const {
  return CheckMemoryLimit(bytes, MemoryLimit(), what);
}

uint64_t Session::Internals::MemoryLeft() const {
  const uint64_t limit = MemoryLimit();
  return limit - std::min(limit, arena.size() + beside_arena());
}

Status Session::Internals::CheckGrowth(uint64_t bytes, const char* what) const {
  return CheckLimit(SaturatingAdd(bytes, arena.size() + beside_arena()), what);
}

Status Session::Internals::Allocate() {
  const size_t count = signature->inputs.size();
  SKIFF_RETURN_IF_ERROR(inputs.Allocate(count));
  for (const PlanData& plan : signature->plans) {
    for (size_t i = 0; i < count; ++i) inputs[i].decides_shape |= plan.shape_inputs[i];
  }
  SKIFF_RETURN_IF_ERROR(sessions.Allocate(model->delegate_count()));
  SKIFF_RETURN_IF_ERROR(input_places.Allocate(count));
  SKIFF_RETURN_IF_ERROR(input_views.Allocate(count));
  SKIFF_RETURN_IF_ERROR(sizes.Allocate(model->data().symbols.size()));
  SKIFF_RETURN_IF_ERROR(TakeVariables());
  return AllocateStates(options.target);
}

/// Replaces the states, by such as can be made ready for any plan of the target; all or nothing.
Status Session::Internals::AllocateStates(Target target) {
  const int kept = options.kept_shapes > 1 ? options.kept_shapes : 1;
  FixedArray<ShapeState> fresh;
  FixedArray<Times> fresh_times;
  SKIFF_RETURN_IF_ERROR(fresh.Allocate(one_shape() ? 1 : static_cast<size_t>(kept)));
  size_t nodes = 0;
  uint64_t largest = 0;
  for (const PlanData& plan : signature->plans) {
    if (plan.target != target) continue;
    nodes = plan.nodes.size() > nodes ? plan.nodes.size() : nodes;
    largest = plan.arena_bytes > largest ? plan.arena_bytes : largest;
  }
  SKIFF_RETURN_IF_ERROR(fresh_times.Allocate(nodes));
  if (!options.keep_intermediates) {
    SKIFF_RETURN_IF_ERROR(CheckGrowth(largest, "the arena"));
    SKIFF_RETURN_IF_ERROR(GrowArena(largest));
  }
  current = nullptr;
  states = std::move(fresh);
  times = std::move(fresh_times);
  return OkStatus();
}

/// Of bytes that the limit allows.
Status Session::Internals::GrowArena(uint64_t bytes) {
  if (arena.data() != nullptr && bytes <= arena.size()) return OkStatus();
  SKIFF_RETURN_IF_ERROR(arena.Grow(bytes, "an arena"));
  ++addresses;
  return OkStatus();
}

/// Where inputs lie in the arena, they stay.
void Session::Internals::Poison() {
  if (one_shape()) return current->Poison();
  std::memset(arena.data(), 0xFF, arena.size() + kReadableTail);
}

Result<DelegateSession*> Session::Internals::Get(DelegateKind kind) {
  SKIFF_ASSIGN_OR_RETURN(const size_t index, model->IndexOf(kind));
  std::unique_ptr<DelegateSession>& session = sessions[index];
  if (!session) {
    SKIFF_ASSIGN_OR_RETURN(ModelState * state, model->StateOf(kind));
    SKIFF_ASSIGN_OR_RETURN(
        session, state->CreateSession({options.threads, options.thread_pool, options.keep_intermediates,
                                       options.profile, options.thread_small_work, options.poison,
                                       options.exact || options.memory_limit != 0, MemoryLimit()}));
  }
  return session.get();
}

/// With the delegate's own name.
NodeInfo Session::Internals::Named(NodeInfo info) const {
  info.delegate_name = DelegateKindName(info.delegate);
  for (size_t i = 0; i < model->delegate_count(); ++i) {
    const DelegateSupport& support = model->delegate(i).support();
    if (support.kind() == info.delegate) info.delegate_name = support.name();
  }
  return info;
}

/// Everything that a run needs, because there is nothing to wait for.
Status Session::Internals::PrepareOneShape() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].shape = signature->inputs[i].shape;
    input_views[i] =
        TensorView(nullptr, signature->inputs[i].dtype, inputs[i].shape, signature->inputs[i].quantization);
  }
  const PlanData* plan = &signature->plans[0];  // There is one for the target: Create() has looked.
  for (const PlanData& candidate : signature->plans) {
    if (candidate.target == options.target) plan = &candidate;
  }
  SKIFF_RETURN_IF_ERROR(MakeReady(states[0], *plan));
  current = &states[0];
  reshape = false;
  return OkStatus();
}

/// Nothing that a run may need is missing from this build.
Status Session::Internals::CheckPlans(Target target) const {
  for (const PlanData& plan : signature->plans) {
    if (plan.target == target) SKIFF_RETURN_IF_ERROR(CheckOperators(plan, options.backend, *model));
  }
  return OkStatus();
}

/// A device that is not there is known of at once, not when something first runs on it.
Status Session::Internals::StartTarget() {
  bool found = options.target == Target::kCpu;
  for (size_t i = 0; i < model->delegate_count(); ++i) {
    const DelegateSupport& support = model->delegate(i).support();
    if (support.target() != options.target) continue;
    found = true;
    if (options.target != Target::kCpu) SKIFF_RETURN_IF_ERROR(Get(support.kind()).status());
  }
  if (found) return OkStatus();
  return Fail(StatusCode::kUnsupported, "none of ModelOptions::delegates is for the target %s",
              TargetName(options.target));
}

Status Session::Internals::Start() {
  SKIFF_RETURN_IF_ERROR(CheckPlans(options.target));
  SKIFF_RETURN_IF_ERROR(Allocate());
  SKIFF_RETURN_IF_ERROR(StartTarget());
  return one_shape() ? PrepareOneShape() : OkStatus();
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
  SKIFF_RETURN_IF_ERROR(AllocateStates(Target::kCpu));
  options.target = Target::kCpu;
  return PrepareState();
}

/// Where this fails the state is nothing's, and a call with the same shape begins anew.
Status Session::Internals::MakeReady(ShapeState& state, const PlanData& plan) {
  const AllocationLimit limit(MemoryLeft());
  Status status = state.FindShapes(plan, options, input_views, *this);
  // What delegates prepare grows with the shapes: those that will not fit are refused first.
  if (status.ok()) status = CheckLimit(state.arena_bytes(), "the arena");
  if (status.ok()) {
    noted = beside_arena();
    status = state.Prepare(sizes, input_views);
    noted = kNotNoted;
  }
  if (status.ok()) status = CheckVariables(state);
  if (status.ok()) status = MakeRoom(state);
  if (!status.ok()) {
    state.Release();
    return status;
  }
  state.SetReady();
  return OkStatus();
}

/// Ready states have room: their arena lies in the Session's, which never shrinks.
Status Session::Internals::MakeRoom(const ShapeState& state) {
  const uint64_t arena_bytes = std::max(arena.size(), state.arena_bytes());
  SKIFF_RETURN_IF_ERROR(
      CheckLimit(SaturatingAdd(arena_bytes, held_bytes() + workspace_bytes() + state.workspace_bytes()),
                 "the arena with workspace"));
  return GrowArena(arena_bytes);
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
    SKIFF_RETURN_IF_ERROR(MakeReady(*chosen, *plan));
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

Status Session::Internals::Running() const {
  return Fail(StatusCode::kInvalidArgument,
              "another thread is running this session; make one for each thread, and let no custom operator "
              "use the session that runs it");
}

Status Session::Internals::CheckSettable(int index) const {
  if (running.load(std::memory_order_acquire)) return Running();
  if (index >= 0 && index < static_cast<int>(signature->input_count)) return OkStatus();
  return Fail(StatusCode::kInvalidArgument, "there is no input %d; the signature has %zu", index,
              signature->input_count);
}

/// An input now lives at `place` (null: in the arena) with this shape.
void Session::Internals::SetPlace(int index, void* place, const Shape& shape) {
  const auto i = static_cast<size_t>(index);
  if (input_places[i] != place) ++addresses;
  input_places[i] = place;
  if (!one_shape() && (!inputs[i].set || !(inputs[i].shape == shape) || inputs[i].decides_shape))
    reshape = true;
  inputs[i].set = true;
  inputs[i].shape = shape;
  input_views[i] = TensorView(place, signature->inputs[i].dtype, shape, signature->inputs[i].quantization);
}

/// The Session's own memory for an input of this shape.
Result<TensorView> Session::Internals::OwnPlace(int index, const Shape& shape) {
  const auto i = static_cast<size_t>(index);
  if (one_shape()) {
    SetPlace(index, nullptr, shape);
    const TensorView& view = current->tensors()[static_cast<size_t>(current->plan().inputs[i])].view;
    if (view.data != nullptr && current->bound_to == addresses) return view;
    SKIFF_RETURN_IF_ERROR(current->Bind(arena.data(), input_places));
    current->bound_to = addresses;
    return current->tensors()[static_cast<size_t>(current->plan().inputs[i])].view;
  }
  const TensorView wanted(nullptr, signature->inputs[i].dtype, shape, signature->inputs[i].quantization);
  const auto bytes = static_cast<uint64_t>(wanted.bytes());
  Buffer& buffer = inputs[i].buffer;
  const uint64_t others = arena.size() + held_bytes() - buffer.size();
  SKIFF_RETURN_IF_ERROR(
      CheckLimit(SaturatingAdd(others, std::max(bytes, buffer.size())), "the arena with the inputs"));
  SKIFF_RETURN_IF_ERROR(buffer.Grow(bytes, "an input"));
  SetPlace(index, buffer.data(), shape);
  return input_views[i];
}

}  // namespace skiff
