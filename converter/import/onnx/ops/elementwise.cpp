// ONNX rows: elementwise operators.
#include <cmath>
#include <limits>

#include "import/emit.h"
#include "import/onnx/cast.h"
#include "import/onnx/dynamic_product.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// Clamp's bounds are f32 attributes: exact for f32 and f16 only.
bool ClampIsExact(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16; }

void BuildRelu(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  if (ClampIsExact(b.DTypeOf(x))) return b.Output(OpCode::kClamp, {x}, ClampAttrs{.min = 0.0f});
  b.Output(OpCode::kMax, {x, b.Scalar("zero", b.DTypeOf(x), 0)});
}

void BuildClipAttributes(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const float lowest = std::numeric_limits<float>::lowest();
  const float min = b.Float("min", lowest);
  const float max = b.Float("max", -lowest);
  if (ClampIsExact(b.DTypeOf(x))) {
    ClampAttrs attrs;
    if (min != lowest) attrs.min = min;
    if (max != -lowest) attrs.max = max;
    return b.Output(OpCode::kClamp, {x}, attrs);
  }
  const ValueId low =
      b.Emit("max", OpCode::kMax, {x, b.Scalar("low", b.DTypeOf(x), static_cast<double>(min))});
  b.Output(OpCode::kMin, {low, b.Scalar("high", b.DTypeOf(x), static_cast<double>(max))});
}

void BuildClipInputs(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const ValueId min = b.OptionalInput(1);
  const ValueId max = b.OptionalInput(2);
  if (min == kNoValue && max == kNoValue) return b.Output(OpCode::kIdentity, {x});
  ClampAttrs clamp;
  const auto read = [&](ValueId bound, float& into) {
    const TensorData* data = b.ConstantOf(bound);
    if (bound == kNoValue) return true;
    if (data == nullptr || data->elements() != 1) return false;
    into = static_cast<float>(data->ToDoubles()[0]);
    return true;
  };
  const bool constant = read(min, clamp.min) && read(max, clamp.max);
  if (constant && ClampIsExact(b.DTypeOf(x))) return b.Output(OpCode::kClamp, {x}, clamp);
  if (max == kNoValue) return b.Output(OpCode::kMax, {x, min});
  b.Output(OpCode::kMin, {min == kNoValue ? x : b.Emit("max", OpCode::kMax, {x, min}), max});
}

void BuildLeakyRelu(OnnxBuilder& b) {
  b.Output(OpCode::kLeakyRelu, {b.Input(0)}, AlphaAttrs{b.Float("alpha", 0.01f)});
}
void BuildElu(OnnxBuilder& b) { b.Output(OpCode::kElu, {b.Input(0)}, AlphaAttrs{b.Float("alpha", 1.0f)}); }

void BuildSelu(OnnxBuilder& b) {
  const ValueId elu =
      b.Emit("elu", OpCode::kElu, {b.Input(0)}, AlphaAttrs{b.Float("alpha", 1.67326319217681884765625f)});
  const float gamma = b.Float("gamma", 1.05070102214813232421875f);
  b.Output(OpCode::kMul, {elu, b.Scalar("gamma", b.DTypeOf(elu), static_cast<double>(gamma))}, ClampAttrs{});
}

/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). The sum keeps a positive x as it is, which dividing it
/// by alpha and multiplying again would not.
void BuildCelu(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const float alpha = b.Float("alpha", 1.0f);
  if (!(alpha > 0)) b.Unsupported("has alpha = {}; numbers above 0 are supported", alpha);
  if (alpha == 1.0f) return b.Output(OpCode::kElu, {x}, AlphaAttrs{alpha});
  const ValueId scale = b.Scalar("alpha", b.DTypeOf(x), static_cast<double>(alpha));
  const ValueId ratio = b.Emit("ratio", OpCode::kDiv, {x, scale}, ClampAttrs{});
  const ValueId elu = b.Emit("elu", OpCode::kElu, {ratio}, AlphaAttrs{alpha});
  const ValueId negative = b.Emit("negative", OpCode::kClamp, {elu}, ClampAttrs{.max = 0.0f});
  const ValueId positive = b.Emit("positive", OpCode::kClamp, {x}, ClampAttrs{.min = 0.0f});
  b.Output(OpCode::kAdd, {positive, negative}, ClampAttrs{});
}

