/// Greedy suppression of boxes that overlap better ones.
#pragma once

#include "import/node_builder.h"

namespace skiff {

/// Corners [2, boxes] and areas [boxes], in f32; `boxes` is known.
struct Boxes {
  ValueId low = kNoValue;
  ValueId high = kNoValue;
  ValueId areas = kNoValue;
};

struct Suppression {
  int64_t most = 0;           ///< How many boxes are taken of all classes,
  int64_t most_of_class = 0;  ///< and of each.
  double least_score = 0;     ///< A candidate has this score or more.
  double most_overlap = 0;    ///< Intersection over union that two boxes of a class may have, above 0.
  int64_t places = 0;         ///< Room in the result, at least `most`.
};

struct Taken {
  ValueId count = kNoValue;   ///< An i64 scalar.
  ValueId places = kNoValue;  ///< [places] in the flat scores, i64, best first; 0 behind the last.
};

/// Takes the best candidate of all scores [classes, boxes], of known extents, and of its class all that
/// overlap it too much; and again. A class takes nothing from another, so that the best of all come in their
/// order. Of equal scores the first comes first.
Taken SuppressOverlaps(NodeBuilder& b, const Suppression& rule, const Boxes& boxes, ValueId scores);

}  // namespace skiff
