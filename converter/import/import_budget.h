/// What importing one file may add to what is in it. The bodies, functions and signatures of the file share
/// it. No real model comes near.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "graph/known_values.h"
#include "graph/op_steps.h"

namespace skiff {

/// What refers to the same bytes of a file again and again may take so many times the file, and so much
/// beside: a small file shall not become many gigabytes.
inline constexpr int64_t kMostShared = 4;
inline constexpr int64_t kFreeShared = int64_t{64} << 20;

inline constexpr KnownValueBudget kMostComputed{int64_t{2} << 30, kMostStepsAhead};

/// Extents of loop variables that an iteration may change, by variable and axis.
struct ChangingExtents {
  std::set<std::pair<size_t, int>> axes;
  int rounds = 0;  ///< How often some were found.
};

struct ImportBudget {
  static constexpr int64_t kFreeConstantBytes = int64_t{256} << 20;
  static constexpr int64_t kGrowth = 4;
  static constexpr int64_t kFreeNodes = 1 << 17;
  static constexpr int64_t kNodesPerNode = 8;
  static constexpr int64_t kMostBodySymbols = 1 << 20;

  /// Of constants that importers make.
  int64_t constant_bytes_left = kFreeConstantBytes;
  /// What importers compute where they could leave it to the device.
  KnownValueBudget computed = kMostComputed;
  /// Nodes and constants that importers make.
  int64_t nodes_left = kFreeNodes;
  /// Of the Symbols of bodies, each of which has all of those around it.
  int64_t symbols_left = kMostBodySymbols;
  /// By the loop's label. A loop in another one is imported as often as that one, but finds out only once:
  /// rounds would multiply with the levels.
  std::map<std::string, ChangingExtents> loops;
  /// Something had to be refused: nothing more is imported.
  bool spent = false;

  /// So many bytes are in the file.
  void CountFile(int64_t bytes) { constant_bytes_left += kGrowth * bytes; }
  /// A node of the file is imported.
  void CountNode() { nodes_left += kNodesPerNode; }
  /// Takes those of the body of a node. Throws Error (kUnsupported) where there are too many.
  void CountBody(size_t symbols, const std::string& node);
  /// Takes the tensors of a sequence that a body of a node sees, likewise.
  void CountSequence(size_t tensors, const std::string& node);
};

}  // namespace skiff