void BuildThresholdedRelu(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const ValueId alpha = b.Scalar("alpha", dtype, static_cast<double>(b.Float("alpha", 1.0f)));
  b.Output(OpCode::kWhere, {b.Emit("above", OpCode::kGreater, {x, alpha}), x, b.Scalar("zero", dtype, 0)});
}

/// x + bias below -lambd, x - bias above lambd, else 0. Integers are computed in f64, where the attributes
/// keep their fractions and signs.
void BuildShrink(OnnxBuilder& b) {
  const DType dtype = b.DTypeOf(b.Input(0));
  const DType wide = IsFloat(dtype) ? dtype : DType::kF64;
  const ValueId x = b.CastTo("wide", b.Input(0), wide);
  const auto lambd = static_cast<double>(b.Float("lambd", 0.5f));
  const ValueId bias = b.Scalar("bias", wide, static_cast<double>(b.Float("bias", 0.0f)));
  const ValueId above = b.Emit("above", OpCode::kGreater, {x, b.Scalar("lambd", wide, lambd)});
  const ValueId below = b.Emit("below", OpCode::kLess, {x, b.Scalar("minus_lambd", wide, -lambd)});
  const ValueId lowered = b.Emit("lowered", OpCode::kSub, {x, bias}, ClampAttrs{});
  const ValueId raised = b.Emit("raised", OpCode::kAdd, {x, bias}, ClampAttrs{});
  const ValueId rest = b.Emit("rest", OpCode::kWhere, {above, lowered, b.Scalar("zero", wide, 0)});
  if (wide == dtype) return b.Output(OpCode::kWhere, {below, raised, rest});
  b.Output(OpCode::kCast, {b.Emit("shrunk", OpCode::kWhere, {below, raised, rest})},
           CastAttrs{static_cast<int64_t>(dtype)});
}

void BuildIsInf(OnnxBuilder& b) {
  b.Output(OpCode::kIsInf, {b.Input(0)},
           IsInfAttrs{b.Flag("detect_negative", true), b.Flag("detect_positive", true)});
}

void BuildMod(OnnxBuilder& b) { b.Output(OpCode::kMod, {b.Input(0), b.Input(1)}, ModAttrs{b.Flag("fmod")}); }

void BuildBitShift(OnnxBuilder& b) {
  const std::string direction = b.String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    b.Invalid("attribute 'direction' is '{}'; LEFT or RIGHT was expected", direction);
  }
  b.Output(direction == "LEFT" ? OpCode::kShiftLeft : OpCode::kShiftRight, {b.Input(0), b.Input(1)});
}

void BuildHardSigmoid(OnnxBuilder& b) {
  b.Output(OpCode::kHardSigmoid, {b.Input(0)},
           HardSigmoidAttrs{b.Float("alpha", 0.2f), b.Float("beta", 0.5f)});
}

void BuildSoftsign(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const ValueId magnitude = b.Emit("abs", OpCode::kAbs, {x});
  b.Output(OpCode::kDiv,
           {x, b.Emit("add", OpCode::kAdd, {magnitude, b.Scalar("one", b.DTypeOf(x), 1)}, ClampAttrs{})},
           ClampAttrs{});
}

/// x * sigmoid(alpha * x).
void BuildSwish(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const auto alpha = static_cast<double>(b.Float("alpha", 1.0f));
  const ValueId scaled = alpha == 1 ? x : EmitMul(b, "scaled", x, b.Scalar("alpha", b.DTypeOf(x), alpha));
  b.Output(OpCode::kMul, {x, b.Emit("sigmoid", OpCode::kSigmoid, {scaled})}, ClampAttrs{});
}

void BuildMish(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const ValueId tanh = b.Emit("tanh", OpCode::kTanh, {b.Emit("softplus", OpCode::kSoftplus, {x})});
  b.Output(OpCode::kMul, {x, tanh}, ClampAttrs{});
}

void BuildGelu(OnnxBuilder& b) {
  const std::string kind = b.String("approximate", "none");
  if (kind != "none" && kind != "tanh") {
    b.Invalid("attribute 'approximate' is '{}'; none or tanh was expected", kind);
  }
  b.Output(OpCode::kGelu, {b.Input(0)}, GeluAttrs{kind == "tanh" ? GeluKind::kTanh : GeluKind::kErf});
}

