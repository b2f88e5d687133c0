// ONNX rows: sequences and optionals. They are lists of values while a model is imported; what is left of
// them are the tensors.
#include <algorithm>
#include <numeric>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;
/// Into more parts nothing is cut, and over more tensors no SequenceMap goes.
constexpr int64_t kMostTensors = 4096;

/// Unsupported where it is still being put together by a loop around the node.
const OnnxSequence& CompleteInput(OnnxBuilder& b, size_t i) {
  const OnnxSequence& sequence = b.SequenceInput(i);
  if (sequence.grows != 0)
    OnnxBuilder::Unsupported(
        "reads the sequence '{}' while a loop adds to it; let the loop carry what it reads in a loop "
        "variable "
        "of its own, or give it a constant trip count of at most {}, so that it is unrolled",
        b.node().input(static_cast<int>(i)), kMostUnrolled);
  return sequence;
}

/// The tensors of an input one by one. Unsupported, with what it `does`, where their number is not known.
std::vector<ValueId> TensorsOfInput(OnnxBuilder& b, size_t i, const char* does) {
  auto tensors = TensorsOf(b, CompleteInput(b, i));
  if (!tensors)
    OnnxBuilder::Unsupported(
        "{} the sequence '{}', of which conversion does not know how many tensors it holds (at most {} are "
        "possible); fix the size that decides it (--dim, --shape)",
        does, b.node().input(static_cast<int>(i)), kMostTensors);
  return std::move(*tensors);
}

/// An input that is one integer, where it is known.
std::optional<int64_t> KnownPosition(OnnxBuilder& b, size_t i) {
  const std::optional<TensorData> known = b.KnownValueOf(b.Input(i));
  if (!known) return {};
  if (IsFloat(known->dtype()) || known->elements() != 1)
    b.Invalid("the position (input {}) must be one integer", i);
  return known->ToInts()[0];
}

/// A position from the front in a sequence of `length` tensors, of which `room` can be named.
int64_t PlaceOf(OnnxBuilder& b, int64_t position, size_t length, size_t room) {
  const auto size = static_cast<int64_t>(length);
  const int64_t place = position < 0 ? position + size : position;
  if (position < -size || place >= static_cast<int64_t>(room))
    b.Invalid("position {} lies outside of the sequence '{}', which holds {} tensors", position,
              b.node().input(0), length);
  return place;
}

int64_t RequiredPosition(OnnxBuilder& b, size_t i, const char* does) {
  const std::optional<int64_t> position = KnownPosition(b, i);
  if (!position)
    OnnxBuilder::Unsupported(
        "{} a position that is computed at run time, and which tensors a sequence holds must be known at "
        "conversion; export with a constant position",
        does);
  return *position;
}

OnnxSequence SequenceOfTensors(const std::vector<ValueId>& tensors) {
  OnnxSequence sequence;
  for (const ValueId tensor : tensors) sequence.parts.push_back({tensor});
  return sequence;
}

void BuildSequenceEmpty(OnnxBuilder& b) { b.OutputSequence(0, {}); }

void BuildSequenceConstruct(OnnxBuilder& b) {
  OnnxSequence sequence;
  for (size_t i = 0; i < b.input_count(); ++i) sequence.parts.push_back({b.Input(i)});
  b.OutputSequence(0, std::move(sequence));
}

void BuildSequenceInsert(OnnxBuilder& b) {
  OnnxSequence sequence = b.SequenceInput(0);
  const ValueId tensor = b.Input(1);
  if (b.HasInput(2)) {
    const std::optional<int64_t> length = LengthOf(b, sequence);
    const int64_t position = RequiredPosition(b, 2, "inserts at");
    if (sequence.grows != 0)
      OnnxBuilder::Unsupported(
          "inserts at position {} of the sequence '{}', to which a loop adds; insert at its end, without a "
          "position, or give the loop a constant trip count of at most {}, so that it is unrolled",
          position, b.node().input(0), kMostUnrolled);
    if (!length || position != *length) {
      std::vector<ValueId> tensors = TensorsOfInput(b, 0, "inserts into the midst of");
      const int64_t place = PlaceOf(b, position, tensors.size(), tensors.size() + 1);
      tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(place), tensor);
      return b.OutputSequence(0, SequenceOfTensors(tensors));
    }
  }
  sequence.parts.push_back({tensor});
  b.OutputSequence(0, std::move(sequence));
}

