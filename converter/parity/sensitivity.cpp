#include "parity/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <random>

#include "core/half.h"
#include "graph/evaluate.h"
#include "ops/op_codes.h"
#include "parity/rounding.h"

namespace skiff {
namespace {

constexpr uint32_t kRuns = 2;
/// Rounding errors are a fraction of what is allowed, which is for the worst element of many, but a result is
/// rounded to its own last place at least: passes leave out or add such roundings.
constexpr double kTypical = 1.0 / 8;
/// A kernel's errors are no independent draws: those of an approximation have one sign for neighbours.
constexpr double kCommon = 0.5;
constexpr int64_t kSmallestGroup = 64;

void Store(const std::vector<double>& values, TensorData& tensor) {
  void* const to = tensor.mutable_data();
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype() == DType::kF16) {
      static_cast<uint16_t*>(to)[i] = FloatToHalf(static_cast<float>(values[i]));
    } else if (tensor.dtype() == DType::kF32) {
      static_cast<float*>(to)[i] = static_cast<float>(values[i]);
    } else {
      static_cast<double*>(to)[i] = values[i];
    }
  }
}

bool IsReal(const TensorData* tensor) {
  return tensor != nullptr && IsFloat(tensor->dtype()) && tensor->quantization() == nullptr;
}

bool MayTakeWinograd(const Node& node, const TensorData& weights) {
  if (node.op != OpCode::kConv2d) return false;
  const Shape& shape = weights.shape();  // OHWI.
  return shape[1] == 3 && shape[2] == 3;
}

/// How many terms are added one to the next for one element of the output; 1 where none are.
double TermCount(const Node& node, const std::vector<const TensorData*>& inputs, const TensorData& result,
                 DelegateKind delegate) {
  const auto ratio = [](int64_t all, int64_t parts) {
    return parts > 0 ? static_cast<double>(all) / static_cast<double>(parts) : 1;
  };
  switch (node.op) {
    case OpCode::kConv2d:  // Weights OHWI.
    case OpCode::kFullyConnected:
      return ratio(inputs[1]->elements(), inputs[1]->shape()[0]);
    case OpCode::kConvTranspose2d:  // Each pixel of the input goes to all of its kernel; NHWC.
      return ratio(inputs[1]->elements(), inputs[0]->shape().last()) *
             ratio(inputs[0]->elements(), result.elements());
    case OpCode::kMatMul:
      return static_cast<double>(inputs[0]->shape().last());
    case OpCode::kAveragePool2d: {
      const Ints& kernel = node.attrs.as<Pool2dAttrs>().kernel;
      return static_cast<double>(kernel[0] * kernel[1]);
    }
    case OpCode::kReduceSum:
    case OpCode::kReduceMean: {
      // On the CPU sums of many terms are sums of blocks.
      const double terms = ratio(inputs[0]->elements(), result.elements());
      return delegate == DelegateKind::kVulkan || terms < 128 ? terms : 32 + terms / 32;
    }
    default:
      return 1;
  }
}

std::vector<double> AbsoluteTerms(const Node& node, const std::vector<const TensorData*>& inputs) {
  std::vector<TensorData> absolute(inputs.size());
  std::vector<const TensorData*> arguments = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsReal(inputs[i])) continue;
    std::vector<double> values = inputs[i]->ToDoubles();
    for (double& value : values) value = AbsoluteTerm(node.op, i, value);
    absolute[i] = TensorData(inputs[i]->dtype(), inputs[i]->shape());
    Store(values, absolute[i]);
    arguments[i] = &absolute[i];
  }
  return EvaluateOp(node.op, WithoutClamp(node.op, node.attrs), arguments, node.outputs.size(), node.name)[0]
      .ToDoubles();
}

/// Moves results of nodes by what fast paths round.
class Rounder {
 public:
  Rounder(uint32_t seed, DelegateKind delegate) : random_(seed), delegate_(delegate) {}

  void operator()(const Node& node, const std::vector<const TensorData*>& inputs,
                  std::vector<TensorData>& results) {
    const Rounding rounding = RoundingOf(node.op, delegate_);
    if (rounding.rule == RoundingRule::kExact || results.empty() || !IsReal(results.data()) ||
        !IsReal(inputs[0]))
      return;
    std::vector<std::vector<double>> values(inputs.size());
    std::vector<Numbers> numbers(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (rounding.rule == RoundingRule::kTerms || !IsReal(inputs[i])) continue;
      values[i] = inputs[i]->ToDoubles();
      numbers[i] = {inputs[i]->shape(), values[i]};
    }
    const size_t moved = rounding.rule == RoundingRule::kState ? results.size() : 1;
    for (size_t output = 0; output < moved; ++output) {
      TensorData& result = results[output];
      std::vector<double> elements = result.ToDoubles();
      std::vector<double> allowed = AllowedRounding({node.op,
                                                     &node.attrs,
                                                     numbers,
                                                     {result.shape(), elements},
                                                     result.dtype(),
                                                     [&] { return AbsoluteTerms(node, inputs); }},
                                                    rounding);
      if (inputs.size() > 1 && inputs[1] != nullptr && MayTakeWinograd(node, *inputs[1]))
        allowed = AllowedByWinograd(result.shape(), node.As<Conv2dAttrs>().dilations, allowed);
      // Terms of one sign: the partial sums, each of which is rounded, grow with their number.
      const double growth =
          rounding.rule == RoundingRule::kTerms ? std::sqrt(TermCount(node, inputs, result, delegate_)) : 0;
      const auto [low, high] = LimitsOf(node.op, node.attrs);
      for (size_t i = 0; i < elements.size(); ++i) {
        // What an activation limits has the same limit whatever was rounded before it.
        const bool limited = elements[i] <= low || elements[i] >= high;
        const double own = RoundingUnit(result.dtype()) * std::abs(elements[i]);
        allowed[i] = limited ? 0 : std::max(kTypical * allowed[i], own) + growth * own;
      }
      Move(allowed, elements);
      Store(elements, result);
    }
  }

