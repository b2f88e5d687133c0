#include "import/import_model.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "format/container.h"
#include "graph/error.h"
#include "graph/text.h"
#include "import/onnx/import_onnx.h"
#include "import/tflite/import_tflite.h"
#include "plan/limits.h"

namespace skiff {
namespace {

struct Language {
  const char* name;
  bool (*matches)(std::string_view head);
  std::unique_ptr<SourceModel> (*open)(const std::string& path);
};

bool HasMark(std::string_view head, size_t offset, std::string_view mark) {
  return head.size() >= offset + mark.size() && head.substr(offset, mark.size()) == mark;
}

bool IsSkiff(std::string_view head) {
  return HasMark(head, 0, {reinterpret_cast<const char*>(format::kMagic), sizeof(format::kMagic)});
}
std::unique_ptr<SourceModel> RefuseSkiff(const std::string& path) {
  Throw(StatusCode::kInvalidArgument,
        "{}: is a converted model already; the file that it was made from (.onnx, .tflite) is wanted here",
        path);
}

/// A FlatBuffer's identifier stands behind its first offset.
bool IsTflite(std::string_view head) { return HasMark(head, 4, "TFL3"); }

/// Comments, then "graph": no protobuf message of a model begins like this.
bool IsText(std::string_view head) {
  size_t at = 0;
  while (at < head.size() && (std::isspace(static_cast<unsigned char>(head[at])) != 0 || head[at] == '#')) {
    at = head[at] == '#' ? std::min(head.find('\n', at), head.size()) : at + 1;
  }
  return HasMark(head, at, "graph ");
}

class TextSource : public SourceModel {
 public:
  TextSource(std::string path, Graph graph)
      : SourceModel({{kMainSignature, NamesOf(graph)}}), path_(std::move(path)), graph_(std::move(graph)) {}

  Graph Import(size_t, const ImportOptions& options) override {
    if (!options.fixed_inputs.empty()) {
      Throw(StatusCode::kInvalidArgument,
            "{}: input '{}' cannot be fixed in the text form; write it as a const", path_,
            options.fixed_inputs.begin()->first);
    }
    Graph graph = graph_;
    Within(path_, [&] {
      if (options.fix_shapes) options.fix_shapes(graph);
    });
    return graph;
  }

 private:
  static std::vector<std::string> NamesOf(const Graph& graph) {
    std::vector<std::string> names;
    for (const GraphPort& port : graph.caller_inputs()) names.push_back(port.name);
    return names;
  }

  std::string path_;
  Graph graph_;
};

std::unique_ptr<SourceModel> OpenText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) Throw(StatusCode::kIo, "{}: cannot be read: {}", path, std::strerror(errno));
  return Within(path, [&] { return std::make_unique<TextSource>(path, ParseGraph(text)); });
}

/// Protobuf has no mark: what is nothing else is taken for ONNX, whose reader says what is wrong with it.
bool IsAnything(std::string_view) { return true; }

bool IsEmpty(std::string_view head) { return head.empty(); }
std::unique_ptr<SourceModel> RefuseEmpty(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return OpenOnnx(path);  // Which says that it is a folder.
  Throw(StatusCode::kInvalidModel, "{}: the file is empty; a model (.onnx, .tflite) was expected", path);
}

/// The first that matches is taken.
constexpr Language kLanguages[] = {
    {"empty file", IsEmpty, RefuseEmpty},
    {"Skiff model", IsSkiff, RefuseSkiff},
    {"TensorFlow Lite", IsTflite, OpenTflite},
    {"Skiff text", IsText, OpenText},
    {"ONNX", IsAnything, OpenOnnx},
};

std::string HeadOf(const std::string& path) {
  constexpr size_t kHeadBytes = 4096;
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw(StatusCode::kIo, "{}: cannot be opened: {}", path, std::strerror(errno));
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), kHeadBytes);
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

const Language& LanguageOf(const std::string& path) {
  const std::string head = HeadOf(path);
  const Language* language = kLanguages;
  while (!language->matches(head)) ++language;
  return *language;
}

}  // namespace

SourceModel::SourceModel(std::vector<SourceSignature> signatures) : signatures_(std::move(signatures)) {
  for (const SourceSignature& signature : signatures_) CheckPortCount("inputs", signature.inputs.size());
}

void CheckPortCount(const char* what, size_t count) {
  if (count > kMaxInputs)
    Throw(StatusCode::kUnsupported, "the model has {} {}; at most {} are supported: join them into fewer",
          count, what, kMaxInputs);
}

std::unique_ptr<SourceModel> OpenSource(const std::string& path) { return LanguageOf(path).open(path); }

Graph ImportModel(const std::string& path, const ImportOptions& options) {
  return OpenSource(path)->Import(0, options);
}

const char* LanguageOfModel(const std::string& path) { return LanguageOf(path).name; }

}  // namespace skiff
