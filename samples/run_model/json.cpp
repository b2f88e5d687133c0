#include "json.h"

#include <cmath>

namespace {

/// Bytes of the character at `text`; 0 where that is no UTF-8.
int CharacterBytes(const unsigned char* text) {
  struct Row {
    unsigned char mask, lead;
    int bytes;
    uint32_t least;  ///< A shorter form would do for what is below.
  };
  constexpr Row kRows[] = {
      {0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
  for (const Row& row : kRows) {
    if ((text[0] & row.mask) != row.lead) continue;
    uint32_t code = text[0] & static_cast<unsigned char>(~row.mask);
    for (int i = 1; i < row.bytes; ++i) {
      if ((text[i] & 0xc0) != 0x80) return 0;
      code = code << 6 | (text[i] & 0x3fu);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < row.least || code > 0x10ffff || surrogate ? 0 : row.bytes;
  }
  return 0;
}

}  // namespace

void JsonWriter::Quoted(const char* text) {
  std::fputc('"', to_);
  const auto* at = reinterpret_cast<const unsigned char*>(text);
  while (*at != 0) {
    const int bytes = CharacterBytes(at);
    if (bytes == 0) {
      std::fputs("\\ufffd", to_);
    } else if (*at < 0x20) {
      std::fprintf(to_, "\\u%04x", *at);
    } else {
      if (*at == '"' || *at == '\\') std::fputc('\\', to_);
      std::fwrite(at, 1, static_cast<size_t>(bytes), to_);
    }
    at += bytes == 0 ? 1 : bytes;
  }
  std::fputc('"', to_);
}

void JsonWriter::Key(const char* key) {
  if (depth_ > 0) std::fprintf(to_, "%s\n%*s", first_ ? "" : ",", 2 * depth_, "");
  first_ = false;
  if (key == nullptr) return;
  Quoted(key);
  std::fputs(": ", to_);
}

void JsonWriter::Begin(const char* key, char bracket) {
  Key(key);
  std::fputc(bracket, to_);
  ++depth_;
  first_ = true;
}

void JsonWriter::End(char bracket) {
  --depth_;
  if (!first_) std::fprintf(to_, "\n%*s", 2 * depth_, "");
  first_ = false;
  std::fputc(bracket, to_);
  if (depth_ == 0) std::fputc('\n', to_);
}

void JsonWriter::Text(const char* key, const char* text) {
  Key(key);
  Quoted(text);
}

void JsonWriter::Integer(const char* key, int64_t number) {
  Key(key);
  std::fprintf(to_, "%lld", static_cast<long long>(number));
}

void JsonWriter::Unsigned(const char* key, uint64_t number) {
  Key(key);
  std::fprintf(to_, "%llu", static_cast<unsigned long long>(number));
}

void JsonWriter::Real(const char* key, double number) {
  if (!std::isfinite(number)) return Text(key, std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
  Key(key);
  std::fprintf(to_, "%.17g", number);
}

void JsonWriter::Flag(const char* key, bool value) {
  Key(key);
  std::fputs(value ? "true" : "false", to_);
}
