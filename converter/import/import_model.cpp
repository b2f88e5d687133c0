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

namespace skiff {
namespace {

/// A file that was opened, and its beginning, which tells the language.
struct Source {
  std::string path;
  std::string head;
  std::ifstream file;
};

struct Language {
  const char* name;
  bool (*matches)(std::string_view head);
  Graph (*import)(Source& source, const ImportOptions& options);
};

bool HasMark(std::string_view head, size_t offset, std::string_view mark) {
  return head.size() >= offset + mark.size() && head.substr(offset, mark.size()) == mark;
}

bool IsSkiff(std::string_view head) {
  return HasMark(head, 0, {reinterpret_cast<const char*>(format::kMagic), sizeof(format::kMagic)});
}
Graph RefuseSkiff(Source& source, const ImportOptions&) {
  Throw(StatusCode::kInvalidArgument,
        "{}: is a converted model already; the file that it was made from (.onnx, .tflite) is wanted here",
        source.path);
}

/// A FlatBuffer's identifier stands behind its first offset.
bool IsTflite(std::string_view head) { return HasMark(head, 4, "TFL3"); }
Graph ImportFlatBuffer(Source& source, const ImportOptions& options) {
  source.file.close();
  return ImportTflite(source.path, options.fixed_inputs, options.fix_shapes);
}

/// Comments, then "graph": no protobuf message of a model begins like this.
bool IsText(std::string_view head) {
  size_t at = 0;
  while (at < head.size() && (std::isspace(static_cast<unsigned char>(head[at])) != 0 || head[at] == '#')) {
    at = head[at] == '#' ? std::min(head.find('\n', at), head.size()) : at + 1;
  }
  return HasMark(head, at, "graph ");
}
Graph ImportText(Source& source, const ImportOptions& options) {
  if (!options.fixed_inputs.empty()) {
    Throw(StatusCode::kInvalidArgument,
          "{}: input '{}' cannot be fixed in the text form; write it as a const", source.path,
          options.fixed_inputs.begin()->first);
  }
  source.file.clear();
  source.file.seekg(0);
  const std::string text((std::istreambuf_iterator<char>(source.file)), std::istreambuf_iterator<char>());
  try {
    Graph graph = ParseGraph(text);
    if (options.fix_shapes) options.fix_shapes(graph);
    return graph;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", source.path, error.what()));
  }
}

/// Protobuf has no mark: what is nothing else is taken for ONNX, whose reader says what is wrong with it.
bool IsAnything(std::string_view) { return true; }
Graph ImportProtobuf(Source& source, const ImportOptions& options) {
  source.file.close();
  return ImportOnnx(source.path, options.fixed_inputs, options.fix_shapes);
}

/// The first that matches is taken.
constexpr Language kLanguages[] = {
    {"Skiff model", IsSkiff, RefuseSkiff},
    {"TensorFlow Lite", IsTflite, ImportFlatBuffer},
    {"Skiff text", IsText, ImportText},
    {"ONNX", IsAnything, ImportProtobuf},
};

Source Open(const std::string& path) {
  constexpr size_t kHeadBytes = 4096;
  Source source{path, std::string(kHeadBytes, '\0'), std::ifstream(path, std::ios::binary)};
  if (!source.file) Throw(StatusCode::kIo, "{}: cannot be opened: {}", path, std::strerror(errno));
  source.file.read(source.head.data(), kHeadBytes);
  source.head.resize(static_cast<size_t>(source.file.gcount()));
  return source;
}

const Language& LanguageOf(const Source& source) {
  const Language* language = kLanguages;
  while (!language->matches(source.head)) ++language;
  return *language;
}

}  // namespace

Graph ImportModel(const std::string& path, const ImportOptions& options) {
  Source source = Open(path);
  return LanguageOf(source).import(source, options);
}

const char* LanguageOfModel(const std::string& path) { return LanguageOf(Open(path)).name; }

}  // namespace skiff
