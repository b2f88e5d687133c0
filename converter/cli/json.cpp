#include "cli/json.h"

#include <fmt/format.h>

#include <cstdio>

namespace skiff::cli {
namespace {

/// DEL and U+0080 to U+009F, with which a name could steer a terminal, as \u00XX; JSON escapes the others.
std::string WithoutControls(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0x7F) {
      plain += "\\u007f";
    } else if (byte == 0xC2 && next < 0xA0) {
      plain += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

Json JsonDocument(const char* command, const Json& fields) {
  Json document = {{"schema", kJsonSchema}, {"command", command}};
  document.update(fields);
  return document;
}

void PrintJson(const Json& document) {
  const std::string text =
      WithoutControls(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace skiff::cli