void BuildCast(OnnxBuilder& b) {
  OutputAs(b, b.Input(0), b.TypeAttribute("to"));
  NoteDynamicCast(b);
}
void BuildCastLike(OnnxBuilder& b) { OutputAs(b, b.Input(0), b.OnnxTypeOf(b.Input(1))); }

/// Of a Dropout: torchvision's Swin is exported with one in training mode whose ratio is 0.
bool DropsNothing(OnnxBuilder& b) {
  const TensorData* ratio = b.HasInput(1) ? b.ConstantOf(b.Input(1)) : nullptr;
  return ratio != nullptr && ratio->elements() == 1 && ratio->ToDoubles()[0] == 0;
}

/// Dropout at inference is the identity, and its mask keeps everything.
void BuildDropout(OnnxBuilder& b) {
  if (b.opset() < 7 && !b.Flag("is_test")) {
    b.Unsupported("is in training mode; export the model for inference");
  }
  if (b.HasInput(2) && !DropsNothing(b)) {
    const TensorData* training = b.ConstantOf(b.Input(2));
    if (training == nullptr || training->elements() != 1 || training->ToInts()[0] != 0) {
      b.Unsupported("may run in training mode; export the model for inference");
    }
  }
  b.Output(OpCode::kIdentity, {b.Input(0)});
  if (!b.OutputUsed(1)) return;
  // A bool since opset 10, before that of the input's dtype.
  const DType dtype = b.opset() < 10 ? b.DTypeOf(b.Input(0)) : DType::kBool;
  const ValueId shape = b.Emit("shape", OpCode::kShape, {b.Input(0)}, ShapeAttrs{});
  b.Output(OpCode::kFill, {shape}, FillAttrs{static_cast<int64_t>(dtype), 1.0f, 1}, 1);
}

/// Input 1, shaped so that NumPy's broadcasting does what the file says. Before opset 7 the attribute `axis`
/// may place it at other axes than the last ones.
ValueId BroadcastRight(OnnxBuilder& b) {
  const ValueId right = b.Input(1);
  if (b.opset() >= 7 || !b.Flag("broadcast") || !b.HasAttribute("axis")) return right;
  const int rank = b.RankOf(b.Input(0));
  const int right_rank = b.RankOf(right);
  const int64_t axis = b.Int("axis", 0);
  const bool within = -rank <= axis && axis < rank;
  const int64_t behind = within ? rank - right_rank - (axis < 0 ? axis + rank : axis) : -1;
  if (behind < 0) {
    b.Invalid("attribute 'axis' is {} for inputs of rank {} and {}", axis, rank, right_rank);
  }
  AxesAttrs added;
  for (int64_t i = 0; i < behind; ++i) added.axes[added.axes.size++] = right_rank + i;
  return behind == 0 ? right : b.Emit("aligned", OpCode::kUnsqueeze, {right}, added);
}

void BuildArithmetic(OnnxBuilder& b) { b.Output(b.op(), {b.Input(0), BroadcastRight(b)}, ClampAttrs{}); }
void BuildMul(OnnxBuilder& b) {
  if (OutputDynamicProduct(b)) return;
  BuildArithmetic(b);
  NoteDynamicScales(b);
}
void BuildLogic(OnnxBuilder& b) { b.Output(b.op(), {b.Input(0), BroadcastRight(b)}); }

/// Before opset 7 a slope vector belongs to the channels, axis 1.
void BuildPRelu(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  ValueId slope = b.Input(1);
  if (b.opset() < 7 && b.HasRank(slope, 1) && b.ExtentOf(slope, 0) != 1) {
    AxesAttrs behind;
    for (int axis = 1; axis + 1 < b.RankOf(x); ++axis) behind.axes[behind.axes.size++] = axis;
    slope = b.Emit("slope", OpCode::kUnsqueeze, {slope}, behind);
  }
  b.Output(OpCode::kPRelu, {EmitNotGrowing(b, "x_as_slope", x, slope), slope});
}

