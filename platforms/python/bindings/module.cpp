// The extension skiff._skiff: what the Python package is written over.
#include "platforms/python/bindings/session.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tensors.h"
#include "platforms/python/bindings/tools.h"
#include "skiff/log.h"
#include "skiff/print.h"

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
  BindConvert(module);
  BindMeasure(module);
  BindParity(module);
  BindQuantize(module);
  BindTensors(module);
  BindOperators(module);
  BindFunctions(module);
  // At the interpreter's end nobody is left to deliver to.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    skiff::SetLogSink(nullptr, nullptr);
    skiff::SetPrintSink(nullptr, nullptr);
  }));
}
