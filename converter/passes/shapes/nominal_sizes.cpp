#include "passes/shapes/nominal_sizes.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/node_types.h"
#include "graph/shape_program.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Large enough not to be some layer's width, small enough for the product of four of them and a few thousand
/// channels.
constexpr int64_t kSmallest = 2003;
/// Passes multiply extents.
constexpr int64_t kMostElements = int64_t{1} << 56;
constexpr int kAttempts = 8;

bool IsPrime(int64_t number) {
  for (int64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) return false;
  }
  return number > 1;
}

template <class Visit>
void ForEachDim(const Graph& graph, Visit&& visit) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    for (const Dim& dim : graph.value(id).dims) visit(dim);
  }
}

}  // namespace

std::optional<NominalSizes> NominalSizes::Choose(const Graph& graph, const NominalSizes* others) {
  int64_t next = others == nullptr || others->sizes_.empty() ? kSmallest : others->sizes_.back() + 2;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    NominalSizes sizes;
    for (size_t i = 0; i < graph.symbols().size(); ++i) {
      while (!IsPrime(next)) next += 2;
      sizes.sizes_.push_back(next);
      next += 32 + 2 * attempt;
      if (next % 2 == 0) ++next;
    }
    if (sizes.TooLarge(graph)) return {};  // Those of the next attempt are larger.
    if (sizes.TellsApart(graph)) return sizes;
  }
  return {};
}

/// -1 for a dimension with Symbols that came after the choice: extents that only the device knows.
int64_t NominalSizes::NumberOf(const Dim& dim) const {
  const Dim number = dim.Replace([&](SymbolId symbol) {
    const auto i = static_cast<size_t>(symbol);
    return i < sizes_.size() ? Dim(sizes_[i]) : Dim::OfSymbol(symbol);
  });
  return number.constant() ? number.value : -1;
}

/// Whether some tensor would have more elements than passes can reckon with.
bool NominalSizes::TooLarge(const Graph& graph) const {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    int64_t elements = 1;
    for (const Dim& dim : graph.value(id).dims) {
      if (__builtin_mul_overflow(elements, std::max<int64_t>(NumberOf(dim), 1), &elements) ||
          elements > kMostElements)
        return true;
    }
  }
  return false;
}

bool NominalSizes::TellsApart(const Graph& graph) {
  bool apart = true;
  ForEachDim(graph, [&](const Dim& dim) {
    if (dim.constant()) {
      numbers_.insert(dim.value);
      return;
    }
    const auto [found, fresh] = expressions_.try_emplace(NumberOf(dim), dim);
    apart = apart && found->first > 1 && (fresh || found->second == dim);
  });
  return apart &&
         std::none_of(numbers_.begin(), numbers_.end(), [&](int64_t n) { return expressions_.contains(n); });
}

void NominalSizes::Apply(Graph& graph) const {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    for (Dim& dim : graph.value(id).dims) dim = Dim(NumberOf(dim));
    graph.value(id).elements = nullptr;
  }
  graph.nominal_sizes = true;
}

/// A list of numbers that the pass wrote: only a Reshape's target may hold sizes, which become -1 or 0.
bool NominalSizes::RestoreConstant(Graph& graph, NodeId id, int input) const {
  const auto numbers = IntConstant(graph, graph.node(id).inputs[static_cast<size_t>(input)]);
  if (!numbers) return true;
  const bool reshapes = graph.node(id).op == OpCode::kReshape && input == 1;
  const auto is_size = [&](int64_t number) {
    return expressions_.contains(number) || (reshapes && number >= kSmallest && !numbers_.contains(number));
  };
  if (std::none_of(numbers->begin(), numbers->end(), is_size)) return true;
  if (!reshapes) return false;
  const std::vector<Dim>& from = graph.value(graph.node(id).inputs[0]).dims;  // Expressions again.
  std::vector<int64_t> target;
  int derived = 0;
  for (size_t i = 0; i < numbers->size(); ++i) {
    const int64_t number = (*numbers)[i];
    const bool copied = i < from.size() && !from[i].constant() && NumberOf(from[i]) == number;
    if (number == 0) return false;
    target.push_back(copied ? 0 : is_size(number) ? -1 : number);
    derived += target.back() == -1 ? 1 : 0;
  }
  if (derived > 1) return false;
  const std::string name = graph.value(graph.node(id).outputs[0]).name + ".shape";
  graph.SetInput(id, input, graph.AddConstant(name, TensorData::OfInts(target)));
  graph.node(id).As<ReshapeAttrs>().allow_zero = false;
  return true;
}

/// What is equal at the nominal sizes alone has lost a check of other sizes on the way.
bool NominalSizes::SameDims(const Value& before, const Value& after) const {
  return std::equal(before.dims.begin(), before.dims.end(), after.dims.begin(), after.dims.end(),
                    [this](const Dim& a, const Dim& b) { return NumberOf(b) < 0 || a == b; });
}

bool NominalSizes::Restore(const Graph& original, Graph& sized) const {
  sized.nominal_sizes = false;
  for (ValueId id = 0; id < original.value_count(); ++id) {
    const Value& before = original.value(id);
    Value& after = sized.value(id);
    if (before.constant || after.constant || before.producer != kNoNode) continue;
    after.dims = before.dims;  // Inputs.
    after.elements = before.elements;
  }
  try {
    for (const NodeId id : sized.TopologicalOrder()) {
      const Node& node = sized.node(id);
      std::vector<int64_t> numbers;
      for (const ValueId output : node.outputs) {
        for (const Dim& dim : sized.value(output).dims) numbers.push_back(dim.value);
      }
      std::vector<bool> needed;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == kNoValue || node.inputs[i] < original.value_count()) continue;
        if (needed.empty()) needed = NeededInputs(node);
        if (needed[i] && !RestoreConstant(sized, id, static_cast<int>(i))) return false;
      }
      // Elements that inference gave an original value are still right: the pass moves data, and shapes are
      // none.
      const auto known =
          node.outputs[0] < original.value_count() ? original.value(node.outputs[0]).elements : nullptr;
      InferNode(sized, id);
      if (known) sized.value(sized.node(id).outputs[0]).elements = known;
      size_t at = 0;
      for (const ValueId output : sized.node(id).outputs) {
        for (const Dim& dim : sized.value(output).dims) {
          const int64_t number = NumberOf(dim);
          if (number >= 0 && number != numbers[at]) return false;
          ++at;
        }
        if (output < original.value_count() && !SameDims(original.value(output), sized.value(output)))
          return false;
      }
    }
    for (size_t i = 0; i < original.outputs().size(); ++i) {
      if (!SameDims(original.value(original.outputs()[i].value), sized.value(sized.outputs()[i].value)))
        return false;
    }
  } catch (const Error&) {
    return false;  // The rules refuse what the pass has made: the graph stays as it was.
  }
  return true;
}

}  // namespace skiff
