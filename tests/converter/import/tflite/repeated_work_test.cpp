// TensorFlow Lite files in which many operators refer to the same large thing: it is read once, or counted
// before it is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "import/tflite/import_tflite.h"
#include "tests/converter/import/tflite/changed_case.h"

namespace skiff {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Op = tflite::BuiltinOperator;
using Type = tflite::TensorType;

/// What operator nobody knows makes of a tensor of one real.
int32_t AddUnknown(tflite::ModelT& model, tflite::SubGraphT& graph, int32_t x) {
  const int32_t made = AddTensor(graph, Type::FLOAT32, {1});
  AddNode(model, graph, Op::CUSTOM, {x}, {made});
  model.operator_codes.back()->custom = "Sharpen";
  return made;
}

/// Branches of 1,001 operators, the first of which cannot be imported.
Bytes Branches(int count) {
  return Changed("abs_f32", [=](tflite::ModelT& model) {
    tflite::SubGraphT& main = *model.subgraphs[0];
    model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>());
    tflite::SubGraphT& body = *model.subgraphs[1];
    const int32_t x = AddTensor(body, Type::FLOAT32, {1});
    const int32_t state = AddTensor(body, Type::FLOAT32, {1});
    body.tensors.back()->is_variable = true;
    body.inputs = {x};
    body.outputs = {AddTensor(body, Type::FLOAT32, {1})};
    AddNode(model, body, Op::NEG, {state}, body.outputs);
    for (int i = 0; i < 1000; ++i) AddNode(model, body, Op::NEG, {x}, {AddTensor(body, Type::FLOAT32, {1})});
    const int32_t condition = AddTensor(main, Type::BOOL, {1});
    main.inputs.push_back(condition);
    tflite::IfOptionsT options;
    options.then_subgraph = 1;
    options.else_subgraph = 1;
    for (int i = 0; i < count; ++i)
      AddNode(model, main, Op::IF, {condition, main.inputs[0]}, {AddTensor(main, Type::FLOAT32, {1})})
          .options.Set(options);
  });
}

/// The operators of a branch count although the first is the last that is imported.
TEST(TfliteRepeatedWork, SubgraphsThatCannotBeImported) {
  ExpectError(Branches(100), StatusCode::kUnsupported, HasSubstr("is read by what has no state of its own"));
  ExpectError(Branches(300), StatusCode::kUnsupported,
              HasSubstr("the model has more than 200000 operators, inputs and outputs"));
}

/// What runs once has 1,000 operators, and first values that cannot be computed; each of 300 reads asks for
/// one.
TEST(TfliteRepeatedWork, FirstValuesThatCannotBeComputed) {
  const Bytes bytes = Changed("abs_f32", [](tflite::ModelT& model) {
    tflite::SubGraphT& main = *model.subgraphs[0];
    model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>());
    tflite::SubGraphT& init = *model.subgraphs[1];
    const auto handle_in = [&](tflite::SubGraphT& graph) {
      const int32_t handle = AddTensor(graph, Type::RESOURCE, {});
      AddHandle(model, graph, "", "v", handle);
      return handle;
    };
    const int32_t zero = AddTensor(init, Type::FLOAT32, {1}, AddBuffer(model, {0, 0, 0, 0}));
    for (int i = 0; i < 1000; ++i)
      AddNode(model, init, Op::NEG, {zero}, {AddTensor(init, Type::FLOAT32, {1})});
    AddNode(model, init, Op::ASSIGN_VARIABLE, {handle_in(init), AddUnknown(model, init, zero)}, {});
    tflite::CallOnceOptionsT options;
    options.init_subgraph = 1;
    AddNode(model, main, Op::CALL_ONCE, {}, {}).options.Set(options);
    const int32_t handle = handle_in(main);
    for (int i = 0; i < 300; ++i)
      AddNode(model, main, Op::READ_VARIABLE, {handle}, {AddTensor(main, Type::FLOAT32, {1})});
  });
  ExpectError(bytes, StatusCode::kUnsupported,
              AllOf(HasSubstr("operator Sharpen"), HasSubstr("(300 times: "),
                    Not(HasSubstr("the model has more than"))));
}

