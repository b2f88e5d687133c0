#include "tests/models/models_list.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

namespace skiff::testing {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path ModelsFolder() {
  if (const char* folder = std::getenv("SKIFF_MODELS")) return folder;
  return fs::path(SKIFF_SOURCE_DIR) / "../shared/models";
}

std::vector<json> Listed() {
  std::ifstream stream(fs::path(SKIFF_SOURCE_DIR) / "tests/models/models.json");
  return json::parse(stream).get<std::vector<json>>();
}

std::vector<json> WithStatus(const std::string& status) {
  std::vector<json> selected;
  for (const json& entry : Listed()) {
    if (entry.at("status") == status) selected.push_back(entry);
  }
  return selected;
}

std::vector<json> With(const std::string& key) {
  std::vector<json> selected;
  for (const json& entry : Listed()) {
    if (entry.contains(key)) selected.push_back(entry);
  }
  return selected;
}

std::string NameOf(std::string file) {
  std::replace_if(
      file.begin(), file.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return file;
}

std::string TestName(const ::testing::TestParamInfo<json>& info) { return NameOf(info.param.at("file")); }

}  // namespace skiff::testing
