#include "tests/fuzz/mistakes_onnx.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "import/onnx/ops.h"
#include "import/onnx/types.h"

namespace skiff::testing {
namespace {

using Random = std::mt19937;

constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, 5, 8, 64, -3, int64_t{1} << 20, INT64_MAX, INT64_MIN};
constexpr float kFloats[] = {0, 1, -1, 0.5f, 3, 1e30f, NAN, INFINITY};

/// Of ONNX, and one that it does not have.
constexpr int kElementTypes = 28;

int Below(Random& random, int count) { return static_cast<int>(random() % static_cast<uint32_t>(count)); }

template <class T, size_t n>
T Any(Random& random, const T (&values)[n]) {
  return values[random() % n];
}

template <class T>
T* Any(Random& random, google::protobuf::RepeatedPtrField<T>* list) {
  return list->empty() ? nullptr : list->Mutable(Below(random, list->size()));
}

/// The graph, or one that a node of it has.
onnx::GraphProto& AnyGraph(Random& random, onnx::GraphProto& graph) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && random() % 2 == 0) return AnyGraph(random, *attribute.mutable_g());
    }
  }
  return graph;
}

void LeaveOutInput(Random& random, onnx::GraphProto& graph) {
  onnx::NodeProto* node = Any(random, graph.mutable_node());
  if (node == nullptr || node->input().empty()) return;
  if (random() % 2 == 0) return node->mutable_input()->RemoveLast();
  Any(random, node->mutable_input())->clear();
}

void ReadAnother(Random& random, onnx::GraphProto& graph) {
  const onnx::NodeProto* made = Any(random, graph.mutable_node());
  const onnx::ValueInfoProto* given = Any(random, graph.mutable_input());
  const onnx::TensorProto* constant = Any(random, graph.mutable_initializer());
  std::string name;
  if (made != nullptr && !made->output().empty()) name = made->output(0);
  if (given != nullptr && random() % 2 == 0) name = given->name();
  if (constant != nullptr && random() % 2 == 0) name = constant->name();
  onnx::NodeProto* node = Any(random, graph.mutable_node());
  if (node == nullptr) return;
  std::string* input = random() % 4 == 0 ? nullptr : Any(random, node->mutable_input());
  (input == nullptr ? *node->add_input() : *input) = name;
}

void ChangeOutputs(Random& random, onnx::GraphProto& graph) {
  onnx::NodeProto* node = Any(random, graph.mutable_node());
  if (node == nullptr) return;
  if (random() % 4 == 0 && !node->output().empty()) return node->mutable_output()->RemoveLast();
  const std::string name = "extra_" + std::to_string(random());
  node->add_output(name);
  graph.add_output()->set_name(name);
}

template <class T, class Value>
void ChangeList(Random& random, google::protobuf::RepeatedField<T>* list, Value value) {
  if (list->empty() || random() % 4 == 0) return list->Add(value);
  if (random() % 3 == 0) return list->RemoveLast();
  list->Set(Below(random, list->size()), value);
}

/// Other elements in the same bytes, or too few or many of them.
void ChangeTensor(Random& random, onnx::TensorProto& tensor) {
  switch (random() % 4) {
    case 0:
      return ChangeList(random, tensor.mutable_dims(), Any(random, kNumbers));
    case 1:
      return tensor.set_data_type(Below(random, kElementTypes));
    case 2:
      if (tensor.raw_data().empty()) return;
      (*tensor.mutable_raw_data())[random() % tensor.raw_data().size()] = static_cast<char>(random());
      return;
    default:
      // -1 or 0 everywhere: what checks of counts, axes and divisors are for.
      tensor.mutable_raw_data()->assign(tensor.raw_data().size(), random() % 2 == 0 ? '\xFF' : '\0');
  }
}

void LeaveOutAttribute(Random& random, onnx::GraphProto& graph) {
  onnx::NodeProto* node = Any(random, graph.mutable_node());
  if (node == nullptr || node->attribute().empty()) return;
  node->mutable_attribute()->DeleteSubrange(Below(random, node->attribute_size()), 1);
}

