#include "graph/node_types.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "graph/bodies.h"
#include "graph/custom_types.h"
#include "graph/error.h"
#include "graph/shape_program.h"
#include "graph/symbolic_hooks.h"
#include "graph/symbolic_rules.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// No tensor may be larger; the bytes of all others can be computed without overflow, and so can the strides
/// of those without elements.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

void CheckSize(const Graph& graph, const Node& node, const ValueType& type) {
  if (graph.nominal_sizes || !IsTooLarge(type.dtype, type.dims)) return;
  const bool empty = std::any_of(type.dims.begin(), type.dims.end(),
                                 [](const Dim& dim) { return dim.constant() && dim.value == 0; });
  Throw(StatusCode::kInvalidModel, "{}: the output {} would be larger than {} bytes{}",
        DescribeNode(graph, node), DimsText(graph, type.dims), kMaxTensorBytes,
        empty ? " but for its zeros" : "");
}

/// Longer expressions say nothing that anybody could use, and may double with each node (an extent that may
/// be 0 and is broadcast): they become Symbols.
constexpr size_t kLongestExpression = 256;

void Shorten(Graph& graph, const Node& node, Dim& dim) {
  if (dim.weight() <= kLongestExpression) return;
  const Bounds bounds = dim.bounds();
  const SymbolId id = graph.AddFreshSymbol(node.name);
  Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
  symbol.min = bounds.min;
  symbol.max = bounds.max;
  dim = Dim::OfSymbol(id, symbol);
}

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
    input.dtype = RuleDType(value.dtype, value.quantization.get());
    input.rank = static_cast<int>(value.dims.size());
    std::copy(value.dims.begin(), value.dims.end(), input.extents);
    if (value.quantization) return;
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
    const bool empty = std::any_of(input.extents, input.extents + input.rank,
                                   [](const Dim& dim) { return dim.constant() && dim.value == 0; });
    if (input.present && def->NeedsValues(i) && input.values == nullptr && input.constant == nullptr &&
        !empty)
      return true;
  }
  return false;
}

/// The dimensions that a rule cannot tell: Symbols of their own.
void FillOpaque(Graph& graph, const Node& node, const SymbolicHooks& hooks, const InferContext<Dim>& context,
                InferOutput<Dim>& output, int rank) {
  output.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    const PartlyKnown known = hooks.extent == nullptr ? PartlyKnown() : hooks.extent(context, rank, axis);
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

/// Of results that the rule did not get to.
DType OpaqueDType(const InferContext<Dim>& context, size_t output) {
  const bool places = context.op == OpCode::kNonZero || (context.op == OpCode::kTopK && output == 1);
  if (places) return DType::kI64;
  if (context.op == OpCode::kFill) return static_cast<DType>(context.As<FillAttrs>().dtype);
  if (context.op == OpCode::kRandom) return static_cast<DType>(context.As<RandomAttrs>().dtype);
  return context.inputs[0].dtype;
}

/// Whether a tensor of this dtype holds the number that the expressions say: they do not wrap around as its
/// elements would. Of i64 the arithmetic has made sure. An open extent that may get too large for i32 is
/// believed not to, but for what constants make of small ones.
bool Holds(DType dtype, const Elements& elements) {
  if (dtype == DType::kI64 || dtype == DType::kBool) return true;
  constexpr int64_t kSmallExtent = 1024;
  constexpr Bounds kRange = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  return dtype == DType::kI32 && std::none_of(elements.begin(), elements.end(), [&](const Dim& element) {
           const Bounds bounds = element.PlausibleBounds(kSmallExtent);
           return bounds.max > kRange.max || bounds.min < kRange.min;
         });
}

/// The elements of the only result; null where they are not known.
std::shared_ptr<const Elements> ElementsOf(Graph& graph, const SymbolicHooks& hooks,
                                           const InferContext<Dim>& context, const Node& node,
                                           const KnownInputs& known) {
  for (size_t i = 0; i < known.size() && context.op != OpCode::kShape; ++i) {
    if (known[i] == nullptr && context.Has(i)) return nullptr;
  }
  std::optional<Elements> elements = hooks.elements(context, known);
  if (!elements || elements->size() > static_cast<size_t>(kMaxShapeElements)) return nullptr;
  if (!Holds(context.outputs[0].dtype, *elements)) return nullptr;
  for (Dim& element : *elements) Shorten(graph, node, element);
  return std::make_shared<Elements>(*std::move(elements));
}

TensorView ViewOf(DType dtype, const std::vector<Dim>& dims, const QuantizationPtr& quantization) {
  Shape shape;
  for (const Dim& dim : dims) shape.Append(dim.constant() ? dim.value : -1);
  return TensorView(nullptr, dtype, shape, quantization.get());
}

}  // namespace