/// Weights of `count` operators, each with a table of its own, which refers to the same `scales` scales.
Bytes WithBlocks(int count, int scales) {
  return Changed("abs_f32", [=](tflite::ModelT& model) {
    tflite::SubGraphT& main = *model.subgraphs[0];
    std::vector<uint8_t> halves;  // 1 each.
    for (int i = 0; i < scales; ++i) halves.insert(halves.end(), {0x00, 0x3c});
    tflite::BlockwiseQuantizationT blocks;
    blocks.scales = AddTensor(main, Type::FLOAT16, {1, scales}, AddBuffer(model, halves));
    blocks.block_size = 1;
    for (int i = 0; i < count; ++i) {
      const auto number = static_cast<uint8_t>(i);
      const int32_t weights =
          AddTensor(main, Type::INT8, {1, scales},
                    AddBuffer(model, std::vector<uint8_t>(static_cast<size_t>(scales), number)));
      main.tensors.back()->quantization = std::make_unique<tflite::QuantizationT>();
      main.tensors.back()->quantization->details.Set(blocks);
      const int32_t reals = AddTensor(main, Type::FLOAT32, {1, scales});
      AddNode(model, main, Op::DEQUANTIZE, {weights}, {reals});
      main.outputs.push_back(reals);
    }
  });
}

TEST(TfliteRepeatedWork, ScalesOfBlocksAreReadOnce) {
  const Bytes bytes = WithBlocks(3, 8);
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  std::set<const Quantization*> scales;
  int weights = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!graph.value(id).constant || graph.value(id).constant->dtype() != DType::kI8) continue;
    ++weights;
    scales.insert(graph.value(id).constant->quantization().get());
  }
  EXPECT_EQ(weights, 3);
  ASSERT_EQ(scales.size(), 1u);
  ASSERT_NE(*scales.begin(), nullptr);
  EXPECT_EQ((*scales.begin())->count, 8);
}

/// Results that say to have more scales than elements, all of them the same ones.
TEST(TfliteRepeatedWork, ScalesOfBlocksAreCounted) {
  const auto many = [](int results) {
    return Changed("abs_f32", [=](tflite::ModelT& model) {
      tflite::SubGraphT& main = *model.subgraphs[0];
      tflite::BlockwiseQuantizationT blocks;
      blocks.scales = AddTensor(main, Type::FLOAT16, {1, 1 << 19},
                                AddBuffer(model, std::vector<uint8_t>(size_t{1} << 20, 0x3c)));
      blocks.block_size = 1;
      for (int i = 0; i < results; ++i) {
        const int32_t made = AddTensor(main, Type::INT8, {1, 1});
        main.tensors.back()->quantization = std::make_unique<tflite::QuantizationT>();
        main.tensors.back()->quantization->details.Set(blocks);
        AddNode(model, main, Op::NEG, {main.inputs[0]}, {made});
      }
    });
  };
  ExpectError(many(100), StatusCode::kUnsupported,
              HasSubstr("share names and lists until they have more than"));
}

TEST(TfliteRepeatedWork, Variables) {
  const auto many = [](int count) {
    return Changed("abs_f32", [=](tflite::ModelT& model) {
      tflite::SubGraphT& main = *model.subgraphs[0];
      for (int i = 0; i < count; ++i) {
        const int32_t variable = AddTensor(main, Type::FLOAT32, {1});
        main.tensors.back()->is_variable = true;
        AddNode(model, main, Op::READ_VARIABLE, {variable}, {AddTensor(main, Type::FLOAT32, {1})});
      }
    });
  };
  ExpectError(many(5000), StatusCode::kUnsupported,
              HasSubstr("the model has 4097 variables; at most 4096 are supported"));
  const Bytes most = many(4095);
  const Graph graph = ImportTfliteBytes(most.data(), most.size());
  ASSERT_EQ(graph.inputs().size(), 4096u);
  ASSERT_EQ(graph.variables.size(), 4095u);
  for (size_t i = 0; i < 4095; ++i) EXPECT_EQ(graph.inputs()[i + 1].name, graph.variables[i].name);
}

