/// Nets that keep what they computed for the next run, for tests.
#pragma once

#include <string>
#include <vector>

#include "graph/text.h"
#include "state.h"

namespace skiff::testing {

/// A graph in text form whose inputs and outputs, by name, are variables.
inline Graph WithStates(const std::string& text, const std::vector<StatePair>& pairs) {
  Graph graph = ParseGraph(text);
  KeepStates(graph, pairs);
  return graph;
}

/// One step of a decoder: a row goes to a place of two caches, which lie in different order; attention reads
/// both. `late` is an index into what comes last.
inline const char* const kCacheNet = R"(graph cache {
  input at: i64[1]
  input row: f32[1, 2, 1, 4]
  input late: i64[1]
  input keys: f32[1, 2, 8, 4]
  input values: f32[2, 8, 4]
  const one_place: i64[4] = [1, 1, 1, 1]
  const of_rows: i64[4] = [1, 2, 1, 4]
  const pairs: i64[2] = [2, 1]
  const flat: i64[2] = [16, 4]
  const lines: i64[2] = [2, 4]
  const heads: i64[3] = [2, 8, 4]
  const with_batch: i64[4] = [1, 2, 8, 4]
  const first_lines: i64[2, 1] = [0, 8]
  column = Reshape(at, one_place)
  places = Expand(column, of_rows)
  next_keys = ScatterElements(keys, places, row) {axis=2}
  all_lines = Reshape(values, flat)
  line_numbers = Add(first_lines, at)
  new_lines = Reshape(row, lines)
  written_lines = ScatterND(all_lines, line_numbers, new_lines)
  next_values = Reshape(written_lines, heads)
  likeness = MatMul(row, next_keys) {transpose_b=true}
  share = Softmax(likeness) {axis=3}
  attended = Reshape(next_values, with_batch)
  mixed = MatMul(share, attended)
  chosen = Gather(mixed, late) {axis=3}
  output mixed
  output chosen
  output next_keys
  output next_values
})";

inline const std::vector<StatePair> kCachePairs = {{"keys", "next_keys"}, {"values", "next_values"}};

}  // namespace skiff::testing
