// ONNX rows of ai.onnx.ml: what stands in front of a model and behind it.
#include <algorithm>
#include <cmath>

#include "import/emit.h"
#include "import/onnx/ml.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

TensorData Vector(DType dtype, const std::vector<double>& numbers) {
  return MakeConstant(dtype, Shape{static_cast<int64_t>(numbers.size())}, numbers);
}

std::vector<double> Doubles(const OnnxBuilder& b, const char* floats, const char* integers = nullptr) {
  if (const auto list = b.FloatList(floats)) return {list->begin(), list->end()};
  if (integers == nullptr) return {};
  const auto list = b.IntList(integers).value_or(std::vector<int64_t>{});
  return {list.begin(), list.end()};
}

void BuildScaler(OnnxBuilder& b) {
  const ValueId x = EmitFeatures(b, b.Input(0));
  const DType dtype = b.DTypeOf(x);
  const std::vector<double> offset = Doubles(b, "offset");
  const std::vector<double> scale = Doubles(b, "scale");
  ValueId result = x;
  // One number, or one for each feature: x must have as many.
  const auto number = [&](const char* suffix, const std::vector<double>& numbers) {
    const ValueId constant = b.Constant(suffix, Vector(dtype, numbers));
    result = EmitNotGrowing(b, "rows", result, constant);
    return constant;
  };
  if (!offset.empty()) {
    const ValueId constant = number("offset", offset);
    result = EmitSub(b, "moved", result, constant);
  }
  if (!scale.empty()) {
    const ValueId constant = number("scale", scale);
    result = EmitMul(b, "scaled", result, constant);
  }
  b.Output(OpCode::kIdentity, {b.CastTo("result", result, DType::kF32)});
}

/// Rows divided by their norm; rows of zeros stay.
void BuildNormalizer(OnnxBuilder& b) {
  const ValueId x = EmitFeatures(b, b.Input(0));
  const DType dtype = b.DTypeOf(x);
  const std::string norm = b.String("norm", "MAX");
  const ReduceAttrs rows{.axes = {b.RankOf(x) - 1}};
  ValueId length = kNoValue;
  if (norm == "MAX") {
    length = b.Emit("norm", OpCode::kReduceMax, {b.Emit("sizes", OpCode::kAbs, {x})}, rows);
  } else if (norm == "L1") {
    length = b.Emit("norm", OpCode::kReduceSum, {b.Emit("sizes", OpCode::kAbs, {x})}, rows);
  } else if (norm == "L2") {
    const ValueId squares = b.Emit("squares", OpCode::kReduceSum, {EmitMul(b, "square", x, x)}, rows);
    length = b.Emit("norm", OpCode::kSqrt, {squares});
  } else {
    b.Invalid("attribute 'norm' is '{}'; MAX, L1 or L2 was expected", norm);
  }
  const ValueId none = b.Emit("none", OpCode::kEqual, {length, b.Scalar("zero", dtype, 0)});
  const ValueId divisor = b.Emit("divisor", OpCode::kWhere, {none, b.Scalar("one", dtype, 1), length});
  b.Output(OpCode::kIdentity, {b.CastTo("result", EmitDiv(b, "divided", x, divisor), DType::kF32)});
}

void BuildBinarizer(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const ValueId floats = IsFloat(dtype) ? x : b.CastTo("numbers", x, DType::kF64);
  const ValueId above = b.Emit(
      "above", OpCode::kGreater,
      {floats, b.Scalar("threshold", b.DTypeOf(floats), static_cast<double>(b.Float("threshold", 0)))});
  b.Output(OpCode::kCast, {above}, CastAttrs{static_cast<int64_t>(dtype)});
}

void BuildImputer(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const bool floats = IsFloat(dtype);
  const std::vector<double> imputed =
      floats ? Doubles(b, "imputed_value_floats") : Doubles(b, "", "imputed_value_int64s");
  if (imputed.empty())
    b.Invalid("attribute '{}' is not there", floats ? "imputed_value_floats" : "imputed_value_int64s");
  const double replaced = floats ? static_cast<double>(b.Float("replaced_value_float", 0))
                                 : static_cast<double>(b.Int("replaced_value_int64", 0));
  const ValueId missing = std::isnan(replaced)
                              ? b.Emit("missing", OpCode::kIsNaN, {x})
                              : b.Emit("missing", OpCode::kEqual, {x, b.Scalar("replaced", dtype, replaced)});
  b.Output(OpCode::kWhere, {missing, b.Constant("imputed", Vector(dtype, imputed)), x});
}

