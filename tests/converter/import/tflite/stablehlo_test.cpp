// Operators of StableHLO in files that are wrong, or more than Skiff can import; and CASEs of many branches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "import/node_builder.h"
#include "import/tflite/import_tflite.h"
#include "tests/converter/import/tflite/changed_case.h"

namespace skiff {
namespace {

using ::testing::HasSubstr;
using Op = tflite::BuiltinOperator;

/// A case whose first operator has other options.
template <class Options>
Bytes WithOptions(const char* name, const std::function<void(Options&)>& change) {
  return Changed(name,
                 [&](tflite::ModelT& model) { change(*static_cast<Options*>(Node(model).options2.value)); });
}
Bytes Windows(const std::function<void(tflite::StablehloReduceWindowOptionsT&)>& change) {
  return WithOptions("reduce_window_sum_3d_f32", change);
}
Bytes Scatter(const std::function<void(tflite::StablehloScatterOptionsT&)>& change) {
  return WithOptions("stablehlo_scatter_places_f32", change);
}
Bytes Pad(const std::function<void(tflite::StablehloPadOptionsT&)>& change) {
  return WithOptions("stablehlo_pad_f32", change);
}
void ExpectInvalid(const Bytes& bytes, const char* message) {
  ExpectError(bytes, StatusCode::kInvalidModel, HasSubstr(message));
}
void ExpectUnsupported(const Bytes& bytes, const char* message) {
  ExpectError(bytes, StatusCode::kUnsupported, HasSubstr(message));
}

constexpr const char* kCases[] = {"reduce_window_sum_3d_f32", "stablehlo_scatter_set_f32",
                                  "stablehlo_pad_f32", "stablehlo_composite_f32", "stablehlo_case_first_f32"};

TEST(TfliteStablehlo, OptionsThatAreMissing) {
  for (const char* name : kCases) {
    ExpectInvalid(Changed(name, [](auto& model) { Node(model).options2.Reset(); }),
                  "its options are missing, or those of another operator");
    ExpectInvalid(Changed(name,
                          [&](auto& model) {
                            if (name == kCases[0])
                              return Node(model).options2.Set(tflite::StablehloPadOptionsT());
                            Node(model).options2.Set(tflite::StablehloReduceWindowOptionsT());
                          }),
                  "its options are missing, or those of another operator");
  }
}

/// Half of the one number is taken for the list's length, as in TfliteErrors.MisalignedZeroPoints.
TEST(TfliteStablehlo, MisalignedOptions) {
  constexpr int64_t kLengthInside = (int64_t{3} << 32) | 1;
  Bytes bytes = Pad([](auto& options) { options.edge_low = {kLengthInside, 0}; });
  const auto* options = tflite::GetModel(bytes.data())
                            ->subgraphs()
                            ->Get(0)
                            ->operators()
                            ->Get(0)
                            ->options2_as_StablehloPadOptions();
  auto* table = reinterpret_cast<flatbuffers::Table*>(
      bytes.data() + (reinterpret_cast<const uint8_t*>(options) - bytes.data()));
  auto* offset = reinterpret_cast<flatbuffers::uoffset_t*>(
      table->GetAddressOf(tflite::StablehloPadOptions::VT_EDGE_LOW));
  *offset += 4;
  ASSERT_EQ(options->edge_low()->size(), 1u);
  ExpectInvalid(bytes, "the options of operator 0 of subgraph 0 are misaligned");
}

TEST(TfliteStablehlo, SubgraphsThatDoMore) {
  for (const char* name : {"reduce_window_sum_3d_f32", "stablehlo_scatter_add_f32"}) {
    const auto body = [&](const std::function<void(tflite::ModelT&, tflite::SubGraphT&)>& change) {
      return Changed(name, [&](auto& model) { change(model, *model.subgraphs[1]); });
    };
    ExpectUnsupported(body([](auto& model, auto& graph) { AddNode(model, graph, Op::NEG, {0}, {1}); }),
                      "by another subgraph than a sum, product, minimum");
    ExpectUnsupported(body([](auto&, auto& graph) {
                        graph.operators[0]->inputs = {0, 0};
                      }),
                      "by another subgraph than a sum, product, minimum");
    ExpectUnsupported(body([](auto&, auto& graph) {
                        graph.operators.clear();
                        graph.outputs = {graph.inputs[0]};
                      }),
                      "by another subgraph than a sum, product, minimum");
    ExpectUnsupported(body([](auto& model, auto& graph) {
                        graph.operators.clear();
                        AddNode(model, graph, Op::SUB, graph.inputs, graph.outputs);
                      }),
                      "by another subgraph than a sum, product, minimum");
    ExpectUnsupported(body([](auto& model, auto& graph) {
                        graph.operators.clear();
                        tflite::AddOptionsT options;
                        options.activation = tflite::Activation::RELU;
                        AddNode(model, graph, Op::ADD, graph.inputs, graph.outputs).options.Set(options);
                      }),
                      "by another subgraph than a sum, product, minimum");
  }
  ExpectInvalid(Windows([](auto& options) { options.body_subgraph = 2; }), "runs subgraph 2 of 2");
  ExpectInvalid(Scatter([](auto& options) { options.update_subgraph = -1; }), "runs subgraph -1 of 2");
}

TEST(TfliteStablehlo, Windows) {
  ExpectUnsupported(Windows([](auto& options) { options.base_dilations[2] = 2; }), "has base_dilations");
  ExpectInvalid(Windows([](auto& options) { options.windows.pop_back(); }), "4 numbers; 5 were expected");
  ExpectInvalid(Windows([](auto& options) { options.windows.clear(); }), "it has no windows");
  ExpectInvalid(Windows([](auto& options) { options.pads.pop_back(); }), "9 numbers; 10 were expected");
  ExpectInvalid(Windows([](auto& options) { options.windows[3] = 0; }), "its window is 0");
  ExpectInvalid(Windows([](auto& options) { options.strides[3] = -1; }), "its stride is -1");
  ExpectInvalid(Windows([](auto& options) { options.window_dilations[3] = INT64_MAX; }),
                "its dilation is 9223");
  ExpectInvalid(Windows([](auto& options) { options.pads[3] = INT64_MIN; }), "its pad is -9223");
  ExpectUnsupported(Windows([](auto& options) { options.windows[3] = 9; }),
                    "has a window of 9 elements along axis 3, which has 6 with its pads");
  EXPECT_NO_THROW({  // As if they were 1, and no pads.
    const Bytes bytes = Windows([](auto& options) {
      for (auto* list : {&options.strides, &options.base_dilations, &options.window_dilations, &options.pads})
        list->clear();
    });
    ImportTfliteBytes(bytes.data(), bytes.size());
  });
  ExpectUnsupported(Changed("reduce_window_sum_3d_f32",
                            [](auto& model) {
                              auto& inputs = Node(model).inputs;
                              inputs = {inputs[0], inputs[0], inputs[1], inputs[1]};
                            }),
                    "reduces 2 tensors at once");
}

TEST(TfliteStablehlo, Scatters) {
  ExpectUnsupported(Scatter([](auto& options) { options.index_vector_dim = 0; }),
                    "along axis 0, which is not the last");
  ExpectUnsupported(Scatter([](auto& options) { options.inserted_window_dims = {0}; }),
                    "one place for each index");
  ExpectUnsupported(Scatter([](auto& options) {
                      options.inserted_window_dims.clear();
                      options.scatter_dims_to_operand_dims.clear();
                    }),
                    "one place for each index");
  const auto axes = [](const std::vector<int64_t>& list) {
    return Scatter(
        [=](auto& options) { options.inserted_window_dims = options.scatter_dims_to_operand_dims = list; });
  };
  ExpectInvalid(axes({0, 0}), "it names axis 0 of 2 twice");
  ExpectInvalid(axes({0, 2}), "it names axis 2 of 2 twice, or outside of them");
  ExpectInvalid(axes({-1, 0}), "it names axis -1 of 2 twice, or outside of them");
  ExpectInvalid(axes({0}), "it has indices of 2 axes, but names 1");
  ExpectInvalid(Scatter([](auto& options) { options.update_window_dims = {INT64_MAX}; }),
                "it names axis 9223");
}

TEST(TfliteStablehlo, Pads) {
  ExpectInvalid(Pad([](auto& options) { options.edge_high.pop_back(); }), "it has 1 pads for 2 axes");
  ExpectInvalid(Pad([](auto& options) { options.interior.clear(); }), "it has 0 pads for 2 axes");
  ExpectInvalid(Pad([](auto& options) { options.interior[0] = -1; }), "its pad between elements is -1");
  ExpectInvalid(Pad([](auto& options) { options.edge_low[0] = INT64_MAX; }), "its pad is 9223");
}

/// What a composite runs is told once, with the operators of the others.
TEST(TfliteStablehlo, CompositesOfMoreThanSkiffCanImport) {
  const Bytes bytes = Changed("stablehlo_composite_f32", [](auto& model) {
    auto& inner = *model.subgraphs[2];
    AddNode(model, inner, Op::STABLEHLO_SORT, inner.inputs, inner.outputs);
    inner.operators.erase(inner.operators.begin());
  });
  ExpectUnsupported(bytes, "uses 1 thing that Skiff cannot import:\n  - operator STABLEHLO_SORT (1 time");
}

TEST(TfliteStablehlo, CompositesThatRunThemselves) {
  ExpectInvalid(
      Changed(
          "stablehlo_composite_f32",
          [](auto& model) {
            auto& inner = *model.subgraphs[2];
            tflite::StableHLOCompositeOptionsT options;
            options.decomposition_subgraph = 2;
            inner.operators.clear();
            AddNode(model, inner, Op::STABLEHLO_COMPOSITE, inner.inputs, inner.outputs).options2.Set(options);
          }),
      "lies in more than 16 subgraphs");
}

TEST(TfliteStablehlo, CompositesThatMultiply) {
  ExpectUnsupported(
      Changed(
          "stablehlo_composite_f32",
          [](auto& model) {
            for (int32_t level = 2; level < 14; ++level) {
              model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>(*model.subgraphs.back()));
              auto& graph = *model.subgraphs[static_cast<size_t>(level)];
              tflite::StableHLOCompositeOptionsT options;
              options.decomposition_subgraph = level + 1;
              graph.operators.clear();
              for (int i = 0; i < 3; ++i) {
                const int32_t made =
                    i < 2 ? AddTensor(graph, tflite::TensorType::FLOAT32, {2, 3}) : graph.outputs[0];
                AddNode(model, graph, Op::STABLEHLO_COMPOSITE, graph.inputs, {made}).options2.Set(options);
              }
            }
          }),
      "the model has more than 200000 operators, inputs and outputs");
}

TEST(TfliteStablehlo, SubgraphsOfOtherSizes) {
  ExpectInvalid(
      Changed("stablehlo_composite_f32", [](auto& model) { model.subgraphs[1]->outputs.pop_back(); }),
      "its subgraph returns 1 values, the operator 2");
  ExpectInvalid(
      Changed("stablehlo_composite_f32", [](auto& model) { model.subgraphs[1]->inputs.pop_back(); }),
      "2 inputs; it has 1");
  ExpectInvalid(Changed("stablehlo_case_first_f32",
                        [](auto& model) {
                          model.subgraphs[2]->outputs = {0, 0};
                        }),
                "a branch returns 2 values, the operator 1");
  ExpectInvalid(WithOptions<tflite::StablehloCaseOptionsT>(
                    "stablehlo_case_first_f32", [](auto& options) { options.branch_subgraphs.clear(); }),
                "it has no branches");
}

/// Branch i of 21 is ADD where i is a multiple of 3, then SUB, then MUL.
TEST(TfliteStablehlo, ManyBranches) {
  const Bytes bytes =
      WithOptions<tflite::StablehloCaseOptionsT>("stablehlo_case_first_f32", [](auto& options) {
        for (int i = 0; i < 18; ++i) options.branch_subgraphs.push_back(1 + i % 3);
      });
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.inputs())
    inputs[port.name] = MakeConstant(DType::kF32, Shape{2, 3}, {7, 7, 7, 7, 7, 7});
  const float results[] = {14, 0, 49};
  for (int i = -2; i < 24; ++i) {
    inputs[graph.inputs()[0].name] = MakeConstant(DType::kI32, Shape{}, {static_cast<double>(i)});
    const auto outputs = Evaluate(graph, inputs);
    EXPECT_EQ(outputs.begin()->second.ToDoubles()[0],
              static_cast<double>(results[i < 0 || i > 20 ? 2 : i % 3]))
        << i;
  }
}

TEST(TfliteStablehlo, TooManyBranches) {
  ExpectUnsupported(
      WithOptions<tflite::StablehloCaseOptionsT>(
          "stablehlo_case_first_f32", [](auto& options) { options.branch_subgraphs.resize(100'000, 1); }),
      "the model has more than 200000 operators, inputs and outputs");
}

}  // namespace
}  // namespace skiff
