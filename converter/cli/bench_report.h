/// A measurement as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "tune/shaders.h"

namespace skiff::cli {

/// What is known beside the measurement itself.
struct BenchContext {
  std::string model;
  std::string signature;  ///< "" where the model has one.
  std::string backend;
  double load_ns = 0;
  uint64_t file_bytes = 0;
  std::string sizes;  ///< Of the open dimensions: "batch=2, seq=7"; "" when none is open.
  nlohmann::ordered_json sizes_json = nlohmann::ordered_json::object();
  std::string other_sizes;          ///< From which the shape changed; "" when that was not measured.
  std::vector<TunedShader> tuning;  ///< What the cache folder holds for the GPU that ran.
  double median_by_rule_ns = 0;     ///< Before --tune measured it; 0: it did not.
};

std::string BenchText(const BenchContext& context, const BenchResult& result, size_t top_nodes);
nlohmann::ordered_json BenchJson(const BenchContext& context, const BenchResult& result);

}  // namespace skiff::cli
