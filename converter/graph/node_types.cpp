#include "graph/node_types.h"

#include <algorithm>
#include <optional>

#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/shape_program.h"
#include "graph/symbolic_rules.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// No tensor may be larger; the bytes of all others can be computed without overflow.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

void CheckSize(const Graph& graph, const Node& node, const ValueType& type) {
  if (graph.nominal_sizes) return;
  int64_t bytes = DTypeSize(type.dtype);
  for (const Dim& dim : type.dims) {
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(dim.bounds().min, 0), &bytes) ||
        bytes > kMaxTensorBytes) {
      Throw(StatusCode::kInvalidModel, "{}: the output {} would be larger than {} bytes",
            DescribeNode(graph, node), DimsText(graph, type.dims), kMaxTensorBytes);
    }
  }
}

using Elements = std::vector<Dim>;

/// Describes a node's inputs to its shape rule; owns what the description points to.
class Description {
 public:
  Description(const Graph& graph, const Node& node) : graph_(graph), node_(node), def_(*FindOp(node.op)) {
    inputs_.resize(std::max<size_t>(node.inputs.size(), def_.min_inputs));
    elements_.resize(inputs_.size());
    known_.resize(inputs_.size());
    outputs_.resize(node.outputs.size());
    for (size_t i = 0; i < inputs_.size(); ++i) Describe(i);
  }

  InferContext<Dim> context() {
    return {node_.op,
            &node_.attrs,
            {inputs_.data(), inputs_.size()},
            {outputs_.data(), outputs_.size()},
            message_};
  }
  const KnownInputs& known() const { return known_; }
  const char* message() const { return message_; }
  std::vector<InferOutput<Dim>>& outputs() { return outputs_; }

 private:
  void Describe(size_t i) {
    if (i >= node_.inputs.size() || node_.inputs[i] == kNoValue) {
      if (IsOptionalInput(def_, i)) return;
      Throw(StatusCode::kInvalidModel, "{}: input {} is missing", DescribeNode(graph_, node_), i);
    }
    const Value& value = graph_.value(node_.inputs[i]);
    if (value.dtype == DType::kInvalid || !value.has_shape) {
      Throw(StatusCode::kInvalidModel, "{}: the shape of input {}, '{}', is not known",
            DescribeNode(graph_, node_), i, value.name);
    }
    InferInput<Dim>& input = inputs_[i];
    input.present = true;
    input.dtype = value.dtype;
    input.rank = static_cast<int>(value.dims.size());
    std::copy(value.dims.begin(), value.dims.end(), input.extents);
    if (value.constant) input.constant = value.constant->data();
    elements_[i] = KnownElements(graph_, node_.inputs[i]);
    if (!elements_[i] && def_.NeedsValues(i) && value.constant && !IsFloat(value.dtype)) {
      const std::vector<int64_t> numbers =
          value.constant->ToInts();  // Longer than shape arithmetic cares for.
      elements_[i] = std::make_shared<Elements>(numbers.begin(), numbers.end());
    }
    if (!elements_[i]) return;
    known_[i] = elements_[i].get();
    input.values = elements_[i]->data();
    input.value_count = static_cast<int64_t>(elements_[i]->size());
  }

  const Graph& graph_;
  const Node& node_;
  const OpDef& def_;
  std::vector<InferInput<Dim>> inputs_;
  std::vector<std::shared_ptr<const Elements>> elements_;
  KnownInputs known_;
  std::vector<InferOutput<Dim>> outputs_;
  char message_[InferContext<Dim>::kMessageBytes] = "";
};

/// Whether any extent or needed number is open: a refusal may then be for want of numbers.
bool HasOpenNumbers(const InferContext<Dim>& context) {
  const auto open = [](const Dim& dim) { return !dim.constant(); };
  const OpDef* def = FindOp(context.op);
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    const InferInput<Dim>& input = context.inputs[i];
    if (std::any_of(input.extents, input.extents + input.rank, open)) return true;
    if (std::any_of(input.values, input.values + input.value_count, open)) return true;
    if (input.present && def->NeedsValues(i) && input.values == nullptr && input.constant == nullptr)
      return true;
  }
  return false;
}

