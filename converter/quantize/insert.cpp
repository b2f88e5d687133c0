#include "quantize/insert.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/error.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/fuse/linear.h"
#include "passes/quantize/qdq.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int kWeights = 1;
constexpr size_t kBias = 2;
/// Codes of a bias stay below; sums of products need the rest of 32 bits.
constexpr double kLargestBiasCode = 0x1p30;

/// Where numbers of a product's input begin that share a scale: a row of a matrix or a pixel, where that
/// meets all weights at once, else a picture.
int64_t AxisOfRows(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& weights = graph.value(node.inputs[kWeights]).constant->shape();
  const bool pictures = node.op == OpCode::kConv2d && !IsPointwise(node.As<Conv2dAttrs>(), weights);
  return pictures ? 1 : -1;
}

class Inserter {
 public:
  Inserter(Graph& graph, const FormatPlan& plan, const Ranges& ranges, const RoundedLayers& rounded,
           const WeightOptions& options)
      : graph_(graph), plan_(plan), ranges_(ranges), rounded_(rounded), options_(options) {}

  void Run() {
    for (const ValueId value : RoundedValues(graph_, plan_)) Round(value);
    for (const auto& [id, format] : plan_) {
      if (!RoundsValues(format)) {
        if (format == Format::kDynamic) RoundAtRunTime(id, {.axis = AxisOfRows(graph_, id)});
        if (format == Format::kDynamic4)
          RoundAtRunTime(id, {.axis = -1, .symmetric = true, .block = options_.block});
        StoreConstants(id, format);
      } else if (IsLinear(graph_.node(id).op)) {
        QuantizeProduct(id, format);
      } else if (format == Format::kI8) {
        QuantizeConstants(id);
      }
    }
  }

 private:
  Format FormatOf(NodeId node) const {
    const auto found = plan_.find(node);
    return found == plan_.end() ? Format::kFloat : found->second;
  }

  /// i16 as soon as one of the nodes around it wants that.
  DType CodesFor(ValueId value) const {
    const auto is_word = [&](NodeId node) { return node != kNoNode && FormatOf(node) == Format::k16x8; };
    const Value& of = graph_.value(value);
    const bool word = is_word(of.producer) || std::any_of(of.uses.begin(), of.uses.end(),
                                                          [&](const Use& use) { return is_word(use.node); });
    return word ? DType::kI16 : DType::kI8;
  }

  void Round(ValueId value) {
    const NodeId producer = graph_.value(value).producer;
    const bool made_rounded = producer != kNoNode && RoundsValues(FormatOf(producer));
    std::vector<Use> users;
    for (const Use& use : graph_.value(value).uses) {
      if (RoundsValues(FormatOf(use.node))) users.push_back(use);
    }
    const NodeId like = producer != kNoNode ? producer : users.at(0).node;
    const DType dtype = CodesFor(value);
    const CodeType type{dtype, QuantizationFor(ranges_.at(value), dtype)};
    const std::string name = graph_.value(value).name;
    const ValueId codes = EmitCodes(graph_, OpCode::kQuantize, value, type, name + ".codes", like);
    const ValueId numbers =
        EmitTyped(graph_, OpCode::kDequantize, {codes}, NoAttrs(), name + ".rounded", like);
    if (!made_rounded) {
      for (const Use& use : users) graph_.SetInput(use.node, use.input, numbers);
      return;
    }
    graph_.value(codes).source = graph_.value(value).source;
    graph_.value(codes).source_perm = graph_.value(value).source_perm;
    graph_.value(value).source.clear();
    graph_.ReplaceUses(value, numbers);
    graph_.SetInput(graph_.value(codes).producer, 0, value);
  }

  void RoundAtRunTime(NodeId id, const FakeQuantizeAttrs& attrs) {
    const ValueId x = graph_.node(id).inputs[0];
    const auto [found, added] = at_run_time_.emplace(std::tuple(x, attrs.axis, attrs.block), kNoValue);
    if (added)
      found->second =
          EmitTyped(graph_, OpCode::kFakeQuantize, {x}, attrs, graph_.value(x).name + ".codes", id);
    graph_.SetInput(id, 0, found->second);
  }

