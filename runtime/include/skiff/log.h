/// The log seam: every sentence that Skiff says about an error or a warning passes through one sink.
#pragma once

#include "skiff/status.h"

namespace skiff {

enum class LogLevel : uint8_t { kInfo = 0, kWarning = 1, kError = 2 };

/// Receives one message, without a trailing newline. `message` is valid during the call only. It may be
/// called from any thread that uses Skiff, so it must be thread-safe, and it must not call Skiff.
using LogSink = void (*)(void* user, LogLevel level, const char* message);

/// Replaces the sink; null restores the default, which writes to stderr (logcat on Android). Process-wide.
/// Call it before other threads use Skiff.
void SetLogSink(LogSink sink, void* user);

/// Formats a message (printf style, at most 1023 bytes, cut after that) and passes it to the sink.
void Log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// Logs the sentence at kError and returns `code`: the way a failure is reported at the point where it is
/// seen.
Status Fail(StatusCode code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace skiff
