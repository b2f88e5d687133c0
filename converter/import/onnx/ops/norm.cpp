// ONNX rows: normalisations. Those that have no operator of their own are written the way
// recognize-composites reads LayerNorm.
#include <algorithm>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

/// Axes first, first + 1, ... of a tensor, kept as 1.
ReduceAttrs AxesFrom(int first, int rank) {
  ReduceAttrs attrs;
  for (int axis = first; axis < rank; ++axis) attrs.axes[attrs.axes.size++] = axis;
  attrs.noop_when_empty = true;
  return attrs;
}

/// sqrt(mean(x * x) + epsilon) over some axes.
ValueId EmitRootMeanSquare(OnnxBuilder& b, ValueId x, const ReduceAttrs& axes) {
  const ValueId mean = b.Emit("variance", OpCode::kReduceMean, {EmitMul(b, "square", x, x)}, axes);
  const ValueId epsilon = b.Scalar("epsilon", b.DTypeOf(x), static_cast<double>(b.Float("epsilon", 1e-5f)));
  return b.Emit("deviation", OpCode::kSqrt, {EmitAdd(b, "variance_eps", mean, epsilon)});
}

/// mean, x - mean, and sqrt(variance + epsilon) over some axes.
struct Moments {
  ValueId mean = kNoValue;
  ValueId centred = kNoValue;
  ValueId deviation = kNoValue;
};

Moments EmitMoments(OnnxBuilder& b, ValueId x, const ReduceAttrs& axes) {
  Moments m;
  m.mean = b.Emit("mean", OpCode::kReduceMean, {x}, axes);
  m.centred = EmitSub(b, "centred", x, m.mean);
  m.deviation = EmitRootMeanSquare(b, m.centred, axes);
  return m;
}

/// By the mean and the variance of the batch itself: nets that standardise their weights do so at inference.
void BuildBatchStatistics(OnnxBuilder& b) {
  if (b.OutputUsed(1) || b.OutputUsed(2))
    b.Unsupported("is in training mode, and its running statistics are used; export the model for inference");
  ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  if (rank == 0) b.Invalid("normalises a scalar; a batch was expected");
  if (rank > 1) {
    x = EmitSameExtent(b, "channels", x, 1, b.Input(1), 0);
    x = EmitSameExtent(b, "channels_of_bias", x, 1, b.Input(2), 0);
  }
  ReduceAttrs axes = AxesFrom(0, 1);
  Ints behind_channels;
  for (int axis = 2; axis < rank; ++axis) {
    axes.axes[axes.axes.size++] = axis;
    behind_channels[behind_channels.size++] = axis - 1;
  }
  const auto per_channel = [&](const char* name, size_t input) {
    const ValueId factor = b.CastTo(name, b.Input(input), b.DTypeOf(x));
    // A batch alone has one channel.
    return rank == 1 ? EmitReshape(b, name, factor, {1}) : EmitUnsqueeze(b, name, factor, behind_channels);
  };
  const Moments m = EmitMoments(b, x, axes);
  const ValueId normal = EmitDiv(b, "normal", m.centred, m.deviation);
  const ValueId scaled = EmitMul(b, "scaled", normal, per_channel("scale", 1));
  b.Output(OpCode::kAdd, {scaled, per_channel("bias", 2)}, ClampAttrs{});
}

void BuildBatchNormalization(OnnxBuilder& b) {
  if (b.Flag("training_mode")) return BuildBatchStatistics(b);
  if (b.opset() < 7 && !b.Flag("is_test"))
    b.Unsupported("is in training mode; export the model for inference (model.eval())");
  if (b.opset() < 9 && !b.Flag("spatial", true)) b.Unsupported("has spatial = 0 (statistics per element)");
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const NormAttrs attrs{1, b.Float("epsilon", 1e-5f)};
  const char* names[] = {"", "scale", "bias", "mean", "variance"};
  std::vector<ValueId> inputs = {x};
  for (size_t i = 1; i < 5; ++i) inputs.push_back(b.CastTo(names[i], b.Input(i), dtype));
  if (!b.HasRank(x, 1)) return b.Output(OpCode::kBatchNorm, std::move(inputs), attrs);
  // A batch alone has one channel.
  inputs[0] = EmitUnsqueeze(b, "channel", x, {1});
  b.Output(OpCode::kSqueeze, {b.Emit("normal", OpCode::kBatchNorm, std::move(inputs), attrs)},
           AxesAttrs{{1}});
}

