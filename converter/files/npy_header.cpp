#include "files/npy_header.h"

#include <charconv>
#include <set>

#include "graph/error.h"

namespace skiff {
namespace {

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader Parse() {
    NpyHeader header;
    std::set<std::string> keys;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = String();
      Expect(':');
      if (!keys.insert(key).second) Fail("repeats the key '" + key + "'");
      if (key == "descr") {
        header.descr = String();
      } else if (key == "fortran_order") {
        header.fortran_order = Bool();
      } else if (key == "shape") {
        header.shape = Tuple();
      } else {
        Fail("has the unknown key '" + key + "'");
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (at_ != text_.size()) Fail("goes on after its dictionary");
    if (keys.size() != 3) Fail("lacks one of the keys descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    Throw(StatusCode::kInvalidModel, "{}: not a usable .npy file: its header {}", name_, what);
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool Accept(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void Expect(char wanted) {
    if (!Accept(wanted)) Fail(fmt::format("has no '{}' at position {}", wanted, at_));
  }
  bool AcceptWord(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::string String() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') Fail(fmt::format("has no string at position {}", at_));
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) Fail("has a string without an end");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool Bool() {
    if (AcceptWord("True")) return true;
    if (AcceptWord("False")) return false;
    Fail("has a fortran_order that is neither True nor False");
  }

  Shape Tuple() {
    Shape shape;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      int64_t extent = -1;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) Fail(fmt::format("has no extent at position {}", at_));
      if (shape.rank() == kMaxRank) Fail(fmt::format("has more than {} dimensions", kMaxRank));
      shape.Append(extent);
      at_ += static_cast<size_t>(end - begin);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

}  // namespace

NpyHeader ParseNpyHeader(std::string_view text, const std::string& name) {
  return HeaderParser(text, name).Parse();
}

}  // namespace skiff
