#include "graph/custom_types.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "graph/dim.h"
#include "graph/symbolic_rules.h"
#include "ops/custom.h"
#include "ops/shape_rules.h"

namespace skiff {

template <>
Status InferCustom(InferContext<Dim>& context) {
  return context.Error("a custom operator's shape rule is over numbers");
}

namespace {

/// Different enough that extents which agree at all of them are the same expression.
constexpr std::array<int64_t, 4> kProbes = {2, 3, 7, 11};

using Sizes = std::map<SymbolId, int64_t>;
using Types = std::vector<InferOutput<int64_t>>;

int64_t ValueAt(const Dim& dim, const Sizes& sizes) {
  return dim.Replace([&](SymbolId symbol) { return Dim(sizes.at(symbol)); }).value;
}

/// The `probe`-th size of each Symbol that its contract allows, another one for each Symbol.
Sizes SizesOf(const Graph& graph, const std::set<SymbolId>& symbols, size_t probe) {
  Sizes sizes;
  size_t turn = probe;
  for (const SymbolId id : symbols) {
    const Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
    const int64_t multiple = std::max<int64_t>(symbol.multiple, 1);
    const int64_t first = (std::max<int64_t>(symbol.min, 0) + multiple - 1) / multiple * multiple;
    const int64_t steps = symbol.max == Symbol::kUnbounded
                              ? kProbes.back()
                              : std::max<int64_t>((symbol.max - first) / multiple, 0);
    sizes[id] = first + std::min(kProbes[turn++ % kProbes.size()], steps) * multiple;
  }
  return sizes;
}

/// The rule's answer at these sizes.
Status TypesAt(const InferContext<Dim>& context, const Sizes& sizes, Types* types) {
  std::vector<InferInput<int64_t>> inputs(context.inputs.size());
  std::vector<std::vector<int64_t>> values(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InferInput<Dim>& from = context.inputs[i];
    inputs[i].present = from.present;
    inputs[i].dtype = from.dtype;
    inputs[i].rank = from.rank;
    for (int axis = 0; axis < from.rank; ++axis) inputs[i].extents[axis] = ValueAt(from.extents[axis], sizes);
    inputs[i].constant = from.constant;
    const bool known = from.values != nullptr && from.constant != nullptr;
    for (int64_t v = 0; known && v < from.value_count; ++v) values[i].push_back(from.values[v].value);
    if (!known) continue;
    inputs[i].values = values[i].data();
    inputs[i].value_count = from.value_count;
  }
  types->assign(context.outputs.size(), {});
  InferContext<int64_t> numbers{context.op,
                                context.attrs,
                                {inputs.data(), inputs.size()},
                                {types->data(), types->size()},
                                context.message};
  return FindOp(context.op)->infer(numbers);
}

/// What an extent that was these numbers at these sizes is; nothing where no expression is found.
std::optional<Dim> ExpressionOf(const InferContext<Dim>& context, const std::vector<Sizes>& probes,
                                const std::vector<int64_t>& numbers) {
  const auto fits = [&](const Dim& dim) {
    for (size_t p = 0; p < probes.size(); ++p) {
      if (ValueAt(dim, probes[p]) != numbers[p]) return false;
    }
    return true;
  };
  if (const Dim constant(numbers[0]); fits(constant)) return constant;
  for (size_t i = kCustomFirst; i < context.inputs.size(); ++i) {
    for (int axis = 0; axis < context.inputs[i].rank; ++axis) {
      const Dim& extent = context.inputs[i].extents[axis];
      const Dim shifted = extent + Dim(numbers[0] - ValueAt(extent, probes[0]));
      if (fits(shifted)) return shifted;
    }
  }
  return {};
}

Dim Unknown(Graph& graph, const Node& node, int axis) {
  const SymbolId id = graph.AddFreshSymbol(fmt::format("{}#{}", node.name, axis));
  return Dim::OfSymbol(id, graph.symbols()[static_cast<size_t>(id)]);
}

/// Without a rule, what the file states; an open extent is the device's to tell.
bool TakeStated(Graph& graph, const Node& node, InferContext<Dim>& context) {
  const InferInput<Dim>& stated = context.inputs[kCustomTypes];
  if (!stated.present || stated.values == nullptr) return false;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < stated.value_count; ++i) numbers.push_back(stated.values[i].value);
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    InferOutput<int64_t> type;
    if (!DeclaredCustomType(numbers.data(), stated.value_count, i, &type)) return false;
    context.outputs[i].dtype = type.dtype;
    context.outputs[i].rank = type.rank;
    for (int axis = 0; axis < type.rank; ++axis)
      context.outputs[i].extents[axis] =
          type.extents[axis] < 0 ? Unknown(graph, node, axis) : Dim(type.extents[axis]);
  }
  return true;
}

}  // namespace

Status InferCustomTypes(Graph& graph, const Node& node, InferContext<Dim>& context) {
  if (context.As<CustomAttrs>().registered == nullptr && context.inputs.size() >= kCustomFirst &&
      TakeStated(graph, node, context))
    return OkStatus();
  std::set<SymbolId> symbols;
  for (const InferInput<Dim>& input : context.inputs) {
    for (int axis = 0; axis < input.rank; ++axis)
      input.extents[axis].VisitSymbols([&](SymbolId symbol) { symbols.insert(symbol); });
  }
  std::vector<Sizes> probes;
  std::vector<Types> answers;
  for (size_t p = 0; p < (symbols.empty() ? 1 : kProbes.size()); ++p) {
    probes.push_back(SizesOf(graph, symbols, p));
    if (const Status status = TypesAt(context, probes.back(), &answers.emplace_back()); !status.ok())
      return status;
  }
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    const InferOutput<int64_t>& first = answers[0][i];
    context.outputs[i].dtype = first.dtype;
    context.outputs[i].rank = first.rank;
    for (const Types& answer : answers) {
      if (answer[i].dtype != first.dtype || answer[i].rank != first.rank)
        return context.Error("the shape rule gives output %zu another dtype or rank at other sizes", i);
    }
    for (int axis = 0; axis < first.rank; ++axis) {
      std::vector<int64_t> numbers;
      for (const Types& answer : answers) numbers.push_back(answer[i].extents[axis]);
      const std::optional<Dim> known = ExpressionOf(context, probes, numbers);
      context.outputs[i].extents[axis] = known ? *known : Unknown(graph, node, axis);
    }
  }
  return OkStatus();
}

}  // namespace skiff
