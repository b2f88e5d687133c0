#include "import/onnx/sequence.h"

#include <algorithm>
#include <limits>

#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Of one sequence, tensor by tensor; no real model comes near.
constexpr int64_t kMostTensors = 4096;
/// Of all sequences of a model, each of which is a list of its own.
constexpr size_t kMostParts = size_t{1} << 22;

ValueId SliceOf(NodeBuilder& b, const OnnxSequence::Part& part, int64_t index) {
  const ValueId slice = b.Emit("tensor", OpCode::kGather,
                               {part.value, b.Scalar("position", DType::kI64, static_cast<double>(index))},
                               AxisAttrs{part.axis});
  return part.keep ? EmitUnsqueeze(b, "kept", slice, Ints{part.axis}) : slice;
}

std::optional<int64_t> LengthOf(const NodeBuilder& b, const OnnxSequence::Part& part) {
  return part.axis < 0 ? std::optional<int64_t>(1) : b.ExtentOf(part.value, part.axis);
}

}  // namespace

ValueId OnnxSequences::Add(OnnxSequence sequence) {
  CheckRoom(1, sequence.parts.size());
  parts_ += sequence.parts.size() + 1;
  all_.push_back(std::move(sequence));
  return kFirst - static_cast<ValueId>(all_.size() - 1);
}

void OnnxSequences::CheckRoom(size_t sequences, size_t tensors) const {
  // Both are below the bytes of a file, which has 32 bits of them.
  if (parts_ + sequences * (tensors + 1) <= kMostParts) return;
  NodeBuilder::Unsupported("is one of too many sequences: together they hold more than {} tensors",
                           kMostParts);
}

const char* KindOf(const OnnxSequence& sequence) {
  return sequence.absent ? "an optional that holds nothing" : "a sequence";
}

bool SameForm(const OnnxSequence& a, const OnnxSequence& b) {
  return a.absent == b.absent && a.grows == b.grows &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const auto& x, const auto& y) { return x.axis == y.axis && x.keep == y.keep; });
}

std::optional<int64_t> LengthOf(const NodeBuilder& b, const OnnxSequence& sequence) {
  if (sequence.grows != 0) return {};
  int64_t length = 0;
  for (const OnnxSequence::Part& part : sequence.parts) {
    const std::optional<int64_t> more = LengthOf(b, part);
    if (!more || __builtin_add_overflow(length, *more, &length)) return {};
  }
  return length;
}

std::optional<std::vector<ValueId>> TensorsOf(NodeBuilder& b, const OnnxSequence& sequence) {
  const std::optional<int64_t> length = LengthOf(b, sequence);
  if (!length || *length > kMostTensors) return {};
  std::vector<ValueId> tensors;
  for (const OnnxSequence::Part& part : sequence.parts) {
    if (part.axis < 0) {
      tensors.push_back(part.value);
      continue;
    }
    for (int64_t i = 0; i < *LengthOf(b, part); ++i) tensors.push_back(SliceOf(b, part, i));
  }
  return tensors;
}

std::optional<ValueId> TensorAt(NodeBuilder& b, const OnnxSequence& sequence, int64_t position,
                                std::optional<int64_t> length) {
  if (length && position < 0) position += *length;
  const std::vector<OnnxSequence::Part>& parts = sequence.parts;
  if (position >= 0 && sequence.grows == 0) {
    for (const OnnxSequence::Part& part : parts) {
      const std::optional<int64_t> here = LengthOf(b, part);
      if (here && position >= *here) {
        position -= *here;
        continue;
      }
      // Behind a part of open length only the last one can be reached: the run refuses what it does not have.
      if (!here && &part != &parts.back()) return {};
      return part.axis < 0 ? part.value : SliceOf(b, part, position);
    }
  }
  for (auto part = parts.rbegin(); position < 0 && part != parts.rend(); ++part) {
    const std::optional<int64_t> here = LengthOf(b, *part);
    if (here && position < -*here) {
      position += *here;
      continue;
    }
    if (!here && (&*part != &parts.front() || sequence.grows != 0)) return {};
    return part->axis < 0 ? part->value : SliceOf(b, *part, position);
  }
  return {};
}

ValueId Rows(NodeBuilder& b, const std::string& suffix, const OnnxSequence::Part& part) {
  if (part.axis < 0) return EmitUnsqueeze(b, suffix.c_str(), part.value, Ints{0});
  // A slice that keeps its axis has it as one of extent 1.
  const ValueId value =
      part.keep ? EmitUnsqueeze(b, (suffix + "_kept").c_str(), part.value, Ints{part.axis + 1}) : part.value;
  Ints perm{part.axis};
  for (int axis = 0; axis < b.RankOf(value); ++axis) {
    if (axis != part.axis) perm[perm.size++] = axis;
  }
  return EmitTranspose(b, suffix.c_str(), value, perm);
}

}  // namespace skiff
