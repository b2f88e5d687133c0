// The extension skiff._skiff: what the Python package is written over.
#include "platforms/python/bindings/session.h"
#include "platforms/python/bindings/support.h"
#include "skiff/delegates.h"
#include "skiff/log.h"
#include "skiff/print.h"
#include "skiff/version.h"
#ifndef SKIFF_PYTHON_RUNTIME
#include "platforms/python/bindings/tensors.h"
#include "platforms/python/bindings/tools.h"
#endif

namespace skiff::python {
namespace {

nb::dict BuildInfo() {
  nb::list delegates;
  for (const Delegate* delegate : BuiltinDelegates()) delegates.append(delegate->support().name());
  nb::dict result;
  result["version"] = SKIFF_VERSION;
  result["delegates"] = nb::tuple(delegates);
  result["compiler"] = __VERSION__;
#if defined(__x86_64__)
  result["cpu"] = "x86_64";
#elif defined(__aarch64__)
  result["cpu"] = "aarch64";
#else
  result["cpu"] = "other";
#endif
#ifdef Py_LIMITED_API
  result["stable_abi"] = true;
#else
  result["stable_abi"] = false;
#endif
#ifdef SKIFF_PYTHON_RUNTIME
  result["converter"] = false;
#else
  result["converter"] = true;
#endif
  return result;
}

}  // namespace
}  // namespace skiff::python

NB_MODULE(_skiff, module) {
  using namespace skiff::python;  // NOLINT: a function's own.
  module.doc() = "The native part of the package skiff, which is the API.";
  // Daemon threads hold what they hold when the interpreter ends.
  nb::set_leak_warnings(false);
  RegisterErrors();
  ImportArrays();
  CollectLog();
  BindModel(module);
  BindSession(module);
  module.def("build_info", &BuildInfo);
#ifndef SKIFF_PYTHON_RUNTIME
  BindConvert(module);
  BindMeasure(module);
  BindParity(module);
  BindQuantize(module);
  BindTensors(module);
  BindOperators(module);
  BindFunctions(module);
#endif
  // At the interpreter's end nobody is left to deliver to.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    skiff::SetLogSink(nullptr, nullptr);
    skiff::SetPrintSink(nullptr, nullptr);
  }));
}
