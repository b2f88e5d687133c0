// Rows of com.microsoft, the domain of ONNX Runtime: operators of integers. Those called QLinear... are an
// operator of ai.onnx between what integers stand for.
#include "import/emit.h"
#include "import/onnx/nested.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantize.h"
#include "import/onnx/quantized_rows.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// The newest one in which axes and bounds are attributes, as they are here.
constexpr int64_t kWithAttributes = 17;

/// What input `at` stands for, with its scale and zero point behind it.
ValueId Real(OnnxBuilder& b, const char* suffix, size_t at) {
  return EmitReal(b, suffix, b.Input(at), {b.Input(at + 1), b.OptionalInput(at + 2)});
}

/// The node's output: integers as those of input `like`, with the scale that is input `at`.
void OutputCodes(OnnxBuilder& b, ValueId y, size_t like, size_t at) {
  EmitCodes(b, nullptr, y, b.DTypeOf(b.Input(like)), {b.Input(at), b.OptionalInput(at + 1)});
}

/// "Sigmoid", of QLinearSigmoid.
std::string FloatName(const OnnxBuilder& b) {
  return b.node().op_type().substr(std::string("QLinear").size());
}

/// Of one tensor: inputs x, its scale and zero point, those of y.
void BuildOfOne(OnnxBuilder& b) {
  const bool channels_last = b.Flag("channels_last");
  ValueId x = Real(b, "x", 0);
  if (channels_last) x = ChannelsToFront(b, "x_channels", x);
  ValueId y = EmitOnnx(b, "y", FloatName(b), kWithAttributes, {x}, NodeAttributes(b));
  if (channels_last) y = ChannelsToBack(b, "y_channels", y);
  OutputCodes(b, y, 0, 3);
}

void BuildOfTwo(OnnxBuilder& b) {
  OutputCodes(b, b.Emit("c", b.op(), {Real(b, "a", 0), Real(b, "b", 3)}, ClampAttrs{}), 0, 6);
}

/// The attribute `opset` says which Softmax it is.
void BuildSoftmax(OnnxBuilder& b) {
  const int64_t opset = b.RequiredInt("opset");
  if (opset < kOldestOnnxOpset || opset > kNewestOnnxOpset)
    b.Invalid("attribute 'opset' is {}; {} to {} was expected", opset, kOldestOnnxOpset, kNewestOnnxOpset);
  const ValueId y = EmitOnnx(b, "y", "Softmax", opset, {Real(b, "x", 0)}, NodeAttributes(b));
  OutputCodes(b, y, 0, 3);
}

void BuildWhere(OnnxBuilder& b) {
  const ValueId where = b.CastTo("condition", b.Input(0), DType::kBool);
  OutputCodes(b, b.Emit("z", OpCode::kWhere, {where, Real(b, "x", 1), Real(b, "y", 4)}), 1, 7);
}

/// The inputs follow the output's scale and zero point.
void BuildConcat(OnnxBuilder& b) {
  std::vector<ValueId> parts;
  for (size_t i = 2; i < b.input_count(); i += 3)
    parts.push_back(Real(b, fmt::format("part_{}", parts.size()).c_str(), i));
  OutputCodes(b, b.Emit("joined", OpCode::kConcat, std::move(parts), AxisAttrs{b.RequiredInt("axis")}), 2, 0);
}

/// A factor of each direction and column of weights [directions, n, columns], which lies as they do.
ValueId OfColumns(OnnxBuilder& b, const std::string& suffix, ValueId factor) {
  if (factor == kNoValue || !b.HasRank(factor, 2)) return factor;
  const std::optional<TensorData> known = b.KnownValueOf(factor);
  if (!known) OnnxBuilder::Unsupported("computes the scales of its weights; export them as constants");
  const Shape shape{known->shape()[0], 1, known->shape()[1]};
  return b.Constant(suffix.c_str(), known->Reshaped(shape));
}