const char* DefectOfQuantization(const Value& value) {
  if (!value.quantization) return nullptr;
  const TensorView view = ViewOf(value.dtype, value.dims, value.quantization);
  return QuantizationDefect(*value.quantization, view.dtype, view.shape);
}

void CheckStandsForReal(DType rule, const std::string& speaker, size_t output) {
  if (IsFloat(rule)) return;
  Throw(StatusCode::kInvalidModel,
        "{}: output {} is {}, which stands for no real number and cannot be quantised", speaker, output,
        DTypeName(rule));
}

namespace {

/// Results are what they were declared to be, or have the quantisation of what is moved.
void Quantize(const Graph& graph, const Node& node, std::vector<ValueType>& types) {
  bool quantized = node.op == OpCode::kQuantize || node.op == OpCode::kDequantize ||
                   node.op == OpCode::kRequantize || node.op == OpCode::kToCodes ||
                   node.op == OpCode::kFromCodes || node.op == OpCode::kLookup;
  std::vector<TensorView> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = graph.value(node.inputs[i]);
    inputs[i] = ViewOf(value.dtype, value.dims, value.quantization);
    quantized |= value.quantization != nullptr || DTypeBits(value.dtype) == 4;
    if (DTypeBits(value.dtype) == 4 && !value.constant) {
      Throw(StatusCode::kInvalidModel, "{}: input {}, '{}', is {}, which only constants can be",
            DescribeNode(graph, node), i, value.name, DTypeName(value.dtype));
    }
  }
  const size_t moved_input = IsMoved(node.op, 0) ? 0 : 1;
  const TensorView from =
      QuantizedUseOf(node.op) == QuantizedUse::kMoves ? inputs[moved_input] : TensorView();
  std::vector<TensorView> outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& declared = graph.value(node.outputs[i]);
    if (declared.quantization) {
      CheckStandsForReal(types[i].dtype, DescribeNode(graph, node), i);
      types[i].dtype = declared.dtype;
      types[i].quantization = declared.quantization;
    } else if (Quantization moved;
               from.quantization != nullptr &&
               MovedQuantization(node.op, node.attrs, *from.quantization, from.shape.rank(), &moved)) {
      types[i].dtype = from.dtype;
      types[i].quantization = AlongAxis(graph.value(node.inputs[moved_input]).quantization, moved.axis);
    }
    if (DTypeBits(types[i].dtype) == 4 && !types[i].quantization) {
      Throw(StatusCode::kInvalidModel, "{}: output {} is {}, which only quantised constants can be",
            DescribeNode(graph, node), i, DTypeName(types[i].dtype));
    }
    quantized |= types[i].quantization != nullptr;
    outputs.push_back(ViewOf(types[i].dtype, types[i].dims, types[i].quantization));
  }
  if (!quantized) return;
  for (const std::vector<TensorView>* views : {&inputs, &outputs}) {
    for (size_t i = 0; i < views->size(); ++i) {
      const TensorView& view = (*views)[i];
      const char* defect = view.quantization == nullptr
                               ? nullptr
                               : QuantizationDefect(*view.quantization, view.dtype, view.shape);
      if (defect != nullptr) {
        Throw(StatusCode::kInvalidModel, "{}: the quantisation of {} {} is wrong: {}",
              DescribeNode(graph, node), views == &inputs ? "input" : "output", i, defect);
      }
    }
  }
  char message[InferContext<int64_t>::kMessageBytes] = "";
  const Status status = CheckQuantized(*FindOp(node.op), node.attrs, {inputs.data(), inputs.size()},
                                       {outputs.data(), outputs.size()}, message);
  if (!status.ok()) Throw(StatusCode::kInvalidModel, "{}: {}", DescribeNode(graph, node), message);
}

}  // namespace

