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

constexpr OnnxOp kRows[] = {
    {"QuantizeLinear", 1, kAnyOpset, BuildQuantizeLinear},
    {"DequantizeLinear", 1, kAnyOpset, BuildDequantizeLinear},
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
