/// docs/json.md's table, and whether what a command prints is what it says.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace skiff::testing {

class JsonPage {
 public:
  /// Throws std::runtime_error for a page that cannot be understood.
  explicit JsonPage(const std::string& path);

  /// What is wrong with the output of a command, one sentence each: fields that the page does not have, that
  /// are missing, or of another type.
  std::vector<std::string> Check(const std::string& command, const nlohmann::json& output) const;
  size_t fields() const { return fields_; }

 private:
  /// A field; elements of arrays and values of objects by name are below it as "[]" and "*".
  struct Field {
    std::string type;
    bool optional = false;
    std::string as;  ///< The field whose type it has, in the page's words.
    std::map<std::string, Field> below;
  };

  static std::vector<std::string> Segments(const std::string& path);
  const Field& At(const std::string& command, const std::string& path) const;
  void Check(const std::string& command, const Field& field, const nlohmann::json& value,
             const std::string& where, std::vector<std::string>& wrong) const;

  std::map<std::string, Field> commands_;
  size_t fields_ = 0;
};

}  // namespace skiff::testing
