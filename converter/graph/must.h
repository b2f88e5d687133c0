/// A call into the runtime from host code: its Status and logged sentence become an Error.
#pragma once

#include <type_traits>
#include <utility>

#include "core/error_capture.h"
#include "graph/error.h"

namespace skiff {

/// Throws Error with the captured sentence, or with the code's name where there is none.
[[noreturn]] inline void ThrowStatus(Status status, const char* message) {
  throw Error(status.code(), *message != '\0' ? message : StatusCodeName(status.code()));
}

/// Runs a call into the runtime and returns its value, or throws Error.
template <class Call>
auto Must(Call&& call) {
  ErrorCapture capture;
  auto result = call();
  if constexpr (std::is_same_v<decltype(result), Status>) {
    if (!result.ok()) ThrowStatus(result, capture.message());
  } else {
    if (!result.ok()) ThrowStatus(result.status(), capture.message());
    return std::move(result.value());
  }
}

}  // namespace skiff
