#include "skiff/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "core/error_capture.h"
#include "core/platform.h"
#include "core/sentences.h"

namespace skiff {
namespace {

std::atomic<LogSink> current_sink{nullptr};
std::atomic<void*> current_user{nullptr};

thread_local ErrorCapture* innermost_capture = nullptr;

constexpr size_t kLongestMessage = 1024;

void Emit(LogLevel level, const char* message) {
  if (level == LogLevel::kError && DeliverToCapture(message)) return;
  if (const LogSink sink = current_sink.load()) {
    sink(current_user.load(), level, message);
  } else {
    platform::DefaultLog(level, message);
  }
}

}  // namespace

ErrorCapture::ErrorCapture() : outer_(innermost_capture) {
  message_[0] = 0;
  innermost_capture = this;
}
ErrorCapture::~ErrorCapture() { innermost_capture = outer_; }

bool DeliverToCapture(const char* message) {
  if (innermost_capture == nullptr) return false;
  std::snprintf(innermost_capture->message_, sizeof(innermost_capture->message_), "%s", message);
  return true;
}

void SetLogSink(LogSink sink, void* user) {
  current_user.store(user);
  current_sink.store(sink);
}

void Log(LogLevel level, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char message[kLongestMessage];
  std::vsnprintf(message, sizeof(message), format, arguments);
  Emit(level, message);
  va_end(arguments);
}

Status Fail(StatusCode code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char message[kLongestMessage];
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  Emit(LogLevel::kError, message);
  return Status(code, RememberSentence(message));
}

}  // namespace skiff
