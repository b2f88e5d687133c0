#include "platforms/python/bindings/support.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "cli/print.h"
#include "graph/error.h"
#include "platforms/python/bindings/or_stop.h"
#include "skiff/log.h"

namespace skiff::python {
namespace {

/// An exception of Python's that is on its way through C++.
class RaisedError : public Error {
 public:
  RaisedError(const std::string& message, const nb::python_error& raised)
      : Error(StatusCode::kInvalidArgument, message), raised_(raised) {}
  void Restore() const { nb::python_error(raised_).restore(); }

 private:
  nb::python_error raised_;
};

constexpr int kCodes = static_cast<int>(StatusCode::kInternal) + 1;

/// Kept for the life of the process, as in arrays.cpp.
PyObject* error_classes[kCodes] = {};
PyObject* log_function = nullptr;

void Raise(StatusCode code, const char* message) {
  PyObject* type = error_classes[static_cast<size_t>(code)];
  // A message may have bytes of a file's names, which are no text, or act on a terminal.
  const std::string shown = cli::Visible(message);
  PyObject* text = PyUnicode_DecodeUTF8(shown.data(), static_cast<Py_ssize_t>(shown.size()), "replace");
  if (text == nullptr) return;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

void Translate(const std::exception_ptr& pointer, void*) {
  // No exception of C++: the interpreter has ended, and unwinds this thread from inside of a call of ours
  // (OrStop).
  while (pointer == nullptr) pause();
  try {
    std::rethrow_exception(pointer);
  } catch (const RaisedError& error) {
    error.Restore();
  } catch (const Error& error) {
    Raise(error.code(), error.what());
  } catch (const CLI::Error& error) {
    Raise(StatusCode::kInvalidArgument, error.what());
  } catch (const nb::cast_error&) {
    Raise(StatusCode::kInvalidArgument,
          "an argument is of another type than expected, or too large a number");
  } catch (const std::bad_alloc&) {
    Raise(StatusCode::kOutOfMemory, "out of memory");
  }
}

struct Said {
  LogLevel level;
  std::string text;
};

std::mutex said_lock;
std::vector<Said> said;
std::atomic<bool> something_said{false};

void Keep(void*, LogLevel level, const char* message) {
  constexpr size_t kMost = 10000;  // Of a process that never comes back to Python.
  const std::lock_guard<std::mutex> lock(said_lock);
  if (said.size() < kMost) said.push_back({level, message});
  something_said.store(true, std::memory_order_release);
}

}  // namespace

void RegisterErrors() {
  // In the order of StatusCode; "ok" is no error, and Error itself stands in its place.
  constexpr const char* kClasses[kCodes] = {
      "Error",       "InvalidArgument", "InvalidModel", "Unsupported", "NoMatchingBucket",
      "OutOfMemory", "IoError",         "Cancelled",    "DeviceLost",  "InternalError"};
  const nb::module_ errors = nb::module_::import_("skiff._errors");
  for (int i = 0; i < kCodes; ++i) error_classes[i] = nb::object(errors.attr(kClasses[i])).release().ptr();
  nb::register_exception_translator(&Translate);
}

void ThrowAsError(nb::python_error& error) {
  if (!error.matches(error_classes[0])) throw error;
  throw RaisedError(nb::cast<std::string>(nb::str(error.value())), error);
}

nb::object Interned(const char* name) {
  PyObject* text = PyUnicode_DecodeUTF8(name, static_cast<Py_ssize_t>(std::strlen(name)), "replace");
  if (text == nullptr) throw nb::python_error();
  PyUnicode_InternInPlace(&text);
  return nb::steal(text);
}

void CollectLog() {
  log_function = nb::object(nb::module_::import_("skiff._errors").attr("log")).release().ptr();
  SetLogSink(&Keep, nullptr);
}

void DeliverLog() {
  if (!something_said.load(std::memory_order_acquire)) return;
  std::vector<Said> taken;
  {
    const std::lock_guard<std::mutex> lock(said_lock);
    taken.swap(said);
    something_said.store(false, std::memory_order_relaxed);
  }
  for (const Said& one : taken) {
    // A handler that raises must not hide what the call itself has to say.
    PyObject* result = nullptr;
    OrStop([&] {
      result = PyObject_CallFunction(log_function, "is", static_cast<int>(one.level), one.text.c_str());
    });
    if (result == nullptr) PyErr_WriteUnraisable(log_function);
    Py_XDECREF(result);
  }
}

Unlocked::~Unlocked() {
  OrStop([&] { PyEval_RestoreThread(state_); });
  DeliverLog();
}

Locked::Locked() {
  OrStop([&] { state_ = PyGILState_Ensure(); });
}

void CheckSignals() {
  const Locked locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::function<void(const std::string& step)> ProgressOf(nb::object progress) {
  // The object is used and given back under the GIL alone.
  const auto held = std::shared_ptr<nb::object>(new nb::object(std::move(progress)), [](nb::object* object) {
    const Locked locked;
    delete object;
  });
  return [held](const std::string& step) {
    const Locked locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!held->is_none()) (*held)(step);
  };
}

}  // namespace skiff::python
