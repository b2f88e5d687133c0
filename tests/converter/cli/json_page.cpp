#include "tests/converter/cli/json_page.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace skiff::testing {
namespace {

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool IsOf(const std::string& type, const nlohmann::json& value) {
  // A tensor's number may be NaN, for which JSON has only strings.
  if (type == "value") return value.is_number() || value.is_string();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "null") return value.is_null();
  throw std::runtime_error("docs/json.md: unknown type '" + type + "'");
}

bool IsOfOne(const std::string& types, const nlohmann::json& value) {
  size_t begin = 0;
  while (true) {
    const size_t end = types.find(" or ", begin);
    if (IsOf(types.substr(begin, end - begin), value)) return true;
    if (end == std::string::npos) return false;
    begin = end + 4;
  }
}

}  // namespace

std::vector<std::string> JsonPage::Segments(const std::string& path) {
  std::vector<std::string> segments;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    const bool array = part.ends_with("[]");
    segments.push_back(array ? part.substr(0, part.size() - 2) : part);
    if (array) segments.emplace_back("[]");
  }
  return segments;
}

JsonPage::JsonPage(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(Trimmed(cell));
    if (cells.size() < 4 || cells[1] == "Command" || cells[1].starts_with("-")) continue;
    std::string name = cells[2];
    std::string type = cells[3];
    bool optional = false;
    for (std::string* text : {&name, &type}) {
      if (text->ends_with('?')) {
        optional = true;
        text->pop_back();
      }
    }
    Field* field = &commands_[cells[1]];
    const std::vector<std::string> segments = Segments(name);
    for (size_t i = 0; i < segments.size(); ++i) {
      field = &field->below[segments[i]];
      const bool last = i + 1 == segments.size();
      // That of an array says when the array is there.
      const bool array_of_last = !last && segments[i + 1] == "[]" && i + 2 == segments.size();
      if ((last && segments[i] != "[]") || array_of_last) field->optional = optional;
    }
    if (type.starts_with("as ")) {
      field->as = type.substr(3);
    } else {
      field->type = type;
    }
    ++fields_;
  }
  for (auto& [command, root] : commands_) root.type = "object";
}

const JsonPage::Field& JsonPage::At(const std::string& command, const std::string& path) const {
  const Field* field = &commands_.at(command);
  for (const std::string& segment : Segments(path)) field = &field->below.at(segment);
  return *field;
}

void JsonPage::Check(const std::string& command, const Field& field, const nlohmann::json& value,
                     const std::string& where, std::vector<std::string>& wrong) const {
  if (!field.as.empty()) {
    // What another command prints, all of it or a part; else a part of what this one does.
    const size_t end = field.as.find(' ');
    const std::string other = field.as.substr(0, end);
    if (!commands_.contains(other)) return Check(command, At(command, field.as), value, where, wrong);
    const std::string part = end == std::string::npos ? "" : field.as.substr(end + 1);
    return Check(other, At(other, part), value, where, wrong);
  }
  const auto elements = field.below.find("[]");
  if (elements != field.below.end()) {
    if (!value.is_array()) wrong.push_back(where + " is no array");
    for (size_t i = 0; value.is_array() && i < value.size(); ++i)
      Check(command, elements->second, value[i], where + "[]", wrong);
    return;
  }
  if (!IsOfOne(field.type, value)) wrong.push_back(where + " is no " + field.type + ": " + value.dump());
  if (!value.is_object()) return;
  for (const auto& [name, below] : field.below) {
    if (name != "*" && !below.optional && !value.contains(name))
      wrong.push_back(fmt::format("{}.{} lacks", where, name));
  }
  for (const auto& [name, member] : value.items()) {
    auto known = field.below.find(name);
    if (known == field.below.end()) known = field.below.find("*");
    if (known == field.below.end()) {
      wrong.push_back(fmt::format("{}.{} is not in the page", where, name));
    } else {
      Check(command, known->second, member, fmt::format("{}.{}", where, name), wrong);
    }
  }
}

std::vector<std::string> JsonPage::Check(const std::string& command, const nlohmann::json& output) const {
  std::vector<std::string> wrong;
  Field root = commands_.at(command);
  const Field& all = commands_.at("all");
  root.below.insert(all.below.begin(), all.below.end());
  Check(command, root, output, command, wrong);
  if (output.value("command", "") != command) wrong.push_back("the command is another one");
  if (output.value("schema", 0) != 1) wrong.emplace_back("the schema is another one");
  return wrong;
}

}  // namespace skiff::testing
