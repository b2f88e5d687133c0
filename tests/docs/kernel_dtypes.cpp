#include "tests/docs/kernel_dtypes.h"

#include <map>
#include <string_view>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "import/onnx/builder.h"
#include "ops/op_codes.h"
#include "ops/op_rows.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// An input of a smallest call: filled with ones of the dtype in question, or what the operator prescribes.
struct Sample {
  Shape shape;
  DType dtype = DType::kInvalid;  ///< kInvalid: the dtype in question.
  std::vector<double> elements;
};

Sample Of(const Shape& shape) { return {shape, DType::kInvalid, {}}; }
Sample Ints(const Shape& shape, std::vector<double> elements) {
  return {shape, DType::kI64, std::move(elements)};
}

Sample Words(const Shape& shape, std::vector<double> elements) {
  return {shape, DType::kI32, std::move(elements)};
}

/// What effects begin with: the effect before, and a text without a place for a tensor.
Sample Byte() { return {Shape{}, DType::kU8, {0}}; }
Sample Text() { return {Shape{0}, DType::kU8, {}}; }

/// By reference kernel; one vector where none is named.
std::vector<Sample> SamplesFor(const std::string& kernel) {
  static const std::map<std::string, std::vector<Sample>> kSamples = {
      {"Binary", {Of({2}), Of({2})}},
      {"Compare", {Of({2}), Of({2})}},
      {"Where", {{Shape{2}, DType::kBool, {1, 0}}, Of({2}), Of({2})}},
      {"Conv2d", {Of({1, 1, 1, 1}), Of({1, 1, 1, 1})}},
      {"ConvTranspose2d", {Of({1, 1, 1, 1}), Of({1, 1, 1, 1})}},
      {"MaxPool2d", {Of({1, 1, 1, 1})}},
      {"AveragePool2d", {Of({1, 1, 1, 1})}},
      {"MaxPool2dIndices", {Of({1, 1, 1, 1})}},
      {"Resize2d", {Of({1, 1, 1, 1}), Ints({2}, {1, 1})}},
      {"GridSample2d", {Of({1, 1, 1, 1}), Of({1, 1, 1, 2})}},
      {"RoiAlign", {Of({1, 1, 1, 1}), Of({1, 4}), Ints({1}, {0})}},
      {"MatMul", {Of({1, 1}), Of({1, 1})}},
      {"FullyConnected", {Of({1, 1}), Of({1, 1})}},
      {"LayerNorm", {Of({2}), Of({2})}},
      {"BatchNorm", {Of({1, 1}), Of({1}), Of({1}), Of({1}), Of({1})}},
      {"TopK", {Of({2}), Ints({1}, {1})}},
      {"CumSum", {Of({2}), Ints({}, {0})}},
      {"Transpose", {Of({2, 2})}},
      {"Slice", {Of({2}), Ints({1}, {0}), Ints({1}, {1})}},
      {"Gather", {Of({2}), Ints({1}, {0})}},
      {"Lookup", {Of({2}), Of({256})}},
      {"Pad", {Of({2}), Ints({2}, {1, 1})}},
      {"Expand", {Of({2}), Ints({2}, {1, 2})}},
      {"Tile", {Of({2}), Ints({1}, {2})}},
      {"Fill", {Ints({1}, {2})}},
      {"Range", {Of({}), Of({}), Of({})}},
      {"ChannelShuffle", {Of({1, 2})}},
      {"GatherElements", {Of({2}), Ints({1}, {0})}},
      {"GatherND", {Of({2}), Ints({1, 1}, {0})}},
      {"ScatterElements", {Of({2}), Ints({1}, {0}), Of({1})}},
      {"ScatterND", {Of({2}), Ints({1, 1}, {0}), Of({1})}},
      {"ReverseSequence", {Of({2, 2}), Ints({2}, {1, 2})}},
      {"Trilu", {Of({2, 2})}},
      {"Det", {Of({1, 1})}},
      {"Random", {Ints({1}, {2})}},
      {"TreeEnsemble",
       {Of({1, 1}), Words({1, 4}, {0, 0, 0, 1}), Of({1}), Words({1}, {0}), Words({1}, {0}), Of({1})}},
      {"Print", {Byte(), Text(), Of({2})}},
      {"Assert", {Byte(), Text(), Of({2})}},
      {"CheckNumerics", {Byte(), Text(), Of({2})}},
  };
  const auto found = kSamples.find(kernel);
  return found == kSamples.end() ? std::vector<Sample>{Of({2})} : found->second;
}

constexpr OpRow<std::string_view> kKernelNames[] = {
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, ...) {OpCode::k##Name, #Kernel},
#include "ops/ops.def"
#undef OP
};
static_assert(OpsAscend(kKernelNames));

AttrStorage AttrsFor(OpCode op, DType dtype) {
  AttrStorage attrs;
  InitAttrs(op, attrs);
  if (op == OpCode::kCast) attrs.as<CastAttrs>().to = static_cast<int64_t>(DType::kF32);
  if (op == OpCode::kFill) attrs.as<FillAttrs>().dtype = static_cast<int64_t>(dtype);
  if (op == OpCode::kRandom) attrs.as<RandomAttrs>().dtype = static_cast<int64_t>(dtype);
  if (op == OpCode::kSplit) attrs.as<SplitAttrs>().parts = 1;
  if (op == OpCode::kUnsqueeze) attrs.as<AxesAttrs>().axes = {0};
  return attrs;
}

bool Takes(OpCode op, DType dtype) {
  if (op == OpCode::kCustom) return true;  // It is for the application to say.
  std::vector<Sample> samples = SamplesFor(std::string(FindRow(kKernelNames, op)));
  if (op == OpCode::kReshape) samples.push_back(Ints({1}, {2}));
  if (FindRow(kKernelNames, op) == "Recurrent") samples = {Of({1, 1, GatesOf(op)}), Of({GatesOf(op), 1})};
  std::vector<TensorData> inputs;
  for (const Sample& sample : samples) {
    const DType type = sample.dtype == DType::kInvalid ? dtype : sample.dtype;
    const std::vector<double> ones(static_cast<size_t>(sample.shape.elements()), 1.0);
    inputs.push_back(MakeConstant(type, sample.shape, sample.elements.empty() ? ones : sample.elements));
  }
  std::vector<const TensorData*> pointers;
  for (const TensorData& input : inputs) pointers.push_back(&input);
  const OpDef* def = FindOp(op);
  try {
    EvaluateOp(op, AttrsFor(op, dtype), pointers, def->outputs == kVariadic ? 1u : def->outputs, def->name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<DType> KernelDTypes(OpCode op) {
  std::vector<DType> taken;
  for (int dtype = 1; dtype < kDTypeCount; ++dtype) {
    if (DTypeSize(static_cast<DType>(dtype)) == 0) continue;  // Only as a quantised operand.
    if (Takes(op, static_cast<DType>(dtype))) taken.push_back(static_cast<DType>(dtype));
  }
  return taken;
}

}  // namespace skiff
