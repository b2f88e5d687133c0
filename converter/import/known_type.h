/// What the importer knows of a value before shapes are inferred: enough to choose how an operator is
/// decomposed.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace skiff {

struct KnownType {
  static constexpr int kUnknownRank = -1;
  static constexpr int64_t kUnknownExtent = -1;

  DType dtype = DType::kInvalid;  ///< kInvalid: not known.
  int rank = kUnknownRank;
  int64_t extents[kMaxRank];

  KnownType();
  explicit KnownType(DType dtype, int rank = kUnknownRank);
  static KnownType Of(const Value& value);

  bool HasRank() const { return rank != kUnknownRank; }
  /// Dtype, rank and all extents are known.
  bool IsStatic() const;
};

/// The type of a node's outputs. Where all inputs are static (and those whose values decide shapes are
/// constant) it is exact, by the shape rule of ops.def; else dtype and rank, and what is cheap to know of the
/// extents. Throws Error (kInvalidModel) when the shape rule refuses; `label` names the source node.
std::vector<KnownType> InferKnownTypes(const Graph& graph, const Node& node,
                                       const std::vector<KnownType>& types, const std::string& label);

}  // namespace skiff
