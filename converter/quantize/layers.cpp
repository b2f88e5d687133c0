#include "quantize/layers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ops/op_codes.h"
#include "passes/fuse/linear.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

struct NamedFormat {
  Format format;
  const char* name;
};
constexpr NamedFormat kFormats[] = {
    {Format::kFloat, "f32"},         {Format::kI8, "i8"},
    {Format::k16x8, "16x8"},         {Format::kWeights8, "weights8"},
    {Format::kWeights4, "weights4"}, {Format::kF16, "f16"},
    {Format::kDynamic, "dynamic"},   {Format::kDynamic4, "dynamic4"},
};

/// Between products: delegates compute these on codes, and eight bits are enough for them. Softmax, powers
/// and logarithms are not here: small numbers count there.
constexpr OpCode kBetween[] = {
    OpCode::kAbs,   OpCode::kNeg,        OpCode::kSigmoid,       OpCode::kTanh,        OpCode::kHardSwish,
    OpCode::kSilu,  OpCode::kGelu,       OpCode::kClamp,         OpCode::kLeakyRelu,   OpCode::kElu,
    OpCode::kAdd,   OpCode::kSub,        OpCode::kMul,           OpCode::kMin,         OpCode::kMax,
    OpCode::kPRelu, OpCode::kReduceMean, OpCode::kAveragePool2d, OpCode::kHardSigmoid,
};

/// Constants with fewer elements are stored as they are (emit/stored_form.h).
constexpr int64_t kLeastElements = 1024;

bool IsFloat(const Graph& graph, ValueId value) {
  return value != kNoValue && graph.value(value).dtype == DType::kF32 && !graph.value(value).quantization;
}

bool IsConstantFloat(const Graph& graph, ValueId value) {
  return IsFloat(graph, value) && graph.value(value).constant.has_value();
}

bool IsProductLayer(const Graph& graph, const Node& node) {
  if (!IsLinear(node.op) || !IsFloat(graph, node.inputs[0]) || graph.value(node.inputs[0]).constant)
    return false;
  const bool bias =
      node.inputs.size() < 3 || node.inputs[2] == kNoValue || IsConstantFloat(graph, node.inputs[2]);
  return bias && IsConstantFloat(graph, node.inputs[1]) &&
         graph.value(node.inputs[1]).constant->elements() > 0;
}

bool IsBetween(const Graph& graph, const Node& node) {
  return std::find(std::begin(kBetween), std::end(kBetween), node.op) != std::end(kBetween) &&
         IsFloat(graph, node.outputs[0]) && !RoundedInputs(graph, node).empty();
}

/// Products that delegates compute on codes which are chosen at run time.
bool IsDynamicProduct(const Graph& graph, const Node& node, const std::vector<size_t>& constants) {
  const bool kind = node.op == OpCode::kFullyConnected ||
                    (node.op == OpCode::kConv2d && node.As<Conv2dAttrs>().groups == 1);
  return kind && IsProductLayer(graph, node) &&
         std::find(constants.begin(), constants.end(), 1) != constants.end();
}

/// Weights that a product of a dynamic format has when it is none that computes on codes; `format` else.
Format FormatOf(const Graph& graph, const Node& node, const std::vector<size_t>& constants, Format format) {
  const bool is_product = IsDynamicProduct(graph, node, constants);
  if (format == Format::kDynamic && !is_product) return Format::kWeights8;
  if (format != Format::kDynamic4) return format;
  // Kernels meet whole blocks of rows.
  const bool in_blocks = is_product && node.op == OpCode::kFullyConnected &&
                         graph.value(node.inputs[1]).constant->shape().last() % kFourBitBlock == 0;
  return in_blocks ? format : Format::kWeights4;
}

bool InPlan(const FormatPlan& plan, NodeId node) {
  const auto found = plan.find(node);
  return found != plan.end() && RoundsValues(found->second);
}

/// Values that are codes when this plan is carried out.
std::set<ValueId> ValuesOfCodes(const Graph& graph, FormatPlan& plan) {
  std::set<ValueId> codes;
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    const bool planned = InPlan(plan, id);
    std::vector<ValueId> from = planned ? RoundedInputs(graph, node) : SharedInputs(graph, node);
    const bool any =
        std::any_of(from.begin(), from.end(), [&](ValueId value) { return codes.contains(value); });
    const bool product = planned && IsLinear(node.op);
    if (planned && !product && !any) plan.erase(id);
    if (product || any) codes.insert(node.outputs.begin(), node.outputs.end());
  }
  return codes;
}

