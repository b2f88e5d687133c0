#include "skiff/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "core/error_capture.h"
#include "core/platform.h"

namespace skiff {
namespace {

std::atomic<LogSink> current_sink{nullptr};
std::atomic<void*> current_user{nullptr};

thread_local ErrorCapture* innermost_capture = nullptr;

void Emit(LogLevel level, const char* format, va_list arguments) {
  char message[1024];
  std::vsnprintf(message, sizeof(message), format, arguments);
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

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kInvalidModel:
      return "invalid model";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kNoMatchingBucket:
      return "no matching bucket";
    case StatusCode::kOutOfMemory:
      return "out of memory";
    case StatusCode::kIo:
      return "input/output error";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kDeviceLost:
      return "device lost";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown status";
}

void SetLogSink(LogSink sink, void* user) {
  current_user.store(user);
  current_sink.store(sink);
}

void Log(LogLevel level, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Emit(level, format, arguments);
  va_end(arguments);
}

Status Fail(StatusCode code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Emit(LogLevel::kError, format, arguments);
  va_end(arguments);
  return Status(code);
}

}  // namespace skiff
