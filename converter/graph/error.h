/// The converter's error: host code throws it with one complete sentence (what, where, expected, got, what to
/// do). It never crosses into the runtime.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "skiff/status.h"

namespace skiff {

class Error : public std::runtime_error {
 public:
  Error(StatusCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  StatusCode code() const { return code_; }

 private:
  StatusCode code_;
};

/// Throws Error with a formatted message (fmt style).
template <class... Args>
[[noreturn]] void Throw(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Makes a call whose Error then says where it happened: "model.onnx: ...". An empty `where` says nothing.
template <class Call>
auto Within(const std::string& where, Call&& call) {
  try {
    return call();
  } catch (const Error& error) {
    if (where.empty()) throw;
    throw Error(error.code(), fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace skiff