/// The dtype in which statistics are computed: what stash_type says, unless the input has more digits.
DType StashType(OnnxBuilder& b, DType dtype) {
  const DType stash = b.DTypeAttribute("stash_type", DType::kF32);
  if (!IsFloat(stash))
    b.Invalid("attribute 'stash_type' is {}; a floating-point type was expected", DTypeName(stash));
  return dtype == DType::kF64 ? dtype : stash;
}

/// The input's extents from `axis` on are the factor's, which cannot be repeated along any axis.
bool CoversNormalisedAxes(OnnxBuilder& b, ValueId x, ValueId factor, int axis) {
  const int rank = b.RankOf(x) - axis;
  if (!b.HasRank(factor, rank)) return false;
  for (int i = 0; i < rank; ++i) {
    const bool must_be_same = !b.ExtentOf(x, axis + i) && b.ExtentOf(factor, i).value_or(0) > 1;
    if (!must_be_same && !b.SameExtents(x, axis + i, factor, i)) return false;
  }
  return true;
}

void BuildLayerNormalization(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const int rank = b.RankOf(x);
  const int axis = AxisOf(b, "axis", b.Int("axis", -1), rank);
  const DType stash = StashType(b, dtype);
  const ValueId scale = b.CastTo("scale", b.Input(1), dtype);
  const ValueId bias = b.HasInput(2) ? b.CastTo("bias", b.Input(2), dtype) : kNoValue;
  const bool direct =
      CoversNormalisedAxes(b, x, scale, axis) && (bias == kNoValue || CoversNormalisedAxes(b, x, bias, axis));
  Moments m;
  if (!direct || b.OutputUsed(1) || b.OutputUsed(2)) {
    m = EmitMoments(b, b.CastTo("stashed", x, stash), AxesFrom(axis, rank));
  }
  if (direct) {
    b.Output(OpCode::kLayerNorm, {x, scale, bias}, NormAttrs{axis, b.Float("epsilon", 1e-5f)});
  } else {
    ValueId normal = b.CastTo("normal_cast", EmitDiv(b, "normal", m.centred, m.deviation), dtype);
    normal = EmitNotGrowing(b, "normal_as_scale", normal, scale);
    if (bias != kNoValue) normal = EmitNotGrowing(b, "normal_as_bias", normal, bias);
    if (bias == kNoValue) {
      b.Output(OpCode::kMul, {normal, scale}, ClampAttrs{});
    } else {
      b.Output(OpCode::kAdd, {EmitMul(b, "scaled", normal, scale), bias}, ClampAttrs{});
    }
  }
  const DType stated = b.DTypeAttribute("stash_type", DType::kF32);
  const CastAttrs to_stated{static_cast<int64_t>(stated)};
  if (b.OutputUsed(1)) b.Output(OpCode::kCast, {m.mean}, to_stated, 1);
  if (b.OutputUsed(2)) {
    b.Output(OpCode::kCast, {b.Emit("inverse_deviation", OpCode::kReciprocal, {m.deviation})}, to_stated, 2);
  }
}

/// x / rms * scale, with the scale's dtype.
void BuildRmsNormalization(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  const int axis = AxisOf(b, "axis", b.Int("axis", -1), rank);
  const DType dtype = b.DTypeOf(x);
  const ValueId wide = b.CastTo("stashed", x, StashType(b, dtype));
  const ValueId normal = EmitDiv(b, "normal", wide, EmitRootMeanSquare(b, wide, AxesFrom(axis, rank)));
  const ValueId scale = b.Input(1);
  const ValueId rounded = EmitNotGrowing(b, "normal_as_scale", b.CastTo("normal_cast", normal, dtype), scale);
  b.Output(OpCode::kMul, {b.CastTo("normal_scaled_type", rounded, b.DTypeOf(scale)), scale}, ClampAttrs{});
}