/// x along a new last axis: which of the numbers it is.
ValueId EmitMatches(OnnxBuilder& b, ValueId x, const std::vector<double>& numbers) {
  const DType dtype = b.DTypeOf(x);
  const ValueId column = EmitUnsqueeze(b, "column", x, {b.RankOf(x)});
  const ValueId equal =
      b.Emit("equal", OpCode::kEqual, {column, b.Constant("numbers", Vector(dtype, numbers))});
  if (std::none_of(numbers.begin(), numbers.end(), [](double n) { return std::isnan(n); })) return equal;
  std::vector<double> nan;
  for (const double number : numbers) nan.push_back(std::isnan(number) ? 1 : 0);
  const ValueId both =
      b.Emit("both_nan", OpCode::kAnd,
             {b.Emit("is_nan", OpCode::kIsNaN, {column}), b.Constant("nan", Vector(DType::kBool, nan))});
  return b.Emit("matches", OpCode::kOr, {equal, both});
}

void BuildOneHotEncoder(OnnxBuilder& b) {
  if (b.HasAttribute("cats_strings"))
    OnnxBuilder::Unsupported(
        "encodes texts, and there are no string tensors on a device; encode numbers, and "
        "let the program make these of the texts");
  const std::vector<int64_t> categories = b.IntList("cats_int64s").value_or(std::vector<int64_t>{});
  if (categories.empty()) b.Invalid("attribute 'cats_int64s' is not there");
  const ValueId x = b.CastTo("categories", b.Input(0), DType::kI64);
  const ValueId column = EmitUnsqueeze(b, "column", x, {b.RankOf(x)});
  const ValueId hot = b.Emit("hot", OpCode::kEqual, {column, b.ConstantInts("known", categories)});
  b.Output(OpCode::kCast, {hot}, CastAttrs{static_cast<int64_t>(DType::kF32)});
}

void BuildArrayFeatureExtractor(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const ValueId places = EmitReshape(b, "places", b.CastTo("indices", b.Input(1), DType::kI64), {-1});
  const int rank = b.RankOf(x);
  if (rank > 1) return b.Output(OpCode::kGather, {x, places}, AxisAttrs{rank - 1});
  if (rank == 0) b.Invalid("x must have an axis to take features of");
  const ValueId taken = b.Emit("taken", OpCode::kGather, {x, places}, AxisAttrs{0});
  b.Output(OpCode::kUnsqueeze, {taken}, AxesAttrs{{0}});
}

/// All inputs one beside the other, as f32.
void BuildFeatureVectorizer(OnnxBuilder& b) {
  const auto extents = b.IntList("inputdimensions");
  std::vector<ValueId> parts;
  for (size_t i = 0; i < b.input_count(); ++i) {
    ValueId part = b.CastTo("part", b.Input(i), DType::kF32);
    if (b.HasRank(part, 1)) part = EmitReshape(b, "row", part, {1, -1});
    if (b.RankOf(part) > 2) part = b.Emit("flat", OpCode::kFlatten, {part}, AxisAttrs{1});
    if (extents && i < extents->size() && b.ExtentOf(part, 1) != (*extents)[i])
      b.Invalid("input {} has another number of features than 'inputdimensions' says, {}", i, (*extents)[i]);
    parts.push_back(part);
  }
  b.Output(OpCode::kConcat, parts, AxisAttrs{1});
}

/// Keys or values of a LabelEncoder: `names`, where they are texts.
struct Labels {
  DType dtype = DType::kInvalid;
  std::vector<double> numbers;
  std::vector<std::string> names;
};

Labels LabelsOf(const OnnxBuilder& b, const std::string& what) {
  if (const auto list = b.IntList((what + "_int64s").c_str()))
    return {DType::kI64, {list->begin(), list->end()}, {}};
  if (const auto list = b.FloatList((what + "_floats").c_str()))
    return {DType::kF32, {list->begin(), list->end()}, {}};
  if (const auto list = b.StringList((what + "_strings").c_str())) {
    Labels labels{DType::kI64, {}, *list};
    for (size_t i = 0; i < list->size(); ++i) labels.numbers.push_back(static_cast<double>(i));
    return labels;
  }
  const std::string name = what + "_tensor";
  if (b.HasAttribute(name.c_str())) {
    const TensorData tensor = *b.Tensor(name.c_str());
    return {tensor.dtype(), tensor.ToDoubles(), {}};
  }
  b.Invalid("attributes '{}_int64s', '{}_floats', '{}_strings' and '{}_tensor' are not there", what, what,
            what, what);
}