/// A chain of binary operators over any number of inputs; the last one makes the output.
template <class A>
ValueId Chain(OnnxBuilder& b, const A& attrs, bool to_output) {
  ValueId sum = b.Input(0);
  for (size_t i = 1; i < b.input_count(); ++i) {
    if (to_output && i + 1 == b.input_count()) {
      b.Output(b.op(), {sum, b.Input(i)}, attrs);
    } else {
      sum = b.Emit(fmt::format("step_{}", i).c_str(), b.op(), {sum, b.Input(i)}, attrs);
    }
  }
  if (to_output && b.input_count() == 1) b.Output(OpCode::kIdentity, {sum});
  return sum;
}

void BuildMinMax(OnnxBuilder& b) { Chain(b, NoAttrs{}, true); }
void BuildSum(OnnxBuilder& b) { Chain(b, ClampAttrs{}, true); }

void BuildMean(OnnxBuilder& b) {
  const ValueId sum = Chain(b, ClampAttrs{}, false);
  b.Output(OpCode::kDiv, {sum, b.Scalar("count", b.DTypeOf(sum), static_cast<double>(b.input_count()))},
           ClampAttrs{});
}

/// Whether `dtype` holds these integers as they are: whether they are even decides a sign.
bool HoldsExponents(OnnxBuilder& b, DType dtype, ValueId exponent) {
  const int64_t most = dtype == DType::kF16 ? int64_t{1} << 11 : int64_t{1} << 24;
  const std::optional<TensorData> known = b.KnownValueOf(exponent);
  if (!known) return DTypeBits(b.DTypeOf(exponent)) <= (dtype == DType::kF16 ? 8 : 16);
  const std::vector<int64_t> numbers = known->ToInts();
  return std::all_of(numbers.begin(), numbers.end(),
                     [most](int64_t number) { return number >= -most && number <= most; });
}

/// The result has the base's dtype. An integer base under a fractional exponent is computed in f64, as is a
/// float under integers that its type does not hold.
void BuildPow(OnnxBuilder& b) {
  const ValueId base = b.Input(0);
  const ValueId exponent = BroadcastRight(b);
  const DType dtype = b.DTypeOf(base);
  const bool narrow = dtype == DType::kF16 || dtype == DType::kF32;
  const bool integers = !IsFloat(b.DTypeOf(exponent));
  if (integers ? !narrow || HoldsExponents(b, dtype, exponent) : IsFloat(dtype)) {
    return b.Output(OpCode::kPow, {base, b.CastTo("exponent", exponent, dtype)});
  }
  const ValueId wide =
      b.Emit("wide", OpCode::kPow,
             {b.CastTo("base", base, DType::kF64), b.CastTo("exponent", exponent, DType::kF64)});
  b.Output(OpCode::kCast, {wide}, CastAttrs{static_cast<int64_t>(dtype)});
}

