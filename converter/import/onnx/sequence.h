/// Sequences and optionals of ONNX. No graph has them: what a model does with them is done while it is
/// imported, and what is left are the tensors that they hold. An optional that holds something is that; so an
/// optional is a value of its own only where it holds nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "import/node_builder.h"

namespace skiff {

struct OnnxSequence {
  /// One tensor, or as many as a tensor has slices.
  struct Part {
    ValueId value = kNoValue;
    int axis = -1;      ///< Whose slices are the tensors; -1: the value is one tensor.
    bool keep = false;  ///< Each slice has the axis still, of extent 1.
    bool operator==(const Part&) const = default;
  };
  bool absent = false;  ///< An optional that holds nothing.
  int grows = 0;        ///< Not 0: in front of the parts is what the iterations of this loop have added.
  std::vector<Part> parts = {};
};

/// Loops over sequences are unrolled up to this trip count.
inline constexpr int64_t kMostUnrolled = 64;

/// All of a model. They are named by numbers where values are, below those of values.
class OnnxSequences {
 public:
  static bool Is(ValueId id) { return id <= kFirst; }
  /// Unsupported where the model's sequences hold more than any real model's.
  ValueId Add(OnnxSequence sequence);
  /// The same before so many are put together that hold so many tensors each.
  void CheckRoom(size_t sequences, size_t tensors) const;
  const OnnxSequence& at(ValueId id) const { return all_[static_cast<size_t>(kFirst - id)]; }
  /// Another number for each loop.
  int NextLoop() { return ++loops_; }

 private:
  static constexpr ValueId kFirst = -16;

  std::deque<OnnxSequence> all_;
  size_t parts_ = 0;
  int loops_ = 0;
};

/// "a sequence", "an optional that holds nothing".
const char* KindOf(const OnnxSequence& sequence);
/// Both hold as much, in the same form.
bool SameForm(const OnnxSequence& a, const OnnxSequence& b);
/// How many tensors it holds, where conversion knows it.
std::optional<int64_t> LengthOf(const NodeBuilder& b, const OnnxSequence& sequence);
/// The tensors one by one. Nothing where it is not known how many they are, or where they are very many.
std::optional<std::vector<ValueId>> TensorsOf(NodeBuilder& b, const OnnxSequence& sequence);
/// The tensor at a position that counts from the end where it is negative. `length`: as LengthOf tells.
/// Nothing where only the run could tell which it is. The position is in range.
std::optional<ValueId> TensorAt(NodeBuilder& b, const OnnxSequence& sequence, int64_t position,
                                std::optional<int64_t> length);
/// One tensor whose slices along axis 0 are the part's tensors.
ValueId Rows(NodeBuilder& b, const std::string& suffix, const OnnxSequence::Part& part);

}  // namespace skiff
