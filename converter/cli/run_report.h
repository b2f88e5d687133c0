/// What a run computed, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "run/opened_model.h"
#include "skiff/labels.h"

namespace skiff::cli {

/// Its value as a double, which long integers are not, and which of the elements it is.
struct Element {
  double value = 0;
  size_t at = 0;
};

/// An output in numbers.
struct OutputSummary {
  const PortInfo* port = nullptr;
  const TensorData* tensor = nullptr;
  std::string file;  ///< Where it was written; "" where it was not.
  std::vector<Element> first = {};
  Element min = {};
  Element max = {};
  double mean = 0;
  size_t not_finite = 0;
  int64_t rows = 0;  ///< Of scores; 0 where it has none.
  size_t top = 0;    ///< Classes of a row.
};

/// The best classes, `top` of them, of an output that has labels; where `top` is given, of all that are rows
/// of scores: [rows, classes], with any extents of 1 between and behind.
OutputSummary Summarise(const PortInfo& port, const TensorData& tensor, std::optional<size_t> top,
                        const std::string& file);

std::string OutputText(const OutputSummary& output);
Json OutputJson(const OutputSummary& output);

}  // namespace skiff::cli