/// Whether an operator that takes a part of its input leaves this axis alone.
bool KeepsAxis(const InferContext<Dim>& context, int axis) {
  const int rank = context.inputs[0].rank;
  if (context.op == OpCode::kSplit) return NormalizeAxis(context.As<SplitAttrs>().axis, rank) != axis;
  if (!context.Has(3) || context.inputs[3].values == nullptr) return false;
  const InferInput<Dim>& axes = context.inputs[3];
  return std::all_of(axes.values, axes.values + axes.value_count, [&](const Dim& sliced) {
    return sliced.constant() && NormalizeAxis(sliced.value, rank) != axis;
  });
}

/// What is known of an extent that a rule refused to tell: all of it, or its largest value.
struct PartlyKnown {
  std::optional<Dim> extent;
  int64_t most = Symbol::kUnbounded;
};

int64_t Largest(const Dim& dim) { return std::max<int64_t>(dim.bounds().max, 0); }

/// A part is no larger than the whole.
PartlyKnown ExtentOfPart(const InferContext<Dim>& context, int, int axis) {
  const Dim& whole = context.inputs[0].extents[axis];
  if (KeepsAxis(context, axis)) return {whole};
  return {{}, Largest(whole)};
}

/// A number in the target is an extent, a copy of the input's where it is 0, or for -1 what remains of the
/// elements.
PartlyKnown ReshapedExtent(const InferContext<Dim>& context, int, int axis) {
  const InferInput<Dim>& x = context.inputs[0];
  const InferInput<Dim>& target = context.inputs[1];
  if (target.values == nullptr || axis >= target.value_count) return {};
  const Dim& number = target.values[axis];
  const bool copies = axis < x.rank && !context.As<ReshapeAttrs>().allow_zero;
  if (IsPositive(number)) return {number};
  if (copies && number == Dim(0)) return {x.extents[axis]};
  int64_t most = Largest(number);
  if (copies) most = std::max(most, Largest(x.extents[axis]));
  if (IsNonNegative(number)) return {{}, most};
  Dim elements(1);  // Copied extents do not count, so that none of the factors may be 0.
  for (int i = 0; i < x.rank; ++i) elements = elements * MaxExtent(x.extents[i], Dim(1));
  return {{}, std::max(most, Largest(elements))};
}

/// The larger one of two that are broadcast, or 0.
PartlyKnown ExpandedExtent(const InferContext<Dim>& context, int rank, int axis) {
  const InferInput<Dim>& x = context.inputs[0];
  const InferInput<Dim>& target = context.inputs[1];
  if (target.values == nullptr) return {};
  const int64_t in_x = axis - (rank - x.rank);
  const int64_t in_target = axis - (rank - target.value_count);
  const int64_t most = in_x < 0 ? 0 : Largest(x.extents[in_x]);
  return {{}, in_target < 0 ? most : std::max(most, Largest(target.values[in_target]))};
}

struct PartlyKnownRow {
  OpCode op;
  PartlyKnown (*extent)(const InferContext<Dim>& context, int rank, int axis);
};
constexpr PartlyKnownRow kPartlyKnown[] = {{OpCode::kSlice, ExtentOfPart},
                                           {OpCode::kSplit, ExtentOfPart},
                                           {OpCode::kReshape, ReshapedExtent},
                                           {OpCode::kExpand, ExpandedExtent}};

