#include "import/onnx/builder.h"

#include <algorithm>

#include "import/onnx/dynamic_product.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace skiff {
namespace {

using Attribute = onnx::AttributeProto;

}  // namespace

OnnxBuilder OnnxBuilder::Nested(const onnx::NodeProto& node, OpCode op, int64_t opset,
                                std::vector<ValueId> inputs, const std::vector<std::string>& outputs) const {
  Call call = this->call();
  OnnxCall source = source_;
  source.node = &node;
  source.opset = opset;
  call.operator_name = node.op_type();
  call.op = op;
  call.inputs = std::move(inputs);
  if (!outputs.empty()) {
    call.nested = true;
    call.output_names.clear();
    for (const std::string& suffix : outputs) call.output_names.push_back(HelperName(suffix.c_str()));
    call.output_used.assign(outputs.size(), true);
  }
  return OnnxBuilder(graph_, untyped_, std::move(call), std::move(source));
}

const Attribute* OnnxBuilder::Find(const char* name) const {
  const auto& attributes = source_.node->attribute();
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

ValueId OnnxBuilder::RunNumber() const {
  if (source_.notes == nullptr)
    Unsupported(
        "draws random numbers inside of a sub-graph; draw them in front of it, and let it read these");
  ValueId& number = source_.notes->run_number;
  if (number == kNoValue) number = graph_.AddInput(kRunNumber, DType::kI64, {});
  return number;
}

std::optional<TensorData> OnnxBuilder::Tensor(const char* name) const {
  const Attribute* found = Find(name, Attribute::TENSOR, [](const Attribute& a) { return a.has_t(); });
  if (found == nullptr) return std::nullopt;
  return ReadTensor(found->t(), *source_.external, fmt::format("{}.{}", label(), name));
}

DType OnnxBuilder::DTypeAttribute(const char* name) const { return TypeAttribute(name).dtype; }

const OnnxType& OnnxBuilder::TypeAttribute(const char* name) const {
  const int64_t given = RequiredInt(name);
  const auto number = given < 0 || given > INT32_MAX ? -1 : static_cast<int32_t>(given);
  const OnnxType* type = FindOnnxType(number);
  if (type == nullptr || type->dtype == DType::kInvalid)
    Unsupported("makes {}, which Skiff does not have", OnnxTypeName(number));
  return *type;
}

const OnnxType& OnnxBuilder::OnnxTypeOf(ValueId value) const {
  if (source_.types != nullptr) {
    const auto noted = source_.types->find(value);
    if (noted != source_.types->end()) return *noted->second;
  }
  return OnnxTypeOfDType(DTypeOf(value));
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

const onnx::GraphProto& OnnxBuilder::BodyOf(const char* name, size_t inputs) const {
  const Attribute* found = Find(name, Attribute::GRAPH, [](const Attribute& a) { return a.has_g(); });
  if (found == nullptr) Invalid("attribute '{}' is missing", name);
  if (static_cast<size_t>(found->g().input_size()) != inputs) {
    Invalid("the sub-graph '{}' has {} inputs, {} were expected", name, found->g().input_size(), inputs);
  }
  return found->g();
}

Graph OnnxBuilder::ImportBody(const char* name, const std::vector<ValueId>& inputs,
                              const AddBodyOutputs& add_outputs) const {
  return source_.import_body(BodyOf(name, inputs.size()), inputs, add_outputs);
}

std::vector<ValueId> OnnxBuilder::InlineBody(const char* name, const std::vector<ValueId>& inputs,
                                             const std::string& place, bool as_own) const {
  return source_.inline_body(BodyOf(name, inputs.size()), inputs, place,
                             as_own ? call().output_names : std::vector<std::string>{});
}

void OnnxBuilder::RemoveNodesFrom(NodeId first) {
  for (NodeId id = graph_.node_count(); id-- > first;) {
    if (!graph_.node(id).removed) graph_.RemoveNode(id);
  }
}

const OnnxSequence& OnnxBuilder::SequenceInput(size_t i) const {
  if (!HasInput(i)) Invalid("input {} is missing; a sequence was expected", i);
  const ValueId value = call().inputs[i];
  if (!OnnxSequences::Is(value))
    Invalid("input {}, '{}', is a tensor; a sequence was expected", i, node().input(static_cast<int>(i)));
  if (SequenceOf(value).absent)
    Invalid("input {}, '{}', is an optional that holds nothing; a sequence was expected", i,
            node().input(static_cast<int>(i)));
  return SequenceOf(value);
}

const OnnxDynamicValue* OnnxBuilder::DynamicValue(ValueId value) const {
  if (source_.notes == nullptr) return nullptr;
  const auto found = source_.notes->dynamic.find(value);
  return found == source_.notes->dynamic.end() ? nullptr : found->second.get();
}

void OnnxBuilder::NoteDynamicValue(ValueId value, const OnnxDynamicValue& known) {
  if (source_.notes != nullptr) source_.notes->dynamic[value] = std::make_shared<OnnxDynamicValue>(known);
}

}  // namespace skiff
