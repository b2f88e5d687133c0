#include "import/node_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/half.h"
#include "graph/known_values.h"
#include "graph/typing.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"

namespace skiff {
namespace {

template <class T>
T FromNumber(double number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(number)) return 0;
    if (number <= static_cast<double>(Limits::min())) return Limits::min();
    if (number >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(number);
}

template <class T>
void Store(TensorData& data, const std::vector<double>& numbers) {
  std::transform(numbers.begin(), numbers.end(), static_cast<T*>(data.mutable_data()), FromNumber<T>);
}

}  // namespace

TensorData MakeConstant(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  TensorData data(dtype, shape);
  switch (dtype) {
    case DType::kF32:
      Store<float>(data, numbers);
      break;
    case DType::kF64:
      Store<double>(data, numbers);
      break;
    case DType::kI8:
      Store<int8_t>(data, numbers);
      break;
    case DType::kU8:
      Store<uint8_t>(data, numbers);
      break;
    case DType::kI16:
      Store<int16_t>(data, numbers);
      break;
    case DType::kU16:
      Store<uint16_t>(data, numbers);
      break;
    case DType::kI32:
      Store<int32_t>(data, numbers);
      break;
    case DType::kU32:
      Store<uint32_t>(data, numbers);
      break;
    case DType::kI64:
      Store<int64_t>(data, numbers);
      break;
    case DType::kU64:
      Store<uint64_t>(data, numbers);
      break;
    case DType::kBool:
      Store<bool>(data, numbers);
      break;
    case DType::kF16: {
      auto* out = static_cast<Half*>(data.mutable_data());
      for (double number : numbers) *out++ = Half(static_cast<float>(number));
      break;
    }
    case DType::kI4:
    case DType::kU4:
      Throw(StatusCode::kUnsupported, "computes with numbers of {}", DTypeName(dtype));
    case DType::kInvalid:
      Throw(StatusCode::kInternal, "no importer makes constants of {}", DTypeName(dtype));
  }
  return data;
}

DType WholeDType(DType dtype) {
  if (DTypeBits(dtype) != 4) return dtype;
  return dtype == DType::kI4 ? DType::kI8 : DType::kU8;
}

TensorData WholeElements(TensorData data) {
  if (DTypeBits(data.dtype()) != 4) return data;
  const std::vector<int64_t> integers = data.ToInts();
  return MakeConstant(WholeDType(data.dtype()), data.shape(), {integers.begin(), integers.end()});
}

NodeBuilder::NodeBuilder(Graph& graph, UntypedReasons& untyped, Call call)
    : graph_(graph),
      untyped_(untyped),
      call_(std::move(call)),
      results_(call_.output_names.size(), kNoValue) {}

std::string NodeBuilder::Where() const {
  return fmt::format("node '{}' ({})", call_.label, call_.operator_name);
}

ValueId NodeBuilder::Input(size_t i) const {
  if (!HasInput(i)) Invalid("input {} is missing; the node has {} inputs", i, call_.inputs.size());
  return call_.inputs[i];
}

ValueId NodeBuilder::OptionalInput(size_t i) const { return HasInput(i) ? call_.inputs[i] : kNoValue; }

std::string NodeBuilder::WhyUntyped(ValueId value) const {
  const auto found = untyped_.find(value);
  return found == untyped_.end() ? "" : ": " + found->second;
}

DType NodeBuilder::DTypeOf(ValueId value) const {
  const DType dtype = graph_.value(value).dtype;
  if (dtype == DType::kInvalid) {
    Unsupported("needs the element type of '{}', which is not known{}", graph_.value(value).name,
                WhyUntyped(value));
  }
  return dtype;
}

int NodeBuilder::RankOf(ValueId value) const {
  if (!graph_.value(value).has_shape) {
    Unsupported(
        "needs the rank of '{}', which is not known{}; export the model with fixed "
        "shapes",
        graph_.value(value).name, WhyUntyped(value));
  }
  return static_cast<int>(graph_.value(value).dims.size());
}

bool NodeBuilder::HasRank(ValueId value, int rank) const {
  return graph_.value(value).has_shape && static_cast<int>(graph_.value(value).dims.size()) == rank;
}

std::optional<int64_t> NodeBuilder::ExtentOf(ValueId value, int64_t axis) const {
  const std::vector<Dim>& dims = graph_.value(value).dims;
  if (!graph_.value(value).has_shape || axis < 0 || axis >= static_cast<int64_t>(dims.size())) return {};
  const Dim& dim = dims[static_cast<size_t>(axis)];
  return dim.constant() ? std::optional(dim.value) : std::nullopt;
}

Shape NodeBuilder::ShapeOf(ValueId value) const {
  Shape shape;
  for (int axis = 0; axis < RankOf(value); ++axis) shape.Append(ExtentOf(value, axis).value_or(-1));
  return shape;
}

std::optional<std::vector<int64_t>> NodeBuilder::ExtentsOf(ValueId value, int64_t start, int64_t end) const {
  std::vector<int64_t> extents;
  for (int64_t axis = start; axis < end; ++axis) {
    const std::optional<int64_t> extent = ExtentOf(value, axis);
    if (!extent) return {};
    extents.push_back(*extent);
  }
  return extents;
}

bool NodeBuilder::SameExtents(ValueId a, int64_t axis_of_a, ValueId b, int64_t axis_of_b) const {
  const auto extent = [&](ValueId value, int64_t axis) -> const Dim* {
    const std::vector<Dim>& dims = graph_.value(value).dims;
    return axis < static_cast<int64_t>(dims.size()) ? &dims[static_cast<size_t>(axis)] : nullptr;
  };
  const Dim* left = extent(a, axis_of_a);
  const Dim* right = extent(b, axis_of_b);
  return left != nullptr && right != nullptr && *left == *right;
}

const TensorData* NodeBuilder::ConstantOf(ValueId value) const {
  if (value == kNoValue) return nullptr;
  const std::optional<TensorData>& constant = graph_.value(value).constant;
  return constant ? &*constant : nullptr;
}

std::optional<TensorData> NodeBuilder::KnownValueOf(ValueId value) const {
  return FindKnownValue(graph_, value);
}

std::pair<ValueId, int64_t> NodeBuilder::PartOf(ValueId list, int64_t index) const {
  while (graph_.value(list).producer != kNoNode) {
    const Node& node = graph_.node(graph_.value(list).producer);
    if (node.op != OpCode::kConcat || !HasRank(list, 1)) break;
    size_t part = 0;
    std::optional<int64_t> length = ExtentOf(node.inputs[0], 0);
    int64_t left = index;
    while (length && left >= *length && part + 1 < node.inputs.size()) {
      left -= *length;
      length = ExtentOf(node.inputs[++part], 0);
    }
    if (!length || left >= *length) break;
    list = node.inputs[part];
    index = left;
  }
  return {list, index};
}

std::optional<double> NodeBuilder::NumberAt(ValueId list, int64_t index) const {
  const auto [part, place] = PartOf(list, index);
  const std::optional<TensorData> known = KnownValueOf(part);
  if (!known || place >= known->elements()) return {};
  return known->ToDoubles(place, place + 1)[0];
}

bool NodeBuilder::IsExtent(ValueId list, int64_t index, ValueId x, int64_t axis) const {
  const std::vector<Dim>& extents = graph_.value(x).dims;
  if (axis >= static_cast<int64_t>(extents.size())) return false;
  const Dim& extent = extents[static_cast<size_t>(axis)];
  const auto [part, place] = PartOf(list, index);
  const auto elements = ElementsOf(part);
  if (elements && place < static_cast<int64_t>(elements->size()))
    return (*elements)[static_cast<size_t>(place)] == extent;
  const std::optional<double> number = NumberAt(part, place);
  return number && extent.constant() && static_cast<double>(extent.value) == *number;
}

std::shared_ptr<const std::vector<Dim>> NodeBuilder::ElementsOf(ValueId value) const {
  return KnownElements(graph_, value);
}

std::vector<int64_t> NodeBuilder::ConstantInts(size_t i, const char* what) const {
  const std::optional<TensorData> data = KnownValueOf(Input(i));
  if (!data) {
    Unsupported("computes its {} at run time; export the model so that they are constant", what);
  }
  if (IsFloat(data->dtype())) {
    Invalid("the {} (input {}) must be integers, not {}", what, i, DTypeName(data->dtype()));
  }
  return data->ToInts();
}

Ints NodeBuilder::ToInts(const std::vector<int64_t>& values, const char* what) const {
  if (values.size() > kMaxRank) {
    Invalid("{} has {} values; at most {} are possible", what, values.size(), kMaxRank);
  }
  Ints ints;
  for (int64_t value : values) ints[ints.size++] = value;
  return ints;
}

std::string NodeBuilder::OutputName(size_t i) const {
  if (i >= call_.output_names.size())
    Invalid("output {} is missing; the node has {} outputs", i, call_.output_names.size());
  const std::string& name = call_.output_names[i];
  return name.empty() ? fmt::format("{}/unused_{}", PrefixOf(call_.label), i) : name;
}

std::string NodeBuilder::HelperName(const char* suffix) const {
  return fmt::format("{}/{}", PrefixOf(call_.output_names.empty() ? call_.label : OutputName(0)), suffix);
}

ValueId NodeBuilder::Whole(ValueId value) {
  const TensorData* packed = ConstantOf(value);
  if (packed == nullptr || DTypeBits(packed->dtype()) != 4 || packed->quantization()) return value;
  CheckRoom(packed->elements());
  return AddConstant(PrefixOf(graph_.value(value).name) + "/whole", WholeElements(*packed));
}

NodeId NodeBuilder::AddNode(OpCode op, std::vector<ValueId> inputs,
                            const std::vector<std::string>& output_names, const char* suffix) {
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  const OpDef& def = *FindOp(op);
  if (inputs.size() > def.max_inputs && def.max_inputs != kVariadic) {
    Invalid("the node has {} inputs; at most {} were expected", inputs.size(), def.max_inputs);
  }
  if (inputs.size() < def.min_inputs) {
    Invalid("the node has {} inputs; at least {} were expected", inputs.size(), def.min_inputs);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue && !IsOptionalInput(def, i)) Invalid("input {} is missing", i);
  }
  size_t name_bytes = 0;
  for (const std::string& name : output_names) name_bytes += name.size();
  CountMade(name_bytes);
  for (ValueId& input : inputs) input = Whole(input);
  const NodeId id = graph_.AddNode(op, std::move(inputs), output_names);
  Node& node = graph_.node(id);
  node.name = suffix == nullptr ? call_.label : fmt::format("{}/{}", PrefixOf(call_.label), suffix);
  node.sources = {call_.source};
  if (call_.sums && (op == OpCode::kConv2d || op == OpCode::kMatMul || op == OpCode::kAdd)) {
    Value& sum = graph_.value(node.outputs[0]);
    sum.dtype = DType::kI32;
    sum.quantization = call_.sums;
  }
  return id;
}