  ValueId Dequantized(const TensorData& codes, const std::string& name, NodeId like) {
    const ValueId constant = graph_.AddConstant(name + ".codes", codes);
    return EmitTyped(graph_, OpCode::kDequantize, {constant}, NoAttrs(), name + ".rounded", like);
  }

  /// What the biases of a product's channels would be among floats; empty: there is none.
  std::vector<double> BiasOf(const Node& node) const {
    if (node.inputs.size() <= kBias || node.inputs[kBias] == kNoValue) return {};
    return graph_.value(node.inputs[kBias]).constant->ToDoubles();
  }

  /// Null: not known.
  const RoundedWeights* RoundedFor(NodeId id, int bits) const {
    const auto found = rounded_.find({id, bits});
    return found == rounded_.end() ? nullptr : &found->second;
  }

  static void Add(const std::vector<double>& lacks, std::vector<double>& bias) {
    if (bias.empty()) bias.assign(lacks.size(), 0);
    for (size_t c = 0; c < lacks.size(); ++c) bias[c] += lacks[c];
  }

  static bool ReachesAll(const Quantization& weights, const std::vector<double>& least_scales) {
    for (size_t c = 0; c < least_scales.size(); ++c) {
      if (static_cast<double>(weights.ScaleAt(static_cast<int64_t>(c))) < least_scales[c]) return false;
    }
    return true;
  }

  void QuantizeProduct(NodeId id, Format format) {
    const ValueId x = graph_.node(id).inputs[0];
    const ValueId codes_of_x = graph_.node(graph_.value(x).producer).inputs[0];
    const double x_scale = static_cast<double>(graph_.value(codes_of_x).quantization->scale);
    const TensorData weights = *graph_.value(graph_.node(id).inputs[kWeights]).constant;
    const std::string name = graph_.value(graph_.node(id).inputs[kWeights]).name;
    std::vector<double> bias = BiasOf(graph_.node(id));
    std::vector<double> least;
    for (const double number : bias) least.push_back(std::abs(number) / (x_scale * kLargestBiasCode));
    const RoundedWeights* rounded = RoundedFor(id, 8);
    if (rounded != nullptr && !ReachesAll(*rounded->codes.quantization(), least)) rounded = nullptr;
    const TensorData codes = rounded != nullptr
                                 ? rounded->codes
                                 : NearestCodes(weights, GridPerChannel(weights, options_.scales, least));
    if (rounded != nullptr) Add(rounded->lacks, bias);
    std::vector<ValueId> inputs = {x, Dequantized(codes, name, id)};
    if (!bias.empty()) inputs.push_back(BiasFor(id, bias, x_scale, *codes.quantization(), format));
    SetInputs(graph_, id, inputs);
  }

  ValueId BiasFor(NodeId id, const std::vector<double>& bias, double x_scale, const Quantization& weights,
                  Format format) {
    const std::string name = graph_.node(id).name + ".bias";
    std::vector<float> units;
    bool fits = format == Format::kI8;
    for (size_t c = 0; c < bias.size(); ++c) {
      units.push_back(
          static_cast<float>(x_scale * static_cast<double>(weights.ScaleAt(static_cast<int64_t>(c)))));
      fits =
          fits && std::isnormal(units[c]) && std::abs(bias[c] / static_cast<double>(units[c])) < 0x1p31 - 1;
    }
    if (fits) return Dequantized(BiasCodes(bias, units), name, id);
    return graph_.AddConstant(name, ToFloats(bias));
  }

