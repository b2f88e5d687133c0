#include "quantize/describe.h"

#include <algorithm>

#include "passes/quantize/qdq.h"

namespace skiff {
namespace {

/// From the least to the largest number that was seen, in steps that pages have room for.
Histogram HistogramOf(const Observer& seen) {
  constexpr int kSteps = 64;
  Histogram histogram{seen.min(), seen.max(), {}};
  if (seen.count() == 0 || !(histogram.high > histogram.low)) return histogram;
  histogram.counts.assign(kSteps, 0);
  const auto add = [&](double number, int64_t count) {
    const double share = (number - histogram.low) / (histogram.high - histogram.low);
    histogram.counts[static_cast<size_t>(std::clamp(static_cast<int>(share * kSteps), 0, kSteps - 1))] +=
        count;
  };
  for (int i = 0; i < static_cast<int>(seen.bins().size()); ++i)
    add(seen.BinMiddle(i), seen.bins()[static_cast<size_t>(i)]);
  add(0, seen.zeros());
  return histogram;
}

void AddHistograms(const CalibratedNet& net, NodeId node, QuantizedLayer& row) {
  const Graph& graph = net.graph();
  const ValueId result = graph.node(node).outputs[0];
  const auto seen = net.observations().find(result);
  if (seen != net.observations().end()) {
    row.results = HistogramOf(seen->second);
    if (RoundsValues(row.format)) row.range = net.ranges().at(result);
    if (row.range) row.clipped = ClippedShare(seen->second, *row.range);
  }
  if (!net.options().measure_layers) return;
  Observer weights;
  for (const ValueId input : graph.node(node).inputs) {
    if (input == kNoValue || !graph.value(input).constant) continue;
    const TensorData& data = *graph.value(input).constant;
    if (data.dtype() == DType::kF32 && data.shape().rank() > 1)
      weights.Add({data.as<float>(), static_cast<size_t>(data.elements())}, 0);
  }
  row.weights = HistogramOf(weights);
}

/// What all layers but this one cost.
double ErrorWithout(const CalibratedNet& net, FormatPlan plan, NodeId node) {
  plan.erase(node);
  return net.ErrorOf(plan).Of(net.options().measure);
}

}  // namespace

int64_t ConstantBytes(const Graph& graph, NodeId id, Format format) {
  int64_t bytes = 0;
  const std::vector<size_t> large = LargeConstants(graph, graph.node(id));
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const ValueId input = graph.node(id).inputs[i];
    if (input == kNoValue) continue;
    const ValueId codes = DequantizedFrom(graph, input);
    const Value& value = graph.value(codes != kNoValue ? codes : input);
    if (!value.constant) continue;
    auto own = static_cast<int64_t>(value.constant->size_bytes());
    if (format == Format::kF16 && std::find(large.begin(), large.end(), i) != large.end()) own /= 2;
    if (value.quantization && !value.quantization->per_tensor())
      own += value.quantization->count * static_cast<int64_t>(sizeof(float));
    bytes += own;
  }
  return bytes;
}

std::vector<QuantizedLayer> DescribeLayers(const CalibratedNet& net, const std::vector<Layer>& layers,
                                           const FormatPlan& plan, const Graph& quantized,
                                           const WhyFloat& why_float,
                                           const std::map<NodeId, LayerCost>& alone) {
  const Graph& graph = net.graph();
  std::map<NodeId, double> noise;
  if (net.has_calls()) noise = net.NoiseOf(plan, quantized);
  std::vector<QuantizedLayer> rows;
  for (const Layer& layer : layers) {
    QuantizedLayer& row = rows.emplace_back();
    row.name = layer.name;
    row.op = FindOp(graph.node(layer.node).op)->name;
    const auto found = plan.find(layer.node);
    if (found != plan.end()) {
      row.format = found->second;
    } else {
      const auto why = why_float.find(layer.node);
      row.why_float = why == why_float.end() ? "its neighbours are float" : why->second;
    }
    row.bytes_before = ConstantBytes(graph, layer.node, Format::kFloat);
    row.bytes = ConstantBytes(quantized, layer.node, row.format);
    if (const auto own = noise.find(layer.node); own != noise.end()) row.signal_to_noise = own->second;
    if (const auto own = alone.find(layer.node); own != alone.end()) row.error_alone = own->second.error;
    AddHistograms(net, layer.node, row);
    if (!net.options().measure_layers || found == plan.end() || !net.has_calls()) continue;
    net.Progress(fmt::format("measure all but one, {} of {}", rows.size(), layers.size()));
    row.error_without = ErrorWithout(net, plan, layer.node);
  }
  return rows;
}

}  // namespace skiff
