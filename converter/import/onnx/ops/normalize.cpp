// ONNX rows: normalisations that are compositions of reductions and pools.
#include "import/onnx/nested.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// x / (bias + alpha * mean)^beta. The mean of the squares of neighbouring channels is an average pool along
/// the channels, seen as the height of an image [N, C, 1, rest].
void BuildLrn(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const int64_t size = b.RequiredInt("size");
  b.CheckRange("size", {size}, 1);
  if (b.RankOf(x) < 2) b.Invalid("the input needs a batch and a channel axis, its rank is {}", b.RankOf(x));
  const auto scalar = [&](const char* name, float fallback) {
    return b.Scalar(name, dtype, static_cast<double>(b.Float(name, fallback)));
  };
  Pool2dAttrs window;
  window.kernel = {size, 1};
  window.pads = {(size - 1) / 2, 0, size / 2, 0};
  window.count_include_pad = true;
  const ValueId image =
      b.Emit("image", OpCode::kReshape, {x, b.ConstantInts("image_shape", {0, 0, 1, -1})}, ReshapeAttrs{});
  const ValueId squares = b.Emit("squares", OpCode::kMul, {image, image}, ClampAttrs{});
  const ValueId mean = b.Emit("mean", OpCode::kAveragePool2d, {squares}, window);
  const ValueId scaled = b.Emit("scaled", OpCode::kMul, {mean, scalar("alpha", 0.0001f)}, ClampAttrs{});
  const ValueId biased = b.Emit("biased", OpCode::kAdd, {scaled, scalar("bias", 1.0f)}, ClampAttrs{});
  const ValueId power = b.Emit("power", OpCode::kPow, {biased, scalar("beta", 0.75f)});
  const ValueId y = b.Emit("normal", OpCode::kDiv, {image, power}, ClampAttrs{});
  b.Output(OpCode::kReshape, {y, b.Emit("shape", OpCode::kShape, {x}, ShapeAttrs{})},
           ReshapeAttrs{.allow_zero = true});
}

/// x / |x|_p along one axis; a vector of zeros stays one.
void BuildLpNormalization(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const int64_t p = b.Int("p", 2);
  if (p != 1 && p != 2) b.Invalid("attribute 'p' is {}; 1 or 2 was expected", p);
  const ReduceAttrs axis{{b.Int("axis", -1)}};
  const ValueId parts =
      p == 1 ? b.Emit("abs", OpCode::kAbs, {x}) : b.Emit("squares", OpCode::kMul, {x, x}, ClampAttrs{});
  ValueId norm = b.Emit("sum", OpCode::kReduceSum, {parts}, axis);
  if (p == 2) norm = b.Emit("norm", OpCode::kSqrt, {norm});
  const ValueId is_zero = b.Emit("is_zero", OpCode::kEqual, {norm, b.Scalar("zero", dtype, 0)});
  const ValueId divisor = b.Emit("divisor", OpCode::kWhere, {is_zero, b.Scalar("one", dtype, 1), norm});
  b.Output(OpCode::kDiv, {x, divisor}, ClampAttrs{});
}

/// (x - mean) / (deviation + 1e-9), as the function body of the specification has it.
void BuildMeanVarianceNormalization(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const auto listed = b.IntList("axes").value_or(std::vector<int64_t>{0, 2, 3});
  const ReduceAttrs axes{b.ToInts(listed, "attribute 'axes'")};
  const ValueId mean = b.Emit("mean", OpCode::kReduceMean, {x}, axes);
  const ValueId centred = b.Emit("centred", OpCode::kSub, {x, mean}, ClampAttrs{});
  const ValueId squares = b.Emit("squares", OpCode::kMul, {centred, centred}, ClampAttrs{});
  const ValueId variance = b.Emit("variance", OpCode::kReduceMean, {squares}, axes);
  const ValueId deviation = b.Emit("deviation", OpCode::kSqrt, {variance});
  const ValueId divisor =
      b.Emit("divisor", OpCode::kAdd, {deviation, b.Scalar("epsilon", b.DTypeOf(x), 1e-9)}, ClampAttrs{});
  b.Output(OpCode::kDiv, {centred, divisor}, ClampAttrs{});
}

constexpr OnnxOp kRows[] = {
    {"LRN", kOldest, kNewest, BuildInSingle<BuildLrn>},
    {"LpNormalization", kOldest, kNewest, BuildInSingle<BuildLpNormalization>},
    {"MeanVarianceNormalization", 9, kNewest, BuildInSingle<BuildMeanVarianceNormalization>},
};

}  // namespace

std::span<const OnnxOp> OnnxNormalizeOps() { return kRows; }

}  // namespace skiff
