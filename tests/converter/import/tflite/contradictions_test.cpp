// TensorFlow Lite files that contradict themselves, or say what no converter writes: what they become is what
// LiteRT computes, or they are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "convert.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "import/node_builder.h"
#include "import/tflite/file.h"
#include "import/tflite/import_tflite.h"
#include "import/tflite/tensor_lists.h"
#include "ops/op_codes.h"
#include "tests/converter/import/tflite/changed_case.h"

namespace skiff {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tflite::BuiltinOperator;
using Type = tflite::TensorType;

Graph Imported(const Bytes& bytes) { return ImportTfliteBytes(bytes.data(), bytes.size()); }

bool Has(const Graph& graph, OpCode op) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (graph.node(id).op == op) return true;
  }
  return false;
}

TEST(TfliteContradictions, LoopsThatChangeNothing) {
  for (const char* name : {"while_f32", "while_never_f32"}) {
    Graph graph = Imported(Changed(name, [](tflite::ModelT& model) {
      tflite::SubGraphT& body = *model.subgraphs[2];
      body.operators.clear();
      body.outputs = body.inputs;
    }));
    EXPECT_FALSE(Has(graph, OpCode::kWhile)) << name;
    EXPECT_NO_THROW(ConvertGraph(std::move(graph), {})) << name;
  }
}

/// Two operators of one name, and an input that is called as the first one's state would be.
TEST(TfliteContradictions, StatesOfOneName) {
  const Graph graph = Imported(Changed("signal_spectral_subtraction_free_int", [](tflite::ModelT& model) {
    tflite::SubGraphT& main = *model.subgraphs[0];
    const tflite::OperatorT once = Node(model);
    Tensor(model, main.inputs[0]).name = "same/noise";
    Tensor(model, once.outputs[0]).name = "same";
    main.operators.push_back(std::make_unique<tflite::OperatorT>(once));
    for (int32_t& output : main.operators.back()->outputs) {
      main.tensors.push_back(std::make_unique<tflite::TensorT>(Tensor(model, output)));
      output = static_cast<int32_t>(main.tensors.size() - 1);
      main.outputs.push_back(output);
    }
  }));
  std::set<std::string> names;
  for (const GraphPort& port : graph.inputs()) names.insert(port.name);
  EXPECT_THAT(names, ElementsAre("same/noise", "same/noise_2", "same/noise_3"));
  EXPECT_EQ(graph.variables.size(), 2u);
}

/// The second input becomes x_2, as the variable is called already.
TEST(TfliteContradictions, VariablesAndNumberedInputs) {
  const Graph graph = Imported(Changed("variable_f32", [](tflite::ModelT& model) {
    model.signatures.clear();
    tflite::SubGraphT& main = *model.subgraphs[0];
    Tensor(model, main.inputs[0]).name = "x";
    main.inputs.push_back(AddTensor(main, Type::FLOAT32, {3}));
    main.tensors.back()->name = "x";
    for (const auto& part : model.subgraphs) {
      for (const auto& node : part->operators) {
        if (auto* options = node->options.AsVarHandleOptions()) options->shared_name = "x_2";
      }
    }
  }));
  std::set<std::string> names;
  for (const GraphPort& port : graph.inputs()) names.insert(port.name);
  EXPECT_THAT(names, ElementsAre("x", "x_2", "x_2_2"));
}

TEST(TfliteContradictions, OnlyConstantsAreOfTwoBits) {
  ExpectError(Changed("abs_f32", [](auto& model) { Tensor(model, Node(model).inputs[0]).type = Type::INT2; }),
              StatusCode::kUnsupported, HasSubstr("inputs of INT2"));
  ExpectError(
      Changed("abs_f32", [](auto& model) { Tensor(model, Node(model).outputs[0]).type = Type::INT2; }),
      StatusCode::kUnsupported, HasSubstr("is INT2, which only constants can be"));
  const Graph graph = Imported(Changed("abs_f32", [](tflite::ModelT& model) {
    tflite::SubGraphT& main = *model.subgraphs[0];
    main.outputs.push_back(AddTensor(main, Type::INT2, {4}, AddBuffer(model, {0xE4})));
  }));
  const Value& constant = graph.value(graph.outputs()[1].value);
  ASSERT_TRUE(constant.constant.has_value());
  EXPECT_THAT(constant.constant->ToInts(), ElementsAre(0, 1, -2, -1));
}

