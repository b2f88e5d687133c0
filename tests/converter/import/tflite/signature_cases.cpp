#include "tests/converter/import/tflite/signature_cases.h"

#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "import/tflite/import_tflite.h"
#include "signatures.h"

namespace skiff::testing {

std::filesystem::path SignatureCaseFolder(const std::string& name) {
  return std::filesystem::path(SKIFF_SOURCE_DIR) / "tests/converter/import/tflite/signature_cases" / name;
}

std::unique_ptr<tflite::ModelT> UnpackedSignatureCase(const std::string& name) {
  std::ifstream stream(SignatureCaseFolder(name) / "model.tflite", std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return std::unique_ptr<tflite::ModelT>(tflite::GetModel(bytes.data())->UnPack());
}

std::unique_ptr<SourceModel> SignatureCase(const std::string& name) {
  return OpenTflite((SignatureCaseFolder(name) / "model.tflite").string());
}

std::unique_ptr<SourceModel> ChangedSignatureCase(const std::string& name,
                                                  const std::function<void(tflite::ModelT&)>& change) {
  const auto model = UnpackedSignatureCase(name);
  change(*model);
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, model.get()));
  return OpenTfliteBytes(builder.GetBufferPointer(), builder.GetSize());
}

ConvertOptions Only(std::vector<std::string> signatures) {
  ConvertOptions options;
  options.signatures = std::move(signatures);
  return options;
}

std::unique_ptr<ConvertedFile> ConvertSource(SourceModel& source, const ConvertOptions& options) {
  return ConvertGraphs(ImportSignatures(source, options), options);
}

std::string ConversionError(SourceModel& source, const ConvertOptions& options) {
  try {
    ConvertSource(source, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace skiff::testing
