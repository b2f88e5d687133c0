/// What --json prints (docs/json.md): one object, which begins with the number of the schema and the command.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace skiff::cli {

using Json = nlohmann::ordered_json;

/// Fields are added within a number; one that goes away or changes its meaning makes a new number.
inline constexpr int kJsonSchema = 1;

/// {"schema": 1, "command": "run"} and the fields behind it.
Json JsonDocument(const char* command, const Json& fields = Json::object());

/// On standard output. Names and labels are bytes of a file's; those that are no text are replaced, and
/// characters that steer a terminal escaped.
void PrintJson(const Json& document);

}  // namespace skiff::cli
