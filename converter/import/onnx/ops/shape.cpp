// ONNX rows: constants, shapes and views of the same elements.
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

void BuildConstant(OnnxBuilder& b) {
  if (const auto value = b.Tensor("value")) {
    b.OutputConstant(*value);
    return b.NoteType(b.results()[0], b.TypeOfTensor("value"));
  }
  if (b.HasAttribute("value_float")) {
    return b.OutputConstant(TensorData::ScalarF32(b.Float("value_float", 0)));
  }
  if (b.HasAttribute("value_int")) {
    const int64_t value = b.Int("value_int", 0);
    return b.OutputConstant(TensorData(DType::kI64, Shape{}, &value));
  }
  if (const auto values = b.FloatList("value_floats")) return b.OutputConstant(TensorData::OfFloats(*values));
  if (const auto values = b.IntList("value_ints")) return b.OutputConstant(TensorData::OfInts(*values));
  for (const char* name : {"value_string", "value_strings", "sparse_value"}) {
    if (b.HasAttribute(name)) b.Unsupported("holds a {}; only dense numbers are supported", name);
  }
  b.Invalid("the node has no value");
}

/// Filled with one element of any dtype, which the attribute `value` gives.
void BuildConstantOfShape(OnnxBuilder& b) {
  const ValueId shape = b.Input(0);
  const TensorData value = b.Tensor("value").value_or(TensorData(DType::kF32, Shape{1}));
  if (value.elements() != 1) {
    b.Invalid("attribute 'value' has {} elements; one was expected", value.elements());
  }
  if (value.dtype() == DType::kF64) {  // Fill's attribute is an f32.
    return b.Output(OpCode::kExpand, {b.Constant("value", value.Reshaped(Shape{})), shape});
  }
  FillAttrs attrs;
  attrs.dtype = static_cast<int64_t>(WholeDType(value.dtype()));
  if (IsFloat(value.dtype())) {
    attrs.value = static_cast<float>(value.ToDoubles()[0]);
  } else {
    attrs.integer = value.ToInts()[0];
  }
  b.Output(OpCode::kFill, {shape}, attrs);
}

void BuildShape(OnnxBuilder& b) {
  ShapeAttrs attrs;
  attrs.start = b.Int("start", attrs.start);
  attrs.end = b.Int("end", attrs.end);
  b.Output(OpCode::kShape, {b.Input(0)}, attrs);
}

void BuildSize(OnnxBuilder& b) {
  const ValueId shape = b.Emit("shape", OpCode::kShape, {b.Input(0)}, ShapeAttrs{});
  b.Output(OpCode::kReduceProd, {shape}, ReduceAttrs{{0}, false, false});
}

void BuildReshape(OnnxBuilder& b) {
  b.Output(OpCode::kReshape, {b.Input(0), b.Input(1)}, ReshapeAttrs{b.Flag("allowzero")});
}

void BuildFlatten(OnnxBuilder& b) { b.Output(OpCode::kFlatten, {b.Input(0)}, AxisAttrs{b.Int("axis", 1)}); }

void BuildAxesAttribute(OnnxBuilder& b) {
  const auto axes = b.IntList("axes");
  if (!axes && b.op() == OpCode::kUnsqueeze) b.Invalid("attribute 'axes' is missing");
  b.Output(b.op(), {b.Input(0)}, AxesAttrs{axes ? b.ToInts(*axes, "attribute 'axes'") : Ints{}});
}

void BuildAxesInput(OnnxBuilder& b) {
  const bool all = b.op() == OpCode::kSqueeze && !b.HasInput(1);
  b.Output(b.op(), {b.Input(0)}, AxesAttrs{all ? Ints{} : b.ToInts(b.ConstantInts(1, "axes"), "axes")});
}

void BuildTranspose(OnnxBuilder& b) {
  const auto perm = b.IntList("perm");
  b.Output(OpCode::kTranspose, {b.Input(0)},
           TransposeAttrs{perm ? b.ToInts(*perm, "attribute 'perm'") : Ints{}});
}

ValueId ShapeOf(OnnxBuilder& b, const char* suffix, ValueId x, int64_t start, int64_t end) {
  return b.Emit(suffix, OpCode::kShape, {x}, ShapeAttrs{start, end});
}

/// In place of the extent of what is left of the channels.
constexpr int64_t kChannels = -1;

