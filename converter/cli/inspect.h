/// What is inside of a model file, and of the source of one, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "convert.h"
#include "skiff/model.h"

namespace skiff::cli {

/// Null for plain integers and other numbers.
Json QuantizationJson(const Quantization* quantization);

/// `nodes`: also those of each plan.
Json SkiffJson(const std::string& path, const Model& model, bool nodes = true);
/// `nodes`: also a list of all nodes with their tensors.
std::string SkiffText(const std::string& path, const Model& model, bool nodes);

/// All signatures of a source; there is at least one.
/// `outline`: what its file says about itself; null where its language has none.
Json SourceJson(const std::string& path, const std::vector<NamedGraph>& signatures,
                const SourceOutline* outline = nullptr);
/// `nodes`: also the graphs in text form.
std::string SourceText(const std::string& path, const std::vector<NamedGraph>& signatures, bool nodes,
                       const SourceOutline* outline = nullptr);

Json OpsetsJson(const SourceOutline& outline);
/// A line for each domain.
std::string OpsetsText(const SourceOutline& outline);

/// A source that cannot be imported as it is: what it says about itself, and why not.
Json OutlineJson(const std::string& path, const SourceOutline& outline, const std::string& problem);
std::string OutlineText(const std::string& path, const SourceOutline& outline, const std::string& problem);

/// What options would say which branches a net takes, one sentence each: numbers of inputs that are not
/// `known`, and sizes where it could not be imported.
std::vector<std::string> BranchHints(const SourceOutline& outline, const FixedInputs& known, bool imported);

}  // namespace skiff::cli
