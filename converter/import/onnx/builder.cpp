#include "import/onnx/builder.h"

#include <algorithm>

#include "core/half.h"
#include "graph/known_values.h"
#include "graph/typing.h"
#include "import/onnx/tensor.h"

namespace skiff {
namespace {

using Attribute = onnx::AttributeProto;

template <class T>
void Store(TensorData& data, const std::vector<double>& numbers) {
  auto* out = static_cast<T*>(data.mutable_data());
  for (double number : numbers) *out++ = static_cast<T>(number);
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
    case DType::kInvalid:
      Throw(StatusCode::kInternal, "no importer makes constants of {}", DTypeName(dtype));
  }
  return data;
}

OnnxBuilder::OnnxBuilder(Graph& graph, UntypedReasons& untyped, Call call)
    : graph_(graph),
      untyped_(untyped),
      call_(std::move(call)),
      results_(call_.output_names.size(), kNoValue) {}

std::string OnnxBuilder::Where() const {
  return fmt::format("node '{}' ({})", call_.label, call_.node->op_type());
}

ValueId OnnxBuilder::Input(size_t i) const {
  if (!HasInput(i)) Invalid("input {} is missing; the node has {} inputs", i, call_.inputs.size());
  return call_.inputs[i];
}

ValueId OnnxBuilder::OptionalInput(size_t i) const { return HasInput(i) ? call_.inputs[i] : kNoValue; }

std::string OnnxBuilder::WhyUntyped(ValueId value) const {
  const auto found = untyped_.find(value);
  return found == untyped_.end() ? "" : ": " + found->second;
}

DType OnnxBuilder::DTypeOf(ValueId value) const {
  const DType dtype = graph_.value(value).dtype;
  if (dtype == DType::kInvalid) {
    Unsupported("needs the element type of '{}', which is not known{}", graph_.value(value).name,
                WhyUntyped(value));
  }
  return dtype;
}

int OnnxBuilder::RankOf(ValueId value) const {
  if (!graph_.value(value).has_shape) {
    Unsupported(
        "needs the rank of '{}', which is not known{}; run onnx.shape_inference on the model, or export with "
        "fixed shapes",
        graph_.value(value).name, WhyUntyped(value));
  }
  return static_cast<int>(graph_.value(value).dims.size());
}

bool OnnxBuilder::HasRank(ValueId value, int rank) const {
  return graph_.value(value).has_shape && static_cast<int>(graph_.value(value).dims.size()) == rank;
}

std::optional<int64_t> OnnxBuilder::ExtentOf(ValueId value, int64_t axis) const {
  const std::vector<Dim>& dims = graph_.value(value).dims;
  if (!graph_.value(value).has_shape || axis < 0 || axis >= static_cast<int64_t>(dims.size())) return {};
  const Dim& dim = dims[static_cast<size_t>(axis)];
  return dim.constant() ? std::optional(dim.value) : std::nullopt;
}

std::optional<std::vector<int64_t>> OnnxBuilder::ExtentsOf(ValueId value, int64_t start, int64_t end) const {
  std::vector<int64_t> extents;
  for (int64_t axis = start; axis < end; ++axis) {
    const std::optional<int64_t> extent = ExtentOf(value, axis);
    if (!extent) return {};
    extents.push_back(*extent);
  }
  return extents;
}

bool OnnxBuilder::SameExtents(ValueId a, int64_t axis_of_a, ValueId b, int64_t axis_of_b) const {
  const auto extent = [&](ValueId value, int64_t axis) -> const Dim* {
    const std::vector<Dim>& dims = graph_.value(value).dims;
    return axis < static_cast<int64_t>(dims.size()) ? &dims[static_cast<size_t>(axis)] : nullptr;
  };
  const Dim* left = extent(a, axis_of_a);
  const Dim* right = extent(b, axis_of_b);
  return left != nullptr && right != nullptr && *left == *right;
}

const TensorData* OnnxBuilder::ConstantOf(ValueId value) const {
  if (value == kNoValue) return nullptr;
  const std::optional<TensorData>& constant = graph_.value(value).constant;
  return constant ? &*constant : nullptr;
}

std::optional<TensorData> OnnxBuilder::KnownValueOf(ValueId value) const {
  return FindKnownValue(graph_, value);
}

std::vector<int64_t> OnnxBuilder::ConstantInts(size_t i, const char* what) const {
  const std::optional<TensorData> data = KnownValueOf(Input(i));
  if (!data) {
    Unsupported("computes its {} at run time; export the model so that they are constant", what);
  }
  if (IsFloat(data->dtype())) {
    Invalid("the {} (input {}) must be integers, not {}", what, i, DTypeName(data->dtype()));
  }
  return data->ToInts();
}

const Attribute* OnnxBuilder::Find(const char* name) const {
  const auto& attributes = call_.node->attribute();
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& a) { return a.name() == name; });
  return found == attributes.end() ? nullptr : &*found;
}

