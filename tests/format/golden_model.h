/// The model of a golden file: a little of everything that the format can say. What the format learns is
/// added here before its version grows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff::testing {

/// One run of a signature. Calls of one file are made in order, because variables keep what they leave.
struct GoldenCall {
  std::string signature;
  std::map<std::string, TensorData> inputs;
  std::map<std::string, TensorData> outputs;
};

struct GoldenModel {
  std::vector<uint8_t> file;
  std::vector<GoldenCall> calls;  ///< Their outputs are the eager interpreter's.
};

GoldenModel MakeGoldenModel();

}  // namespace skiff::testing
