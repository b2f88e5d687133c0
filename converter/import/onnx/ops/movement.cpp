// ONNX rows: operators that move, repeat or select elements.
#include <algorithm>

#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

void BuildConcat(OnnxBuilder& b) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < b.input_count(); ++i) inputs.push_back(b.Input(i));
  b.Output(OpCode::kConcat, std::move(inputs), AxisAttrs{b.RequiredInt("axis")});
}

void BuildSplit(OnnxBuilder& b) {
  SplitAttrs attrs;
  attrs.axis = b.Int("axis", 0);
  ValueId sizes = b.opset() < 13 ? kNoValue : b.OptionalInput(1);
  if (const auto split = b.IntList("split"); split && b.opset() < 13) sizes = b.ConstantInts("sizes", *split);
  if (sizes == kNoValue) attrs.parts = static_cast<int64_t>(b.output_count());
  if (b.opset() >= 18 && b.HasAttribute("num_outputs") && b.Int("num_outputs", 0) != attrs.parts) {
    b.Invalid("attribute 'num_outputs' is {}, the node has {} outputs", b.Int("num_outputs", 0),
              b.output_count());
  }
  b.Outputs(OpCode::kSplit, {b.Input(0), sizes}, attrs);
}

void BuildSliceAttributes(OnnxBuilder& b) {
  const auto starts = b.IntList("starts");
  const auto ends = b.IntList("ends");
  const auto axes = b.IntList("axes");
  if (!starts || !ends) b.Invalid("attributes 'starts' and 'ends' are needed");
  const ValueId axes_value = axes ? b.ConstantInts("axes", *axes) : kNoValue;
  b.Output(OpCode::kSlice,
           {b.Input(0), b.ConstantInts("starts", *starts), b.ConstantInts("ends", *ends), axes_value});
}

/// A backward range that starts before an axis starts at its first element: "clamped to [0, dims - 1] for
/// negative stepping". The operator Slice, as NumPy, has nothing there. Told where the numbers are known.
void BuildSlice(OnnxBuilder& b) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < 5; ++i) inputs.push_back(i == 0 ? b.Input(0) : b.OptionalInput(i));
  const auto numbers = [&](size_t i) {
    const auto known = inputs[i] == kNoValue ? std::nullopt : b.KnownValueOf(inputs[i]);
    return known ? known->ToInts() : std::vector<int64_t>();
  };
  std::vector<int64_t> starts = numbers(1);
  std::vector<int64_t> axes = numbers(3);
  const std::vector<int64_t> steps = numbers(4);
  for (size_t i = 0; inputs[3] == kNoValue && i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  bool changed = false;
  for (size_t i = 0; i < std::min({starts.size(), axes.size(), steps.size()}); ++i) {
    if (!b.KnowsRank(inputs[0]) || steps[i] >= 0) continue;
    const int64_t axis = axes[i] < 0 ? axes[i] + b.RankOf(inputs[0]) : axes[i];
    const int64_t extent = b.ExtentOf(inputs[0], axis).value_or(0);
    if (extent == 0 || starts[i] >= -extent) continue;
    starts[i] = 0;
    changed = true;
  }
  if (changed) inputs[1] = b.ConstantInts("starts", starts);
  b.Output(OpCode::kSlice, std::move(inputs));
}

void BuildGather(OnnxBuilder& b) {
  b.Output(OpCode::kGather, {b.Input(0), b.Input(1)}, AxisAttrs{b.Int("axis", 0)});
}

PadAttrs PadAttributes(OnnxBuilder& b) {
  const std::string mode = b.String("mode", "constant");
  if (mode == "constant") return {PadMode::kConstant};
  if (mode == "reflect") return {PadMode::kReflect};
  if (mode == "edge") return {PadMode::kEdge};
  if (mode == "wrap" && b.opset() >= 19) return {PadMode::kWrap};
  b.Invalid("attribute 'mode' is '{}'; constant, reflect, edge or (since opset 19) wrap was expected", mode);
}

void BuildPadAttributes(OnnxBuilder& b) {
  const auto pads = b.IntList("pads");
  if (!pads) b.Invalid("attribute 'pads' is missing");
  const float value = b.Float("value", 0.0f);
  const ValueId x = b.Input(0);
  const ValueId filler =
      value == 0.0f ? kNoValue : b.Scalar("value", b.DTypeOf(x), static_cast<double>(value));
  b.Output(OpCode::kPad, {x, b.ConstantInts("pads", *pads), filler}, PadAttributes(b));
}

void BuildPadInputs(OnnxBuilder& b) {
  b.Output(OpCode::kPad, {b.Input(0), b.Input(1), b.OptionalInput(2), b.OptionalInput(3)}, PadAttributes(b));
}

constexpr OnnxOp kRows[] = {
    {"Concat", kOldest, kNewest, BuildConcat},
    {"Split", kOldest, kNewest, BuildSplit},
    {"Slice", kOldest, 9, BuildSliceAttributes},
    {"Slice", 10, kNewest, BuildSlice},
    {"Gather", kOldest, kNewest, BuildGather},
    {"Pad", kOldest, 10, BuildPadAttributes},
    {"Pad", 11, kNewest, BuildPadInputs},
    {"Expand", 8, kNewest, BuildDirect, OpCode::kExpand},
    {"Tile", kOldest, kNewest, BuildDirect, OpCode::kTile},
};

}  // namespace

std::span<const OnnxOp> OnnxMovementOps() { return kRows; }

}  // namespace skiff
