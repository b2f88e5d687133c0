#include "trace/ops.h"

#include "graph/custom_operators.h"
#include "graph/error.h"
#include "ops/op_codes.h"
#include "trace/apply.h"

namespace skiff::eager {
namespace {

template <class A>
Tensors ApplyMany(OpCode op, const A& attrs, const Tensors& inputs, size_t outputs, const Location& where) {
  AttrStorage storage;
  InitAttrs(op, storage);
  storage.as<A>() = attrs;
  return Apply(op, storage, inputs, outputs, where);
}

/// One result; absent inputs are empty tensors.
template <class A>
Tensor ApplyOne(OpCode op, const A& attrs, const Tensors& inputs, const Location& where) {
  return ApplyMany(op, attrs, inputs, 1, where)[0];
}

/// One result, with the attributes' defaults.
Tensor ApplyPlain(OpCode op, const Tensors& inputs, const Location& where) {
  AttrStorage attrs;
  InitAttrs(op, attrs);
  return Apply(op, attrs, inputs, 1, where)[0];
}

/// A number takes the dtype of the other operand.
Tensors Both(const Operand& a, const Operand& b) {
  const DType dtype = a.is_number() ? b.tensor().dtype() : a.tensor().dtype();
  return {a.As(dtype), b.is_number() ? b.As(dtype) : b.tensor()};
}

/// Of a layer without a cell state.
RecurrentResults ApplyRecurrent(OpCode op, const Operand& x, const Tensor& weights,
                                const RecurrentInputs& inputs, const RecurrentAttrs& attrs) {
  const Tensors results =
      ApplyMany(op, attrs, {x.tensor(), weights, inputs.bias, inputs.state, inputs.lengths}, 2, x.where());
  return {results[0], results[1], Tensor()};
}

Tensor ApplyQuantized(OpCode op, const Operand& x, DType dtype, const QuantizationPtr& quantization) {
  AttrStorage attrs;
  InitAttrs(op, attrs);
  return Apply(op, attrs, {x.tensor()}, 1, x.where(), {{dtype, quantization}})[0];
}

Tensor Axis(int64_t axis) { return Tensor::Scalar(axis); }

}  // namespace

#define SKIFF_UNARY(Name) \
  Tensor Name(const Operand& x) { return ApplyPlain(OpCode::k##Name, {x.tensor()}, x.where()); }
#define SKIFF_BINARY(Name)                                     \
  Tensor Name(const Operand& a, const Operand& b) {            \
    return ApplyPlain(OpCode::k##Name, Both(a, b), a.where()); \
  }
#include "trace/elementwise.inc"

Tensor Identity(const Operand& x) { return ApplyPlain(OpCode::kIdentity, {x.tensor()}, x.where()); }
Tensor Relu(const Operand& x) { return Clamp(x, 0.0f, kInfinity); }
Tensor Clamp(const Operand& x, float min, float max) {
  return ApplyOne(OpCode::kClamp, ClampAttrs{min, max}, {x.tensor()}, x.where());
}
Tensor Gelu(const Operand& x, const GeluAttrs& attrs) {
  return ApplyOne(OpCode::kGelu, attrs, {x.tensor()}, x.where());
}
Tensor LeakyRelu(const Operand& x, float alpha) {
  return ApplyOne(OpCode::kLeakyRelu, AlphaAttrs{alpha}, {x.tensor()}, x.where());
}
Tensor Elu(const Operand& x, float alpha) {
  return ApplyOne(OpCode::kElu, AlphaAttrs{alpha}, {x.tensor()}, x.where());
}
Tensor HardSigmoid(const Operand& x, const HardSigmoidAttrs& attrs) {
  return ApplyOne(OpCode::kHardSigmoid, attrs, {x.tensor()}, x.where());
}
Tensor IsInf(const Operand& x, const IsInfAttrs& attrs) {
  return ApplyOne(OpCode::kIsInf, attrs, {x.tensor()}, x.where());
}
Tensor FakeQuantize(const Operand& x, const FakeQuantizeAttrs& attrs) {
  return ApplyOne(OpCode::kFakeQuantize, attrs, {x.tensor()}, x.where());
}
Tensor ReducePrecision(const Operand& x, const ReducePrecisionAttrs& attrs) {
  return ApplyOne(OpCode::kReducePrecision, attrs, {x.tensor()}, x.where());
}
Tensor Quantize(const Operand& x, DType dtype, const QuantizationPtr& quantization) {
  return ApplyQuantized(OpCode::kQuantize, x, dtype, quantization);
}
Tensor Dequantize(const Operand& x) {
  return ApplyOne(OpCode::kDequantize, NoAttrs(), {x.tensor()}, x.where());
}
Tensor Requantize(const Operand& x, DType dtype, const QuantizationPtr& quantization) {
  return ApplyQuantized(OpCode::kRequantize, x, dtype, quantization);
}
Tensor ToCodes(const Operand& x) {
  const CastAttrs attrs{static_cast<int64_t>(x.tensor().dtype())};
  return ApplyOne(OpCode::kToCodes, attrs, {x.tensor()}, x.where());
}
Tensor FromCodes(const Operand& x, DType dtype, const QuantizationPtr& quantization) {
  return ApplyQuantized(OpCode::kFromCodes, x, dtype, quantization);
}
Tensor Lookup(const Operand& x, const Operand& table) {
  return ApplyOne(OpCode::kLookup, NoAttrs{}, {x.tensor(), table.tensor()}, x.where());
}
Tensor Cast(const Operand& x, DType to) {
  return ApplyOne(OpCode::kCast, CastAttrs{static_cast<int64_t>(to)}, {x.tensor()}, x.where());
}

Tensor Mod(const Operand& a, const Operand& b, const ModAttrs& attrs) {
  return ApplyOne(OpCode::kMod, attrs, Both(a, b), a.where());
}
Tensor Where(const Tensor& condition, const Operand& a, const Operand& b) {
  const Tensors both = Both(a, b);
  return ApplyPlain(OpCode::kWhere, {condition, both[0], both[1]}, a.where());
}

Tensor Conv2d(const Operand& x, const Tensor& weights, const Tensor& bias, const Conv2dAttrs& attrs) {
  return ApplyOne(OpCode::kConv2d, attrs, {x.tensor(), weights, bias}, x.where());
}
Tensor ConvTranspose2d(const Operand& x, const Tensor& weights, const Tensor& bias,
                       const ConvTranspose2dAttrs& attrs) {
  return ApplyOne(OpCode::kConvTranspose2d, attrs, {x.tensor(), weights, bias}, x.where());
}
Tensor MaxPool2d(const Operand& x, const Pool2dAttrs& attrs) {
  return ApplyOne(OpCode::kMaxPool2d, attrs, {x.tensor()}, x.where());
}
Tensor AveragePool2d(const Operand& x, const Pool2dAttrs& attrs) {
  return ApplyOne(OpCode::kAveragePool2d, attrs, {x.tensor()}, x.where());
}
Tensor MaxPool2dIndices(const Operand& x, const Pool2dAttrs& attrs) {
  return ApplyOne(OpCode::kMaxPool2dIndices, attrs, {x.tensor()}, x.where());
}
Tensor Resize2d(const Operand& x, const IntList& size, const ResizeAttrs& attrs) {
  return ApplyOne(OpCode::kResize2d, attrs, {x.tensor(), size.tensor()}, x.where());
}
Tensor GridSample2d(const Operand& x, const Tensor& grid, const GridSampleAttrs& attrs) {
  return ApplyOne(OpCode::kGridSample2d, attrs, {x.tensor(), grid}, x.where());
}
Tensor RoiAlign(const Operand& x, const Tensor& regions, const Tensor& images, const RoiAlignAttrs& attrs) {
  return ApplyOne(OpCode::kRoiAlign, attrs, {x.tensor(), regions, images}, x.where());
}
Tensor MatMul(const Operand& a, const Tensor& b, const MatMulAttrs& attrs) {
  return ApplyOne(OpCode::kMatMul, attrs, {a.tensor(), b}, a.where());
}
Tensor FullyConnected(const Operand& x, const Tensor& weights, const Tensor& bias, const ClampAttrs& attrs) {
  return ApplyOne(OpCode::kFullyConnected, attrs, {x.tensor(), weights, bias}, x.where());
}

#define SKIFF_EAGER_DEFINE(Name)                                      \
  Tensor Name(const Operand& x, const ReduceAttrs& attrs) {           \
    return ApplyOne(OpCode::k##Name, attrs, {x.tensor()}, x.where()); \
  }
SKIFF_EAGER_REDUCE(SKIFF_EAGER_DEFINE)
#undef SKIFF_EAGER_DEFINE

Tensor Softmax(const Operand& x, int64_t axis) {
  return ApplyOne(OpCode::kSoftmax, AxisAttrs{axis}, {x.tensor()}, x.where());
}
Tensor LogSoftmax(const Operand& x, int64_t axis) {
  return ApplyOne(OpCode::kLogSoftmax, AxisAttrs{axis}, {x.tensor()}, x.where());
}
Tensor LayerNorm(const Operand& x, const Tensor& scale, const Tensor& bias, const NormAttrs& attrs) {
  return ApplyOne(OpCode::kLayerNorm, attrs, {x.tensor(), scale, bias}, x.where());
}
Tensor BatchNorm(const Operand& x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
                 const Tensor& variance, const NormAttrs& attrs) {
  return ApplyOne(OpCode::kBatchNorm, attrs, {x.tensor(), scale, bias, mean, variance}, x.where());
}
Tensor ArgMax(const Operand& x, const ArgAttrs& attrs) {
  return ApplyOne(OpCode::kArgMax, attrs, {x.tensor()}, x.where());
}
Tensor ArgMin(const Operand& x, const ArgAttrs& attrs) {
  return ApplyOne(OpCode::kArgMin, attrs, {x.tensor()}, x.where());
}
std::pair<Tensor, Tensor> TopK(const Operand& x, int64_t k, const TopKAttrs& attrs) {
  const Tensors results =
      ApplyMany(OpCode::kTopK, attrs, {x.tensor(), Tensor::Of<int64_t>({k})}, 2, x.where());
  return {results[0], results[1]};
}
Tensor CumSum(const Operand& x, int64_t axis, const CumSumAttrs& attrs) {
  return ApplyOne(OpCode::kCumSum, attrs, {x.tensor(), Axis(axis)}, x.where());
}

RecurrentResults Lstm(const Operand& x, const Tensor& weights, const RecurrentInputs& inputs,
                      const RecurrentAttrs& attrs) {
  const Tensors results = ApplyMany(
      OpCode::kLstm, attrs,
      {x.tensor(), weights, inputs.bias, inputs.state, inputs.lengths, inputs.cell, inputs.peepholes}, 3,
      x.where());
  return {results[0], results[1], results[2]};
}
RecurrentResults Gru(const Operand& x, const Tensor& weights, const RecurrentInputs& inputs,
                     const RecurrentAttrs& attrs) {
  return ApplyRecurrent(OpCode::kGru, x, weights, inputs, attrs);
}
RecurrentResults Rnn(const Operand& x, const Tensor& weights, const RecurrentInputs& inputs,
                     const RecurrentAttrs& attrs) {
  return ApplyRecurrent(OpCode::kRnn, x, weights, inputs, attrs);
}

Tensor ShapeOf(const Operand& x, const ShapeAttrs& attrs) {
  return ApplyOne(OpCode::kShape, attrs, {x.tensor()}, x.where());
}
Tensor Reshape(const Operand& x, const IntList& shape, const ReshapeAttrs& attrs) {
  return ApplyOne(OpCode::kReshape, attrs, {x.tensor(), shape.tensor()}, x.where());
}
Tensor Flatten(const Operand& x, int64_t axis) {
  return ApplyOne(OpCode::kFlatten, AxisAttrs{axis}, {x.tensor()}, x.where());
}
Tensor Squeeze(const Operand& x, const Ints& axes) {
  return ApplyOne(OpCode::kSqueeze, AxesAttrs{axes}, {x.tensor()}, x.where());
}
Tensor Unsqueeze(const Operand& x, const Ints& axes) {
  return ApplyOne(OpCode::kUnsqueeze, AxesAttrs{axes}, {x.tensor()}, x.where());
}
Tensor Transpose(const Operand& x, const Ints& perm) {
  return ApplyOne(OpCode::kTranspose, TransposeAttrs{perm}, {x.tensor()}, x.where());
}
Tensor Concat(const Tensors& parts, int64_t axis, const Location& where) {
  return ApplyOne(OpCode::kConcat, AxisAttrs{axis}, parts, where);
}
Tensors Split(const Operand& x, const std::vector<int64_t>& sizes, int64_t axis) {
  return ApplyMany(OpCode::kSplit, SplitAttrs{axis, 0}, {x.tensor(), Tensor::Of(sizes)}, sizes.size(),
                   x.where());
}
Tensor Slice(const Operand& x, const IntList& starts, const IntList& ends, const IntList& axes,
             const IntList& steps) {
  return ApplyOne(OpCode::kSlice, NoAttrs(),
                  {x.tensor(), starts.tensor(), ends.tensor(), axes.tensor(), steps.tensor()}, x.where());
}
Tensor Gather(const Operand& x, const Tensor& indices, int64_t axis) {
  return ApplyOne(OpCode::kGather, AxisAttrs{axis}, {x.tensor(), indices}, x.where());
}
Tensor Pad(const Operand& x, const IntList& pads, const PadAttrs& attrs, const Tensor& value) {
  return ApplyOne(OpCode::kPad, attrs, {x.tensor(), pads.tensor(), value}, x.where());
}
Tensor Expand(const Operand& x, const IntList& shape) {
  return ApplyOne(OpCode::kExpand, NoAttrs(), {x.tensor(), shape.tensor()}, x.where());
}
Tensor Tile(const Operand& x, const IntList& repeats) {
  return ApplyOne(OpCode::kTile, NoAttrs(), {x.tensor(), repeats.tensor()}, x.where());
}
Tensor Fill(const IntList& shape, DType dtype, double value, const Location& where) {
  const Tensor number = Within(PlaceText(where), [&] { return Tensor::Full(dtype, Shape(), value); });
  // The attribute is an f32.
  if (dtype == DType::kF64 && static_cast<float>(value) != value)
    return ApplyOne(OpCode::kExpand, NoAttrs(), {number, shape.tensor()}, where);
  const int64_t integer = IsFloat(dtype)         ? 0
                          : dtype == DType::kU64 ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                                 : static_cast<int64_t>(value);
  const FillAttrs attrs{static_cast<int64_t>(dtype), static_cast<float>(value), integer};
  return ApplyOne(OpCode::kFill, attrs, {shape.tensor()}, where);
}
Tensor Range(const Operand& start, const Tensor& limit, const Tensor& delta) {
  return ApplyOne(OpCode::kRange, NoAttrs(), {start.As(limit.dtype()), limit, delta}, start.where());
}
Tensor ChannelShuffle(const Operand& x, int64_t groups) {
  return ApplyOne(OpCode::kChannelShuffle, GroupsAttrs{groups}, {x.tensor()}, x.where());
}
Tensor GatherElements(const Operand& x, const Tensor& indices, int64_t axis) {
  return ApplyOne(OpCode::kGatherElements, AxisAttrs{axis}, {x.tensor(), indices}, x.where());
}
Tensor GatherND(const Operand& x, const Tensor& indices, const GatherNDAttrs& attrs) {
  return ApplyOne(OpCode::kGatherND, attrs, {x.tensor(), indices}, x.where());
}
Tensor ScatterElements(const Operand& x, const Tensor& indices, const Tensor& updates,
                       const ScatterAttrs& attrs) {
  return ApplyOne(OpCode::kScatterElements, attrs, {x.tensor(), indices, updates}, x.where());
}
Tensor ScatterND(const Operand& x, const Tensor& indices, const Tensor& updates, const ScatterAttrs& attrs) {
  return ApplyOne(OpCode::kScatterND, attrs, {x.tensor(), indices, updates}, x.where());
}
Tensor ReverseSequence(const Operand& x, const Tensor& lengths, const ReverseAttrs& attrs) {
  return ApplyOne(OpCode::kReverseSequence, attrs, {x.tensor(), lengths}, x.where());
}
Tensor NonZero(const Operand& x) {
  ReduceAttrs all;
  for (int64_t axis = 0; axis < x.tensor().rank(); ++axis) all.axes[all.axes.size++] = axis;
  all.keep_dims = false;
  const Tensor ones = Cast(Cast(x, DType::kBool), DType::kI64);
  const Tensor count = x.tensor().rank() == 0 ? ones : ReduceSum({ones, x.where()}, all);
  return ApplyOne(OpCode::kNonZero, NoAttrs{}, {x.tensor(), count}, x.where());
}

namespace {

Tensor FirstOf(const Tensor& all, const Tensor& count, int64_t axis, const Location& where) {
  return ApplyOne(OpCode::kSlice, NoAttrs{},
                  {all, Tensor::Of<int64_t>({0}), count, Tensor::Of<int64_t>({axis})}, where);
}

}  // namespace

Tensor NonMaxSuppression(const Operand& boxes, const Tensor& scores, int64_t most, float most_overlap,
                         float least_score, const SuppressionAttrs& attrs) {
  const Tensors found = ApplyMany(OpCode::kNonMaxSuppression, attrs,
                                  {boxes.tensor(), scores, Tensor::Of<int64_t>({most}),
                                   Tensor::Scalar(most_overlap), Tensor::Scalar(least_score)},
                                  3, boxes.where());
  return FirstOf(found[0], found[1], 0, boxes.where());
}
UniqueParts Unique(const Operand& x, const UniqueAttrs& attrs) {
  const Tensors found = ApplyMany(OpCode::kUnique, attrs, {x.tensor()}, 5, x.where());
  return {FirstOf(found[0], found[4], attrs.slices ? attrs.axis : 0, x.where()),
          FirstOf(found[1], found[4], 0, x.where()), found[2], FirstOf(found[3], found[4], 0, x.where())};
}
Tensor Det(const Operand& x) { return ApplyMany(OpCode::kDet, NoAttrs{}, {x.tensor()}, 2, x.where())[0]; }
Tensor Random(const IntList& shape, const Operand& run, const RandomAttrs& attrs) {
  return ApplyOne(OpCode::kRandom, attrs, {shape.tensor(), run.tensor()}, run.where());
}
Tensor TreeEnsemble(const Operand& x, const Tensor& nodes, const Tensor& thresholds, const Tensor& roots,
                    const Tensor& targets, const Tensor& votes, const TreeEnsembleAttrs& attrs) {
  return ApplyOne(OpCode::kTreeEnsemble, attrs, {x.tensor(), nodes, thresholds, roots, targets, votes},
                  x.where());
}
Tensor Trilu(const Operand& x, bool upper, int64_t diagonal) {
  return ApplyOne(OpCode::kTrilu, TriluAttrs{upper}, {x.tensor(), Tensor::Scalar(diagonal)}, x.where());
}

Tensors Custom(const CustomOperator& op, const Tensors& operands, size_t output_count,
               Span<const uint8_t> options, const Location& where) {
  if (op.infer == nullptr || op.run == nullptr)
    ThrowAt(where, StatusCode::kInvalidArgument, "a custom operator needs a shape rule and a kernel");
  KeepCustomOperator(op);
  CustomConstants constants = MakeCustomConstants(op.name, options, {StatedType()});
  Tensors inputs = {Tensor(std::move(constants.name)), Tensor(std::move(constants.options)), Tensor()};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  return ApplyMany(OpCode::kCustom, CustomAttrsFor(op.name), inputs, output_count, where);
}

}  // namespace skiff::eager