/// The dimensions that a rule cannot tell: Symbols of their own.
void FillOpaque(Graph& graph, const Node& node, const InferContext<Dim>& context, InferOutput<Dim>& output,
                int rank) {
  const auto* row = std::find_if(std::begin(kPartlyKnown), std::end(kPartlyKnown),
                                 [&](const PartlyKnownRow& other) { return other.op == context.op; });
  output.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    const PartlyKnown known =
        row == std::end(kPartlyKnown) ? PartlyKnown() : row->extent(context, rank, axis);
    if (known.extent) {
      output.extents[axis] = *known.extent;
      continue;
    }
    const SymbolId id = graph.AddFreshSymbol(fmt::format("{}#{}", node.name, axis));
    Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
    symbol.max = known.most;
    output.extents[axis] = Dim::OfSymbol(id, symbol);
  }
}

}  // namespace

bool IsOptionalInput(const OpDef& op, size_t i) {
  return i >= op.min_inputs || (op.code == OpCode::kResize2d && i == 1);
}

std::shared_ptr<const std::vector<Dim>> KnownElements(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.elements || !value.constant || IsFloat(value.dtype)) return value.elements;
  if (value.constant->elements() > kMaxShapeElements) return nullptr;
  const std::vector<int64_t> numbers = value.constant->ToInts();
  return std::make_shared<Elements>(numbers.begin(), numbers.end());
}

bool CanInfer(const Graph& graph, const Node& node) {
  const auto typed = [](const Value& value) { return value.dtype != DType::kInvalid && value.has_shape; };
  for (const Graph& body : node.bodies) {
    for (const GraphPort& port : body.outputs()) {
      if (!typed(body.value(port.value))) return false;
    }
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = graph.value(node.inputs[i]);
    if (!typed(value)) return false;
    if (NeedsValues(node, i) && !value.constant && !value.elements) return false;
  }
  return true;
}

std::vector<ValueType> InferTypes(Graph& graph, const Node& node) {
  if (FindOp(node.op)->Is(kBodies)) return BodyResults(graph, node);
  Description description(graph, node);
  InferContext<Dim> context = description.context();
  if (!InferSymbolic(context).ok()) {
    DType dtype = DType::kInvalid;
    int rank = 0;
    const bool opaque = HasOpenNumbers(context) && OpaqueType(context, &dtype, &rank);
    if (!opaque) Throw(StatusCode::kInvalidModel, "{}: {}", DescribeNode(graph, node), description.message());
    for (InferOutput<Dim>& output : description.outputs()) {
      output.dtype = dtype;
      FillOpaque(graph, node, context, output, rank);
    }
  }
  std::vector<ValueType> types;
  for (const InferOutput<Dim>& output : description.outputs()) {
    types.push_back({output.dtype, {output.extents, output.extents + output.rank}, nullptr});
    CheckSize(graph, node, types.back());
  }
  if (types.size() == 1 && !IsFloat(types[0].dtype)) {
    bool computed = false;
    std::vector<Dim> elements = SymbolicElements(context, description.known(), &computed);
    if (computed) types[0].elements = std::make_shared<Elements>(std::move(elements));
  }
  return types;
}

TensorData StaticShape(const Graph& graph, const Node& node) {
  const auto& attrs = node.As<ShapeAttrs>();
  const Shape shape = graph.value(node.inputs[0]).shape();
  const int64_t rank = shape.rank();
  const auto position = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  std::vector<int64_t> extents;
  for (int64_t axis = position(attrs.start); axis < position(attrs.end); ++axis) {
    extents.push_back(shape[static_cast<int>(axis)]);
  }
  return TensorData::OfInts(extents);
}

std::string DescribeNode(const Graph& graph, const Node& node) {
  std::string text = fmt::format("node '{}' ({})", node.name, FindOp(node.op)->name);
  if (!node.sources.empty()) {
    const SourceNode& source = graph.sources()[static_cast<size_t>(node.sources[0])];
    text += fmt::format(", which comes from {} '{}'", source.op, source.name);
  }
  return text;
}

std::string DimsText(const Graph& graph, const std::vector<Dim>& dims) {
  std::vector<std::string> texts;
  for (const Dim& dim : dims) {
    texts.push_back(dim.Text([&](SymbolId id) { return graph.symbols()[static_cast<size_t>(id)].name; }));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace skiff