const Attribute* OnnxBuilder::Find(const char* name, Attribute::AttributeType type,
                                   bool present(const Attribute&)) const {
  const Attribute* attribute = Find(name);
  if (attribute == nullptr) return nullptr;
  // Files from before IR version 2 state no type; there, the field that is set tells.
  const bool matches =
      attribute->type() == type || (attribute->type() == Attribute::UNDEFINED && present(*attribute));
  if (!matches) {
    Invalid("attribute '{}' must be {}, not {}", name, Attribute::AttributeType_Name(type),
            Attribute::AttributeType_Name(attribute->type()));
  }
  return attribute;
}

int64_t OnnxBuilder::Int(const char* name, int64_t fallback) const {
  const Attribute* found = Find(name, Attribute::INT, [](const Attribute& a) { return a.has_i(); });
  return found == nullptr ? fallback : found->i();
}

int64_t OnnxBuilder::RequiredInt(const char* name) const {
  if (!HasAttribute(name)) Invalid("attribute '{}' is missing", name);
  return Int(name, 0);
}

float OnnxBuilder::Float(const char* name, float fallback) const {
  const Attribute* found = Find(name, Attribute::FLOAT, [](const Attribute& a) { return a.has_f(); });
  return found == nullptr ? fallback : found->f();
}

std::string OnnxBuilder::String(const char* name, const char* fallback) const {
  const Attribute* found = Find(name, Attribute::STRING, [](const Attribute& a) { return a.has_s(); });
  return found == nullptr ? fallback : found->s();
}