bool IsOptionalInput(const OpDef& op, size_t i) {
  return i >= op.min_inputs || (op.code == OpCode::kResize2d && i == 1);
}

std::shared_ptr<const std::vector<Dim>> KnownElements(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.elements || !value.constant || value.quantization || IsFloat(value.dtype)) return value.elements;
  if (value.constant->elements() > kMaxShapeElements) return nullptr;
  const std::vector<int64_t> numbers = value.constant->ToInts();
  // Beyond 2^63 they are not what these say.
  const bool wraps = value.dtype == DType::kU64 &&
                     std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number < 0; });
  return wraps ? nullptr : std::make_shared<Elements>(numbers.begin(), numbers.end());
}

bool IsTooLarge(DType dtype, const std::vector<Dim>& dims) {
  int64_t bytes = DTypeSize(dtype);
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) {
    return __builtin_mul_overflow(bytes, std::max<int64_t>(dim.bounds().min, 1), &bytes) ||
           bytes > kMaxTensorBytes;
  });
}

bool CanInfer(const Graph& graph, const Node& node) {
  const auto typed = [](const Value& value) { return value.dtype != DType::kInvalid && value.has_shape; };
  for (const Graph& body : node.bodies) {
    for (const GraphPort& port : body.outputs()) {
      if (!typed(body.value(port.value))) return false;
    }
  }
  const std::vector<bool> needed = NeededInputs(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = graph.value(node.inputs[i]);
    if (!typed(value)) return false;
    if (needed[i] && !value.constant && !value.elements) return false;
  }
  return true;
}

std::vector<ValueType> InferTypes(Graph& graph, const Node& node) {
  if (FindOp(node.op)->Is(kBodies)) return BodyResults(graph, node);
  Refusal refusal;
  std::optional<std::vector<ValueType>> types = TryInferTypes(graph, node, &refusal);
  if (!types) Throw(StatusCode::kInvalidModel, "{}: {}", DescribeNode(graph, node), refusal.reason);
  return *std::move(types);
}

std::optional<std::vector<ValueType>> TryInferTypes(Graph& graph, const Node& node, Refusal* refusal) {
  Description description(graph, node);
  InferContext<Dim> context = description.context();
  const SymbolicHooks* hooks = FindSymbolicHooks(node.op);
  const bool custom = node.op == OpCode::kCustom;
  if (custom && !InferCustomTypes(graph, node, context).ok()) {
    *refusal = {description.message(), true};
    return {};
  }
  if (!custom && !InferSymbolic(context).ok()) {
    const bool open = HasOpenNumbers(context);
    const int rank = open && hooks != nullptr && hooks->rank != nullptr ? hooks->rank(context) : -1;
    if (rank < 0 || rank > kMaxRank || OpaqueDType(context, 0) == DType::kInvalid) {
      *refusal = {description.message(), !open};
      return {};
    }
    for (size_t i = 0; i < context.outputs.size(); ++i) {
      InferOutput<Dim>& output = context.outputs[i];
      // The results of a TopK are equally large, the parts of a Split need not be.
      if (i > 0 && node.op == OpCode::kTopK) {
        output = context.outputs[0];
      } else {
        FillOpaque(graph, node, *hooks, context, output, rank);
      }
      output.dtype = OpaqueDType(context, i);
    }
  }
  std::vector<ValueType> types;
  for (InferOutput<Dim>& output : description.outputs()) {
    for (int axis = 0; axis < output.rank; ++axis) Shorten(graph, node, output.extents[axis]);
    types.push_back({output.dtype, {output.extents, output.extents + output.rank}, nullptr, nullptr});
    CheckSize(graph, node, types.back());
  }
  Quantize(graph, node, types);
  if (types.size() == 1 && !IsFloat(types[0].dtype) && hooks != nullptr && hooks->elements != nullptr)
    types[0].elements = ElementsOf(graph, *hooks, context, node, description.known());
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
