#include "cli/json.h"

#include <cstdio>

namespace skiff::cli {

Json JsonDocument(const char* command, const Json& fields) {
  Json document = {{"schema", kJsonSchema}, {"command", command}};
  document.update(fields);
  return document;
}

void PrintJson(const Json& document) {
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace skiff::cli