std::optional<std::vector<int64_t>> OnnxBuilder::IntList(const char* name) const {
  const Attribute* found = Find(name, Attribute::INTS, [](const Attribute&) { return true; });
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<float>> OnnxBuilder::FloatList(const char* name) const {
  const Attribute* found = Find(name, Attribute::FLOATS, [](const Attribute&) { return true; });
  if (found == nullptr) return std::nullopt;
  return std::vector<float>(found->floats().begin(), found->floats().end());
}

std::optional<std::vector<std::string>> OnnxBuilder::StringList(const char* name) const {
  const Attribute* found = Find(name, Attribute::STRINGS, [](const Attribute&) { return true; });
  if (found == nullptr) return std::nullopt;
  return std::vector<std::string>(found->strings().begin(), found->strings().end());
}

std::optional<TensorData> OnnxBuilder::Tensor(const char* name) const {
  const Attribute* found = Find(name, Attribute::TENSOR, [](const Attribute& a) { return a.has_t(); });
  if (found == nullptr) return std::nullopt;
  return ReadTensor(found->t(), call_.folder, fmt::format("{}.{}", call_.label, name));
}

DType OnnxBuilder::DTypeAttribute(const char* name) const {
  const int64_t number = RequiredInt(name);
  const auto type = number < 0 || number > INT32_MAX ? -1 : static_cast<int32_t>(number);
  const DType dtype = DTypeOfOnnx(type);
  if (dtype == DType::kInvalid) Unsupported("makes {}, which Skiff does not have", OnnxTypeName(type));
  return dtype;
}

Ints OnnxBuilder::ToInts(const std::vector<int64_t>& values, const char* what) const {
  if (values.size() > kMaxRank) {
    Invalid("{} has {} values; at most {} are possible", what, values.size(), kMaxRank);
  }
  Ints ints;
  for (int64_t value : values) ints[ints.size++] = value;
  return ints;
}

void OnnxBuilder::CheckRange(const char* name, const Ints& values, int64_t lowest) const {
  for (int64_t value : values) {
    if (value < lowest || value > kMaxWindowNumber) {
      Invalid("attribute '{}' holds {}; numbers from {} to {} were expected", name, value, lowest,
              kMaxWindowNumber);
    }
  }
}

WindowAttributes OnnxBuilder::Window(int spatial_rank) const {
  if (spatial_rank < 1 || spatial_rank > 3) {
    Unsupported("works on {} spatial axes; 1 to 3 are supported", spatial_rank);
  }
  WindowAttributes window;
  window.spatial_rank = spatial_rank;
  // The last two axes are height and width, a third one in front is the depth; a single one is the width.
  const auto read = [&](const char* name, int64_t lowest, Ints& plane, std::vector<int64_t*> depth) {
    const auto values = IntList(name);
    if (!values) return;
    const size_t per_side = static_cast<size_t>(spatial_rank);
    const size_t count = depth.size() * per_side;
    if (values->size() != count) {
      Invalid("attribute '{}' has {} values, {} were expected", name, values->size(), count);
    }
    for (size_t i = 0; i < count; ++i) {
      const int64_t value = (*values)[i];
      if (value < 0 && lowest == 0) Unsupported("has negative {}; put a Slice in front of it instead", name);
      CheckRange(name, {value}, lowest);
      const size_t side = i / per_side;
      const size_t axis = i % per_side + 3 - per_side;
      (axis == 0 ? *depth[side] : plane[static_cast<int64_t>(side * 2 + axis - 1)]) = value;
    }
  };
  WindowAxis& depth = window.depth;
  read("kernel_shape", 1, window.kernel, {&depth.kernel});
  read("strides", 1, window.strides, {&depth.stride});
  read("dilations", 1, window.dilations, {&depth.dilation});
  const std::string auto_pad = String("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER") {
    window.auto_pad = AutoPad::kSameUpper;
  } else if (auto_pad == "SAME_LOWER") {
    window.auto_pad = AutoPad::kSameLower;
  } else if (auto_pad == "VALID") {
    window.auto_pad = AutoPad::kValid;
  } else if (auto_pad == "NOTSET" || auto_pad.empty()) {
    read("pads", 0, window.pads, {&depth.pad_begin, &depth.pad_end});
  } else {
    Invalid("attribute 'auto_pad' is '{}'; NOTSET, SAME_UPPER, SAME_LOWER or VALID was expected", auto_pad);
  }
  return window;
}

std::string OnnxBuilder::OutputName(size_t i) const {
  const std::string& name = call_.output_names.at(i);
  return name.empty() ? fmt::format("{}/unused_{}", call_.label, i) : name;
}

std::string OnnxBuilder::HelperName(const char* suffix) const {
  return fmt::format("{}/{}", call_.output_names.empty() ? call_.label : OutputName(0), suffix);
}

NodeId OnnxBuilder::AddNode(OpCode op, std::vector<ValueId> inputs,
                            const std::vector<std::string>& output_names, const char* suffix) {
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  const OpDef& def = *FindOp(op);
  if (inputs.size() > def.max_inputs && def.max_inputs != kVariadic) {
    Invalid("the node has {} inputs; at most {} were expected", inputs.size(), def.max_inputs);
  }
  if (inputs.size() < def.min_inputs) {
    Invalid("the node has {} inputs; at least {} were expected", inputs.size(), def.min_inputs);
  }
  const NodeId id = graph_.AddNode(op, std::move(inputs), output_names);
  Node& node = graph_.node(id);
  node.name = suffix == nullptr ? call_.label : fmt::format("{}/{}", call_.label, suffix);
  node.sources = {call_.source};
  return id;
}

std::vector<ValueId> OnnxBuilder::Finish(NodeId id) {
  const std::vector<ValueId> outputs = graph_.node(id).outputs;
  const std::optional<Refusal> refusal = TypeAddedNode(graph_, id);
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

void OnnxBuilder::SetOutput(size_t i, ValueId value) {
  results_.at(i) = value;
  graph_.value(value).source = call_.output_names[i];
}

Graph OnnxBuilder::ImportBody(const char* name, const std::vector<ValueId>& inputs,
                              const AddBodyOutputs& add_outputs) const {
  const Attribute* found = Find(name, Attribute::GRAPH, [](const Attribute& a) { return a.has_g(); });
  if (found == nullptr) Invalid("attribute '{}' is missing", name);
  if (static_cast<size_t>(found->g().input_size()) != inputs.size()) {
    Invalid("the sub-graph '{}' has {} inputs, {} were expected", name, found->g().input_size(),
            inputs.size());
  }
  return call_.import_body(found->g(), inputs, add_outputs);
}

OnnxBuilder::PartialType OnnxBuilder::TypeOf(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return {value.dtype, value.has_shape ? std::optional(value.dims) : std::nullopt};
}

OnnxBuilder::PartialType OnnxBuilder::Common(const PartialType& a, const PartialType& b) {
  // Both have one dtype; where that of one is not known, it is the other's.
  PartialType common{a.dtype == DType::kInvalid ? b.dtype : a.dtype, {}};
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return common;
  common.dims = a.dims;
  for (size_t i = 0; i < a.dims->size(); ++i) {
    if ((*a.dims)[i] == (*b.dims)[i]) continue;
    (*common.dims)[i] = Dim::OfSymbol(graph_.AddFreshSymbol(fmt::format("{}#{}", call_.label, i)));
  }
  return common;
}

void OnnxBuilder::OutputBodies(OpCode op, std::vector<ValueId> inputs, std::vector<Graph> bodies,
                               const std::vector<PartialType>& types, size_t first) {
  std::vector<std::string> names;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool output = i >= first && i - first < output_count();
    names.push_back(output ? OutputName(i - first) : fmt::format("{}/{}", call_.label, i));
  }
  const NodeId id = AddNode(op, std::move(inputs), names, nullptr);
  graph_.node(id).bodies = std::move(bodies);
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId value = graph_.node(id).outputs[i];
    graph_.value(value).dtype = types[i].dtype;
    graph_.value(value).has_shape = types[i].dims.has_value();
    graph_.value(value).dims = types[i].dims.value_or(std::vector<Dim>{});
    if (i >= first && i - first < output_count()) SetOutput(i - first, value);
  }
}

void OnnxBuilder::OutputConstant(TensorData data) {
  SetOutput(0, graph_.AddConstant(OutputName(0), std::move(data)));
}

ValueId OnnxBuilder::Constant(const char* suffix, TensorData data) {
  return graph_.AddConstant(HelperName(suffix), std::move(data));
}

ValueId OnnxBuilder::ConstantInts(const char* suffix, const std::vector<int64_t>& values) {
  return Constant(suffix, TensorData::OfInts(values));
}

ValueId OnnxBuilder::Scalar(const char* suffix, DType dtype, double number) {
  return Constant(suffix, MakeConstant(dtype, Shape{}, {number}));
}

ValueId OnnxBuilder::CastTo(const char* suffix, ValueId value, DType dtype) {
  if (DTypeOf(value) == dtype) return value;
  return Emit(suffix, OpCode::kCast, {value}, CastAttrs{static_cast<int64_t>(dtype)});
}

ValueId OnnxBuilder::Precomputed(const char* suffix, ValueId value) {
  constexpr int64_t kMaxElements = int64_t{1} << 24;
  std::optional<TensorData> data = FindKnownValue(graph_, value, kMaxElements);
  return data ? Constant(suffix, std::move(*data)) : value;
}

}  // namespace skiff