std::vector<ValueId> NodeBuilder::Finish(NodeId id) {
  std::vector<ValueId> outputs = graph_.node(id).outputs;
  const std::optional<Refusal> refusal = TypeAddedNode(graph_, id);
  for (const ValueId output : outputs) CountScales(graph_.value(output).quantization);
  if (!refusal) return outputs;
  if (refusal->at_any_size) Invalid("{}", refusal->reason);
  // The first node of a chain that could not be typed is the one to tell of.
  std::string reason = fmt::format("{}: {}", Where(), refusal->reason);
  for (const ValueId input : graph_.node(id).inputs) {
    if (const auto found = untyped_.find(input); found != untyped_.end()) reason = found->second;
  }
  for (const ValueId output : outputs) untyped_[output] = reason;
  return outputs;
}

void NodeBuilder::Declare(NodeId id, size_t first) {
  const Node& node = graph_.node(id);
  if (QuantizedUseOf(node.op) == QuantizedUse::kMoves) return;  // Inference knows what is moved.
  for (size_t i = 0; i < node.outputs.size() && first + i < call_.declared.size(); ++i) {
    const DeclaredType& declared = call_.declared[first + i];
    if (!declared.quantization) continue;
    Value& value = graph_.value(node.outputs[i]);
    value.dtype = declared.dtype;
    value.quantization = declared.quantization;
  }
}

