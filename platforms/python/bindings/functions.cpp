// Functions, control flow, effects and modes of trace/ for Python. What a Python callable takes and returns
// is flattened by the package (skiff/_function.py): here there are lists of tensors.
#include <fmt/format.h>

#include "graph/error.h"
#include "passes/passes.h"
#include "platforms/python/bindings/options.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tensors.h"
#include "shape_contract.h"
#include "skiff/print.h"
#include "trace/apply.h"
#include "trace/control.h"
#include "trace/effects.h"
#include "trace/frame.h"
#include "trace/polymorphic.h"
#include "trace/save.h"
#include "trace/words.h"

namespace skiff::python {
namespace {

using eager::ConcreteFunction;
using eager::FunctionOptions;
using eager::Location;
using eager::Pieces;
using eager::Polymorphic;
using eager::Tensors;
using eager::TensorSpec;
using SharedConcrete = std::shared_ptr<ConcreteFunction>;

/// Kept for the life of the process, as in arrays.cpp.
PyObject* print_line = nullptr;

void PrintToPython(void*, const char* text) {
  const Locked locked;
  const nb::object line =
      nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
  const nb::object done = nb::steal(PyObject_CallFunctionObjArgs(print_line, line.ptr(), nullptr));
  if (!done.is_valid()) PyErr_WriteUnraisable(print_line);
}

/// A Python callable over flat tensors, which C++ calls without the GIL.
class PythonBody {
 public:
  explicit PythonBody(const nb::callable& code) : code_(code) {}

  Tensors operator()(const Tensors& arguments) const {
    const Locked locked;
    try {
      const nb::tuple made = nb::cast<nb::tuple>(code_(ToList(arguments)));
      form_ = nb::cast<uint64_t>(made[2]);
      if (eager::Frame* frame = eager::Frame::Current())
        frame->result_form = {nb::cast<std::vector<std::string>>(made[1]), form_};
      return FromList(nb::cast<nb::list>(made[0]));
    } catch (nb::python_error& error) {
      // Tracing for open extents is given up for an Error, so one that has passed through Python must be one
      // again.
      ThrowAsError(error);
    }
  }
  /// Of the results of the last call.
  uint64_t form() const { return form_; }

