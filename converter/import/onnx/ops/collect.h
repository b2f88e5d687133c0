/// What a loop collects, a value of each iteration (the scan outputs of Loop and Scan): loop variables that
/// are large enough for all of them, of which each iteration writes a part.
#pragma once

#include <vector>

#include "import/onnx/ops.h"

namespace skiff {

class Collected {
 public:
  /// In the body: a loop variable for each row of `rows`, which become results that follow those that are
  /// there. `iteration` is a scalar. The variables are the body's last inputs now. `carried`: the next values
  /// of the loop variables from body input `first` on, which keep their types.
  void AddToBody(Graph& body, ValueId iteration, const std::vector<ValueId>& rows,
                 const std::vector<ValueId>& carried, size_t first);
  /// The body's inputs with the variables at `place`, where the loop's are.
  void PlaceInputs(Graph& body, size_t place) const;
  /// Around the loop: the variables before it, with room for `limit` rows, a scalar. An extent that is open
  /// is read off `inputs`, which are the loop's. Unsupported where that tells it not.
  std::vector<ValueId> EmitRoom(OnnxBuilder& b, ValueId limit, const std::vector<ValueId>& inputs) const;

  size_t count() const { return types_.size(); }

 private:
  std::vector<OnnxBuilder::PartialType> types_;  ///< Of a row.
};

/// The condition of a While over the inputs of `body`, of which the first counts the iterations and the last
/// is their limit. `asks`: the second one says whether to go on, too.
Graph GoesOn(const Graph& body, bool asks);

/// Why a loop that collects is refused where nothing says how long it may be.
inline constexpr const char* kNoTripCount =
    "collects a value of each iteration (scan outputs), and nothing says how many iterations there may be; "
    "give "
    "the loop a trip count, or carry a tensor that is large enough and write a part of it in each iteration "
    "with "
    "ScatterND";

}  // namespace skiff