ValueId NodeBuilder::UnderDeclared(ValueId value, size_t i) {
  if (i >= call_.declared.size()) return value;
  const QuantizationPtr moved = graph_.value(value).quantization;
  const DeclaredType& declared = call_.declared[i];
  if (!declared.quantization || SameQuantization(moved, declared.quantization)) return value;
  if (!moved && graph_.value(value).dtype != declared.dtype) return value;
  const ValueId codes =
      moved ? Emit("codes", OpCode::kToCodes, {value}, CastAttrs{static_cast<int64_t>(declared.dtype)})
            : value;
  return EmitQuantized("as_declared", OpCode::kFromCodes, {codes}, declared.dtype, declared.quantization);
}

void NodeBuilder::SetOutput(size_t i, ValueId value) {
  value = UnderDeclared(value, i);
  results_[i] = value;
  if (!call_.nested) graph_.value(value).source = call_.output_names[i];
}

NodeBuilder::PartialType NodeBuilder::TypeOf(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return {value.dtype, value.has_shape ? std::optional(value.dims) : std::nullopt, value.quantization};
}

ValueId NodeBuilder::WithOpenExtents(const char* suffix, ValueId value, const std::vector<int>& axes) {
  const ValueId open = Emit(suffix, OpCode::kIdentity, {value});
  for (const int axis : axes) {
    const SymbolId id = graph_.AddFreshSymbol(fmt::format("{}#{}", call_.label, axis));
    graph_.value(open).dims[static_cast<size_t>(axis)] = Dim::OfSymbol(id);
  }
  return open;
}

