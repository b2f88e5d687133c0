/// How an operator call is carried out, and how its errors are told.
#pragma once

#include <string>
#include <utility>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "trace/tensor.h"

namespace skiff::eager {

/// Calls an operator: computes it, or records it where a trace is going on. Empty tensors are absent inputs;
/// `declared`, none or one for each result, says how these are quantised. Throws Error that begins with the
/// place where the operator does not take these operands.
Tensors Apply(OpCode op, const AttrStorage& attrs, Tensors inputs, size_t output_count, const Location& where,
              const std::vector<DeclaredType>& declared = {});

/// "model.cpp:12".
std::string PlaceText(const Location& where);

/// An Error whose sentence begins with a place already.
class PlacedError : public Error {
 public:
  using Error::Error;
};

/// Throws Error with the place and a formatted message.
template <class... Args>
[[noreturn]] void ThrowAt(const Location& where, StatusCode code, fmt::format_string<Args...> format,
                          Args&&... args) {
  throw PlacedError(code, PlaceText(where) + ": " + fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace skiff::eager