void ChangeAttribute(Random& random, onnx::GraphProto& graph) {
  onnx::NodeProto* node = Any(random, graph.mutable_node());
  onnx::AttributeProto* attribute = node == nullptr ? nullptr : Any(random, node->mutable_attribute());
  if (attribute == nullptr) return;
  if (random() % 8 == 0)
    attribute->set_type(static_cast<onnx::AttributeProto::AttributeType>(Below(random, 12)));
  if (attribute->has_i()) attribute->set_i(Any(random, kNumbers));
  if (attribute->has_f()) attribute->set_f(Any(random, kFloats));
  if (attribute->has_s()) attribute->set_s("nonsense");
  if (attribute->has_t()) ChangeTensor(random, *attribute->mutable_t());
  if (attribute->ints_size() > 0) ChangeList(random, attribute->mutable_ints(), Any(random, kNumbers));
  if (attribute->floats_size() > 0) ChangeList(random, attribute->mutable_floats(), Any(random, kFloats));
  if (attribute->strings_size() > 0) *Any(random, attribute->mutable_strings()) = "nonsense";
}

onnx::TypeProto::Tensor* AnyInputType(Random& random, onnx::GraphProto& graph) {
  onnx::ValueInfoProto* input = Any(random, graph.mutable_input());
  return input == nullptr ? nullptr : input->mutable_type()->mutable_tensor_type();
}

void ChangeInputType(Random& random, onnx::GraphProto& graph) {
  if (auto* type = AnyInputType(random, graph)) type->set_elem_type(Below(random, kElementTypes));
}

void ChangeInputShape(Random& random, onnx::GraphProto& graph) {
  onnx::TypeProto::Tensor* type = AnyInputType(random, graph);
  if (type == nullptr) return;
  auto* dims = type->mutable_shape()->mutable_dim();
  switch (random() % 6) {
    case 0:
      return type->clear_shape();
    case 1:
      return dims->Add()->set_dim_value(2);
    case 2:
      return dims->empty() ? void() : dims->RemoveLast();
    case 3:  // All are open.
      for (auto& dim : *dims) dim.clear_value();
      return;
    default:
      if (dims->empty()) return;
      (random() % 2 == 0) ? Any(random, dims)->set_dim_value(Any(random, kNumbers))
                          : Any(random, dims)->set_dim_param("open");
  }
}

/// What was a constant is an input.
void ComputeConstant(Random& random, onnx::GraphProto& graph) {
  auto* constants = graph.mutable_initializer();
  if (constants->empty()) return;
  const int which = Below(random, constants->size());
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(constants->Get(which).name());
  input.mutable_type()->mutable_tensor_type()->set_elem_type(constants->Get(which).data_type());
  auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int64_t extent : constants->Get(which).dims()) shape->add_dim()->set_dim_value(extent);
  constants->DeleteSubrange(which, 1);
}

/// What was an input is a constant of ones (as integers; else of small numbers).
void FixInput(Random& random, onnx::GraphProto& graph) {
  constexpr int64_t kMostBytes = 4096;
  const onnx::ValueInfoProto* input = Any(random, graph.mutable_input());
  if (input == nullptr) return;
  const onnx::TypeProto::Tensor& type = input->type().tensor_type();
  const int64_t size = DTypeSize(DTypeOfOnnx(type.elem_type()));
  onnx::TensorProto constant;
  int64_t bytes = size;
  for (const auto& dim : type.shape().dim()) {
    const int64_t extent = dim.has_dim_value() ? dim.dim_value() : 1;
    if (extent < 0 || extent > kMostBytes || bytes > kMostBytes) return;
    bytes *= extent;
    constant.add_dims(extent);
  }
  if (size == 0 || bytes > kMostBytes) return;
  constant.set_name(input->name());
  constant.set_data_type(type.elem_type());
  std::string elements(static_cast<size_t>(bytes), 0);
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(size)) elements[i] = 1;
  constant.set_raw_data(elements);
  *graph.add_initializer() = constant;
}

void ChangeConstant(Random& random, onnx::GraphProto& graph) {
  if (onnx::TensorProto* constant = Any(random, graph.mutable_initializer())) ChangeTensor(random, *constant);
}

constexpr auto kMistakes = std::to_array<void (*)(Random&, onnx::GraphProto&)>(
    {LeaveOutInput, ReadAnother, ChangeOutputs, LeaveOutAttribute, ChangeAttribute, ChangeAttribute,
     ChangeInputType, ChangeInputShape, ComputeConstant, FixInput, ChangeConstant});

}  // namespace

void MakeMistake(Random& random, onnx::ModelProto& model) {
  if (random() % 16 == 0) {
    if (auto* opset = Any(random, model.mutable_opset_import()))
      opset->set_version(kOldestOnnxOpset + Below(random, kNewestOnnxOpset - kOldestOnnxOpset + 1));
    return;
  }
  kMistakes[random() % kMistakes.size()](random, AnyGraph(random, *model.mutable_graph()));
}

}  // namespace skiff::testing
