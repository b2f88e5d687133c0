// ONNX rows: losses, as compositions.
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// The classes that the labels name, and which of the labels do not count.
struct Labels {
  ValueId classes = kNoValue;  ///< i64; 0 where the label is ignored, so that it can address a class.
  ValueId ignored = kNoValue;  ///< bool, or kNoValue where every label counts.
};

Labels ReadLabels(OnnxBuilder& b) {
  Labels labels{b.CastTo("labels", b.Input(1), DType::kI64), kNoValue};
  if (!b.HasAttribute("ignore_index")) return labels;
  // Scalar() takes a double, which not every i64 survives.
  const int64_t ignore_index = b.Int("ignore_index", 0);
  const ValueId mark = b.Constant("ignore_index", TensorData(DType::kI64, Shape{}, &ignore_index));
  labels.ignored = b.Emit("ignored", OpCode::kEqual, {labels.classes, mark});
  labels.classes = b.Emit("classes", OpCode::kWhere,
                          {labels.ignored, b.Scalar("class_0", DType::kI64, 0), labels.classes});
  return labels;
}

/// Zero where the label is ignored. A factor of 0 would not do: 0 * inf is NaN.
ValueId Masked(OnnxBuilder& b, const char* suffix, const Labels& labels, ValueId values) {
  if (labels.ignored == kNoValue) return values;
  const ValueId zero = b.Scalar(fmt::format("{}_zero", suffix).c_str(), b.DTypeOf(values), 0);
  return b.Emit(suffix, OpCode::kWhere, {labels.ignored, zero, values});
}

/// The weight of each label's class; kNoValue where all of them count 1.
ValueId LabelWeights(OnnxBuilder& b, const Labels& labels, DType dtype) {
  if (b.HasInput(2)) {
    const ValueId weights = b.Emit("weights", OpCode::kGather, {b.Input(2), labels.classes}, AxisAttrs{0});
    return Masked(b, "counted_weights", labels, weights);
  }
  if (labels.ignored == kNoValue) return kNoValue;
  return b.CastTo("counted", b.Emit("not_ignored", OpCode::kNot, {labels.ignored}), dtype);
}

/// -log_prob[n, label[n, ...], ...] * weight[label[n, ...]], reduced; the classes are axis 1.
void OutputLikelihoodLoss(OnnxBuilder& b, ValueId log_prob) {
  const std::string reduction = b.String("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    b.Invalid("attribute 'reduction' is '{}'; none, sum or mean was expected", reduction);
  }
  const Labels labels = ReadLabels(b);
  const ValueId column = b.Emit("label_column", OpCode::kUnsqueeze, {labels.classes}, AxesAttrs{{1}});
  const ValueId picked = b.Emit("picked", OpCode::kGatherElements, {log_prob, column}, AxisAttrs{1});
  ValueId loss =
      b.Emit("negated", OpCode::kNeg, {b.Emit("likelihood", OpCode::kSqueeze, {picked}, AxesAttrs{{1}})});
  const ValueId weights = LabelWeights(b, labels, b.DTypeOf(loss));
  if (b.HasInput(2)) loss = b.Emit("weighted", OpCode::kMul, {loss, weights}, ClampAttrs{});
  loss = Masked(b, "masked", labels, loss);
  const ReduceAttrs all{{}, false, false};
  if (reduction == "none") return b.Output(OpCode::kIdentity, {loss});
  if (reduction == "sum") return b.Output(OpCode::kReduceSum, {loss}, all);
  if (weights == kNoValue) return b.Output(OpCode::kReduceMean, {loss}, all);
  b.Output(
      OpCode::kDiv,
      {b.Emit("sum", OpCode::kReduceSum, {loss}, all), b.Emit("count", OpCode::kReduceSum, {weights}, all)},
      ClampAttrs{});
}

void BuildLikelihoodLoss(OnnxBuilder& b) { OutputLikelihoodLoss(b, b.Input(0)); }

void BuildCrossEntropyLoss(OnnxBuilder& b) {
  const AxisAttrs classes{1};
  if (b.output_count() > 1) {
    b.Output(OpCode::kLogSoftmax, {b.Input(0)}, classes, 1);
    return OutputLikelihoodLoss(b, b.results()[1]);
  }
  OutputLikelihoodLoss(b, b.Emit("log_prob", OpCode::kLogSoftmax, {b.Input(0)}, classes));
}

constexpr OnnxOp kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, kNewestOnnxOpset, BuildLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, kNewestOnnxOpset, BuildCrossEntropyLoss},
};

}  // namespace

std::span<const OnnxOp> OnnxLossOps() { return kRows; }

}  // namespace skiff
