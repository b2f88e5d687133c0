#include "import/onnx/ml.h"

#include "graph/error.h"
#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {

OnnxClasses ClassesOf(const OnnxBuilder& b, const char* integers) {
  OnnxClasses classes;
  classes.numbers = b.IntList(integers).value_or(std::vector<int64_t>{});
  classes.names = b.StringList("classlabels_strings").value_or(std::vector<std::string>{});
  classes.are_texts = !classes.names.empty();
  if (classes.are_texts == !classes.numbers.empty())
    b.Invalid("its classes are listed in {}; either '{}' or 'classlabels_strings' was expected",
              classes.are_texts ? "two attributes" : "no attribute", integers);
  for (const int64_t number : classes.numbers) classes.names.push_back(std::to_string(number));
  if (classes.are_texts) {
    for (size_t i = 0; i < classes.names.size(); ++i) classes.numbers.push_back(static_cast<int64_t>(i));
  }
  return classes;
}

ValueId EmitFeatures(OnnxBuilder& b, ValueId x) {
  return b.CastTo("features", x, b.DTypeOf(x) == DType::kF64 ? DType::kF64 : DType::kF32);
}

std::vector<double> NumbersOf(const OnnxBuilder& b, const std::string& name) {
  if (const auto tensor = b.Tensor((name + "_as_tensor").c_str())) return tensor->ToDoubles();
  const std::vector<float> floats = b.FloatList(name.c_str()).value_or(std::vector<float>{});
  return {floats.begin(), floats.end()};
}

void CheckCount(const OnnxBuilder& b, const char* name, size_t count, size_t expected, const char* what) {
  if (count != expected)
    b.Invalid("attribute '{}' has {} elements; {} were expected, {}", name, count, expected, what);
}

namespace {

/// Softmax that leaves zeros alone.
ValueId EmitSoftmaxZero(OnnxBuilder& b, ValueId scores) {
  const DType dtype = b.DTypeOf(scores);
  const ReduceAttrs rows{.axes = {1}};
  const ValueId largest = b.Emit("largest", OpCode::kReduceMax, {scores}, rows);
  const ValueId counts =
      b.Emit("counts", OpCode::kGreater,
             {b.Emit("size", OpCode::kAbs, {scores}), b.Scalar("nothing", dtype, 0.0000001)});
  const ValueId powers = b.Emit("powers", OpCode::kExp, {EmitSub(b, "below", scores, largest)});
  const ValueId shares = b.Emit("shares", OpCode::kWhere, {counts, powers, b.Scalar("zero", dtype, 0)});
  return EmitDiv(b, "softmax_zero", shares, b.Emit("total", OpCode::kReduceSum, {shares}, rows));
}

/// The quantile of the normal distribution, by Winitzki's approximation of the inverse error function, as
/// onnxruntime has it.
ValueId EmitProbit(OnnxBuilder& b, ValueId share) {
  const DType dtype = b.DTypeOf(share);
  const auto number = [&](const char* suffix, double value) { return b.Scalar(suffix, dtype, value); };
  const ValueId x = EmitSub(b, "centred", EmitMul(b, "doubled", share, number("two", 2)), number("one", 1));
  const ValueId left = EmitSub(b, "left", number("one_", 1), EmitMul(b, "square", x, x));
  const ValueId log = b.Emit("log", OpCode::kLog, {left});
  const ValueId v = EmitAdd(b, "v", EmitMul(b, "half_log", log, number("half", 0.5)),
                            number("v_0", 2 / (3.14159265358979323846 * 0.147)));
  const ValueId inner = EmitSub(b, "inner", EmitMul(b, "v_square", v, v),
                                EmitMul(b, "log_part", log, number("inverse", 1 / 0.147)));
  const ValueId root = b.Emit("root", OpCode::kSqrt,
                              {EmitSub(b, "difference", b.Emit("root_inner", OpCode::kSqrt, {inner}), v)});
  const ValueId signed_root = EmitMul(b, "signed", b.Emit("sign", OpCode::kSign, {x}), root);
  return EmitMul(b, "probit", signed_root, number("root_two", 1.41421356));
}

}  // namespace

ValueId EmitPostTransform(OnnxBuilder& b, ValueId scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return b.Emit("logistic", OpCode::kSigmoid, {scores});
  if (transform == "SOFTMAX") return b.Emit("softmax", OpCode::kSoftmax, {scores}, AxisAttrs{1});
  if (transform == "SOFTMAX_ZERO") return EmitSoftmaxZero(b, scores);
  if (transform == "PROBIT") return EmitProbit(b, scores);
  b.Invalid(
      "attribute 'post_transform' is '{}'; NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT was expected",
      transform);
}

ValueId EmitTwoClasses(OnnxBuilder& b, ValueId score, bool shares, const std::string& transform) {
  const bool logistic = transform == "LOGISTIC";
  const ValueId other = shares && !logistic ? EmitSub(b, "other", b.Scalar("one", b.DTypeOf(score), 1), score)
                                            : b.Emit("other", OpCode::kNeg, {score});
  const ValueId both = b.Emit("both", OpCode::kConcat, {other, score}, AxisAttrs{1});
  return logistic || transform == "PROBIT" ? EmitPostTransform(b, both, transform) : both;
}

ValueId EmitSquaredDistances(OnnxBuilder& b, ValueId x, ValueId y) {
  const ValueId wide_x = b.CastTo("wide_x", x, DType::kF64);
  const ValueId wide_y = b.CastTo("wide_y", y, DType::kF64);
  const auto squares = [&](const char* suffix, ValueId of, bool keep) {
    return b.Emit(suffix, OpCode::kReduceSum, {EmitMul(b, "squares", of, of)},
                  ReduceAttrs{.axes = {1}, .keep_dims = keep});
  };
  const ValueId sums =
      EmitAdd(b, "sums", squares("x_square", wide_x, true), squares("y_square", wide_y, false));
  const ValueId product =
      b.Emit("products", OpCode::kMatMul, {wide_x, wide_y}, MatMulAttrs{.transpose_b = true});
  const ValueId twice = EmitMul(b, "twice", product, b.Scalar("two", DType::kF64, 2));
  return b.Emit("squared_distance", OpCode::kMax,
                {EmitSub(b, "difference", sums, twice), b.Scalar("none", DType::kF64, 0)});
}

ValueId EmitBestClass(OnnxBuilder& b, ValueId scores) {
  return b.Emit("best", OpCode::kArgMax, {scores}, ArgAttrs{.axis = 1, .keep_dims = false});
}

void OutputClasses(OnnxBuilder& b, const OnnxClasses& classes, ValueId index, ValueId scores) {
  bool counts = true;
  for (size_t i = 0; i < classes.numbers.size(); ++i)
    counts = counts && classes.numbers[i] == static_cast<int64_t>(i);
  if (b.OutputUsed(0)) {
    if (counts) {
      b.Output(OpCode::kIdentity, {index});
    } else {
      b.Output(OpCode::kGather, {b.ConstantInts("classes", classes.numbers), index}, AxisAttrs{0});
    }
    if (classes.are_texts) b.NoteValueLabels(b.results()[0], classes.names);
  }
  if (b.output_count() < 2 || !b.OutputUsed(1)) return;
  b.Output(OpCode::kIdentity, {b.CastTo("scores", scores, DType::kF32)}, NoAttrs{}, 1);
  if (classes.are_texts) b.NoteLabels(b.results()[1], classes.names);
}

}  // namespace skiff
