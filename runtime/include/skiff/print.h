/// Where the Print operator's text goes.
#pragma once

namespace skiff {

/// Receives the text of one Print, without a trailing newline; valid during the call only. It may be called
/// from any thread that runs a Session, so it must be thread-safe.
using PrintSink = void (*)(void* user, const char* text);

/// Replaces the sink; null restores the default, which writes lines to stderr (logcat on Android).
/// Process-wide. Call it before other threads use Skiff.
void SetPrintSink(PrintSink sink, void* user);

}  // namespace skiff
