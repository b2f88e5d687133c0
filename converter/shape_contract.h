/// Which sizes the open dimensions of a graph may have, and the buckets that get plans of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// The sizes that a dimension may have.
struct DimRange {
  int64_t min = 1;
  int64_t max = Symbol::kUnbounded;
  int64_t multiple = 1;

  DimRange() = default;
  DimRange(int64_t size) : min(size), max(size) {}  // NOLINT: one size is a range
  DimRange(int64_t smallest, int64_t largest, int64_t step = 1)
      : min(smallest), max(largest), multiple(step) {}
  bool operator==(const DimRange&) const = default;
};

/// Ranges by Symbol name; a Symbol that is not named has its whole contract.
using Bucket = std::map<std::string, DimRange>;

/// What a caller says about shapes.
struct ShapeContract {
  std::map<std::string, std::vector<int64_t>> shapes;  ///< --shape: by input name.
  std::map<std::string, DimRange> dims;                ///< --dim: by Symbol name.
};

/// Gives every Symbol of the graph's inputs its contract; one of a single size becomes a number. What nothing
/// is said about may have any size from 1 on. Throws Error (kInvalidArgument) for an unknown input or
/// dimension, and for a shape that contradicts the file's.
void FixShapes(Graph& graph, const ShapeContract& contract);

/// Narrows the contract of a graph to a bucket. Throws Error (kInvalidArgument) where the bucket names an
/// unknown dimension or leaves the contract.
void NarrowTo(Graph& graph, const Bucket& bucket);

/// "seq=1..16, batch=1", for messages and reports.
std::string BucketText(const Bucket& bucket);

/// "'ids', 'mask'": the inputs, for messages.
std::string InputNames(const Graph& graph);

/// Which options would bound the dimensions without a maximum; "" when all have one.
std::string OpenDimsHint(const Graph& graph);

}  // namespace skiff