/// The number of an element that is no key; texts get one more.
double DefaultOf(const OnnxBuilder& b, Labels& values) {
  if (!values.names.empty()) {
    values.names.push_back(b.String("default_string", "_Unused"));
    return static_cast<double>(values.names.size() - 1);
  }
  if (const auto tensor = b.HasAttribute("default_tensor") ? b.Tensor("default_tensor") : std::nullopt) {
    if (tensor->elements() != 1)
      b.Invalid("attribute 'default_tensor' has {} elements; one was expected", tensor->elements());
    return tensor->ToDoubles()[0];
  }
  return values.dtype == DType::kI64 ? static_cast<double>(b.Int("default_int64", -1))
                                     : static_cast<double>(b.Float("default_float", -0.0f));
}

void BuildLabelEncoder(OnnxBuilder& b) {
  const Labels keys = LabelsOf(b, "keys");
  Labels values = LabelsOf(b, "values");
  if (!keys.names.empty())
    OnnxBuilder::Unsupported(
        "takes texts, and there are no string tensors on a device; let the program make "
        "numbers of them");
  if (keys.numbers.empty() || keys.numbers.size() != values.numbers.size())
    b.Invalid("it has {} keys and {} values", keys.numbers.size(), values.numbers.size());
  const double fallback = DefaultOf(b, values);
  const ValueId x = b.CastTo("x", b.Input(0), keys.dtype);
  const int64_t last = b.RankOf(x);
  const ValueId matches = b.CastTo("matching", EmitMatches(b, x, keys.numbers), DType::kI32);
  const ValueId place =
      b.Emit("place", OpCode::kArgMax, {matches}, ArgAttrs{.axis = last, .keep_dims = false});
  const ValueId any =
      b.Emit("found", OpCode::kReduceMax, {matches}, ReduceAttrs{.axes = {last}, .keep_dims = false});
  const ValueId value =
      b.Emit("value", OpCode::kGather, {b.Constant("values", Vector(values.dtype, values.numbers)), place},
             AxisAttrs{0});
  b.Output(OpCode::kWhere,
           {b.CastTo("is_key", any, DType::kBool), value, b.Scalar("default", values.dtype, fallback)});
  if (!values.names.empty()) b.NoteValueLabels(b.results()[0], values.names);
}

/// A list of maps from classes to scores is no tensor: the scores stay one, and the file tells the classes.
void BuildZipMap(OnnxBuilder& b) {
  const OnnxClasses classes = ClassesOf(b, "classlabels_int64s");
  b.Output(OpCode::kIdentity, {b.Input(0)});
  b.NoteLabels(b.results()[0], classes.names);
  b.NoteLeftOut(
      fmt::format("{} makes a list of maps of the scores, which no tensor is: '{}' has the scores "
                  "themselves, [rows, {} classes]",
                  b.label(), b.node().output(0), classes.count()));
}

constexpr OnnxOp kRows[] = {
    {"Scaler", 1, kNewestMlOpset, BuildScaler},
    {"Normalizer", 1, kNewestMlOpset, BuildNormalizer},
    {"Binarizer", 1, kNewestMlOpset, BuildBinarizer},
    {"Imputer", 1, kNewestMlOpset, BuildImputer},
    {"OneHotEncoder", 1, kNewestMlOpset, BuildOneHotEncoder},
    {"ArrayFeatureExtractor", 1, kNewestMlOpset, BuildArrayFeatureExtractor},
    {"FeatureVectorizer", 1, kNewestMlOpset, BuildFeatureVectorizer},
    {"LabelEncoder", 2, kNewestMlOpset, BuildLabelEncoder},
    {"ZipMap", 1, kNewestMlOpset, BuildZipMap},
};

}  // namespace

std::span<const OnnxOp> OnnxFeatureOps() { return kRows; }

}  // namespace skiff