void BuildSequenceErase(OnnxBuilder& b) {
  const int64_t position = b.HasInput(1) ? RequiredPosition(b, 1, "erases from") : -1;
  std::vector<ValueId> tensors = TensorsOfInput(b, 0, "erases from");
  const int64_t place = PlaceOf(b, position, tensors.size(), tensors.size());
  tensors.erase(tensors.begin() + place);
  b.OutputSequence(0, SequenceOfTensors(tensors));
}

/// Tensors that are equally large are rows of one, of which the run picks.
void OutputComputedPosition(OnnxBuilder& b, const OnnxSequence& sequence) {
  const ValueId position = EmitScalarInput(b, "position", 1);
  if (sequence.parts.size() == 1 && sequence.parts[0].axis >= 0) {
    const OnnxSequence::Part& part = sequence.parts[0];
    if (!part.keep) return b.Output(OpCode::kGather, {part.value, position}, AxisAttrs{part.axis});
    const ValueId slice = b.Emit("tensor", OpCode::kGather, {part.value, position}, AxisAttrs{part.axis});
    return b.Output(OpCode::kUnsqueeze, {slice}, AxesAttrs{{part.axis}});
  }
  const std::vector<ValueId> tensors = TensorsOfInput(b, 0, "picks from");
  if (tensors.empty()) b.Invalid("the sequence '{}' holds nothing", b.node().input(0));
  std::vector<ValueId> rows;
  const OnnxBuilder::PartialType first = b.TypeOf(tensors[0]);
  for (const ValueId tensor : tensors) {
    const OnnxBuilder::PartialType type = b.TypeOf(tensor);
    if (!type.dims || type.dims != first.dims || type.dtype != first.dtype)
      OnnxBuilder::Unsupported(
          "picks from the sequence '{}' at a position that is computed at run time, and its tensors are not "
          "known to be equally large; export with a constant position",
          b.node().input(0));
    rows.push_back(EmitUnsqueeze(b, "row", tensor, Ints{0}));
  }
  const ValueId all = b.Emit("rows", OpCode::kConcat, rows, AxisAttrs{0});
  b.Output(OpCode::kGather, {all, position}, AxisAttrs{0});
}

void BuildSequenceAt(OnnxBuilder& b) {
  const OnnxSequence& sequence = CompleteInput(b, 0);
  const std::optional<int64_t> position = KnownPosition(b, 1);
  if (!position) return OutputComputedPosition(b, sequence);
  const std::optional<int64_t> length = LengthOf(b, sequence);
  if (length) PlaceOf(b, *position, static_cast<size_t>(*length), static_cast<size_t>(*length));
  const std::optional<ValueId> tensor = TensorAt(b, sequence, *position, length);
  if (!tensor)
    OnnxBuilder::Unsupported(
        "takes the tensor at position {} of the sequence '{}', and only the run knows which one that is; "
        "stack "
        "its tensors (ConcatFromSequence), and index that",
        *position, b.node().input(0));
  b.Output(OpCode::kIdentity, {*tensor});
}

void BuildSequenceLength(OnnxBuilder& b) {
  const OnnxSequence& sequence = CompleteInput(b, 0);
  if (const std::optional<int64_t> length = LengthOf(b, sequence))
    return b.OutputConstant(TensorData(DType::kI64, Shape{}, &*length));
  int64_t single = 0;
  ValueId length = kNoValue;
  for (const OnnxSequence::Part& part : sequence.parts) {
    if (part.axis < 0) {
      ++single;
      continue;
    }
    const ValueId more = EmitExtent(b, "part", part.value, part.axis);
    length = length == kNoValue ? more : EmitAdd(b, "parts", length, more);
  }
  b.Output(OpCode::kAdd, {length, b.Scalar("single", DType::kI64, static_cast<double>(single))},
           ClampAttrs{});
}