/// One value per channel (or group), for a tensor [N, channels, ...].
ValueId AlongChannels(OnnxBuilder& b, const char* suffix, ValueId vector, int rank) {
  Ints behind;
  for (int axis = 1; axis + 1 < rank; ++axis) behind[behind.size++] = axis;
  return EmitUnsqueeze(b, suffix, vector, behind);
}

void BuildInstanceNormalization(OnnxBuilder& b) {
  const int rank = b.RankOf(b.Input(0));
  if (rank < 2) b.Invalid("the input has rank {}; at least 2 was expected", rank);
  ValueId x = EmitSameExtent(b, "channels", b.Input(0), 1, b.Input(1), 0);
  x = EmitSameExtent(b, "channels_of_bias", x, 1, b.Input(2), 0);
  const Moments m = EmitMoments(b, x, AxesFrom(2, rank));
  const ValueId scale = AlongChannels(b, "scale", b.Input(1), rank);
  const ValueId bias = AlongChannels(b, "bias", b.Input(2), rank);
  const ValueId normal = EmitDiv(b, "normal", m.centred, m.deviation);
  b.Output(OpCode::kAdd, {EmitMul(b, "scaled", normal, scale), bias}, ClampAttrs{});
}

/// Normalised as [N, groups, the rest]. Scale and bias belong to the groups in opset 18, to the channels
/// since 21.
void BuildGroupNormalization(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const int rank = b.RankOf(x);
  const int64_t groups = b.RequiredInt("num_groups");
  if (rank < 2) b.Invalid("the input has rank {}; at least 2 was expected", rank);
  if (groups < 1) b.Invalid("attribute 'num_groups' is {}; at least 1 was expected", groups);
  const std::optional<int64_t> channels = b.ExtentOf(x, 1);
  if (channels && *channels % groups != 0)
    b.Invalid("{} channels cannot be divided into {} groups", *channels, groups);
  const ValueId grouped = EmitReshape(b, "grouped", x, {0, groups, -1});
  const Moments m = EmitMoments(b, b.CastTo("stashed", grouped, StashType(b, dtype)), AxesFrom(2, 3));
  ValueId normal = b.CastTo("normal_cast", EmitDiv(b, "normal", m.centred, m.deviation), dtype);
  const ValueId shape = EmitExtents(b, "shape", x, 0, rank);
  const auto ungroup = [&](const char* suffix) {
    return b.Emit(suffix, OpCode::kReshape, {normal, shape}, ReshapeAttrs{.allow_zero = true});
  };
  if (b.opset() >= 21) {
    normal = EmitSameExtent(b, "channels", ungroup("ungrouped"), 1, b.Input(1), 0);
    normal = EmitSameExtent(b, "channels_of_bias", normal, 1, b.Input(2), 0);
  }
  const int scaled_rank = b.opset() >= 21 ? rank : 3;
  normal = EmitMul(b, "scaled", normal, AlongChannels(b, "scale", b.Input(1), scaled_rank));
  const ValueId bias = AlongChannels(b, "bias", b.Input(2), scaled_rank);
  if (b.opset() >= 21) return b.Output(OpCode::kAdd, {normal, bias}, ClampAttrs{});
  b.Output(OpCode::kReshape, {EmitAdd(b, "shifted", normal, bias), shape}, ReshapeAttrs{.allow_zero = true});
}

constexpr OnnxOp kRows[] = {
    {"BatchNormalization", kOldest, kNewest, BuildBatchNormalization},
    {"InstanceNormalization", kOldest, kNewest, BuildInstanceNormalization},
    {"LayerNormalization", 17, kNewest, BuildLayerNormalization},
    {"GroupNormalization", 18, kNewest, BuildGroupNormalization},
    {"RMSNormalization", 23, kNewest, BuildRmsNormalization},
    // ONNX Runtime's name of it, which it writes into ai.onnx.
    {"SimplifiedLayerNormalization", kOldest, kNewest, BuildRmsNormalization},
};

}  // namespace

std::span<const OnnxOp> OnnxNormOps() { return kRows; }

}  // namespace skiff
