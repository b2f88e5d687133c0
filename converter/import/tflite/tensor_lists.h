/// Lists of tensors, which converters before DYNAMIC_UPDATE_SLICE wrote as one tensor whose element i is
/// replaced by joining what lies before it, the new element and what lies behind it:
///   CONCATENATION(SLICE(list, 0, [i, -1, ...]), element, SLICE(list, [j, 0, ...], -1)), j = i + 1.
/// The parts have extents that change from step to step; the whole does not. Of elements of other extents, or
/// that have scales, it is left as it is.
#pragma once

#include <set>
#include <vector>

#include "import/tflite/file.h"

namespace skiff {

/// Of one CONCATENATION: indices of tensors.
struct ListUpdate {
  int32_t list = -1;
  int32_t index = -1;    ///< i.
  int32_t element = -1;  ///< With the extent 1 in front.
};

class TensorLists {
 public:
  explicit TensorLists(const TfliteFile& file, const tflite::SubGraph& graph);

  /// Null where the operator is no update.
  const ListUpdate* UpdateAt(uint32_t node) const;
  /// Whether an operator only made parts that updates do without.
  bool IsPart(uint32_t node) const { return parts_.contains(node); }

 private:
  std::vector<ListUpdate> updates_;  ///< By operator; list -1: none.
  std::set<uint32_t> parts_;
};

}  // namespace skiff