constexpr OnnxOp kRows[] = {
    {"Abs", kOldest, kNewest, BuildDirect, OpCode::kAbs},
    {"Neg", kOldest, kNewest, BuildDirect, OpCode::kNeg},
    {"Exp", kOldest, kNewest, BuildDirect, OpCode::kExp},
    {"Log", kOldest, kNewest, BuildDirect, OpCode::kLog},
    {"Sqrt", kOldest, kNewest, BuildDirect, OpCode::kSqrt},
    {"Reciprocal", kOldest, kNewest, BuildDirect, OpCode::kReciprocal},
    {"Sigmoid", kOldest, kNewest, BuildDirect, OpCode::kSigmoid},
    {"Tanh", kOldest, kNewest, BuildDirect, OpCode::kTanh},
    {"Erf", 9, kNewest, BuildDirect, OpCode::kErf},
    {"Floor", kOldest, kNewest, BuildDirect, OpCode::kFloor},
    {"Ceil", kOldest, kNewest, BuildDirect, OpCode::kCeil},
    {"Round", 11, kNewest, BuildDirect, OpCode::kRound},
    {"Sign", 9, kNewest, BuildDirect, OpCode::kSign},
    {"Sin", 7, kNewest, BuildDirect, OpCode::kSin},
    {"Cos", 7, kNewest, BuildDirect, OpCode::kCos},
    {"Tan", 7, kNewest, BuildDirect, OpCode::kTan},
    {"Asin", 7, kNewest, BuildDirect, OpCode::kAsin},
    {"Acos", 7, kNewest, BuildDirect, OpCode::kAcos},
    {"Atan", 7, kNewest, BuildDirect, OpCode::kAtan},
    {"Sinh", 9, kNewest, BuildDirect, OpCode::kSinh},
    {"Cosh", 9, kNewest, BuildDirect, OpCode::kCosh},
    {"Asinh", 9, kNewest, BuildDirect, OpCode::kAsinh},
    {"Acosh", 9, kNewest, BuildDirect, OpCode::kAcosh},
    {"Atanh", 9, kNewest, BuildDirect, OpCode::kAtanh},
    {"Not", kOldest, kNewest, BuildDirect, OpCode::kNot},
    {"Softplus", kOldest, kNewest, BuildDirect, OpCode::kSoftplus},
    {"HardSwish", 14, kNewest, BuildDirect, OpCode::kHardSwish},
    {"BitwiseNot", 18, kNewest, BuildDirect, OpCode::kBitwiseNot},
    {"IsNaN", 9, kNewest, BuildDirect, OpCode::kIsNaN},
    {"IsInf", 10, kNewest, BuildIsInf},
    {"Relu", kOldest, kNewest, BuildRelu},
    {"Clip", kOldest, 10, BuildClipAttributes},
    {"Clip", 11, kNewest, BuildClipInputs},
    {"LeakyRelu", kOldest, kNewest, BuildLeakyRelu},
    {"Elu", kOldest, kNewest, BuildElu},
    {"Selu", kOldest, kNewest, BuildSelu},
    {"Celu", 12, kNewest, BuildCelu},
    {"ThresholdedRelu", kOldest, kNewest, BuildThresholdedRelu},
    {"Shrink", 9, kNewest, BuildShrink},
    {"HardSigmoid", kOldest, kNewest, BuildHardSigmoid},
    {"Softsign", kOldest, kNewest, BuildSoftsign},
    {"Mish", 18, kNewest, BuildMish},
    {"Gelu", 20, kNewest, BuildGelu},
    {"Swish", 24, kNewest, BuildSwish},
    {"PRelu", kOldest, kNewest, BuildPRelu},
    {"Cast", kOldest, kNewest, BuildCast},
    {"CastLike", 15, kNewest, BuildCastLike},
    {"Dropout", kOldest, kNewest, BuildDropout},
    {"Add", kOldest, kNewest, BuildArithmetic, OpCode::kAdd},
    {"Sub", kOldest, kNewest, BuildArithmetic, OpCode::kSub},
    {"Mul", kOldest, kNewest, BuildMul, OpCode::kMul},
    {"Div", kOldest, kNewest, BuildArithmetic, OpCode::kDiv},
    {"Min", kOldest, kNewest, BuildMinMax, OpCode::kMin},
    {"Max", kOldest, kNewest, BuildMinMax, OpCode::kMax},
    {"Sum", kOldest, kNewest, BuildSum, OpCode::kAdd},
    {"Mean", kOldest, kNewest, BuildMean, OpCode::kAdd},
    {"Pow", kOldest, kNewest, BuildPow},
    {"Mod", 10, kNewest, BuildMod},
    {"BitShift", 11, kNewest, BuildBitShift},
    {"BitwiseAnd", 18, kNewest, BuildDirect, OpCode::kBitwiseAnd},
    {"BitwiseOr", 18, kNewest, BuildDirect, OpCode::kBitwiseOr},
    {"BitwiseXor", 18, kNewest, BuildDirect, OpCode::kBitwiseXor},
    {"Equal", kOldest, kNewest, BuildLogic, OpCode::kEqual},
    {"Less", kOldest, kNewest, BuildLogic, OpCode::kLess},
    {"LessOrEqual", 12, kNewest, BuildDirect, OpCode::kLessOrEqual},
    {"Greater", kOldest, kNewest, BuildLogic, OpCode::kGreater},
    {"GreaterOrEqual", 12, kNewest, BuildDirect, OpCode::kGreaterOrEqual},
    {"And", kOldest, kNewest, BuildLogic, OpCode::kAnd},
    {"Or", kOldest, kNewest, BuildLogic, OpCode::kOr},
    {"Xor", kOldest, kNewest, BuildLogic, OpCode::kXor},
    {"Where", 9, kNewest, BuildDirect, OpCode::kWhere},
};

}  // namespace

std::span<const OnnxOp> OnnxElementwiseOps() { return kRows; }

}  // namespace skiff
