#include "tests/converter/passes/pass_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "fmt/format.h"

namespace skiff {
namespace {

bool StartsWith(const std::string& line, const std::string& prefix) {
  return line.compare(0, prefix.size(), prefix) == 0;
}

std::vector<std::string> SplitNames(const std::string& list) {
  std::vector<std::string> names;
  std::stringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<PassCase> ReadPassFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  enum class Part { kHead, kBefore, kAfter, kNotes };
  Part part = Part::kHead;
  std::vector<PassCase> cases;
  std::vector<std::string> comments;
  for (std::string line; std::getline(file, line);) {
    if (StartsWith(line, "== ")) {
      cases.emplace_back();
      cases.back().file = std::filesystem::path(path).stem();
      cases.back().name = line.substr(3);
      cases.back().comments = std::exchange(comments, {});
      part = Part::kHead;
    } else if (StartsWith(line, "#")) {
      comments.push_back(line);
    } else if (line.empty() || cases.empty()) {
      continue;
    } else if (part == Part::kHead && StartsWith(line, "passes:")) {
      cases.back().passes = SplitNames(line.substr(7));
    } else if (part == Part::kHead && StartsWith(line, "tolerance:")) {
      cases.back().tolerance = std::stod(line.substr(10));
    } else if (part == Part::kHead && StartsWith(line, "graph ")) {
      part = Part::kBefore;
      cases.back().before = line + "\n";
    } else if (part == Part::kBefore && StartsWith(line, "error: ")) {
      cases.back().error = line.substr(7);
    } else if (part == Part::kBefore && line == "->") {
      part = Part::kAfter;
    } else if (line == "notes:") {
      part = Part::kNotes;
    } else if (part == Part::kBefore) {
      cases.back().before += line + "\n";
    } else if (part == Part::kAfter) {
      cases.back().after += line + "\n";
    } else if (part == Part::kNotes) {
      cases.back().notes.push_back(line);
    } else {
      throw std::runtime_error(path + ": cannot understand the line: " + line);
    }
  }
  return cases;
}

void WritePassFile(const std::string& path, const std::vector<PassCase>& cases) {
  std::ofstream file(path);
  for (const PassCase& one : cases) {
    if (&one != &cases.front()) file << "\n";
    for (const std::string& comment : one.comments) file << comment << "\n";
    file << "== " << one.name << "\npasses: " << fmt::format("{}", fmt::join(one.passes, ", ")) << "\n";
    if (one.tolerance != 0) file << "tolerance: " << fmt::format("{}", one.tolerance) << "\n";
    file << one.before;
    if (!one.error.empty()) {
      file << "error: " << one.error << "\n";
      continue;
    }
    file << "->\n" << one.after;
    if (!one.notes.empty()) file << "notes:\n" << fmt::format("{}\n", fmt::join(one.notes, "\n"));
  }
}

std::vector<PassCase> ReadPassCases(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt" && entry.path().filename() != "CMakeLists.txt")
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<PassCase> cases;
  for (const auto& path : paths) {
    const std::vector<PassCase> of_file = ReadPassFile(path);
    cases.insert(cases.end(), of_file.begin(), of_file.end());
  }
  return cases;
}

}  // namespace skiff