/// Weights [directions, columns, n] of what lies transposed, with one scale, one for each direction or one
/// for each column of each.
ValueId RecurrentWeights(OnnxBuilder& b, const std::string& suffix, size_t codes, size_t scale) {
  const ValueId weights = b.Input(codes);
  if (!b.HasRank(weights, 3)) b.Invalid("input {} has rank {}; 3 was expected", codes, b.RankOf(weights));
  OnnxQuantization from{OfColumns(b, suffix + "_scales", b.Input(scale)),
                        OfColumns(b, suffix + "_zero_points", b.OptionalInput(scale + 1)), 0};
  const std::optional<int64_t> rows = b.ExtentOf(weights, 1);
  // Those of several directions are blocks of all rows.
  if (b.HasRank(from.scale, 3) && b.ExtentOf(weights, 0) != 1 && rows && *rows > 0) {
    from.axis = 1;
    from.block = *rows;
  }
  return EmitTranspose(b, suffix.c_str(), EmitReal(b, (suffix + "_real").c_str(), weights, from), {0, 2, 1});
}

/// An LSTM whose weights are integers. ONNX Runtime rounds what it multiplies them by, too.
void BuildDynamicQuantizeLstm(OnnxBuilder& b) {
  std::vector<ValueId> inputs = {b.Input(0), RecurrentWeights(b, "weights", 1, 8),
                                 RecurrentWeights(b, "recurrence", 2, 10)};
  for (size_t i = 3; i < 8; ++i) inputs.push_back(b.OptionalInput(i));
  EmitOnnx(b, nullptr, "LSTM", kNewestOnnxOpset, std::move(inputs), NodeAttributes(b));
}

/// Inputs: integers in blocks, indices, scales, zero points.
void BuildGatherBlockQuantized(OnnxBuilder& b) {
  const TensorData* data = b.ConstantOf(b.Input(0));
  if (data == nullptr || DTypeBits(data->dtype()) != 4)
    OnnxBuilder::Unsupported("has data that are no constant of int4 or uint4");
  const OnnxQuantization from{b.Input(2), b.OptionalInput(3), b.Int("quantize_axis", 1),
                              b.Int("block_size", 128)};
  if (from.block < 1) b.Invalid("attribute 'block_size' is {}; at least 1 was expected", from.block);
  const ValueId real = EmitReal(b, "real", b.Input(0), from, b.DTypeOf(b.Input(2)));
  EmitOnnx(b, nullptr, "Gather", kNewestOnnxOpset, {real, b.Input(1)},
           {OnnxAttribute("axis", b.Int("gather_axis", 0))});
}

constexpr OnnxOp kRows[] = {
    {"QuantizeLinear", 1, kAnyOpset, BuildQuantizeLinear},
    {"DequantizeLinear", 1, kAnyOpset, BuildDequantizeLinear},
    {"DynamicQuantizeLSTM", 1, kAnyOpset, BuildDynamicQuantizeLstm},
    {"GatherBlockQuantized", 1, kAnyOpset, BuildGatherBlockQuantized},
    {"QLinearConv", 1, kAnyOpset, BuildQLinearConv},
    {"QLinearAdd", 1, kAnyOpset, BuildOfTwo, OpCode::kAdd},
    {"QLinearMul", 1, kAnyOpset, BuildOfTwo, OpCode::kMul},
    {"QLinearAveragePool", 1, kAnyOpset, BuildOfOne},
    {"QLinearGlobalAveragePool", 1, kAnyOpset, BuildOfOne},
    {"QLinearSigmoid", 1, kAnyOpset, BuildOfOne},
    {"QLinearLeakyRelu", 1, kAnyOpset, BuildOfOne},
    {"QLinearReduceMean", 1, kAnyOpset, BuildOfOne},
    {"QLinearSoftmax", 1, kAnyOpset, BuildSoftmax},
    {"QLinearWhere", 1, kAnyOpset, BuildWhere},
    {"QLinearConcat", 1, kAnyOpset, BuildConcat},
};

}  // namespace

std::span<const OnnxOp> MicrosoftQuantizedOps() { return kRows; }

}  // namespace skiff