NodeBuilder::PartialType NodeBuilder::Common(const PartialType& a, const PartialType& b) {
  // Both have one dtype; where that of one is not known, it is the other's.
  PartialType common{a.dtype == DType::kInvalid ? b.dtype : a.dtype, {}, a.quantization};
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return common;
  common.dims = a.dims;
  for (size_t i = 0; i < a.dims->size(); ++i) {
    if ((*a.dims)[i] == (*b.dims)[i]) continue;
    (*common.dims)[i] = Dim::OfSymbol(graph_.AddFreshSymbol(fmt::format("{}#{}", call_.label, i)));
  }
  return common;
}

Graph NodeBuilder::NewBody(const std::vector<ValueId>& inputs) const {
  if (call_.budget != nullptr) call_.budget->CountBody(graph_.symbols().size(), call_.label);
  Graph body;
  body.symbols() = graph_.symbols();
  for (const ValueId input : inputs) {
    const Value& like = graph_.value(input);
    const ValueId value = body.AddInput(like.name, like.dtype, like.dims, like.quantization);
    body.value(value).has_shape = like.has_shape;
    body.value(value).source.clear();
  }
  return body;
}

NodeBuilder NodeBuilder::In(Graph& body, UntypedReasons& untyped) const {
  Call call;
  call.label = call_.label;
  call.operator_name = call_.operator_name;
  call.source = body.AddSource(call.label, call.operator_name);
  call.budget = call_.budget;
  return {body, untyped, std::move(call)};
}

std::vector<ValueId> NodeBuilder::OutputBodies(OpCode op, std::vector<ValueId> inputs,
                                               std::vector<Graph> bodies,
                                               const std::vector<PartialType>& types,
                                               const std::vector<int>& places) {
  if (types.empty()) Invalid("its bodies return nothing");
  std::vector<std::string> names;
  for (size_t i = 0; i < types.size(); ++i)
    names.push_back(places[i] >= 0 ? OutputName(static_cast<size_t>(places[i]))
                                   : fmt::format("{}/{}", PrefixOf(call_.label), i));
  const NodeId id = AddNode(op, std::move(inputs), names, nullptr);
  graph_.node(id).bodies = std::move(bodies);
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId value = graph_.node(id).outputs[i];
    graph_.value(value).dtype = types[i].dtype;
    graph_.value(value).has_shape = types[i].dims.has_value();
    graph_.value(value).dims = types[i].dims.value_or(std::vector<Dim>{});
    graph_.value(value).quantization = types[i].quantization;
    if (places[i] >= 0) SetOutput(static_cast<size_t>(places[i]), value);
  }
  return graph_.node(id).outputs;
}

