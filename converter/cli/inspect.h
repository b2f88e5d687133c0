/// What is inside of a model file, and of the source of one, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "convert.h"
#include "skiff/model.h"

namespace skiff::cli {

/// Null for plain integers and other numbers.
nlohmann::ordered_json QuantizationJson(const Quantization* quantization);

nlohmann::ordered_json SkiffJson(const std::string& path, const Model& model);
/// `nodes`: also a list of all nodes with their tensors.
std::string SkiffText(const std::string& path, const Model& model, bool nodes);

/// All signatures of a source; there is at least one.
nlohmann::ordered_json SourceJson(const std::string& path, const std::vector<NamedGraph>& signatures);
/// `nodes`: also the graphs in text form.
std::string SourceText(const std::string& path, const std::vector<NamedGraph>& signatures, bool nodes);

}  // namespace skiff::cli
