#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"
#include "passes/fuse/clamp_range.h"
#include "passes/fuse/linear.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr int kWeights = 1;
constexpr size_t kBias = 2;
/// Channels that are smaller by more than that may be larger in calls that nobody has seen.
constexpr double kMostUneven = 64;

/// Operators that do with a multiple of each channel, the last axis, as with the channel.
constexpr OpCode kHomogeneous[] = {
    OpCode::kAdd,           OpCode::kSub,        OpCode::kClamp,   OpCode::kLeakyRelu, OpCode::kMaxPool2d,
    OpCode::kAveragePool2d, OpCode::kReduceMean, OpCode::kReshape, OpCode::kSqueeze,   OpCode::kFlatten,
};

/// How far from 0 the clamp does with a multiple as with the number; 0: nowhere.
double BoundOf(const ClampAttrs& clamp) {
  const double below = clamp.min == 0 ? static_cast<double>(kInfinity) : -static_cast<double>(clamp.min);
  return std::max(0.0, std::min(below, static_cast<double>(clamp.max)));
}

double BoundOf(const Node& node) {
  return BoundOf(node.op == OpCode::kClamp ? node.As<ClampAttrs>() : FusedClamp(node));
}

/// All inputs and the result are of one group: as many channels, and no constants.
bool KeepsChannels(const Graph& graph, const Node& node) {
  const bool listed =
      std::find(std::begin(kHomogeneous), std::end(kHomogeneous), node.op) != std::end(kHomogeneous);
  if (!listed || BoundOf(node) == 0) return false;
  const std::vector<Dim>& to = graph.value(node.outputs[0]).dims;
  const std::vector<ValueId> inputs = RoundedInputs(graph, node);
  const bool sum = node.op == OpCode::kAdd || node.op == OpCode::kSub;
  if (to.empty() || inputs.size() != (sum ? 2u : 1u) || graph.value(node.outputs[0]).dtype != DType::kF32)
    return false;
  if (node.op == OpCode::kReduceMean) {
    uint32_t mask = 0;
    const int rank = static_cast<int>(graph.value(inputs[0]).dims.size());
    if (!ReducedAxes(node.As<ReduceAttrs>(), rank, &mask) || (mask >> (rank - 1) & 1u) != 0) return false;
  }
  return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
    const std::vector<Dim>& from = graph.value(input).dims;
    return !from.empty() && from.back().constant() && from.back() == to.back() && (!sum || from == to);
  });
}

const TensorData* FloatConstant(const Graph& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNoValue) return nullptr;
  const Value& value = graph.value(node.inputs[input]);
  return value.constant && value.dtype == DType::kF32 && !value.quantization ? &*value.constant : nullptr;
}

bool IsProduct(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool bias = node.inputs.size() <= kBias || node.inputs[kBias] == kNoValue ||
                    FloatConstant(graph, node, kBias) != nullptr;
  return (node.op == OpCode::kConv2d || node.op == OpCode::kFullyConnected) && bias &&
         FloatConstant(graph, node, kWeights) != nullptr;
}

int64_t GroupsOf(const Node& node) { return node.op == OpCode::kConv2d ? node.As<Conv2dAttrs>().groups : 1; }

/// Calls visit(weight, channel that it reads) for the indices of the weights.
template <class Visit>
void ForEachWeight(const Node& node, const Shape& shape, Visit&& visit) {
  const int64_t inner = shape[shape.rank() - 1];
  const int64_t row = shape.elements() / shape[0];
  const int64_t per_group = shape[0] / GroupsOf(node);
  for (int64_t i = 0; i < shape.elements(); ++i)
    visit(static_cast<size_t>(i), static_cast<size_t>(i / row / per_group * inner + i % inner));
}

/// Whether each channel of the result reads one channel: its own scale makes up for any factor.
bool ReadsOneChannel(const Graph& graph, NodeId id) {
  const Shape& shape = FloatConstant(graph, graph.node(id), kWeights)->shape();
  return shape[shape.rank() - 1] == 1;
}