void NodeBuilder::CheckRoom(int64_t bytes) const {
  if (call_.budget == nullptr || bytes <= call_.budget->constant_bytes_left) return;
  Spent(
      "it needs a constant of {} MiB, and with it what Skiff makes of the model has constants of more than "
      "{} "
      "MiB beside {} times the size of the file; make the tensors smaller, or convert the model in parts",
      (bytes + (1 << 20) - 1) >> 20, ImportBudget::kFreeConstantBytes >> 20, ImportBudget::kGrowth);
}

void NodeBuilder::CountMade(size_t name_bytes) const {
  constexpr size_t kBytesInOne = 256;
  if (call_.budget == nullptr) return;
  call_.budget->nodes_left -= static_cast<int64_t>(1 + name_bytes / kBytesInOne);
  if (call_.budget->nodes_left >= 0) return;
  Spent(
      "with it the model becomes more than {} nodes and constants (long names count as more), beside {} for "
      "each node of the file; export it so that it does not go through tensors one by one, or convert it in "
      "parts",
      ImportBudget::kFreeNodes, ImportBudget::kNodesPerNode);
}

void NodeBuilder::CountScales(const QuantizationPtr& quantization) const {
  constexpr int64_t kBytesOfScale = sizeof(float) + sizeof(int32_t);  // With its zero point.
  if (quantization && !quantization->per_tensor()) TakeBytes(quantization->count * kBytesOfScale);
}

void NodeBuilder::TakeBytes(int64_t bytes) const {
  CheckRoom(bytes);
  if (call_.budget != nullptr) call_.budget->constant_bytes_left -= bytes;
}

ValueId NodeBuilder::AddConstant(std::string_view name, TensorData data) {
  TakeBytes(static_cast<int64_t>(data.size_bytes()));
  CountMade(name.size());
  return graph_.AddConstant(name, std::move(data));
}

void NodeBuilder::OutputConstant(TensorData data) {
  SetOutput(0, AddConstant(OutputName(0), std::move(data)));
}

ValueId NodeBuilder::Constant(const char* suffix, TensorData data) {
  return AddConstant(HelperName(suffix), std::move(data));
}

ValueId NodeBuilder::ConstantInts(const char* suffix, const std::vector<int64_t>& values) {
  return Constant(suffix, TensorData::OfInts(values));
}

ValueId NodeBuilder::Scalar(const char* suffix, DType dtype, double number) {
  return Constant(suffix, MakeConstant(dtype, Shape{}, {number}));
}

ValueId NodeBuilder::CastTo(const char* suffix, ValueId value, DType dtype) {
  if (DTypeOf(value) == dtype) return value;
  return Emit(suffix, OpCode::kCast, {value}, CastAttrs{static_cast<int64_t>(dtype)});
}

ValueId NodeBuilder::Codes(const char* suffix, ValueId value) {
  if (!QuantizationOf(value)) return value;
  return Emit(suffix, OpCode::kToCodes, {value}, CastAttrs{static_cast<int64_t>(DTypeOf(value))});
}

ValueId NodeBuilder::Precomputed(const char* suffix, ValueId value) {
  constexpr int64_t kMaxElements = int64_t{1} << 24;
  KnownValueBudget of_node = kMostComputed;
  KnownValueBudget& left = call_.budget == nullptr ? of_node : call_.budget->computed;
  std::optional<TensorData> data = FindKnownValue(graph_, value, kMaxElements, left);
  // What was computed has been counted.
  return data ? graph_.AddConstant(HelperName(suffix), std::move(*data)) : value;
}

}  // namespace skiff