  /// Tensors beside codes; single numbers are codes already (fold-qdq).
  void QuantizeConstants(NodeId id) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId input = graph_.node(id).inputs[i];
      if (input == kNoValue || FindOp(graph_.node(id).op)->NeedsValues(i)) continue;
      const Value& value = graph_.value(input);
      if (!value.constant || value.dtype != DType::kF32 || value.constant->elements() <= 1) continue;
      const TensorData numbers = *value.constant;
      graph_.SetInput(id, static_cast<int>(i),
                      Dequantized(CodesPerTensor(numbers), std::string(value.name), id));
    }
  }

  void StoreConstants(NodeId id, Format format) {
    for (const size_t i : LargeConstants(graph_, graph_.node(id))) {
      const ValueId constant = graph_.node(id).inputs[i];
      const auto [found, added] = stored_.emplace(constant, kNoValue);
      if (added) found->second = Stored(id, i, format);
      if (found->second != kNoValue) graph_.SetInput(id, static_cast<int>(i), found->second);
    }
  }

  ValueId Stored(NodeId id, size_t input, Format format) {
    const TensorData numbers = *graph_.value(graph_.node(id).inputs[input]).constant;
    const std::string name = graph_.value(graph_.node(id).inputs[input]).name;
    if (format == Format::kF16) {
      const std::optional<TensorData> halves = RoundedToHalves(numbers);
      return halves ? graph_.AddConstant(name + ".f16", *halves) : kNoValue;
    }
    const bool weights = IsLinear(graph_.node(id).op) && input == kWeights;
    const Shape& shape = numbers.shape();
    const int64_t last = shape[shape.rank() - 1];
    const int bits = weights ? BitsOfWeights(format, shape, options_.block) : HasFourBits(format) ? 4 : 8;
    if (const RoundedWeights* rounded = weights ? RoundedFor(id, bits) : nullptr) {
      AddToBias(id, rounded->lacks);
      return Dequantized(rounded->codes, name, id);
    }
    if (bits == 4)
      return Dequantized(NearestCodes(numbers, GridOfFourBits(numbers, std::min(last, options_.block))), name,
                         id);
    if (weights)
      return Dequantized(NearestCodes(numbers, GridPerChannel(numbers, options_.scales)), name, id);
    // One scale for each row of a table, and of each gate's weights.
    const TensorData table = numbers.Reshaped({numbers.elements() / last, last});
    const TensorData codes = NearestCodes(table, GridPerChannel(table, options_.scales));
    const Quantization& by_row = *codes.quantization();
    const TensorData stored = codes.Reshaped(shape).Quantized(
        PerAxis(shape.rank() - 1, {by_row.scales, by_row.scales + by_row.count}, {}, last));
    return Dequantized(stored, name, id);
  }

  /// Of a product on floats.
  void AddToBias(NodeId id, const std::vector<double>& lacks) {
    const Node& node = graph_.node(id);
    const bool has_bias = node.inputs.size() > kBias && node.inputs[kBias] != kNoValue;
    if (lacks.empty() || (has_bias && !graph_.value(node.inputs[kBias]).constant)) return;
    std::vector<double> bias = BiasOf(node);
    Add(lacks, bias);
    std::vector<ValueId> inputs = {node.inputs[0], node.inputs[kWeights]};
    inputs.push_back(graph_.AddConstant(node.name + ".bias", ToFloats(bias)));
    SetInputs(graph_, id, inputs);
  }

  static TensorData ToFloats(const std::vector<double>& numbers) {
    return RoundedTo(DType::kF32, Shape{static_cast<int64_t>(numbers.size())}, numbers);
  }

  Graph& graph_;
  const FormatPlan& plan_;
  const Ranges& ranges_;
  const RoundedLayers& rounded_;
  const WeightOptions& options_;
  std::map<ValueId, ValueId> stored_;
  /// By where rows begin, and their blocks.
  std::map<std::tuple<ValueId, int64_t, int64_t>, ValueId> at_run_time_;
};

}  // namespace

std::vector<ValueId> RoundedValues(const Graph& graph, const FormatPlan& plan) {
  std::vector<ValueId> values;
  for (const auto& [id, format] : plan) {
    if (!RoundsValues(format)) continue;
    const std::vector<ValueId> inputs = RoundedInputs(graph, graph.node(id));
    values.insert(values.end(), inputs.begin(), inputs.end());
    values.insert(values.end(), graph.node(id).outputs.begin(), graph.node(id).outputs.end());
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void InsertQuantization(Graph& graph, const FormatPlan& plan, const Ranges& ranges,
                        const RoundedLayers& rounded, const WeightOptions& options) {
  Inserter(graph, plan, ranges, rounded, options).Run();
}

}  // namespace skiff