void SetConstant(Graph& graph, NodeId id, int input, const std::vector<double>& numbers) {
  const Value& old = graph.value(graph.node(id).inputs[static_cast<size_t>(input)]);
  const std::string name = old.name + ".even";
  const Shape shape = old.constant->shape();
  graph.SetInput(id, input, graph.AddConstant(name, RoundedTo(DType::kF32, shape, numbers)));
}

int64_t ChannelsOf(const Graph& graph, const EvenGroup& group) {
  return FloatConstant(graph, graph.node(group.from[0]), kWeights)->shape()[0];
}

/// How large each channel is beside the largest one, in the value where it is largest.
std::vector<double> LargestOf(const EvenGroup& group, const Observations& observations, size_t channels) {
  std::vector<double> largest(channels, 0);
  for (const ValueId value : group.values) {
    const auto seen = observations.find(value);
    if (seen == observations.end() || seen->second.channel_largest().size() != channels) continue;
    const std::vector<float>& own = seen->second.channel_largest();
    const auto most = static_cast<double>(*std::max_element(own.begin(), own.end()));
    for (size_t c = 0; most > 0 && c < channels; ++c)
      largest[c] = std::max(largest[c], static_cast<double>(own[c]) / most);
  }
  return largest;
}

/// The largest number of each channel in any of the values.
std::vector<double> ReachOf(const EvenGroup& group, const Observations& observations, size_t channels) {
  std::vector<double> reach(channels, 0);
  for (const ValueId value : group.values) {
    const auto seen = observations.find(value);
    // Of a value that nobody looked at, nothing is known.
    const bool known = seen != observations.end() && seen->second.channel_largest().size() == channels;
    for (size_t c = 0; c < channels; ++c)
      reach[c] =
          std::max(reach[c], known ? static_cast<double>(seen->second.channel_largest()[c]) : group.bound);
  }
  return reach;
}

/// No number beyond the bound that was not before, and none within it that was.
void KeepWithinBound(const EvenGroup& group, const Observations& observations,
                     std::vector<double>& divisors) {
  if (std::isinf(group.bound)) return;
  const std::vector<double> reach = ReachOf(group, observations, divisors.size());
  for (size_t c = 0; c < divisors.size(); ++c)
    divisors[c] = std::clamp(divisors[c], std::min(1.0, reach[c] / group.bound), 1.0);
}

/// By what each channel would best be divided; empty: by nothing.
std::vector<double> Divisors(const Graph& graph, const EvenGroup& group, const Observations& observations) {
  const auto channels = static_cast<size_t>(ChannelsOf(graph, group));
  std::vector<double> largest = LargestOf(group, observations, channels);
  if (!(*std::max_element(largest.begin(), largest.end()) > 0)) return {};
  // A channel that was never seen may be as large as any other in the next call.
  for (double& of_channel : largest) of_channel = of_channel == 0 ? 1 : std::max(of_channel, 1 / kMostUneven);
  std::vector<double> weights(channels, 0);
  for (const NodeId id : group.to) {
    const Node& node = graph.node(id);
    const TensorData& data = *FloatConstant(graph, node, kWeights);
    if (ReadsOneChannel(graph, id)) continue;
    ForEachWeight(node, data.shape(), [&](size_t i, size_t channel) {
      weights[channel] = std::max(weights[channel], std::abs(static_cast<double>(data.as<float>()[i])));
    });
  }
  const double heaviest = *std::max_element(weights.begin(), weights.end());
  if (!(heaviest > 0)) return largest;  // Each reads one channel.
  for (size_t c = 0; c < channels; ++c)
    largest[c] = std::sqrt(largest[c] / std::max(weights[c] / heaviest, 1 / kMostUneven));
  return largest;
}

void DivideRows(Graph& graph, NodeId id, const std::vector<double>& by) {
  std::vector<double> weights = FloatConstant(graph, graph.node(id), kWeights)->ToDoubles();
  const size_t row = weights.size() / by.size();
  for (size_t i = 0; i < weights.size(); ++i) weights[i] /= by[i / row];
  SetConstant(graph, id, kWeights, weights);
  if (const TensorData* bias = FloatConstant(graph, graph.node(id), kBias)) {
    std::vector<double> numbers = bias->ToDoubles();
    for (size_t c = 0; c < numbers.size(); ++c) numbers[c] /= by[c];
    SetConstant(graph, id, kBias, numbers);
  }
}