/// The extents of the parts along an axis; nothing where each is 1.
ValueId SplitSizes(OnnxBuilder& b, ValueId x, int axis, size_t& count) {
  const ValueId split = b.Input(1);
  const std::optional<TensorData> known = b.KnownValueOf(split);
  if (known && IsFloat(known->dtype())) b.Invalid("the split (input 1) must be integers");
  const bool one_size = b.HasRank(split, 0) || (known && known->shape().rank() == 0);
  if (!one_size) {
    const std::optional<int64_t> parts = known                 ? std::optional(known->elements())
                                         : b.HasRank(split, 1) ? b.ExtentOf(split, 0)
                                                               : std::nullopt;
    if (!parts || *parts > kMostTensors)
      OnnxBuilder::Unsupported(
          "is told at run time into how many parts it cuts '{}'; make its split a constant of at most {} "
          "parts",
          b.node().input(0), kMostTensors);
    count = static_cast<size_t>(*parts);
    return known ? b.ConstantInts("sizes", known->ToInts()) : b.CastTo("sizes", split, DType::kI64);
  }
  if (!known)
    OnnxBuilder::Unsupported(
        "computes at run time how large the parts are into which it cuts '{}'; export with a constant split",
        b.node().input(0));
  const int64_t size = known->ToInts()[0];
  if (size < 1) b.Invalid("the split (input 1) is {}; 1 or more was expected", size);
  if (size == 1) return kNoValue;
  const std::optional<int64_t> extent = b.ExtentOf(x, axis);
  if (!extent || (*extent - 1) / size >= kMostTensors)
    OnnxBuilder::Unsupported(
        "cuts '{}' into parts of {} along axis {}, whose extent decides into how many and is not known (at "
        "most "
        "{} parts are possible); fix it (--dim, --shape)",
        b.node().input(0), size, axis, kMostTensors);
  std::vector<int64_t> sizes;
  for (int64_t left = *extent; left > 0; left -= sizes.back()) sizes.push_back(std::min(size, left));
  count = sizes.size();
  return b.ConstantInts("sizes", sizes);
}

void BuildSplitToSequence(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const int axis = AxisOf(b, "axis", b.Int("axis", 0), b.RankOf(x));
  if (!b.HasInput(1)) return b.OutputSequence(0, {.parts = {{x, axis, b.Flag("keepdims", true)}}});
  size_t count = 0;
  const ValueId sizes = SplitSizes(b, x, axis, count);
  // With a split, the specification ignores keepdims; PyTorch exports unbind() as a split of 1 without it,
  // and ONNX Runtime does as PyTorch.
  if (sizes == kNoValue) return b.OutputSequence(0, {.parts = {{x, axis, b.Flag("keepdims", true)}}});
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i));
  const std::vector<ValueId> parts =
      count == 0 ? std::vector<ValueId>{} : b.EmitAll(names, OpCode::kSplit, {x, sizes}, SplitAttrs{axis, 0});
  b.OutputSequence(0, SequenceOfTensors(parts));
}

/// Tensors beside each other along a new axis.
ValueId Stacked(OnnxBuilder& b, const OnnxSequence::Part& part, int64_t axis) {
  if (part.axis < 0) {
    const int to = AxisOf(b, "axis", axis, b.RankOf(part.value) + 1);
    return EmitUnsqueeze(b, "stacked", part.value, Ints{to});
  }
  const ValueId rows = Rows(b, "rows", part);
  const int to = AxisOf(b, "axis", axis, b.RankOf(rows));
  Ints perm;
  for (int i = 1; i < b.RankOf(rows); ++i) perm[perm.size++] = i;
  for (int i = static_cast<int>(perm.size++); i > to; --i) perm[i] = perm[i - 1];
  perm[to] = 0;
  return EmitTranspose(b, "stacked", rows, perm);
}

/// Tensors beside each other along an axis that they have.
ValueId Joined(OnnxBuilder& b, const OnnxSequence::Part& part, int64_t axis) {
  if (part.axis < 0) return part.value;
  const int rank = b.RankOf(part.value) - (part.keep ? 0 : 1);
  const int to = AxisOf(b, "axis", axis, rank);
  if (part.keep && part.axis == to) return part.value;
  const ValueId stacked = Stacked(b, part, to);
  std::vector<ValueId> extents;
  if (to > 0) extents.push_back(ExtentsOf(b, stacked, 0, to));
  extents.push_back(b.ConstantInts("joined_extent", {-1}));
  if (to + 1 < rank) extents.push_back(ExtentsOf(b, stacked, to + 2, rank + 1));
  return ReshapeTo(b, "joined", stacked, std::move(extents));
}

void BuildConcatFromSequence(OnnxBuilder& b) {
  const OnnxSequence& sequence = CompleteInput(b, 0);
  const int64_t axis = b.RequiredInt("axis");
  const bool stacks = b.Flag("new_axis");
  if (sequence.parts.empty()) b.Invalid("the sequence '{}' holds nothing to concatenate", b.node().input(0));
  std::vector<ValueId> inputs;
  for (const OnnxSequence::Part& part : sequence.parts)
    inputs.push_back(stacks ? Stacked(b, part, axis) : Joined(b, part, axis));
  if (inputs.size() > 1) return b.Output(OpCode::kConcat, std::move(inputs), AxisAttrs{axis});
  if (!stacks) AxisOf(b, "axis", axis, b.RankOf(inputs[0]));
  b.Output(OpCode::kIdentity, std::move(inputs));
}

