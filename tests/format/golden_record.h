/// What is kept beside a golden file: what it tells about itself, and calls with their results, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "skiff/model.h"
#include "tests/format/golden_model.h"

namespace skiff::testing {

/// The folder of golden files, and the two files of a version: format_1.skiff, format_1.json.
std::string GoldenPath(const std::string& folder, uint32_t version, const char* extension);

/// All that an application can ask a Model: signatures with their ports and plans, Symbols, variables,
/// metadata.
nlohmann::json Describe(const Model& model);

/// Elements are kept as bytes, so that every dtype comes back exactly.
nlohmann::json CallToJson(const GoldenCall& call);
/// Throws Error, or nlohmann's exceptions, where the text is not what CallToJson() makes.
GoldenCall CallFromJson(const nlohmann::json& json);

/// Where `now` lacks what `then` says, or says otherwise: a path with both values, or "". What `now` says
/// besides is no difference: later versions know more.
std::string FirstDifference(const nlohmann::json& then, const nlohmann::json& now,
                            const std::string& path = "");

}  // namespace skiff::testing