TEST(TfliteContradictions, BoxesAndAnchors) {
  const auto refused = [](size_t input, size_t axis, int32_t extent, const char* message) {
    ExpectError(Changed("detection_fast_f32",
                        [&](auto& model) { Tensor(model, Node(model).inputs[input]).shape[axis] = extent; }),
                StatusCode::kInvalidModel, HasSubstr(message));
  };
  refused(0, 0, 2, "its input 0 is 2 long along axis 0; 1 was expected");
  refused(0, 1, 120, "its input 0 is 120 long along axis 1; 60 was expected");
  refused(1, 0, 2, "its input 1 is 2 long along axis 0; 1 was expected");
  refused(1, 1, 120, "its input 1 is 120 long along axis 1; 60 was expected");
}

/// list[index] = element, as old converters wrote it.
Bytes Update(tflite::Activation of_sum, tflite::Activation of_place) {
  return Changed("abs_f32", [=](tflite::ModelT& model) {
    tflite::SubGraphT& main = *model.subgraphs[0];
    main.operators.clear();
    const auto ints = [&](const std::vector<int8_t>& numbers) {
      std::vector<uint8_t> bytes;
      for (const int8_t number : numbers) {
        bytes.push_back(static_cast<uint8_t>(number));
        bytes.insert(bytes.end(), 3, number < 0 ? 0xFF : 0);
      }
      return AddTensor(main, Type::INT32, {static_cast<int32_t>(numbers.size())}, AddBuffer(model, bytes));
    };
    const auto made = [&](Op op, std::vector<int32_t> inputs, Type type, std::vector<int32_t> shape) {
      const int32_t result = AddTensor(main, type, std::move(shape));
      AddNode(model, main, op, std::move(inputs), {result});
      return result;
    };
    const auto joined = [&](std::vector<int32_t> parts, Type type, std::vector<int32_t> shape,
                            tflite::Activation activation) {
      const int32_t result = made(Op::CONCATENATION, std::move(parts), type, std::move(shape));
      tflite::ConcatenationOptionsT options;
      options.activation = activation;
      main.operators.back()->options.Set(options);
      return result;
    };
    const int32_t list = AddTensor(main, Type::FLOAT32, {9, 2});
    const int32_t element = AddTensor(main, Type::FLOAT32, {1, 2});
    const int32_t index = AddTensor(main, Type::INT32, {1});
    main.inputs = {list, element, index};
    const int32_t one = ints({1});
    const int32_t next = made(Op::ADD, {index, one}, Type::INT32, {1});
    tflite::AddOptionsT options;
    options.activation = of_sum;
    main.operators.back()->options.Set(options);
    const int32_t first = made(Op::RESHAPE, {index, one}, Type::INT32, {1});
    const int32_t second = made(Op::RESHAPE, {next, one}, Type::INT32, {1});
    const int32_t size = joined({first, ints({-1})}, Type::INT32, {2}, of_place);
    const int32_t begin = joined({second, ints({0})}, Type::INT32, {2}, tflite::Activation::NONE);
    const int32_t before = made(Op::SLICE, {list, ints({0, 0}), size}, Type::FLOAT32, {-1, 2});
    const int32_t behind = made(Op::SLICE, {list, begin, ints({-1, -1})}, Type::FLOAT32, {-1, 2});
    main.outputs = {joined({before, element, behind}, Type::FLOAT32, {9, 2}, tflite::Activation::NONE)};
  });
}