 private:
  /// Always by as much, up or down: what depends on one rounding alone must move, too.
  void Move(const std::vector<double>& typical, std::vector<double>& elements) {
    const auto sign = [&] { return random_() % 2 == 0 ? -1.0 : 1.0; };
    const double common = sign() * kCommon;
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i] += typical[i] * (common + (1 - kCommon) * sign());
  }

  std::mt19937 random_;
  DelegateKind delegate_;
};

/// What two runs are apart, where both have numbers.
void Widen(const TensorData& eager, const TensorData& moved, Movement& movement) {
  if (!(eager.shape() == moved.shape())) return;
  const std::vector<double> a = eager.ToDoubles();
  const std::vector<double> b = moved.ToDoubles();
  movement.resize(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i]))
      movement[i] = std::max(movement[i], std::abs(a[i] - b[i]));
  }
}

double LowerMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Where all elements of a group depend on one rounding, a few runs may miss what it can do: no group moves
/// less than the usual one.
Movement OfGroups(const Movement& movement, const Shape& shape) {
  const auto count = static_cast<int64_t>(movement.size());
  const double largest = movement.empty() ? 0 : *std::max_element(movement.begin(), movement.end());
  Movement least(movement.size(), largest);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t extent = shape[axis];
    if (extent < 2 || count / extent < kSmallestGroup) continue;
    const int64_t stride = shape.ElementsBetween(axis + 1, shape.rank());
    std::vector<double> groups(static_cast<size_t>(extent));
    const auto group_of = [&](int64_t i) -> double& {
      return groups[static_cast<size_t>(i / stride % extent)];
    };
    for (int64_t i = 0; i < count; ++i) group_of(i) = std::max(group_of(i), movement[static_cast<size_t>(i)]);
    const double usual = LowerMedian(groups);
    for (int64_t i = 0; i < count; ++i)
      least[static_cast<size_t>(i)] = std::min(least[static_cast<size_t>(i)], std::max(group_of(i), usual));
  }
  return least;
}

/// What one perturbed run was apart from eager mode.
Sensitivity RunOnce(const Graph& graph, const NamedTensors& inputs, const NamedTensors& eager,
                    const SensitivityOptions& options, uint32_t seed) {
  Sensitivity apart;
  EvaluateOptions evaluate;
  evaluate.adjust = Rounder(seed, options.delegate);
  if (options.layers != nullptr) {
    evaluate.observe = [&](ValueId value, const TensorData& tensor) {
      const std::string& source = graph.value(value).source;
      if (const auto found = options.layers->find(source); found != options.layers->end())
        Widen(*found->second, tensor, apart.layers[source]);
    };
  }
  for (const auto& [name, tensor] : Evaluate(graph, inputs, evaluate)) {
    if (const auto found = eager.find(name); found != eager.end())
      Widen(found->second, tensor, apart.outputs[name]);
  }
  return apart;
}

void Join(const std::map<std::string, Movement>& one, std::map<std::string, Movement>& all) {
  for (const auto& [name, movement] : one) {
    Movement& joined = all[name];
    joined.resize(movement.size());
    for (size_t i = 0; i < movement.size(); ++i) joined[i] = std::max(joined[i], movement[i]);
  }
}

}  // namespace

Sensitivity MeasureSensitivity(const Graph& graph, const NamedTensors& inputs, const NamedTensors& eager,
                               const SensitivityOptions& options) {
  std::vector<std::future<Sensitivity>> runs;
  for (uint32_t run = 0; run < kRuns; ++run) {
    runs.push_back(std::async(std::launch::async, RunOnce, std::cref(graph), std::cref(inputs),
                              std::cref(eager), std::cref(options), run + 1));
  }
  Sensitivity all;
  for (std::future<Sensitivity>& run : runs) {
    const Sensitivity one = run.get();
    Join(one.outputs, all.outputs);
    Join(one.layers, all.layers);
  }
  for (auto& [name, movement] : all.outputs) movement = OfGroups(movement, eager.at(name).shape());
  for (auto& [name, movement] : all.layers) movement = OfGroups(movement, options.layers->at(name)->shape());
  return all;
}

}  // namespace skiff
