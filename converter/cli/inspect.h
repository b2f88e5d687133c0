/// What is inside of a model file, and of the source of one, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "graph/graph.h"
#include "skiff/model.h"

namespace skiff::cli {

nlohmann::ordered_json SkiffJson(const std::string& path, const Model& model);
/// `nodes`: also a list of all nodes with their tensors.
std::string SkiffText(const std::string& path, const Model& model, bool nodes);

nlohmann::ordered_json SourceJson(const std::string& path, const Graph& graph);
/// `nodes`: also the graph in text form.
std::string SourceText(const std::string& path, const Graph& graph, bool nodes);

}  // namespace skiff::cli
