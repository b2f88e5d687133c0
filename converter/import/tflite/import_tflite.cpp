#include "import/tflite/import_tflite.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "import/tflite/importer.h"

namespace skiff {
namespace {

/// A file, and what its signatures share.
struct Opened {
  explicit Opened(std::vector<uint8_t> bytes) : file(std::move(bytes)), shared(file) {}

  std::vector<SourceSignature> Signatures() const {
    std::vector<SourceSignature> signatures;
    for (const TfliteSignature& signature : shared.signatures())
      signatures.push_back({signature.name, InputNamesOf(file, signature)});
    return signatures;
  }

  TfliteFile file;
  TfliteShared shared;
};

class TfliteSource : public SourceModel {
 public:
  /// An empty path is that of no file.
  TfliteSource(std::string path, std::unique_ptr<Opened> opened)
      : SourceModel(opened->Signatures()), path_(std::move(path)), opened_(std::move(opened)) {}

  Graph Import(size_t signature, const ImportOptions& options) override {
    TfliteShared& shared = opened_->shared;
    const TfliteSignature& chosen = shared.signatures().at(signature);
    const bool one = shared.signatures().size() == 1;
    return Within(path_, [&] {
      return Within(one ? "" : fmt::format("signature '{}'", chosen.name),
                    [&] { return TfliteImporter(shared).Import(chosen, options); });
    });
  }

 private:
  std::string path_;
  std::unique_ptr<Opened> opened_;
};

std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) Throw(StatusCode::kIo, "{}: cannot be opened: {}", path, std::strerror(errno));
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) Throw(StatusCode::kIo, "{}: cannot be read: {}", path, std::strerror(errno));
  return bytes;
}

}  // namespace

std::unique_ptr<SourceModel> OpenTflite(const std::string& path) {
  std::vector<uint8_t> bytes = ReadBytes(path);
  return Within(
      path, [&] { return std::make_unique<TfliteSource>(path, std::make_unique<Opened>(std::move(bytes))); });
}

std::unique_ptr<SourceModel> OpenTfliteBytes(const void* bytes, size_t size) {
  const auto* first = static_cast<const uint8_t*>(bytes);
  return std::make_unique<TfliteSource>("",
                                        std::make_unique<Opened>(std::vector<uint8_t>(first, first + size)));
}

Graph ImportTflite(const std::string& path) { return OpenTflite(path)->Import(0, {}); }

Graph ImportTfliteBytes(const void* bytes, size_t size, const FixedInputs& fixed,
                        const FixInputShapes& shapes) {
  return OpenTfliteBytes(bytes, size)->Import(0, {fixed, shapes});
}

}  // namespace skiff
