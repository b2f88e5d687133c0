#include "platforms/python/bindings/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/platform.h"
#include "graph/error.h"
#include "plan/built_plan.h"
#include "platforms/python/bindings/or_stop.h"
#include "platforms/python/bindings/support.h"
#include "skiff/thread_pool.h"

namespace skiff::python {
namespace {

/// Below, a copy costs less than telling every operator of another address.
constexpr int64_t kWorthBinding = 64 << 10;
/// A run that is over sooner needs no way to be interrupted.
constexpr uint64_t kShortRunNs = 1'000'000;

/// A Session is one thread's: the second is refused, as Session::Run() would, before it touches the inputs.
class Turn {
 public:
  explicit Turn(SessionCore& core) : core_(core) {
    if (core_.busy->exchange(true, std::memory_order_acquire))
      Throw(
          StatusCode::kInvalidArgument,
          "this session (or one that shares its state) is in use, by another thread or by a custom operator "
          "of its run; make one for each with model.session(), which shares the weights");
  }
  ~Turn() { core_.busy->store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  SessionCore& core_;
};

/// The owner of an array over a Session's memory.
struct View {
  std::shared_ptr<SessionCore> core;
  explicit View(std::shared_ptr<SessionCore> of) : core(std::move(of)) { ++core->views; }
  ~View() {
    if (--core->views > 0) return;
    core->shown.clear();
    core->retired.clear();
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
};

nb::object OwnerOf(const std::shared_ptr<SessionCore>& core) {
  return nb::capsule(new View(core), [](void* view) noexcept { delete static_cast<View*>(view); });
}

bool Overlap(const TensorView& a, const TensorView& b) {
  const auto begin = [](const TensorView& view) { return reinterpret_cast<uintptr_t>(view.data); };
  const auto end = [&](const TensorView& view) {
    const int64_t row = view.shape.last();
    const int64_t gaps =
        view.dense() || row == 0 ? 0 : (view.shape.elements() / row - 1) * (view.row_stride - row);
    return begin(view) + static_cast<uintptr_t>(view.bytes() + ElementBytes(view.dtype, gaps));
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

/// Whether there is a view of this memory.
bool HasView(const SessionCore& core, const TensorView& memory) {
  return std::any_of(core.shown.begin(), core.shown.end(),
                     [&](const TensorView& view) { return Overlap(view, memory); });
}

void Remember(SessionCore& core, const TensorView& view) {
  const auto same = [&](const TensorView& other) {
    return other.data == view.data && other.bytes() == view.bytes() && other.row_stride == view.row_stride;
  };
  if (std::none_of(core.shown.begin(), core.shown.end(), same)) core.shown.push_back(view);
}

/// Whether this is such a view, which the next run would write while it reads it, and which would keep itself
/// alive. Views are read-only; where an output is its input, the caller's own array may be written.
bool IsView(const SessionCore& core, const Borrowed& borrowed) {
  return !borrowed.writable() && HasView(core, borrowed.view());
}

/// How a picture's axes would fit, channels from behind to the front or back; "" where they do, or never do.
std::string OrderThatFits(const Shape& shape, const Shape& wanted) {
  constexpr int kOrders[][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}};
  if (shape.rank() != 4 || wanted.rank() != 4) return "";
  for (const auto& order : kOrders) {
    int fitting = 0;
    for (int axis = 0; axis < 4; ++axis)
      fitting += wanted[axis] < 0 || wanted[axis] == shape[order[axis]] ? 1 : 0;
    if (fitting == 4) return order[1] == 1 ? "" : fmt::format("array.transpose({})", fmt::join(order, ", "));
  }
  return "";
}

/// Gives an input by `set`. Where the axes are in another order the error says so, and nothing of files for
/// other shapes.
template <class F>
void Give(const PortInfo& port, const Shape& shape, F set) {
  try {
    Must(set);
  } catch (const Error& error) {
    const std::string order = OrderThatFits(shape, port.shape);
    if (error.code() != StatusCode::kNoMatchingBucket || order.empty()) throw;
    const std::string text = error.what();
    Throw(error.code(), "{}; the axes are in another order: {}", text.substr(0, text.rfind(';')), order);
  }
}

SessionOptions ToOptions(nb::handle from, const std::string& signature, SessionCore& core) {
  SessionOptions options;
  if (!signature.empty()) options.signature = signature.c_str();
  options.target = Get<std::string>(from, "target") == "vulkan" ? Target::kVulkan : Target::kCpu;
  options.backend =
      Get<std::string>(from, "backend") == "reference" ? Backend::kReference : Backend::kPlanned;
  options.fall_back = Get<bool>(from, "fall_back");
  options.threads = Get<int>(from, "threads");
  options.memory_limit = Get<uint64_t>(from, "memory_limit");
  options.kept_shapes = Get<int>(from, "kept_shapes");
  options.exact = Get<bool>(from, "exact");
  options.profile = Get<bool>(from, "profile");
  options.keep_intermediates = Get<bool>(from, "keep_intermediates");
  if (const auto pool = Get<nb::object>(from, "pool"); !pool.is_none()) {
    core.pool = nb::cast<PoolHandle&>(pool).pool;
    options.thread_pool = core.pool.get();
  }
  return options;
}

void FindMovers(SessionCore& core) {
  const ModelData& data = core.model->data();
  for (const SignatureData& signature : data.signatures) {
    if (std::strcmp(signature.name, core.signature.name) != 0) continue;
    size_t plans = 0;
    core.counted.resize(core.signature.outputs.size());
    for (const PlanData& plan : signature.plans) {
      for (size_t i = 0; i < core.counted.size(); ++i)
        core.counted[i] = core.counted[i] || plan.IsLate(plan.outputs[i]);
      if (plan.target != core.session->target()) continue;
      core.may_move |= ++plans > 1 || plan.kind != BucketKind::kExact;
      for (const bool decides : plan.shape_inputs) core.decided_by_values |= decides;
    }
  }
}

}  // namespace

SessionHandle::SessionHandle(const ModelHandle& model, nb::handle options, nb::object outputs_type)
    : core_(std::make_shared<SessionCore>()), outputs_type_(std::move(outputs_type)) {
  SessionCore& core = *core_;
  model.get();
  core.model = model.opened;
  const auto signature = Get<std::string>(options, "signature");
  SessionOptions chosen = ToOptions(options, signature, core);
  if (const auto other = Get<nb::object>(options, "state_of"); !other.is_none()) {
    core.state_of = nb::cast<SessionHandle&>(other).core_;
    if (!core.state_of)
      Throw(StatusCode::kInvalidArgument, "the session whose state is to be shared is closed");
    chosen.variables = &core.state_of->session->variables();
    core.busy = core.state_of->busy;
  }
  {
    const Unlocked unlocked;
    core.session = CreateSession(core.model->model(), chosen);
  }
  core.signature = core.session->signature();
  core.inputs.resize(core.signature.inputs.size());
  for (const PortInfo& port : core.signature.inputs) input_names_.push_back(Interned(port.name));
  nb::list names;
  for (const PortInfo& port : core.signature.outputs) names.append(Interned(port.name));
  output_names_ = nb::tuple(names);
  FindMovers(core);
}

SessionCore& SessionHandle::core() const {
  if (!core_) Throw(StatusCode::kInvalidArgument, "the session is closed");
  return *core_;
}

void SessionHandle::Close() {
  if (core_) const Turn turn(*core_);
  core_.reset();
}

void SessionHandle::BindAt(SessionCore& core, size_t index, Borrowed borrowed) {
  SessionCore::Input& input = core.inputs[index];
  Give(core.signature.inputs[index], borrowed.view().shape,
       [&] { return core.session->BindInput(static_cast<int>(index), borrowed.view()); });
  if (HasView(core, input.bound.view())) core.retired.push_back(std::move(input.bound));
  input.bound = std::move(borrowed);
}

void SessionHandle::Take(SessionCore& core, size_t index, nb::handle array, Arrays& arrays) {
  SessionCore::Input& input = core.inputs[index];
  const PortInfo& port = core.signature.inputs[index];
  if (input.given) Throw(StatusCode::kInvalidArgument, "input '{}' was given twice", port.name);
  const std::string what = fmt::format("input '{}'", port.name);
  Borrowed borrowed(array, port.dtype, what);
  if (IsView(core, borrowed)) borrowed = Borrowed(ToArray(borrowed.view()), port.dtype, what);
  arrays[index] = std::move(borrowed);
  input.given = true;
}

void SessionHandle::Set(SessionCore& core, size_t index, Borrowed borrowed) {
  SessionCore::Input& input = core.inputs[index];
  const PortInfo& port = core.signature.inputs[index];
  const TensorView view = borrowed.view();
  const bool another_shape = !(view.shape == input.shape);
  if (core.views > 0 && core.may_move && (another_shape || core.decided_by_values))
    Throw(StatusCode::kInvalidArgument,
          "input '{}' would move the memory that views of the last outputs (copy=False) are of; delete them "
          "before a call "
          "with another shape, or ask for copies",
          port.name);
  if (view.bytes() >= kWorthBinding && borrowed.may_be_bound()) {
    BindAt(core, index, std::move(borrowed));
  } else {
    Give(port, view.shape, [&] { return core.session->SetInput(static_cast<int>(index), view); });
    if (HasView(core, input.bound.view())) core.retired.push_back(std::move(input.bound));
    input.bound = Borrowed();
  }
  if (another_shape) last_run_ns_ = UINT64_MAX;
  input.pinned = false;
  input.shape = view.shape;
}

void SessionHandle::TakeNamed(SessionCore& core, PyObject* name, nb::handle array, Arrays& arrays) {
  for (size_t i = 0; i < input_names_.size(); ++i) {
    if (name == input_names_[i].ptr()) return Take(core, i, array, arrays);
  }
  const std::string text = NameOf(name);
  for (size_t i = 0; i < input_names_.size(); ++i) {
    if (text == core.signature.inputs[i].name) return Take(core, i, array, arrays);
  }
  Throw(StatusCode::kInvalidArgument, "there is no input '{}'; the inputs are {}", text,
        PortNames(core.signature.inputs));
}

void SessionHandle::Run(SessionCore& core, Arrays arrays) {
  for (size_t i = 0; i < core.inputs.size(); ++i) {
    const SessionCore::Input& input = core.inputs[i];
    if (!input.given && !input.pinned)
      Throw(StatusCode::kInvalidArgument, "input '{}' was not given; the inputs are {}",
            core.signature.inputs[i].name, PortNames(core.signature.inputs));
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (core.inputs[i].given) Set(core, i, std::move(arrays[i]));
  }
  const uint64_t begin = platform::NowNanoseconds();
  try {
    const Unlocked unlocked;
    if (last_run_ns_ < kShortRunNs) {
      Must([&] { return core.session->Run(); });
    } else {
      const CancelOnInterrupt interrupt(*core.session);
      Must([&] { return core.session->Run(); });
    }
  } catch (const Error& error) {
    if (error.code() == StatusCode::kCancelled && PyErr_CheckSignals() != 0) throw nb::python_error();
    throw;
  }
  last_run_ns_ = platform::NowNanoseconds() - begin;
}

nb::object SessionHandle::Collect(const std::shared_ptr<SessionCore>& core, bool copy) {
  const size_t count = core->signature.outputs.size();
  nb::object arrays = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!arrays.is_valid()) throw nb::python_error();
  const nb::object owner = copy ? nb::object() : OwnerOf(core);
  for (size_t i = 0; i < count; ++i) {
    const TensorView view = Must([&] { return core->session->Output(static_cast<int>(i)); });
    // What a run counts has its memory anew, also at the same input shapes.
    const bool copied = copy || core->counted[i];
    nb::object array = copied ? ToArray(view) : ToSharedArray(view, owner, /*writable=*/false);
    if (!copied) Remember(*core, view);
    PyTuple_SetItem(arrays.ptr(), static_cast<Py_ssize_t>(i), array.release().ptr());
  }
  PyObject* arguments[] = {nullptr, output_names_.ptr(), arrays.ptr()};
  PyObject* made = nullptr;
  OrStop([&] {
    made =
        PyObject_Vectorcall(outputs_type_.ptr(), arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  });
  nb::object outputs = nb::steal(made);
  if (!outputs.is_valid()) throw nb::python_error();
  return outputs;
}

nb::object SessionHandle::Call(const nb::args& arrays, const nb::kwargs& named) {
  core();
  const std::shared_ptr<SessionCore> core = core_;
  const Turn turn(*core);
  for (SessionCore::Input& input : core->inputs) input.given = false;
  if (arrays.size() > core->inputs.size())
    Throw(StatusCode::kInvalidArgument, "{} arrays were given; the inputs are {}", arrays.size(),
          PortNames(core->signature.inputs));
  Arrays taken(core->inputs.size());
  for (size_t i = 0; i < arrays.size(); ++i) Take(*core, i, arrays[i], taken);
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(named.ptr(), &at, &key, &value) != 0;)
    TakeNamed(*core, key, value, taken);
  Run(*core, std::move(taken));
  return Collect(core, /*copy=*/true);
}

nb::object SessionHandle::RunNamed(const nb::dict& named, bool copy) {
  core();
  const std::shared_ptr<SessionCore> core = core_;
  const Turn turn(*core);
  for (SessionCore::Input& input : core->inputs) input.given = false;
  Arrays taken(core->inputs.size());
  for (const auto& [name, array] : named) TakeNamed(*core, name.ptr(), array, taken);
  Run(*core, std::move(taken));
  return Collect(core, copy);
}

/// From any thread, so it takes no turn.
void SessionHandle::Cancel() { core().session->Cancel(); }

void SessionHandle::Bind(nb::handle input, nb::handle array, bool has_tail) {
  const std::string name = NameOf(input);
  SessionCore& core = this->core();
  const Turn turn(core);
  const int index = core.session->FindInput(name.c_str());
  if (index < 0)
    Throw(StatusCode::kInvalidArgument, "there is no input '{}'; the inputs are {}", name,
          PortNames(core.signature.inputs));
  const auto i = static_cast<size_t>(index);
  Borrowed borrowed(array, core.signature.inputs[i].dtype, fmt::format("input '{}'", name));
  // Anything that NumPy had to copy would not see what the caller writes later.
  const bool in_place = nb::hasattr(array, "__array_interface__") &&
                        nb::cast<uintptr_t>(nb::object(array.attr("__array_interface__")["data"][0])) ==
                            reinterpret_cast<uintptr_t>(borrowed.view().data);
  if (!in_place)
    Throw(StatusCode::kInvalidArgument,
          "input '{}' can only be bound to a NumPy array with its elements in rows, one after the other (C "
          "order)",
          name);
  if (IsView(core, borrowed))
    Throw(StatusCode::kInvalidArgument,
          "input '{}' cannot be bound to an output of this session (copy=False), which the next run writes; "
          "bind a copy: array.copy()",
          name);
  if (!borrowed.aligned() || !(has_tail || borrowed.may_be_bound()))
    Throw(StatusCode::kInvalidArgument,
          "the array cannot be bound to input '{}': {}; arrays of skiff.empty() and session.input() can",
          name,
          borrowed.aligned() ? "a kernel may read 16 bytes behind its elements, which may not be there"
                             : "it is not aligned to its elements");
  if (core.views > 0 && core.may_move)
    Throw(StatusCode::kInvalidArgument,
          "input '{}' cannot be bound while there are views of the last outputs (copy=False); delete them",
          name);
  const Shape shape = borrowed.view().shape;
  BindAt(core, i, std::move(borrowed));
  core.inputs[i].pinned = true;
  core.inputs[i].shape = shape;
  last_run_ns_ = UINT64_MAX;
}

nb::dict SessionHandle::State() const {
  SessionCore& core = this->core();
  const Turn turn(core);
  nb::dict values;
  Variables& variables = core.session->variables();
  for (const VariableInfo& variable : core.model->model().variables()) {
    const TensorView view = Must([&] { return variables.Get(variable.name); });
    values[Interned(variable.name)] = ToArray(view);
  }
  return values;
}

void SessionHandle::SetState(const nb::dict& values) {
  SessionCore& core = this->core();
  const Turn turn(core);
  for (const auto& [key, array] : values) {
    const std::string name = NameOf(key);
    const TensorView current = Must([&] { return core.session->variables().Get(name.c_str()); });
    const Borrowed borrowed(array, current.dtype, fmt::format("variable '{}'", name));
    TensorView view = borrowed.view();
    if (view.dtype == current.dtype) view.quantization = current.quantization;
    Must([&] { return core.session->variables().Set(name.c_str(), view); });
  }
}

void SessionHandle::ResetState() {
  const Turn turn(core());
  core_->session->variables().Reset();
}

nb::dict SessionHandle::Memory() const {
  SessionCore& core = this->core();
  const Turn turn(core);
  const MemoryUsage usage = core.session->memory_usage();
  nb::dict result;
  result["arena"] = usage.arena;
  result["workspace"] = usage.workspace;
  result["packed_weights"] = usage.packed_weights;
  result["mapped_weights"] = usage.mapped_weights;
  result["variables"] = usage.variables;
  result["inputs"] = usage.inputs;
  result["mapped_packed_weights"] = usage.mapped_packed_weights;
  result["widened_weights"] = usage.widened_weights;
  return result;
}

nb::list SessionHandle::Profile() const {
  SessionCore& core = this->core();
  const Turn turn(core);
  nb::list nodes;
  for (int i = 0; i < core.session->node_count(); ++i) {
    const NodeInfo info = core.session->node(i);
    nb::dict node;
    node["name"] = Interned(info.name);
    node["op"] = info.op;
    node["delegate"] = info.delegate_name;
    node["shape_program"] = info.shape_program;
    node["fell_back"] = info.fell_back;
    node["begin_ns"] = info.last_begin_ns;
    node["duration_ns"] = info.last_ns;
    node["bytes"] = info.bytes;
    node["multiply_adds"] = info.multiply_adds;
    nodes.append(node);
  }
  return nodes;
}

nb::dict SessionHandle::Facts() const {
  SessionCore& core = this->core();
  nb::dict result;
  result["signature"] = Interned(core.signature.name);
  result["target"] = TargetName(core.session->target());
  result["threads"] = core.session->threads();
  return result;
}

nb::object SessionHandle::Tap(const std::string& name) const {
  SessionCore& core = this->core();
  const Turn turn(core);
  return ToArray(Must([&] { return core.session->Tap(name.c_str()); }));
}

void BindSession(nb::module_& module) {
  nb::class_<PoolHandle>(module, "ThreadPool", "Worker threads that several Sessions share.")
      .def(
          "__init__",
          [](PoolHandle* self, int threads) {
            std::unique_ptr<ThreadPool> pool;
            {
              const Unlocked unlocked;
              pool = Must([&] { return CreateThreadPool(threads); });
            }
            new (self) PoolHandle{std::move(pool)};
          },
          nb::arg("threads") = 0);
  nb::class_<SessionHandle>(module, "Session",
                            "One thread's use of a Model; skiff.Session is what callers see.")
      .def(nb::init<const ModelHandle&, nb::handle, nb::object>(), nb::arg("model"), nb::arg("options"),
           nb::arg("outputs_type"))
      .def("__call__", &SessionHandle::Call)
      .def("run_named", &SessionHandle::RunNamed, nb::arg("inputs"), nb::arg("copy"))
      .def("cancel", &SessionHandle::Cancel,
           "Ends a run in progress on another thread with skiff.Cancelled at its next node. May be called "
           "from any thread.")
      .def("bind_input", &SessionHandle::Bind, nb::arg("name"), nb::arg("array"), nb::arg("has_tail"))
      .def("get_state", &SessionHandle::State)
      .def("set_state", &SessionHandle::SetState, nb::arg("values"))
      .def("reset_state", &SessionHandle::ResetState,
           "Puts the variables back to the values that the file has.")
      .def("memory_usage", &SessionHandle::Memory)
      .def("profile_nodes", &SessionHandle::Profile)
      .def("facts", &SessionHandle::Facts)
      .def("tap", &SessionHandle::Tap, nb::arg("name"))
      .def("close", &SessionHandle::Close)
      .def("closed", &SessionHandle::closed);
}

}  // namespace skiff::python