/// Two constants [2, 3] of one buffer, whose tables refer to one table of what is left out.
Bytes WithSparse() {
  flatbuffers::FlatBufferBuilder b;
  const auto dimension = [&](tflite::DimensionFormat format, int32_t size, std::vector<int32_t> segments,
                             std::vector<int32_t> indices) {
    tflite::SparseDimensionT made;
    made.format = format;
    made.dense_size = size;
    if (format == tflite::DimensionFormat::SPARSE_CSR) {
      tflite::Int32VectorT list;
      list.values = std::move(segments);
      made.segments.Set(list);
      list.values = std::move(indices);
      made.indices.Set(list);
    }
    return std::make_unique<tflite::SparseDimensionT>(std::move(made));
  };
  tflite::SparsityT left_out;
  left_out.traversal_order = {0, 1};
  left_out.dimensions.push_back(dimension(tflite::DimensionFormat::DENSE, 2, {}, {}));
  left_out.dimensions.push_back(dimension(tflite::DimensionFormat::SPARSE_CSR, 0, {0, 1, 2}, {2, 0}));
  const auto sparsity = tflite::Sparsity::Pack(b, &left_out);
  const auto shape = b.CreateVector(std::vector<int32_t>{2, 3});
  std::vector<flatbuffers::Offset<tflite::Tensor>> all;
  for (int i = 0; i < 4; ++i) {
    tflite::TensorBuilder tensor(b);
    tensor.add_shape(shape);
    tensor.add_type(Type::INT8);
    if (i < 2) tensor.add_buffer(1);
    if (i < 2) tensor.add_sparsity(sparsity);
    all.push_back(tensor.Finish());
  }
  const auto tensors = b.CreateVector(all);
  std::vector<flatbuffers::Offset<tflite::Operator>> each;
  for (int32_t i = 0; i < 2; ++i) {
    const auto input = b.CreateVector(std::vector<int32_t>{i});
    const auto output = b.CreateVector(std::vector<int32_t>{2 + i});
    tflite::OperatorBuilder node(b);
    node.add_inputs(input);
    node.add_outputs(output);
    each.push_back(node.Finish());
  }
  const auto nodes = b.CreateVector(each);
  const auto outputs = b.CreateVector(std::vector<int32_t>{2, 3});
  tflite::SubGraphBuilder graph(b);
  graph.add_tensors(tensors);
  graph.add_outputs(outputs);
  graph.add_operators(nodes);
  const auto graphs = b.CreateVector(std::vector{graph.Finish()});
  tflite::OperatorCodeBuilder code(b);
  code.add_old_builtin(static_cast<int8_t>(Op::DENSIFY));
  code.add_builtin(Op::DENSIFY);
  const auto codes = b.CreateVector(std::vector{code.Finish()});
  const auto bytes = b.CreateVector(std::vector<uint8_t>{5, 7});
  std::vector<flatbuffers::Offset<tflite::Buffer>> stored;
  for (int i = 0; i < 2; ++i) {
    tflite::BufferBuilder buffer(b);
    if (i == 1) buffer.add_data(bytes);
    stored.push_back(buffer.Finish());
  }
  const auto buffers = b.CreateVector(stored);
  tflite::ModelBuilder model(b);
  model.add_version(3);
  model.add_operator_codes(codes);
  model.add_subgraphs(graphs);
  model.add_buffers(buffers);
  tflite::FinishModelBuffer(b, model.Finish());
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

TEST(TfliteRepeatedWork, SparseWeightsAreMadeDenseOnce) {
  const Bytes bytes = WithSparse();
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  std::set<const void*> made;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.constant || value.constant->dtype() != DType::kI8) continue;
    made.insert(value.constant->data());
    EXPECT_EQ(value.constant->ToInts(), (std::vector<int64_t>{0, 0, 5, 7, 0, 0}));
  }
  EXPECT_EQ(made.size(), 1u);
}

/// A matrix of 4 x 4, of whose `rows` rows the file has the places at `indices`.
Bytes WithSegments(std::vector<int32_t> segments, std::vector<int32_t> indices, int32_t rows = 4) {
  return Changed("conv_2d_same_f32", [&](tflite::ModelT& model) {
    tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
    weights.shape = {4, 4};
    weights.sparsity = std::make_unique<tflite::SparsityT>();
    tflite::SparsityT& sparsity = *weights.sparsity;
    sparsity.traversal_order = {0, 1};
    for (int i = 0; i < 2; ++i) sparsity.dimensions.push_back(std::make_unique<tflite::SparseDimensionT>());
    sparsity.dimensions[0]->dense_size = rows;
    sparsity.dimensions[1]->format = tflite::DimensionFormat::SPARSE_CSR;
    tflite::Int32VectorT list;
    list.values = std::move(segments);
    sparsity.dimensions[1]->segments.Set(list);
    list.values = std::move(indices);
    sparsity.dimensions[1]->indices.Set(list);
  });
}

/// What is left out cannot lead to the same values again and again.
TEST(TfliteRepeatedWork, SegmentsOfSparseWeights) {
  const auto refused = [](const Bytes& bytes, const char* message) {
    ExpectError(bytes, StatusCode::kInvalidModel, HasSubstr(message));
  };
  refused(WithSegments({1, 2, 2, 2, 2}, {0, 1}), "segment 0 along axis 1 begins at 1, where 0 was expected");
  refused(WithSegments({0, 2, 0, 2, 2}, {0, 1}),
          "segment 2 along axis 1 begins at 0, where 2 or more was expected");
  refused(WithSegments({0, 1, 1, 1, 1}, {0, 1}), "the segments along axis 1 end at 1 of 2 indices");
  refused(WithSegments({0, 1, 2, 3, 3}, {0, 1}), "the segments along axis 1 end at 3 of 2 indices");
  refused(WithSegments({0, 1, 2}, {0, 1}), "a segment is missing");
  refused(WithSegments({}, {}), "a segment is missing");
  refused(WithSegments({0, 1, 2, 2}, {0, 1}, 3), "it has 3 places along axis 0, the tensor 4");
}

}  // namespace
}  // namespace skiff