 private:
  const nb::callable& code_;
  mutable uint64_t form_ = 0;
};

struct FunctionHandle {
  std::shared_ptr<Polymorphic> core;
};

FunctionOptions ToOptions(const nb::dict& given) {
  FunctionOptions options;
  options.name = Get<std::string>(given, "name");
  options.argument_names = Get<std::vector<std::string>>(given, "argument_names");
  options.input_signature = Get<std::vector<std::string>>(given, "input_signature");
  for (const nb::handle bucket : Get<nb::list>(given, "buckets")) {
    Bucket ranges;
    for (const auto& [name, range] : nb::cast<nb::dict>(bucket)) {
      const auto [min, max] = nb::cast<std::pair<int64_t, int64_t>>(range);
      ranges[nb::cast<std::string>(name)] = DimRange(min, max);
    }
    options.buckets.push_back(ranges);
  }
  options.relax_shapes = Get<bool>(given, "relax_shapes");
  options.max_concrete_functions = Get<size_t>(given, "max_concrete_functions");
  options.retrace_warning = Get<int>(given, "retrace_warning");
  options.run_eagerly = Get<std::optional<bool>>(given, "run_eagerly");
  for (const std::string& pass : Get<std::vector<std::string>>(given, "disable_passes"))
    options.pipeline.disabled.insert(pass);
  options.backend = Get<bool>(given, "reference") ? Backend::kReference : Backend::kPlanned;
  options.target = Get<bool>(given, "vulkan") ? Target::kVulkan : Target::kCpu;
  options.threads = Get<int>(given, "threads");
  options.kept_shapes = Get<int>(given, "kept_shapes");
  return options;
}

nb::tuple Call(const FunctionHandle& function, const nb::list& arguments, const std::string& key,
               const nb::callable& code) {
  const Tensors tensors = FromList(arguments);
  const PythonBody body(code);
  SharedConcrete used;
  Tensors results;
  {
    const Unlocked unlocked;
    results = function.core->Call(tensors, key, body, &used);
  }
  return nb::make_tuple(ToList(results), used ? used->result_form() : body.form(), used != nullptr);
}

SharedConcrete Concrete(const FunctionHandle& function, const std::vector<std::string>& types,
                        const std::string& key, const nb::callable& code) {
  std::vector<TensorSpec> specs;
  for (const std::string& type : types) specs.push_back(eager::ParseTensorSpec(type));
  const PythonBody body(code);
  const Unlocked unlocked;
  return function.core->Get(specs, key, body);
}

nb::dict Statistics(const FunctionHandle& function) {
  eager::FunctionStatistics statistics;
  {
    const Unlocked unlocked;  // The lock may be held by a trace, which needs the GIL.
    statistics = function.core->statistics();
  }
  nb::dict result;
  result["traces"] = statistics.traces;
  result["hits"] = statistics.hits;
  result["misses"] = statistics.misses;
  result["dropped"] = statistics.dropped;
  result["families"] = statistics.families;
  result["eager_calls"] = statistics.eager_calls;
  result["inlined_calls"] = statistics.inlined_calls;
  result["trace_seconds"] = statistics.trace_seconds;
  result["compile_seconds"] = statistics.compile_seconds;
  return result;
}

nb::list ConcreteFunctions(const FunctionHandle& function) {
  std::vector<SharedConcrete> all;
  {
    const Unlocked unlocked;
    all = function.core->concrete_functions();
  }
  nb::list list;
  for (const SharedConcrete& one : all) list.append(nb::cast(one));
  return list;
}

Pieces ToPieces(const nb::list& given, const Location& where) {
  Pieces pieces;
  for (const nb::handle piece : given) {
    if (nb::isinstance<nb::str>(piece)) {
      pieces.emplace_back(nb::cast<std::string>(piece));
    } else {
      pieces.emplace_back(ToOperand(piece, DType::kInvalid, "a piece", where));
    }
  }
  return pieces;
}

nb::list CallCond(nb::handle condition, const nb::callable& then, const nb::callable& otherwise) {
  const Location where = Here();
  const auto branch = [](const nb::callable& code) {
    return [&code] { return FromList(nb::cast<nb::list>(code())); };
  };
  return ToList(eager::internal::CondTensors(ToOperand(condition, DType::kBool, "the condition", where),
                                             branch(then), branch(otherwise), where));
}

nb::list CallWhile(const nb::callable& condition, const nb::callable& body, const nb::list& initial) {
  const Location where = Here();
  return ToList(eager::internal::WhileTensors(
      [&](const Tensors& variables) {
        return ToOperand(condition(ToList(variables)), DType::kBool, "the condition", where);
      },
      [&](const Tensors& variables) { return FromList(nb::cast<nb::list>(body(ToList(variables)))); },
      FromList(initial), where));
}

nb::bytes Serialize(const nb::list& signatures) {
  std::vector<eager::SavedSignature> saved;
  for (const nb::handle one : signatures) {
    const auto [name, function] = nb::cast<std::pair<std::string, SharedConcrete>>(one);
    saved.push_back({name, function});
  }
  std::vector<uint8_t> file;
  {
    const Unlocked unlocked;
    file = eager::SerializeFunctions(saved);
  }
  return nb::bytes(reinterpret_cast<const char*>(file.data()), file.size());
}

/// Scopes of this thread, as a context manager, which may be entered again before it is left.
template <class Scope>
struct Entered {
  explicit Entered(bool is_on) : on(is_on) {}
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  const bool on;
  std::vector<std::unique_ptr<Scope>> scopes;
};

template <class Scope>
void BindScope(nb::module_& module, const char* name, const char* doc) {
  using Manager = Entered<Scope>;
  nb::class_<Manager>(module, name, doc)
      .def(
          "__init__", [](Manager* self, bool on) { new (self) Manager(on); }, nb::arg("on") = true)
      .def("__enter__", [](Manager& self) { self.scopes.push_back(std::make_unique<Scope>(self.on)); })
      .def(
          "__exit__",
          [](Manager& self, nb::handle, nb::handle, nb::handle) {
            if (!self.scopes.empty()) self.scopes.pop_back();
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, *_: object) -> None"));
}

void BindConcrete(nb::module_& module) {
  nb::class_<ConcreteFunction>(
      module, "ConcreteFunction",
      "One trace of a :class:`skiff.Function`: a graph with fixed types of its arguments.")
      .def_prop_ro("signature", &ConcreteFunction::SignatureText, "``f(x: f32[n, 20]) -> (f32[n])``.")
      .def_prop_ro("graph", &ConcreteFunction::GraphText,
                   "The graph as it was traced, before any pass, in Skiff's text form.")
      .def_prop_ro("calls", &ConcreteFunction::calls, "How often it was called.")
      .def_prop_ro("trace_seconds", &ConcreteFunction::trace_seconds, "What tracing cost.")
      .def_prop_ro("compile_seconds", &ConcreteFunction::compile_seconds,
                   "Passes, plan and preparation; 0 before the first call.")
      .def("__str__",
           [](const ConcreteFunction& self) { return self.SignatureText() + "\n" + self.GraphText(); })
      .def("__repr__", [](const ConcreteFunction& self) {
        return "<skiff.ConcreteFunction " + self.SignatureText() + ">";
      });
}

void BindEffects(nb::module_& module) {
  module.def("print", [](const nb::list& pieces) {
    const Location where = Here();
    eager::Print(ToPieces(pieces, where), where);
  });
  module.def("assert_that", [](nb::handle condition, const nb::list& pieces) {
    const Location where = Here();
    eager::Assert(ToOperand(condition, DType::kBool, "the condition", where), ToPieces(pieces, where), where);
  });
  module.def("check_numerics", [](nb::handle x, const std::string& message) {
    const Location where = Here();
    return eager::CheckNumerics(ToOperand(x, DType::kInvalid, "x", where), message, where);
  });
}

}  // namespace

void BindFunctions(nb::module_& module) {
  print_line = nb::object(nb::module_::import_("skiff._errors").attr("print_line")).release().ptr();
  SetPrintSink(&PrintToPython, nullptr);
  eager::SetWords({.language = "Python",
                   .cond = "skiff.cond()",
                   .while_loop = "skiff.while_loop()",
                   .where = "skiff.ops.where()",
                   .print = "skiff.print()",
                   .shape_of = "skiff.ops.shape_of(x)",
                   .scalar = "skiff.Tensor(..)",
                   .cast = "skiff.ops.cast()",
                   .signature = "input_signature=[{}]"});
  BindConcrete(module);
  BindEffects(module);
  nb::class_<FunctionHandle>(module, "Function", "The traces of a skiff.Function.")
      .def(
          "__init__",
          [](FunctionHandle* self, const nb::dict& options) {
            new (self) FunctionHandle{std::make_shared<Polymorphic>(ToOptions(options))};
          },
          nb::arg("options"))
      .def("call", &Call, nb::arg("arguments"), nb::arg("key"), nb::arg("code"))
      .def("concrete", &Concrete, nb::arg("types"), nb::arg("key"), nb::arg("code"))
      .def("statistics", &Statistics)
      .def("concrete_functions", &ConcreteFunctions)
      .def(
          "run_eagerly",
          [](const FunctionHandle& self, bool on) {
            const Unlocked unlocked;
            self.core->RunEagerly(on);
          },
          nb::arg("on"));
  module.def("is_operand", &IsOperand);
  module.def("cond", &CallCond);
  module.def("while_loop", &CallWhile);
  module.def("serialize_functions", &Serialize);
  module.def("set_run_functions_eagerly", &eager::SetRunFunctionsEagerly, nb::arg("on"),
             "Whether functions run their Python code at every call, so that a debugger can step through it. "
             "Process-wide; the setting of "
             "a function and a ScopedRunEagerly of the calling thread come first.");
  module.def("functions_run_eagerly", &eager::FunctionsRunEagerly, "Whether they do, in this thread.");
  module.def("set_check_every_result", &eager::SetCheckEveryResult, nb::arg("on"),
             "Whether every floating-point result of every operator is checked: the error names the first "
             "one that makes a NaN or an "
             "infinity, and its place. Functions that are traced meanwhile carry the checks with them.");
  module.def("checks_every_result", &eager::ChecksEveryResult, "Whether they are, in this thread.");
  BindScope<eager::ScopedRunEagerly>(
      module, "ScopedRunEagerly",
      "``with skiff.ScopedRunEagerly():`` functions that this thread calls run their Python code.");
  BindScope<eager::ScopedCheckEveryResult>(
      module, "ScopedCheckEveryResult",
      "``with skiff.ScopedCheckEveryResult():`` this thread checks every result of every operator.");
}

}  // namespace skiff::python
