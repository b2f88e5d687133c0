/// The cases with several signatures (make_signatures.py), as they are and with something changed.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convert.h"
#include "import/tflite/schema.h"

namespace skiff::testing {

std::filesystem::path SignatureCaseFolder(const std::string& name);

std::unique_ptr<tflite::ModelT> UnpackedSignatureCase(const std::string& name);
std::unique_ptr<SourceModel> SignatureCase(const std::string& name);
std::unique_ptr<SourceModel> ChangedSignatureCase(const std::string& name,
                                                  const std::function<void(tflite::ModelT&)>& change);

/// Options that choose these.
ConvertOptions Only(std::vector<std::string> signatures);
std::unique_ptr<ConvertedFile> ConvertSource(SourceModel& source, const ConvertOptions& options = {});
/// What converting throws; "" for nothing.
std::string ConversionError(SourceModel& source, const ConvertOptions& options = {});

}  // namespace skiff::testing