TEST(TfliteContradictions, UpdatesOfListsHaveNoActivations) {
  const auto is_update = [](tflite::Activation of_sum, tflite::Activation of_place) {
    const TfliteFile file(Update(of_sum, of_place));
    const tflite::SubGraph& main = file.subgraph(0);
    return TensorLists(file, main).UpdateAt(main.operators()->size() - 1) != nullptr;
  };
  EXPECT_TRUE(is_update(tflite::Activation::NONE, tflite::Activation::NONE));
  EXPECT_FALSE(is_update(tflite::Activation::RELU6, tflite::Activation::NONE));
  EXPECT_FALSE(is_update(tflite::Activation::NONE, tflite::Activation::RELU));
}

TEST(TfliteContradictions, SegmentsOfLongIntegersBeginAtTheLargest) {
  const Graph graph = Imported(Changed("unsorted_segment_min_f32", [](tflite::ModelT& model) {
    Tensor(model, Node(model).inputs[0]).type = Type::INT64;
    Tensor(model, Node(model).outputs[0]).type = Type::INT64;
  }));
  std::vector<int64_t> scalars;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const auto& constant = graph.value(id).constant;
    if (constant && constant->dtype() == DType::kI64 && constant->shape().rank() == 0)
      scalars.push_back(constant->ToInts()[0]);
  }
  EXPECT_THAT(scalars, ::testing::Contains(std::numeric_limits<int64_t>::max()));
}

TEST(TfliteContradictions, OverlapsAboveOneSuppressNothing) {
  const Graph graph = Imported(Changed("non_max_suppression_v4_f32", [](tflite::ModelT& model) {
    model.buffers[Tensor(model, Node(model).inputs[3]).buffer]->data = {0, 0, 0, 0x40};  // 2.
  }));
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (graph.node(id).op != OpCode::kNonMaxSuppression) continue;
    EXPECT_EQ(graph.value(graph.node(id).inputs[3]).constant->ToDoubles()[0], 1);
    return;
  }
  FAIL() << "no suppression";
}

TEST(TfliteContradictions, BodiesWithOneTensorAsTwoInputs) {
  ExpectError(Changed("if_true_f32",
                      [](auto& model) { model.subgraphs[1]->inputs[1] = model.subgraphs[1]->inputs[0]; }),
              StatusCode::kUnsupported,
              ::testing::AllOf(HasSubstr("has a subgraph 'then' that gets"), HasSubstr("twice")));
}

/// Names in bodies begin with the operator's, which may be of any length.
TEST(TfliteContradictions, LongNamesOfOperatorsWithBodies) {
  const Graph graph = Imported(Changed("if_true_f32", [](tflite::ModelT& model) {
    Tensor(model, Node(model).outputs[0]).name = std::string(200'000, 'o');
  }));
  int bodies = 0;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    for (const Graph& body : graph.node(id).bodies) {
      ++bodies;
      for (ValueId value = 0; value < body.value_count(); ++value)
        EXPECT_LT(body.value(value).name.size(), 3000u);
    }
  }
  EXPECT_EQ(bodies, 2);
}

