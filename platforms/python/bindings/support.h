/// What every binding needs: errors and log messages on their way to Python, and Python's signals on their
/// way in.
#pragma once

#include "platforms/python/bindings/python.h"

#include <functional>
#include <optional>
#include <string>

#include "skiff/session.h"

namespace skiff::python {

/// skiff::Error and what the tool says of malformed options become the classes of skiff._errors.
void RegisterErrors();

/// Throws what Python has raised: where that is a skiff.Error, as a C++ Error that becomes the same exception
/// again.
[[noreturn]] void ThrowAsError(nb::python_error& error);

/// A name of a file as text, once in the process. Bytes that are no text are replaced.
nb::object Interned(const char* name);

/// Messages wait in a queue, because a thread that speaks may hold a lock that the interpreter's owner waits
/// for.
void CollectLog();
/// Passes what has been said to logging.getLogger("skiff"). With the GIL held.
void DeliverLog();

/// Releases the GIL while it lives. What was said meanwhile is delivered by its end.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// The same where `wanted`.
class MaybeUnlocked {
 public:
  explicit MaybeUnlocked(bool wanted) {
    if (wanted) unlocked_.emplace();
  }

 private:
  std::optional<Unlocked> unlocked_;
};

/// Has the GIL while it lives.
class Locked {
 public:
  Locked();
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Runs Python's handlers of signals that have come, with or without the GIL. Throws what they raise.
void CheckSignals();

/// While it lives, Ctrl-C cancels the Session's run, if this is the main thread and Python listens to Ctrl-C
/// at all. The handler that was there runs as well. One at a time: those that come second do nothing.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(Session& session);
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  bool installed_ = false;
};

/// A step's name for `progress`, a callable or None, and a chance for Ctrl-C. For work without the GIL; what
/// `progress` raises ends the work.
std::function<void(const std::string& step)> ProgressOf(nb::object progress);

}  // namespace skiff::python
