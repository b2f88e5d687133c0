/// Which buckets are worth a plan of their own, for the sizes that one dimension takes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "shape_contract.h"

namespace skiff {

/// How often each combination of sizes occurs, by Symbol name.
struct ObservedShapes {
  struct Row {
    std::map<std::string, int64_t> sizes;
    double count = 1;
  };
  std::vector<Row> rows;
  std::map<std::string, int64_t>
      multiples;  ///< Where all sizes are multiples of more than 1, and others do not occur.
};

/// A CSV file: a header of dimension names, then one row per call or, with a column "count", per kind of
/// call. Throws Error naming the line.
ObservedShapes ReadObservedShapes(const std::string& path);
/// Every size of the range once: "seq=1..128".
ObservedShapes UniformShapes(const std::map<std::string, DimRange>& ranges);

/// What one plan for calls with sizes up to `largest` costs.
struct BucketCost {
  int64_t smallest = 0;
  int64_t largest = 0;
  bool exact = false;
  uint64_t arena_bytes = 0;
  double calls = 0;      ///< Share of all calls.
  double time_lost = 0;  ///< Of a run: relaxed over exact, minus 1; 0 for exact plans.
};

struct BucketProposal {
  std::string symbol;
  std::vector<BucketCost> buckets;  ///< By size. One: buckets do not pay.
  /// Expected arena bytes of a call over those of one plan, plus the expected share of time lost.
  double cost = 0;
  double cost_of_one = 0;
  std::map<std::string, DimRange> contract;  ///< Of all Symbols: what was observed.
};

struct BucketOptions {
  size_t max_plans = 4;
  int threads = 0;
  std::function<void(const std::string& step)> progress;
};

/// The list of at most `max_plans` buckets of one dimension with the least cost: arenas are those of real
/// conversions, times are measured here and now. Every further plan must lower the cost by 5 %, which stands
/// for the bytes it adds to the file. Throws Error where the shapes name dimensions that the model has not,
/// or leave one out.
BucketProposal ProposeBuckets(const Graph& source, const ObservedShapes& shapes,
                              const BucketOptions& options);

}  // namespace skiff
