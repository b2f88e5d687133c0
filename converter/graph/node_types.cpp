#include "graph/node_types.h"

#include <algorithm>

#include "graph/error.h"

namespace skiff {
namespace {

const TensorData* FindKnown(const Graph& graph, ValueId id, const KnownValues& known) {
  const Value& value = graph.value(id);
  if (value.constant) return &*value.constant;
  return known ? known(id) : nullptr;
}

/// No tensor may be larger; the bytes of all others can be computed without overflow.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

void CheckSize(const Graph& graph, const Node& node, const InferOutput<int64_t>& output) {
  int64_t bytes = DTypeSize(output.dtype);
  for (int axis = 0; axis < output.rank; ++axis) {
    if (__builtin_mul_overflow(bytes, output.extents[axis], &bytes) || bytes > kMaxTensorBytes) {
      Throw(StatusCode::kInvalidModel, "{}: the output {} would be larger than {} bytes",
            DescribeNode(graph, node), ShapeText(Shape(output.extents, output.rank)).c_str(),
            kMaxTensorBytes);
    }
  }
}

}  // namespace

bool IsOptionalInput(const OpDef& op, size_t i) {
  return i >= op.min_inputs || (op.code == OpCode::kResize2d && i == 1);
}

bool CanInfer(const Graph& graph, const Node& node, const KnownValues& known) {
  const OpDef* def = FindOp(node.op);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = graph.value(node.inputs[i]);
    if (value.dtype == DType::kInvalid || !value.has_static_shape()) return false;
    if (def->NeedsValues(i) && FindKnown(graph, node.inputs[i], known) == nullptr) return false;
  }
  return true;
}

std::vector<TensorView> InferTypes(const Graph& graph, const Node& node, const KnownValues& known) {
  const OpDef* def = FindOp(node.op);
  std::vector<InferInput<int64_t>> inputs(std::max<size_t>(node.inputs.size(), def->min_inputs));
  std::vector<std::vector<int64_t>> integers(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue) {
      if (IsOptionalInput(*def, i)) continue;
      Throw(StatusCode::kInvalidModel, "{}: input {} is missing", DescribeNode(graph, node), i);
    }
    const Value& value = graph.value(node.inputs[i]);
    if (value.dtype == DType::kInvalid || !value.has_static_shape()) {
      Throw(StatusCode::kInvalidModel,
            "{}: the shape of input {}, '{}', is not known; give its open dimensions sizes",
            DescribeNode(graph, node), i, value.name);
    }
    InferInput<int64_t>& input = inputs[i];
    input.present = true;
    input.dtype = value.dtype;
    input.rank = static_cast<int>(value.dims.size());
    for (int axis = 0; axis < input.rank; ++axis)
      input.extents[axis] = value.dims[static_cast<size_t>(axis)].value;
    const TensorData* data = FindKnown(graph, node.inputs[i], known);
    if (data == nullptr) continue;
    input.constant = data->data();
    if (def->NeedsValues(i) && !IsFloat(data->dtype())) {
      integers[i] = data->ToInts();
      input.values = integers[i].data();
      input.value_count = data->elements();
    }
  }
  std::vector<InferOutput<int64_t>> outputs(node.outputs.size());
  char message[InferContext<int64_t>::kMessageBytes] = "";
  InferContext<int64_t> context{
      node.op, &node.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, message};
  if (!def->infer(context).ok())
    Throw(StatusCode::kInvalidModel, "{}: {}", DescribeNode(graph, node), message);
  std::vector<TensorView> types;
  for (const InferOutput<int64_t>& output : outputs) {
    CheckSize(graph, node, output);
    types.emplace_back(nullptr, output.dtype, Shape(output.extents, output.rank));
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

}  // namespace skiff
