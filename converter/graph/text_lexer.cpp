#include "graph/text_lexer.h"

#include <cctype>

#include "graph/error.h"
#include "graph/text_grammar.h"

namespace skiff::text {

Token Lexer::Take() {
  Token taken = next_;
  Advance();
  return taken;
}

void Lexer::Fail(const Token& at, const std::string& message) {
  Throw(StatusCode::kInvalidArgument, "graph text, line {}, column {}: {}", at.line, at.column, message);
}

void Lexer::Step() {
  if (text_[at_++] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
}

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    if (Peek() == '#') {
      while (at_ < text_.size() && Peek() != '\n') Step();
    } else if (std::isspace(static_cast<unsigned char>(Peek()))) {
      Step();
    } else {
      return;
    }
  }
}

/// A number starts with a digit, or with '-' and a digit, "inf" or "nan".
bool Lexer::StartsNumber() const {
  if (Peek() != '-') return IsDigit(at_);
  const std::string_view word = text_.substr(at_ + 1, 3);
  return IsDigit(at_ + 1) || word == "inf" || word == "nan";
}

/// "1..8" is the number 1, two points and the number 8.
bool Lexer::ContinuesNumber() const {
  const char c = Peek();
  if (c == '.') return IsDigit(at_ + 1);
  if (c == '-' || c == '+') return text_[at_ - 1] == 'e';
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

void Lexer::TakeQuoted() {
  next_.kind = TokenKind::kName;
  next_.quoted = true;
  Step();
  while (at_ < text_.size() && Peek() != '"') {
    if (Peek() == '\\' && at_ + 1 < text_.size()) Step();
    next_.text += Peek();
    Step();
  }
  if (at_ >= text_.size()) Fail(next_, "the quoted name does not end");
  Step();
}

void Lexer::TakeNumber() {
  next_.kind = TokenKind::kNumber;
  do {
    next_.text += Peek();
    Step();
  } while (at_ < text_.size() && ContinuesNumber());
}

void Lexer::TakeName() {
  next_.kind = TokenKind::kName;
  while (at_ < text_.size() && ContinuesName(Peek())) {
    next_.text += Peek();
    Step();
  }
}

void Lexer::Advance() {
  SkipBlanks();
  next_ = {TokenKind::kEnd, "", false, line_, column_};
  if (at_ >= text_.size()) return;
  if (Peek() == '"') return TakeQuoted();
  if (StartsNumber()) return TakeNumber();
  if (StartsName(Peek())) return TakeName();
  next_.kind = TokenKind::kPunctuation;
  next_.text = Peek();
  Step();
}

}  // namespace skiff::text
