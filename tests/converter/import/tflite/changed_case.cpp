#include "tests/converter/import/tflite/changed_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "import/tflite/import_tflite.h"

namespace skiff {

Bytes ReadCase(const char* name) {
  std::ifstream stream(
      std::string(SKIFF_SOURCE_DIR) + "/tests/converter/import/tflite/cases/" + name + "/model.tflite",
      std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Bytes Changed(const char* name, const std::function<void(tflite::ModelT&)>& change) {
  const Bytes bytes = ReadCase(name);
  const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(bytes.data())->UnPack());
  change(*model);
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, model.get()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void ExpectError(const Bytes& bytes, StatusCode code, const ::testing::Matcher<std::string>& message,
                 const FixedInputs& fixed) {
  try {
    ImportTfliteBytes(bytes.data(), bytes.size(), fixed);
    FAIL() << "it was imported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), message);
  }
}

tflite::OperatorT& AddNode(tflite::ModelT& model, tflite::SubGraphT& graph, tflite::BuiltinOperator op,
                           std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
  auto node = std::make_unique<tflite::OperatorT>();
  node->code = static_cast<uint32_t>(model.operator_codes.size());
  for (uint32_t i = 0; i < model.operator_codes.size(); ++i) {
    if (model.operator_codes[i]->builtin == op) node->code = i;
  }
  if (node->code == model.operator_codes.size()) {
    model.operator_codes.push_back(std::make_unique<tflite::OperatorCodeT>());
    model.operator_codes.back()->builtin = op;
    model.operator_codes.back()->old_builtin = static_cast<int8_t>(std::min(127, static_cast<int>(op)));
  }
  node->inputs = std::move(inputs);
  node->outputs = std::move(outputs);
  graph.operators.push_back(std::move(node));
  return *graph.operators.back();
}

int32_t AddTensor(tflite::SubGraphT& graph, tflite::TensorType type, std::vector<int32_t> shape,
                  uint32_t buffer) {
  graph.tensors.push_back(std::make_unique<tflite::TensorT>());
  graph.tensors.back()->type = type;
  graph.tensors.back()->shape = std::move(shape);
  graph.tensors.back()->buffer = buffer;
  return static_cast<int32_t>(graph.tensors.size() - 1);
}

uint32_t AddBuffer(tflite::ModelT& model, std::vector<uint8_t> bytes) {
  model.buffers.push_back(std::make_unique<tflite::BufferT>());
  model.buffers.back()->data = std::move(bytes);
  return static_cast<uint32_t>(model.buffers.size() - 1);
}

void AddHandle(tflite::ModelT& model, tflite::SubGraphT& graph, const std::string& container,
               const std::string& name, int32_t handle) {
  tflite::VarHandleOptionsT options;
  options.container = container;
  options.shared_name = name;
  AddNode(model, graph, tflite::BuiltinOperator::VAR_HANDLE, {}, {handle}).options.Set(options);
}

}  // namespace skiff