/// Takes operators between products out of the plan whose codes nobody wants. False: there were none.
bool DropUnwanted(const Graph& graph, FormatPlan& plan) {
  std::set<ValueId> wanted;
  bool dropped = false;
  const std::vector<NodeId> order = graph.TopologicalOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool behind = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId output) { return wanted.contains(output); });
    if (!InPlan(plan, *id)) {
      // A product on floats takes codes as well as floats.
      const bool product = plan.contains(*id) && IsLinear(node.op);
      if (!behind && !product) continue;
      for (const ValueId value : product ? RoundedInputs(graph, node) : SharedInputs(graph, node))
        wanted.insert(value);
      continue;
    }
    if (!behind && !IsLinear(node.op)) {
      plan.erase(*id);
      dropped = true;
      continue;
    }
    for (const ValueId value : RoundedInputs(graph, node)) wanted.insert(value);
  }
  return dropped;
}

}  // namespace

const char* FormatName(Format format) {
  return std::find_if(std::begin(kFormats), std::end(kFormats),
                      [&](const NamedFormat& named) { return named.format == format; })
      ->name;
}

std::optional<Format> FormatFromName(std::string_view name) {
  for (const NamedFormat& named : kFormats) {
    if (name == named.name) return named.format;
  }
  return {};
}

std::vector<ValueId> RoundedInputs(const Graph& graph, const Node& node) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool rounded = IsFloat(graph, node.inputs[i]) && !graph.value(node.inputs[i]).constant &&
                         !FindOp(node.op)->NeedsValues(i);
    if (rounded) inputs.push_back(node.inputs[i]);
  }
  return inputs;
}

std::vector<ValueId> SharedInputs(const Graph& graph, const Node& node) {
  const bool linear = node.op == OpCode::kResize2d && node.As<ResizeAttrs>().mode == ResizeMode::kLinear;
  const bool pads = node.op == OpCode::kPad && node.inputs.size() > 2 && node.inputs[2] != kNoValue
                        ? ScalarConstant(graph, node.inputs[2]) == 0
                        : node.op == OpCode::kPad;
  std::vector<ValueId> inputs;
  const bool rounded = IsFloat(graph, node.inputs.empty() ? kNoValue : node.inputs[0]);
  if (linear || pads) {
    if (rounded && !graph.value(node.inputs[0]).constant) inputs.push_back(node.inputs[0]);
    return inputs;
  }
  for (const size_t i : PickedInputs(graph, node)) {
    if (IsFloat(graph, node.inputs[i]) && !graph.value(node.inputs[i]).constant)
      inputs.push_back(node.inputs[i]);
  }
  return inputs;
}

bool MakesAny(const Node& node, const std::set<ValueId>& values) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return values.contains(output); });
}

std::set<NodeId> NodesBeforeLogarithms(const Graph& graph) {
  constexpr OpCode kExponential[] = {OpCode::kExp, OpCode::kSoftmax, OpCode::kSigmoid};
  std::set<NodeId> before;
  std::set<ValueId> read;
  const std::vector<NodeId> order = graph.TopologicalOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool behind = MakesAny(node, read);
    if (behind) before.insert(*id);
    const bool stops =
        std::find(std::begin(kExponential), std::end(kExponential), node.op) != std::end(kExponential);
    if (node.op == OpCode::kLog || (behind && !stops)) read.insert(node.inputs.begin(), node.inputs.end());
  }
  return before;
}

std::set<ValueId> ReadAsCodes(const Graph& graph, const FormatPlan& plan) {
  std::set<ValueId> read;
  const std::vector<NodeId> order = graph.TopologicalOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool behind = MakesAny(node, read);
    if (InPlan(plan, *id)) {
      for (const ValueId value : RoundedInputs(graph, node)) read.insert(value);
    } else if (behind) {
      for (const ValueId value : SharedInputs(graph, node)) read.insert(value);
    }
  }
  return read;
}

bool HasFiniteConstants(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    if (!IsConstantFloat(graph, input)) return true;
    const TensorData& constant = *graph.value(input).constant;
    const auto* numbers = constant.as<float>();
    return std::all_of(numbers, numbers + constant.elements(),
                       [](float number) { return std::isfinite(number); });
  });
}

std::vector<size_t> LargeConstants(const Graph& graph, const Node& node) {
  std::vector<size_t> constants;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsConstantFloat(graph, node.inputs[i])) continue;
    const TensorData& data = *graph.value(node.inputs[i]).constant;
    if (data.shape().rank() >= 2 && data.elements() >= kLeastElements) constants.push_back(i);
  }
  return constants;
}

std::vector<Layer> FindLayers(const Graph& graph, Format format) {
  std::vector<Layer> layers;
  FormatPlan plan;
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    const std::vector<size_t> constants = LargeConstants(graph, node);
    const bool layer =
        RoundsValues(format) ? IsProductLayer(graph, node) || IsBetween(graph, node) : !constants.empty();
    if (!layer) continue;
    layers.push_back({id, node.name, FormatOf(graph, node, constants, format)});
    plan[id] = layers.back().format;
  }
  SettlePlan(graph, plan);
  std::erase_if(layers, [&](const Layer& layer) { return !plan.contains(layer.node); });
  return layers;
}

void SettlePlan(const Graph& graph, FormatPlan& plan) {
  do {
    ValuesOfCodes(graph, plan);
  } while (DropUnwanted(graph, plan));
}

}  // namespace skiff
