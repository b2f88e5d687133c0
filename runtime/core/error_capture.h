/// Takes the errors of the current thread instead of the log sink, for callers that turn a Status and its
/// sentence into something else (the converter's exceptions, the C API's message buffer). Warnings have no
/// Status and go to the sink as ever.
#pragma once

#include "skiff/log.h"

namespace skiff {

class ErrorCapture {
 public:
  ErrorCapture();
  ~ErrorCapture();
  ErrorCapture(const ErrorCapture&) = delete;
  ErrorCapture& operator=(const ErrorCapture&) = delete;

  /// The newest error of this thread since construction; "" when there was none.
  const char* message() const { return message_; }

 private:
  friend bool DeliverToCapture(const char* message);
  ErrorCapture* outer_;
  char message_[1024];  ///< Text up to its end: most captures catch nothing, and cost nothing.
};

/// For log.cpp: true when the thread has a capture, which then holds the message.
bool DeliverToCapture(const char* message);

}  // namespace skiff
