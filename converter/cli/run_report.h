/// What a run computed, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "run/opened_model.h"
#include "skiff/labels.h"

namespace skiff::cli {

/// An output in numbers.
struct OutputSummary {
  const PortInfo* port = nullptr;
  const TensorData* tensor = nullptr;
  std::string file;  ///< Where it was written; "" where it was not.
  std::vector<double> values;
  size_t not_finite = 0;
  std::vector<std::vector<ClassScore>> best;  ///< Of each row of scores.
};

/// The best classes, `top` of them, of an output that has labels; where `top` is given, of all that are rows
/// of scores: [rows, classes], with any extents of 1 between and behind.
OutputSummary Summarise(const PortInfo& port, const TensorData& tensor, std::optional<size_t> top,
                        const std::string& file);

std::string OutputText(const OutputSummary& output);
Json OutputJson(const OutputSummary& output);

}  // namespace skiff::cli
