/// What the scores of a classifier say. Link skiff_image for it.
#pragma once

#include "skiff/model.h"

namespace skiff {

/// How many classes such scores tell apart: the extent of the last axis, where axes of extent 1 behind the
/// second do not count, as those that pooling leaves behind in [1, 1000, 1, 1]. 0 for a tensor without axes.
int64_t ClassesOf(const Shape& scores);

struct ClassScore {
  int64_t index = 0;       ///< Along the axis of the classes.
  const char* label = "";  ///< Of the model, or empty; lives as long as the Model.
  double score = 0;
};

enum class ScoreKind : uint8_t {
  kAsTheyAre = 0,
  kSoftmax = 1,  ///< Probabilities of what are logits.
};

/// Fills `best` with the classes of the highest scores, the highest first, of equal ones that with the lower
/// index; NaN is below all. Returns how many there are: best.size(), or ClassesOf(scores.shape) where that is
/// less. `row` counts the others: of scores [8, 1000] there are 8. Integers of a quantised output
/// count as the numbers that they stand for. `port` is the output's. kInvalidArgument: there is no such row,
/// or the tensor has no elements, rows that lie apart, or another shape than the quantisation's scales.
Result<size_t> BestClasses(const PortInfo& port, const ConstTensorView& scores, Span<ClassScore> best,
                           ScoreKind kind = ScoreKind::kAsTheyAre, int64_t row = 0);

}  // namespace skiff
