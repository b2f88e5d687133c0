// Ctrl-C during a run. Python's own handler only leaves a note for its interpreter, which is not back before
// the run is over.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "platforms/python/bindings/support.h"

namespace skiff::python {
namespace {

std::atomic<Session*> running{nullptr};
/// Handlers at work, on whichever thread.
std::atomic<int> handling{0};
struct sigaction previous = {};

void OnInterrupt(int number, siginfo_t* info, void* context) {
  handling.fetch_add(1);
  if (Session* session = running.load()) session->Cancel();
  handling.fetch_sub(1);
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, info, context);
  } else {
    previous.sa_handler(number);
  }
}

bool IsMainThread() { return static_cast<pid_t>(syscall(SYS_gettid)) == getpid(); }

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(Session& session) {
  if (!IsMainThread() || running.load() != nullptr) return;
  struct sigaction current = {};
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  const bool plain = (current.sa_flags & SA_SIGINFO) == 0;
  if (plain && (current.sa_handler == SIG_IGN || current.sa_handler == SIG_DFL)) return;
  previous = current;
  running.store(&session);
  struct sigaction own = current;
  own.sa_sigaction = &OnInterrupt;
  own.sa_flags |= SA_SIGINFO;
  installed_ = sigaction(SIGINT, &own, nullptr) == 0;
  if (!installed_) running.store(nullptr);
}

CancelOnInterrupt::~CancelOnInterrupt() {
  if (!installed_) return;
  sigaction(SIGINT, &previous, nullptr);
  running.store(nullptr);
  // A handler on another thread may have taken the Session just before.
  while (handling.load() != 0) {
  }
}

}  // namespace skiff::python