/// Blocks between channels and space: reshape to six axes, permute, reshape back, with the target shapes
/// computed from the input's: where there are no elements a Reshape could not tell any, and a 0 is one of
/// them.
void BuildBlocks(OnnxBuilder& b, const std::vector<int64_t>& channel_axes, const TransposeAttrs& perm,
                 bool to_space) {
  const ValueId x = b.Input(0);
  const int64_t size = b.RequiredInt("blocksize");
  if (size <= 0 || size > INT32_MAX) b.Invalid("attribute 'blocksize' is {}", size);
  const ValueId batch = ShapeOf(b, "batch", x, 0, 1);
  const ValueId depth = ShapeOf(b, "depth", x, 1, 2);
  const ValueId space = ShapeOf(b, "space", x, 2, 4);
  const ValueId block = b.ConstantInts("block", {size, size});
  const ValueId area = b.ConstantInts("block_area", {size * size});
  const ValueId new_depth =
      b.Emit("new_depth", to_space ? OpCode::kDiv : OpCode::kMul, {depth, area}, ClampAttrs{});
  const ValueId new_space =
      b.Emit("new_space", to_space ? OpCode::kMul : OpCode::kDiv, {space, block}, ClampAttrs{});
  const AxisAttrs front{0};
  std::vector<ValueId> axes = {batch};
  for (const int64_t extent : channel_axes)
    axes.push_back(extent != kChannels ? b.ConstantInts("block_extent", {extent})
                   : to_space          ? new_depth
                                       : depth);
  if (to_space) {
    axes.push_back(space);
  } else {
    const ValueId height = b.Emit("height", OpCode::kSlice,
                                  {new_space, b.ConstantInts("h_start", {0}), b.ConstantInts("h_end", {1})});
    const ValueId width = b.Emit("width", OpCode::kSlice,
                                 {new_space, b.ConstantInts("w_start", {1}), b.ConstantInts("w_end", {2})});
    const ValueId one = b.ConstantInts("block_extent", {size});
    axes.insert(axes.end(), {height, one, width, one});
  }
  const ValueId six = b.Emit("six_axes", OpCode::kConcat, axes, front);
  const ValueId split = b.Emit("split", OpCode::kReshape, {x, six}, ReshapeAttrs{true});
  const ValueId moved = b.Emit("moved", OpCode::kTranspose, {split}, perm);
  const ValueId target = b.Emit("target", OpCode::kConcat, {batch, new_depth, new_space}, front);
  b.Output(OpCode::kReshape, {moved, target}, ReshapeAttrs{true});
}

void BuildDepthToSpace(OnnxBuilder& b) {
  const std::string mode = b.String("mode", "DCR");
  const int64_t size = b.RequiredInt("blocksize");
  if (mode == "DCR") return BuildBlocks(b, {size, size, kChannels}, TransposeAttrs{{0, 3, 4, 1, 5, 2}}, true);
  if (mode == "CRD") return BuildBlocks(b, {kChannels, size, size}, TransposeAttrs{{0, 1, 4, 2, 5, 3}}, true);
  b.Invalid("attribute 'mode' is '{}'; DCR or CRD was expected", mode);
}

void BuildSpaceToDepth(OnnxBuilder& b) {
  BuildBlocks(b, {kChannels}, TransposeAttrs{{0, 3, 5, 1, 2, 4}}, false);
}

/// Of 16 bits in 32, which have a kernel.
void BuildRange(OnnxBuilder& b) {
  const DType dtype = b.DTypeOf(b.Input(0));
  if (dtype != DType::kI16) return BuildDirect(b);
  std::vector<ValueId> operands;
  for (size_t i = 0; i < 3; ++i) operands.push_back(b.CastTo("wide", b.Input(i), DType::kI32));
  b.Output(OpCode::kCast, {b.Emit("range", OpCode::kRange, operands)},
           CastAttrs{static_cast<int64_t>(dtype)});
}

constexpr OnnxOp kRows[] = {
    {"Constant", kOldest, kNewest, BuildConstant},
    {"ConstantOfShape", 9, kNewest, BuildConstantOfShape},
    {"Range", 11, kNewest, BuildRange, OpCode::kRange},
    {"Shape", kOldest, kNewest, BuildShape},
    {"Size", kOldest, kNewest, BuildSize},
    {"Reshape", kOldest, kNewest, BuildReshape},
    {"Flatten", kOldest, kNewest, BuildFlatten},
    {"Squeeze", kOldest, 12, BuildAxesAttribute, OpCode::kSqueeze},
    {"Squeeze", 13, kNewest, BuildAxesInput, OpCode::kSqueeze},
    {"Unsqueeze", kOldest, 12, BuildAxesAttribute, OpCode::kUnsqueeze},
    {"Unsqueeze", 13, kNewest, BuildAxesInput, OpCode::kUnsqueeze},
    {"Transpose", kOldest, kNewest, BuildTranspose},
    {"DepthToSpace", kOldest, kNewest, BuildDepthToSpace},
    {"SpaceToDepth", kOldest, kNewest, BuildSpaceToDepth},
};

}  // namespace

std::span<const OnnxOp> OnnxShapeOps() { return kRows; }

}  // namespace skiff