/// The body is there once for each tensor.
void BuildSequenceMap(OnnxBuilder& b) {
  const std::vector<ValueId> first = TensorsOfInput(b, 0, "goes through");
  b.BodyOf("body", b.input_count());
  b.sequences().CheckRoom(b.input_count() + b.output_count(), first.size());
  std::vector<std::vector<ValueId>> inputs{first};
  for (size_t i = 1; i < b.input_count(); ++i) {
    inputs.push_back(b.IsSequence(i) ? TensorsOfInput(b, i, "goes through")
                                     : std::vector<ValueId>(first.size(), b.Input(i)));
    if (inputs.back().size() != first.size())
      b.Invalid("the sequence '{}' holds {} tensors, and '{}' {}", b.node().input(static_cast<int>(i)),
                inputs.back().size(), b.node().input(0), first.size());
  }
  std::vector<OnnxSequence> outputs(b.output_count());
  for (size_t k = 0; k < first.size(); ++k) {
    std::vector<ValueId> tensors;
    for (const std::vector<ValueId>& input : inputs) tensors.push_back(input[k]);
    const std::vector<ValueId> results = b.InlineBody("body", tensors, fmt::format("{}", k), false);
    if (results.size() != outputs.size())
      b.Invalid("the body returns {} values, the node {}", results.size(), outputs.size());
    for (size_t i = 0; i < results.size(); ++i) {
      b.CheckTensor(results[i], "the body");
      outputs[i].parts.push_back({results[i]});
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) b.OutputSequence(i, std::move(outputs[i]));
}

void BuildIdentity(OnnxBuilder& b) {
  if (b.IsSequence(0)) return b.OutputAs(0, b.AnyInput(0));
  b.Output(OpCode::kIdentity, {b.Input(0)});
}

void BuildOptional(OnnxBuilder& b) {
  if (!b.HasInput(0)) return b.OutputSequence(0, {.absent = true});
  b.OutputAs(0, b.AnyInput(0));
}

bool HoldsNothing(OnnxBuilder& b) {
  return !b.HasInput(0) || (b.IsSequence(0) && b.SequenceOf(b.AnyInput(0)).absent);
}

void BuildOptionalHasElement(OnnxBuilder& b) {
  const bool holds = !HoldsNothing(b);
  b.OutputConstant(TensorData(DType::kBool, Shape{}, &holds));
}

void BuildOptionalGetElement(OnnxBuilder& b) {
  if (HoldsNothing(b)) b.Invalid("input 0 is an optional that holds nothing, and its element is asked for");
  BuildIdentity(b);
}

constexpr OnnxOp kRows[] = {
    {"SequenceEmpty", 11, kNewest, BuildSequenceEmpty},
    {"SequenceConstruct", 11, kNewest, BuildSequenceConstruct},
    {"SequenceInsert", 11, kNewest, BuildSequenceInsert, OpCode::kInvalid, 1},
    {"SequenceErase", 11, kNewest, BuildSequenceErase, OpCode::kInvalid, 1},
    {"SequenceAt", 11, kNewest, BuildSequenceAt, OpCode::kInvalid, 1},
    {"SequenceLength", 11, kNewest, BuildSequenceLength, OpCode::kInvalid, 1},
    {"SplitToSequence", 11, kNewest, BuildSplitToSequence},
    {"ConcatFromSequence", 11, kNewest, BuildConcatFromSequence, OpCode::kInvalid, 1},
    {"SequenceMap", 17, kNewest, BuildSequenceMap, OpCode::kInvalid, SequencesFrom(0)},
    {"Identity", kOldestOnnxOpset, kNewest, BuildIdentity, OpCode::kIdentity, 1},
    {"Optional", 15, kNewest, BuildOptional, OpCode::kInvalid, 1},
    {"OptionalHasElement", 15, kNewest, BuildOptionalHasElement, OpCode::kInvalid, 1},
    {"OptionalGetElement", 15, kNewest, BuildOptionalGetElement, OpCode::kInvalid, 1},
};

}  // namespace

std::span<const OnnxOp> OnnxSequenceOps() { return kRows; }

}  // namespace skiff
