// Operators of the user's own in TensorFlow Lite files: kept as they are, with options and stated types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "graph/custom_operators.h"
#include "graph/evaluate.h"
#include "import/tflite/import_tflite.h"
#include "import/tflite/schema.h"
#include "ops/custom.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using ::testing::ElementsAre;

constexpr uint8_t kOptions[] = {7, 9};

/// The case of ADD with another operator in its place.
std::vector<uint8_t> WithCustomOperator(const char* name) {
  std::ifstream stream(SKIFF_SOURCE_DIR "/tests/converter/import/tflite/cases/add_f32/model.tflite",
                       std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(bytes.data())->UnPack());
  tflite::OperatorT& node = *model->subgraphs[0]->operators[0];
  tflite::OperatorCodeT& code = *model->operator_codes[node.code];
  code.builtin = tflite::BuiltinOperator::CUSTOM;
  code.old_builtin = static_cast<int8_t>(tflite::BuiltinOperator::CUSTOM);
  code.custom = name;
  node.options.Reset();
  node.custom_options.assign(std::begin(kOptions), std::end(kOptions));
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, model.get()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

const Node& CustomNode(const Graph& graph) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (graph.node(id).op == OpCode::kCustom) return graph.node(id);
  }
  throw std::runtime_error("no Custom node");
}

TEST(TfliteCustomOperators, AreKeptByName) {
  RegisterCustomOperator({.name = "test.Kept"});
  const std::vector<uint8_t> bytes = WithCustomOperator("test.Kept");
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size(), {});
  const Node& node = CustomNode(graph);
  EXPECT_TRUE(CustomNameOf(graph.value(node.inputs[kCustomName]).constant->view()).Is("test.Kept"));
  EXPECT_THAT(graph.value(node.inputs[kCustomOptions]).constant->ToInts(), ElementsAre(7, 9));
  const std::vector<int64_t> types = graph.value(node.inputs[kCustomTypes]).constant->ToInts();
  InferOutput<int64_t> type;
  ASSERT_TRUE(DeclaredCustomType(types.data(), static_cast<int64_t>(types.size()), 0, &type));
  EXPECT_EQ(type.dtype, DType::kF32);
  EXPECT_GT(type.rank, 0);
  EXPECT_FALSE(DeclaredCustomType(types.data(), static_cast<int64_t>(types.size()), 1, &type));
  EXPECT_EQ(node.As<CustomAttrs>().registered, nullptr);
}

TEST(TfliteCustomOperators, RunWhereTheyAreRegistered) {
  // a * options[0] + b * options[1]; the tensors have one shape.
  RegisterCustomOperator({"test.Weighted",
                          [](void*, const CustomCall& call) {
                            call.outputs[0].dtype = call.inputs[0].dtype;
                            call.outputs[0].shape = call.inputs[0].shape;
                            return OkStatus();
                          },
                          [](void*, const CustomCall& call) {
                            for (int64_t i = 0; i < call.outputs[0].shape.elements(); ++i)
                              call.outputs[0].as<float>()[i] =
                                  call.inputs[0].as<float>()[i] * static_cast<float>(call.options[0]) +
                                  call.inputs[1].as<float>()[i] * static_cast<float>(call.options[1]);
                            return OkStatus();
                          }});
  const std::vector<uint8_t> bytes = WithCustomOperator("test.Weighted");
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size(), {});
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.inputs()) {
    const Shape shape = graph.value(port.value).shape();
    const std::vector<float> ones(static_cast<size_t>(shape.elements()), 1);
    inputs.emplace(port.name, TensorData(DType::kF32, shape, ones.data()));
  }
  ASSERT_EQ(inputs.size(), 2u);
  const auto outputs = Evaluate(graph, inputs);
  EXPECT_EQ(outputs.begin()->second.as<float>()[0], 16);
}

}  // namespace
}  // namespace skiff
