#include "tests/fuzz/mutate_tflite.h"

#include <cmath>
#include <iterator>
#include <memory>

namespace skiff::testing {
namespace {

template <class T>
T& Any(std::mt19937& random, std::vector<T>& list) {
  return list[random() % list.size()];
}

int32_t Number(std::mt19937& random) {
  const int32_t numbers[] = {0, 1, -1, 2, 3, 7, 16, 255, -128, 65536, INT32_MAX, INT32_MIN};
  return numbers[random() % std::size(numbers)];
}

void MutateList(std::mt19937& random, std::vector<int32_t>& list) {
  switch (random() % 3) {
    case 0:
      return list.push_back(Number(random));
    case 1:
      if (!list.empty()) list.pop_back();
      return;
    default:
      if (!list.empty()) Any(random, list) = Number(random);
  }
}

void MutateTensor(std::mt19937& random, tflite::TensorT& tensor, uint32_t buffers) {
  switch (random() % 7) {
    case 0:
      return MutateList(random, tensor.shape);
    case 1:
      return MutateList(random, tensor.shape_signature);
    case 2:
      tensor.type = static_cast<tflite::TensorType>(random() % 20);
      return;
    case 3:
      tensor.buffer = random() % (buffers + 1);
      return;
    case 4:
      tensor.is_variable = !tensor.is_variable;
      return;
    default:
      if (!tensor.quantization) return tensor.quantization.reset(new tflite::QuantizationT());
      const float scales[] = {0, 1, -1, 1e-30f, 1e30f, NAN, INFINITY};
      if (random() % 2 == 0) tensor.quantization->scale.push_back(scales[random() % std::size(scales)]);
      if (!tensor.quantization->scale.empty() && random() % 2 == 0) tensor.quantization->scale.pop_back();
      if (random() % 2 == 0) tensor.quantization->zero_point.assign(1, Number(random));
      if (random() % 2 == 0) tensor.quantization->axis = Number(random);
  }
}

void MutateOptions(std::mt19937& random, tflite::OperatorT& node) {
  // Most options begin with numbers; those of another operator have others in their places.
  if (auto* conv = node.options.AsConv2DOptions()) {
    (random() % 2 == 0 ? conv->stride_w : conv->dilation_h) = Number(random);
  } else if (auto* pool = node.options.AsPool2DOptions()) {
    (random() % 2 == 0 ? pool->filter_h : pool->stride_w) = Number(random);
  } else if (auto* slice = node.options.AsStridedSliceOptions()) {
    (random() % 2 == 0 ? slice->ellipsis_mask : slice->shrink_axis_mask) = Number(random);
  } else if (auto* gather = node.options.AsGatherOptions()) {
    (random() % 2 == 0 ? gather->axis : gather->batch_dims) = Number(random);
  } else if (auto* squeeze = node.options.AsSqueezeOptions()) {
    squeeze->axes.assign(random() % 12, Number(random));
  } else if (auto* loop = node.options.AsWhileOptions()) {
    (random() % 2 == 0 ? loop->body_subgraph : loop->condition_subgraph) = Number(random);
  } else {
    node.options.Reset();
  }
}

template <class Union>
void DropIfEmpty(Union& any) {
  if (any.value == nullptr) any.Reset();
}

/// A file may say what a union is and leave it out, which the generated code cannot write.
void DropEmptyUnions(tflite::ModelT& model) {
  for (auto& graph : model.subgraphs) {
    for (auto& node : graph->operators) DropIfEmpty(node->options);
    for (auto& tensor : graph->tensors) {
      if (tensor->quantization != nullptr) DropIfEmpty(tensor->quantization->details);
      if (tensor->sparsity == nullptr) continue;
      for (auto& axis : tensor->sparsity->dimensions) {
        DropIfEmpty(axis->segments);
        DropIfEmpty(axis->indices);
      }
    }
  }
}

/// An empty list is the first subgraph alone.
void MutateSignatures(std::mt19937& random, tflite::ModelT& model) {
  if (model.signatures.empty() || random() % 4 == 0) {
    auto added = std::make_unique<tflite::SignatureT>();
    added->key = random() % 4 == 0 ? "" : "added";
    added->subgraph = random() % static_cast<uint32_t>(model.subgraphs.size() + 1);
    return model.signatures.push_back(std::move(added));
  }
  tflite::SignatureT& signature = *Any(random, model.signatures);
  auto& names = random() % 2 == 0 ? signature.inputs : signature.outputs;
  switch (random() % 5) {
    case 0:
      signature.subgraph = random() % static_cast<uint32_t>(model.subgraphs.size() + 1);
      return;
    case 1:
      signature.key = Any(random, model.signatures)->key;
      return;
    case 2:
      if (!names.empty()) Any(random, names)->tensor = static_cast<uint32_t>(Number(random));
      return;
    case 3:
      if (!names.empty()) Any(random, names)->name = Any(random, names)->name;
      return;
    default:
      model.signatures.pop_back();
  }
}

/// Names of variables that meet those of others, or of nothing, and what runs once.
void MutateState(std::mt19937& random, tflite::SubGraphT& graph) {
  for (const auto& node : graph.operators) {
    if (auto* handle = node->options.AsVarHandleOptions(); handle != nullptr && random() % 2 == 0)
      (random() % 2 == 0 ? handle->container : handle->shared_name) = random() % 2 == 0 ? "" : "x";
    if (auto* once = node->options.AsCallOnceOptions(); once != nullptr && random() % 2 == 0)
      once->init_subgraph = Number(random);
  }
}

}  // namespace

void MutateFields(std::mt19937& random, tflite::ModelT& model) {
  auto& graph = *Any(random, model.subgraphs);
  const auto buffers = static_cast<uint32_t>(model.buffers.size());
  switch (random() % 10) {
    case 8:
      return MutateSignatures(random, model);
    case 9:
      return MutateState(random, graph);
    case 0:
      return MutateList(random, random() % 2 == 0 ? graph.inputs : graph.outputs);
    case 1:
      if (!graph.operators.empty()) MutateList(random, Any(random, graph.operators)->inputs);
      return;
    case 2:
      if (!graph.operators.empty()) MutateList(random, Any(random, graph.operators)->outputs);
      return;
    case 3:
      if (!graph.operators.empty()) MutateOptions(random, *Any(random, graph.operators));
      return;
    case 4: {
      auto& code = *Any(random, model.operator_codes);
      code.old_builtin = static_cast<int8_t>(random() % 128);
      code.builtin = static_cast<tflite::BuiltinOperator>(random() % 162);
      return;
    }
    case 5:
      if (auto& data = Any(random, model.buffers)->data; !data.empty())
        Any(random, data) = static_cast<uint8_t>(random());
      return;
    default:
      if (!graph.tensors.empty()) MutateTensor(random, *Any(random, graph.tensors), buffers);
  }
}

std::vector<uint8_t> Packed(tflite::ModelT& model) {
  DropEmptyUnions(model);
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace skiff::testing
