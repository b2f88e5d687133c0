// ONNX rows of ai.onnx.ml: what stands in front of a model and behind it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "import/emit.h"
#include "import/onnx/ml.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

TensorData Vector(DType dtype, const std::vector<double>& numbers) {
  return MakeConstant(dtype, Shape{static_cast<int64_t>(numbers.size())}, numbers);
}

/// Integers of 64 bits are more than doubles hold.
TensorData Vector(DType dtype, const std::vector<int64_t>& integers) {
  if (dtype == DType::kI64) return TensorData::OfInts(integers);
  return Vector(dtype, std::vector<double>(integers.begin(), integers.end()));
}

std::vector<double> Doubles(const OnnxBuilder& b, const char* name) {
  const auto list = b.FloatList(name).value_or(std::vector<float>{});
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

/// Equal, where NaN equals itself.
ValueId EmitSame(OnnxBuilder& b, ValueId x, const TensorData& numbers) {
  const ValueId equal = b.Emit("equal", OpCode::kEqual, {x, b.Constant("numbers", numbers)});
  if (!IsFloat(numbers.dtype())) return equal;
  std::vector<double> nan = numbers.ToDoubles();
  for (double& number : nan) number = std::isnan(number) ? 1 : 0;
  if (std::find(nan.begin(), nan.end(), 1.0) == nan.end()) return equal;
  const ValueId both = b.Emit("both_nan", OpCode::kAnd,
                              {b.Emit("is_nan", OpCode::kIsNaN, {x}),
                               b.Constant("nan", MakeConstant(DType::kBool, numbers.shape(), nan))});
  return b.Emit("matches", OpCode::kOr, {equal, both});
}

void BuildImputer(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const char* const name = IsFloat(dtype) ? "imputed_value_floats" : "imputed_value_int64s";
  TensorData imputed;
  TensorData replaced;
  if (IsFloat(dtype)) {
    imputed = Vector(dtype, Doubles(b, name));
    replaced = Vector(dtype, std::vector{static_cast<double>(b.Float("replaced_value_float", 0))});
  } else {
    imputed = Vector(dtype, b.IntList(name).value_or(std::vector<int64_t>{}));
    replaced = Vector(dtype, std::vector{b.Int("replaced_value_int64", 0)});
  }
  if (imputed.elements() == 0) b.Invalid("attribute '{}' is not there", name);
  // One number, or one for each feature: x must have as many.
  const ValueId numbers = b.Constant("imputed", std::move(imputed));
  const ValueId rows = EmitNotGrowing(b, "rows", x, numbers);
  b.Output(OpCode::kWhere, {EmitSame(b, rows, replaced.Reshaped(Shape{})), numbers, rows});
}

/// x along a new last axis: which of the numbers it is.
ValueId EmitMatches(OnnxBuilder& b, ValueId x, const TensorData& numbers) {
  return EmitSame(b, EmitUnsqueeze(b, "column", x, {b.RankOf(x)}), numbers);
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
  TensorData numbers;
  std::vector<std::string> names;
};

Labels LabelsOf(const OnnxBuilder& b, const std::string& what) {
  if (const auto list = b.IntList((what + "_int64s").c_str())) return {TensorData::OfInts(*list), {}};
  if (const auto list = b.FloatList((what + "_floats").c_str())) return {TensorData::OfFloats(*list), {}};
  if (const auto list = b.StringList((what + "_strings").c_str())) {
    std::vector<int64_t> places(list->size());
    std::iota(places.begin(), places.end(), 0);
    return {TensorData::OfInts(places), *list};
  }
  const std::string name = what + "_tensor";
  if (b.HasAttribute(name.c_str())) {
    const TensorData tensor = *b.Tensor(name.c_str());
    return {tensor.Reshaped(Shape{tensor.elements()}), {}};
  }
  b.Invalid("attributes '{}_int64s', '{}_floats', '{}_strings' and '{}_tensor' are not there", what, what,
            what, what);
}

/// The number of an element that is no key; texts get one more.
TensorData DefaultOf(const OnnxBuilder& b, Labels& values) {
  const DType dtype = values.numbers.dtype();
  if (!values.names.empty()) {
    values.names.push_back(b.String("default_string", "_Unused"));
    return Vector(dtype, std::vector{static_cast<int64_t>(values.names.size() - 1)});
  }
  if (const auto tensor = b.HasAttribute("default_tensor") ? b.Tensor("default_tensor") : std::nullopt) {
    if (tensor->elements() != 1)
      b.Invalid("attribute 'default_tensor' has {} elements; one was expected", tensor->elements());
    return tensor->dtype() == dtype ? *tensor : Vector(dtype, tensor->ToDoubles());
  }
  return dtype == DType::kI64
             ? Vector(dtype, std::vector{b.Int("default_int64", -1)})
             : Vector(dtype, std::vector{static_cast<double>(b.Float("default_float", -0.0f))});
}

void BuildLabelEncoder(OnnxBuilder& b) {
  const Labels keys = LabelsOf(b, "keys");
  Labels values = LabelsOf(b, "values");
  if (!keys.names.empty())
    OnnxBuilder::Unsupported(
        "takes texts, and there are no string tensors on a device; let the program make "
        "numbers of them");
  if (keys.numbers.elements() == 0 || keys.numbers.elements() != values.numbers.elements())
    b.Invalid("it has {} keys and {} values", keys.numbers.elements(), values.numbers.elements());
  const TensorData fallback = DefaultOf(b, values);
  const ValueId x = b.CastTo("x", b.Input(0), keys.numbers.dtype());
  const int64_t last = b.RankOf(x);
  const ValueId matches = b.CastTo("matching", EmitMatches(b, x, keys.numbers), DType::kI32);
  const ValueId place =
      b.Emit("place", OpCode::kArgMax, {matches}, ArgAttrs{.axis = last, .keep_dims = false});
  const ValueId any =
      b.Emit("found", OpCode::kReduceMax, {matches}, ReduceAttrs{.axes = {last}, .keep_dims = false});
  const ValueId value =
      b.Emit("value", OpCode::kGather, {b.Constant("values", values.numbers), place}, AxisAttrs{0});
  b.Output(OpCode::kWhere,
           {b.CastTo("is_key", any, DType::kBool), value, b.Constant("default", fallback.Reshaped(Shape{}))});
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
