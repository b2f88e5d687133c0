/// Graphs whose shapes follow from what a run computes: one Session, runs whose counts differ, compared with
/// the eager interpreter.
#pragma once

#include <ostream>

#include "tests/support/tiny_models.h"

namespace skiff::testing {

/// In all of them x is f32[6, 5]; how many of its elements are above 0, or of its rows have a positive sum,
/// differs from run to run.
struct CountedGraph {
  const char* name;
  const char* text;
};

void PrintTo(const CountedGraph& graph, std::ostream* out);

/// x of as many positive elements as the seed says, among others.
TensorData Elements(uint32_t seed);

/// On the reference delegate and the planned one.
void ExpectEagerResults(const char* graph);

}  // namespace skiff::testing
