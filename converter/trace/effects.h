/// Operators that act at every call, eager or traced, where C++ code of a traced function runs once per
/// trace.
#pragma once

#include <string>

#include "trace/tensor.h"

namespace skiff::eager {

/// A piece of a printed line: text, or a tensor's elements (large tensors show their ends).
class Piece {
 public:
  Piece(const char* text) : text_(text) {}             // NOLINT: pieces are written as they come
  Piece(std::string text) : text_(std::move(text)) {}  // NOLINT
  Piece(const Tensor& tensor) : tensor_(tensor) {}     // NOLINT
  const std::string& text() const { return text_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  std::string text_;
  Tensor tensor_;
};
using Pieces = std::vector<Piece>;

/// Prints one line: the pieces with a space between them. It goes to the print seam (skiff/print.h), stderr
/// by default. Effects of one function happen in the order of the program.
void Print(const Pieces& pieces, const Location& where = Location::current());

/// Throws Error (kInvalidArgument) with the pieces where an element of `condition` (bool) is false; a traced
/// function's call does, and so does the device's Run.
void Assert(const Tensor& condition, const Pieces& pieces, const Location& where = Location::current());

/// The tensor itself. Where an element is NaN or infinite: an error that says which, with the message.
Tensor CheckNumerics(const Tensor& x, const std::string& message,
                     const Location& where = Location::current());

/// A mode for debugging: every floating-point result of every operator is checked so, and the error names the
/// first operator that makes a NaN or an infinity, and its place. Functions traced in this mode carry the
/// checks with them.
void SetCheckEveryResult(bool on);
bool ChecksEveryResult();

/// Turns the mode on (or off) for this thread while it lives.
class ScopedCheckEveryResult {
 public:
  explicit ScopedCheckEveryResult(bool on = true);
  ~ScopedCheckEveryResult();
  ScopedCheckEveryResult(const ScopedCheckEveryResult&) = delete;
  ScopedCheckEveryResult& operator=(const ScopedCheckEveryResult&) = delete;

 private:
  int before_;
};

/// What Apply() does with an operator's results.
void CheckResults(OpCode op, const std::vector<Tensor>& results, const Location& where);

}  // namespace skiff::eager
