/// Tokens of the text form (text.h).
#pragma once

#include <string>
#include <string_view>

namespace skiff::text {

enum class TokenKind { kName, kNumber, kPunctuation, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  bool quoted = false;
  int line = 1;
  int column = 1;

  bool Is(std::string_view wanted) const { return !quoted && text == wanted; }
};

/// Splits the text into names, numbers and single punctuation characters. '#' starts a comment.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { Advance(); }

  const Token& next() const { return next_; }
  Token Take();
  /// Throws Error naming the place of `at`.
  [[noreturn]] static void Fail(const Token& at, const std::string& message);

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool IsDigit(size_t i) const { return i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; }
  void Step();
  void SkipBlanks();
  bool StartsNumber() const;
  bool ContinuesNumber() const;
  void TakeQuoted();
  void TakeNumber();
  void TakeName();
  void Advance();

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  Token next_;
};

}  // namespace skiff::text