void MultiplyReads(Graph& graph, NodeId id, const std::vector<double>& by) {
  const TensorData& read = *FloatConstant(graph, graph.node(id), kWeights);
  std::vector<double> numbers = read.ToDoubles();
  ForEachWeight(graph.node(id), read.shape(), [&](size_t i, size_t channel) { numbers[i] *= by[channel]; });
  SetConstant(graph, id, kWeights, numbers);
}

bool IsFrom(const Graph& graph, NodeId id) {
  return id != kNoNode && IsProduct(graph, id) && BoundOf(graph.node(id)) > 0;
}

/// Whether all that makes or reads the value is in the group, or a product at its edge.
bool AddValue(const Graph& graph, ValueId value, EvenGroup& group) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || graph.IsGraphOutput(value)) return false;
  if (IsFrom(graph, producer)) {
    group.from.push_back(producer);
  } else if (!KeepsChannels(graph, graph.node(producer))) {
    return false;
  }
  for (const Use& use : graph.value(value).uses) {
    if (KeepsChannels(graph, graph.node(use.node))) continue;
    if (use.input != 0 || !IsProduct(graph, use.node)) return false;
    group.to.push_back(use.node);
  }
  group.values.push_back(value);
  group.bound = std::min(group.bound, BoundOf(graph.node(producer)));
  return true;
}

/// Products whose weights have as many channels on both sides.
bool Fits(const Graph& graph, const EvenGroup& group) {
  if (group.from.empty() || group.to.empty()) return false;
  const int64_t channels = ChannelsOf(graph, group);
  const auto weights = [&](NodeId id) { return FloatConstant(graph, graph.node(id), kWeights)->shape(); };
  return channels > 1 &&
         std::all_of(group.from.begin(), group.from.end(),
                     [&](NodeId id) { return weights(id)[0] == channels && weights(id).elements() > 0; }) &&
         std::all_of(group.to.begin(), group.to.end(), [&](NodeId id) {
           const Shape shape = weights(id);
           return shape.elements() > 0 && shape[shape.rank() - 1] * GroupsOf(graph.node(id)) == channels;
         });
}

}  // namespace

std::vector<EvenGroup> FindGroups(const Graph& graph) {
  std::vector<ValueId> root(static_cast<size_t>(graph.value_count()));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](ValueId value) {
    while (root[static_cast<size_t>(value)] != value) value = root[static_cast<size_t>(value)];
    return value;
  };
  const std::vector<NodeId> order = graph.TopologicalOrder();
  for (const NodeId id : order) {
    if (!KeepsChannels(graph, graph.node(id))) continue;
    for (const ValueId input : RoundedInputs(graph, graph.node(id)))
      root[static_cast<size_t>(find(graph.node(id).outputs[0]))] = find(input);
  }
  std::map<ValueId, EvenGroup> groups;
  std::set<ValueId> closed;  // A value of them is made or read elsewhere.
  for (const NodeId id : order) {
    if (!IsFrom(graph, id) && !KeepsChannels(graph, graph.node(id))) continue;
    if (!IsFrom(graph, id)) {
      // Inputs that nothing above makes (the graph's own) close the group.
      for (const ValueId input : RoundedInputs(graph, graph.node(id))) {
        EvenGroup ignored;
        if (!AddValue(graph, input, ignored)) closed.insert(find(input));
      }
    }
    const ValueId result = graph.node(id).outputs[0];
    if (!AddValue(graph, result, groups[find(result)])) closed.insert(find(result));
  }
  std::vector<EvenGroup> found;
  for (auto& [value, group] : groups) {
    if (!closed.contains(value) && Fits(graph, group)) found.push_back(std::move(group));
  }
  return found;
}

int EqualizeChannels(Graph& graph, const Observations& observations) {
  int changed = 0;
  for (const EvenGroup& group : FindGroups(graph)) {
    std::vector<double> by = Divisors(graph, group, observations);
    if (by.empty()) continue;
    KeepWithinBound(group, observations, by);
    for (const NodeId id : group.from) DivideRows(graph, id, by);
    for (const NodeId id : group.to) MultiplyReads(graph, id, by);
    ++changed;
  }
  return changed;
}

}  // namespace skiff