TEST(TfliteContradictions, SizesThatDoNotFit) {
  const auto refused = [](const char* name, size_t input, std::vector<int32_t> shape, const char* message) {
    ExpectError(Changed(name, [&](auto& model) { Tensor(model, Node(model).inputs[input]).shape = shape; }),
                StatusCode::kInvalidModel, HasSubstr(message));
  };
  refused("mirror_pad_symmetric_f32", 0, {1, 4}, "it reflects 2 elements of axis 0, which has 1");
  refused("slice_f32", 0, {2, 2, 5}, "along axis 1 it begins at 1 and has 2 elements, the input 2");
  refused("transpose_conv_same_f32", 2, {1, 6, 4, 2}, "its output's extent 6 does not fit the input's 6");
  refused("dynamic_update_slice_f32", 0, {1, 4}, "its update is 2 long along axis 0, what it updates 1");
  const Bytes shapes = Changed("broadcast_args_f32", [](tflite::ModelT& model) {
    const auto constant = [&](std::vector<uint8_t> bytes) {
      return AddTensor(*model.subgraphs[0], Type::INT32, {2}, AddBuffer(model, std::move(bytes)));
    };
    Node(model).inputs = {constant({2, 0, 0, 0, 1, 0, 0, 0}), constant({3, 0, 0, 0, 5, 0, 0, 0})};
  });
  ExpectError(shapes, StatusCode::kInvalidModel, HasSubstr("the extents 2 and 3 do not broadcast"));
}

/// Only the run can tell.
TEST(TfliteContradictions, OpenSizesThatDoNotFit) {
  const auto opened = [](const char* name, size_t input) {
    return Imported(Changed(name, [=](tflite::ModelT& model) {
      tflite::TensorT& x = Tensor(model, Node(model).inputs[input]);
      x.shape_signature = x.shape;
      x.shape_signature[0] = -1;
    }));
  };
  const auto run = [](const Graph& graph, std::vector<TensorData> inputs) {
    std::map<std::string, TensorData> named;
    for (size_t i = 0; i < inputs.size(); ++i) named[graph.caller_inputs()[i].name] = std::move(inputs[i]);
    return Evaluate(graph, named);
  };
  const auto zeros = [](Shape shape) { return TensorData(DType::kF32, shape); };
  const Graph mirror = opened("mirror_pad_symmetric_f32", 0);
  EXPECT_NO_THROW(run(mirror, {zeros({2, 4})}));
  EXPECT_THROW(run(mirror, {zeros({1, 4})}), Error);
  const Graph update = opened("dynamic_update_slice_f32", 0);
  const TensorData starts(DType::kI32, Shape{2});
  EXPECT_NO_THROW(run(update, {zeros({2, 4}), zeros({2, 2}), starts}));
  EXPECT_THROW(run(update, {zeros({1, 4}), zeros({2, 2}), starts}), Error);
  const Graph segments = opened("unsorted_segment_sum_f32", 0);
  const auto ids = [](double first) { return MakeConstant(DType::kI32, Shape{5}, {first, 0, 0, 1, 3}); };
  EXPECT_NO_THROW(run(segments, {zeros({5, 2}), ids(-1)}));
  EXPECT_THROW(run(segments, {zeros({5, 2}), ids(4)}), Error);  // There are 4.
}

TEST(TfliteContradictions, TypesThatNoKernelHas) {
  const auto changed = [](const char* name, Type type) {
    return Changed(name, [=](tflite::ModelT& model) {
      Tensor(model, Node(model).inputs[0]).type = type;
      Tensor(model, Node(model).outputs[0]).type = type;
    });
  };
  ExpectError(changed("fake_quant_f32", Type::INT32), StatusCode::kUnsupported,
              HasSubstr("FLOAT32 was expected"));
  for (const char* name : {"logical_and_bool", "logical_or_bool", "logical_not_bool_f32"})
    ExpectError(changed(name, Type::INT8), StatusCode::kInvalidModel, HasSubstr("bool was expected"));
  const Bytes codes = Changed("bitwise_xor_int32", [](tflite::ModelT& model) {
    for (const int32_t input : Node(model).inputs) {
      Tensor(model, input).type = Type::INT8;
      Tensor(model, input).quantization = std::make_unique<tflite::QuantizationT>();
      Tensor(model, input).quantization->scale = {0.5f};
    }
    Tensor(model, Node(model).outputs[0]).type = Type::INT8;
  });
  ExpectError(codes, StatusCode::kUnsupported, HasSubstr("the bits of quantised integers"));
}

}  // namespace
}  // namespace skiff
