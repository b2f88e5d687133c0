// What a conversion has in memory at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

constexpr int64_t kSide = 512;
constexpr int kMatrices = 64;
constexpr int64_t kWeights = kMatrices * kSide * kSide * int64_t{sizeof(float)};

/// A chain of products. No two matrices are equal, and none is exact in f16.
onnx::ModelProto Chain(int matrices, bool as_nodes) {
  onnx::ModelProto model = ProductModel();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_node();
  graph.clear_initializer();
  for (onnx::ValueInfoProto* port : {graph.mutable_input(0), graph.mutable_output(0)})
    port->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(kSide);
  std::string x = "x";
  for (int i = 0; i < matrices; ++i) {
    const std::string weights = "w" + std::to_string(i);
    const std::string y = i + 1 == matrices ? "y" : "h" + std::to_string(i);
    onnx::TensorProto* tensor = nullptr;
    if (as_nodes) {
      onnx::AttributeProto* value = AddNode(model, "Constant", "c" + weights, {}, {weights})->add_attribute();
      value->set_name("value");
      value->set_type(onnx::AttributeProto::TENSOR);
      tensor = value->mutable_t();
    } else {
      tensor = graph.add_initializer();
      tensor->set_name(weights);
    }
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(kSide);
    tensor->add_dims(kSide);
    std::vector<float> elements(kSide * kSide);
    for (size_t k = 0; k < elements.size(); ++k)
      elements[k] = 1.0f / static_cast<float>(k + 3 + static_cast<size_t>(i));
    tensor->set_raw_data(elements.data(), elements.size() * sizeof(float));
    AddNode(model, "MatMul", "m" + weights, {x, weights}, {y});
    x = y;
  }
  return model;
}

int64_t PeakOf(const TempFolder& folder, int matrices, bool as_nodes) {
  const std::string source = folder / "chain.onnx";
  {
    std::ofstream file(source, std::ios::binary);
    Chain(matrices, as_nodes).SerializeToOstream(&file);
  }
  const RunResult result = RunSkiff({"convert", source, "-o", folder / "chain.skiff"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  return result.peak_bytes;
}

class Memory : public ::testing::TestWithParam<bool> {};

/// A second copy of all of them would be seen, wherever it is made.
TEST_P(Memory, HoldsTheWeightsOnce) {
  const TempFolder folder;
  const int64_t little = PeakOf(folder, 1, GetParam());
  const int64_t much = PeakOf(folder, kMatrices, GetParam());
  const double times = static_cast<double>(much - little) / static_cast<double>(kWeights);
  EXPECT_LT(times, 1.5) << much << " bytes, " << little << " with one matrix";
  EXPECT_GT(times, 0.5) << "this is no longer measured";
}

INSTANTIATE_TEST_SUITE_P(All, Memory, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "OfConstantNodes" : "OfInitializers"; });

}  // namespace
}  // namespace skiff::testing
