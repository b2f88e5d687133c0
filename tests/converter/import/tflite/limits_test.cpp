// What TensorFlow Lite files may have of what becomes memory and time: one clear message each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/error.h"
#include "import/tflite/import_tflite.h"
#include "tests/converter/import/tflite/changed_case.h"

namespace skiff {
namespace {

using ::testing::HasSubstr;

/// A kilobyte cannot ask for gigabytes.
TEST(TfliteLimits, TensorsThatAreNotInTheFile) {
  const auto state = [](tflite::ModelT& model) -> tflite::TensorT& {
    return Tensor(model, Node(model).inputs[18]);
  };
  ExpectError(Changed("lstm_f32",
                      [&](auto& model) {
                        state(model).shape = {1 << 16, 1 << 16};
                      }),
              StatusCode::kUnsupported,
              HasSubstr("has 16384 MiB that are not in the file, and 256 MiB are left"));
  ExpectError(Changed("conv_2d_same_f32",
                      [&](auto& model) {
                        tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
                        weights.shape[0] = 1 << 28;
                        weights.sparsity = std::make_unique<tflite::SparsityT>();
                      }),
              StatusCode::kUnsupported, HasSubstr("MiB that are not in the file, and 256 MiB are left"));
}

/// A file whose operators and signatures refer to one list and one name.
Bytes WithShared(uint32_t operators, uint32_t operands, uint32_t signatures, uint32_t letters) {
  flatbuffers::FlatBufferBuilder b;
  const auto list = b.CreateVector(std::vector<int32_t>(operands, 0));
  const auto result = b.CreateVector(std::vector<int32_t>{1});
  const auto port = b.CreateVector(std::vector<int32_t>{0});
  const auto shape = b.CreateVector(std::vector<int32_t>{4});
  tflite::TensorBuilder tensor(b);
  tensor.add_shape(shape);
  const auto made = tensor.Finish();
  const auto tensors = b.CreateVector(std::vector(2, made));
  std::vector<flatbuffers::Offset<tflite::Operator>> nodes;
  for (uint32_t i = 0; i < operators; ++i) {
    tflite::OperatorBuilder node(b);
    node.add_inputs(list);
    node.add_outputs(result);
    nodes.push_back(node.Finish());
  }
  const auto all = b.CreateVector(nodes);
  tflite::SubGraphBuilder graph(b);
  graph.add_tensors(tensors);
  graph.add_inputs(port);
  graph.add_outputs(result);
  graph.add_operators(all);
  const auto graphs = b.CreateVector(std::vector{graph.Finish()});
  tflite::OperatorCodeBuilder code(b);
  code.add_old_builtin(static_cast<int8_t>(tflite::BuiltinOperator::NEG));
  code.add_builtin(tflite::BuiltinOperator::NEG);
  const auto codes = b.CreateVector(std::vector{code.Finish()});
  const auto key = b.CreateString(std::string(letters, 'k'));
  std::vector<flatbuffers::Offset<tflite::Signature>> keyed;
  for (uint32_t i = 0; i < signatures; ++i) {
    tflite::SignatureBuilder signature(b);
    signature.add_key(key);
    keyed.push_back(signature.Finish());
  }
  const auto all_keyed = b.CreateVector(keyed);
  tflite::ModelBuilder model(b);
  model.add_version(3);
  model.add_operator_codes(codes);
  model.add_subgraphs(graphs);
  model.add_signatures(all_keyed);
  tflite::FinishModelBuffer(b, model.Finish());
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

/// Whoever reads them has as many copies.
TEST(TfliteLimits, ListsAndNamesThatAreShared) {
  const auto refused = HasSubstr("share names and lists until they have more than");
  ExpectError(WithShared(5000, 10000, 0, 0), StatusCode::kUnsupported, refused);
  ExpectError(WithShared(1, 1, 500, 1 << 20), StatusCode::kUnsupported, refused);
  ExpectError(WithShared(1, 5000, 0, 0), StatusCode::kUnsupported,
              HasSubstr("operator NEG has 5001 inputs and outputs; at most 4096 are supported"));
}

/// Before any of them is looked at.
TEST(TfliteLimits, Ports) {
  ExpectError(Changed("abs_f32", [](auto& model) { model.subgraphs[0]->inputs.assign(5000, 0); }),
              StatusCode::kUnsupported, HasSubstr("the model has 5000 inputs; at most 4096 are supported"));
}

/// Sparse weights of one element, two axes and as many blocks as are asked for, all of axis 1.
Bytes WithBlocks(size_t count) {
  return Changed("conv_2d_same_f32", [&](auto& model) {
    tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
    weights.shape = {1, 1};
    weights.sparsity = std::make_unique<tflite::SparsityT>();
    tflite::SparsityT& sparsity = *weights.sparsity;
    sparsity.block_map.assign(count, 1);
    for (size_t i = 0; i < 2 + count; ++i) {
      sparsity.traversal_order.push_back(static_cast<int32_t>(i));
      sparsity.dimensions.push_back(std::make_unique<tflite::SparseDimensionT>());
      sparsity.dimensions.back()->dense_size = 1;
    }
  });
}

TEST(TfliteLimits, SparseWeightsHaveABlockAnAxis) {
  ExpectError(WithBlocks(2), StatusCode::kInvalidModel, HasSubstr("block 1 is of axis 1"));
  ExpectError(WithBlocks(100000), StatusCode::kInvalidModel,
              HasSubstr("it has 100000 blocks, the tensor 2 axes"));
}

/// Places that multiply to more than 63 bits.
TEST(TfliteLimits, SparseWeightsTraverseAnAxisOnce) {
  const auto changed = [](std::vector<int32_t> order, int32_t block, int32_t index) {
    return Changed("conv_2d_same_f32", [&](auto& model) {
      tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
      weights.shape = {4, 4};
      weights.sparsity = std::make_unique<tflite::SparsityT>();
      tflite::SparsityT& sparsity = *weights.sparsity;
      sparsity.traversal_order = std::move(order);
      sparsity.block_map = {1};
      for (const int32_t extent : {4, 2, block}) {
        sparsity.dimensions.push_back(std::make_unique<tflite::SparseDimensionT>());
        sparsity.dimensions.back()->dense_size = extent;
      }
      tflite::SparseDimensionT& sparse = *sparsity.dimensions[1];
      sparse.format = tflite::DimensionFormat::SPARSE_CSR;
      tflite::Int32VectorT segments;
      segments.values = {0, 1, 1, 1, 1};
      sparse.segments.Set(segments);
      tflite::Int32VectorT indices;
      indices.values = {index};
      sparse.indices.Set(indices);
    });
  };
  ExpectError(changed({0, 0, 2}, 2, 0), StatusCode::kInvalidModel, HasSubstr("axis 0 is traversed"));
  ExpectError(changed({0, 1, 2}, 5, 0), StatusCode::kInvalidModel,
              HasSubstr("block 0 has 5 elements along axis 1"));
  ExpectError(changed({0, 1, 2}, 2, 2), StatusCode::kInvalidModel, HasSubstr("they do not fit the tensor"));
  ExpectError(changed({0, 1, 2}, 2, INT32_MAX), StatusCode::kInvalidModel,
              HasSubstr("they do not fit the tensor"));
}

TEST(TfliteLimits, BlocksHaveAZeroPointForEachScale) {
  const auto bytes = Changed("fully_connected_dyn", [](auto& model) {
    auto& graph = *model.subgraphs[0];
    const int32_t weights = Node(model).inputs[1];
    tflite::BlockwiseQuantizationT blocks;
    const auto add = [&](tflite::TensorType type, size_t bytes) {
      auto tensor = std::make_unique<tflite::TensorT>();
      tensor->type = type;
      tensor->shape = {static_cast<int32_t>(bytes / 4)};
      tensor->buffer = static_cast<uint32_t>(model.buffers.size());
      model.buffers.push_back(std::make_unique<tflite::BufferT>());
      model.buffers.back()->data.resize(bytes, type == tflite::TensorType::FLOAT32 ? 1 : 0);
      graph.tensors.push_back(std::move(tensor));
      return static_cast<int32_t>(graph.tensors.size() - 1);
    };
    blocks.scales = add(tflite::TensorType::FLOAT32, 400);
    blocks.zero_points = add(tflite::TensorType::INT32, 4);
    blocks.block_size = 2;
    Tensor(model, weights).quantization = std::make_unique<tflite::QuantizationT>();
    Tensor(model, weights).quantization->details.Set(blocks);
  });
  ExpectError(bytes, StatusCode::kInvalidModel, HasSubstr("it has 100 scales and 1 zero points"));
}

TEST(TfliteLimits, ShapesToBroadcastOfMoreExtentsThanATensorHas) {
  const Bytes bytes = Changed("broadcast_args_f32",
                              [](auto& model) { Tensor(model, Node(model).inputs[0]).shape = {INT32_MAX}; });
  ExpectError(bytes, StatusCode::kUnsupported,
              HasSubstr("a shape of 2147483647 extents; at most 8 are supported"));
}

TEST(TfliteLimits, MoreInputsOrOutputsThanAConvertedModelHas) {
  ExpectError(Changed("abs_f32",
                      [](auto& model) {
                        auto& graph = *model.subgraphs[0];
                        graph.outputs.assign(20000, graph.outputs[0]);
                      }),
              StatusCode::kUnsupported, HasSubstr("the model has 20000 outputs; at most 4096 are supported"));
  ExpectError(
      Changed("abs_f32",
              [](auto& model) {
                auto& graph = *model.subgraphs[0];
                for (int32_t i = 1; i < 20000; ++i) {
                  graph.inputs.push_back(static_cast<int32_t>(graph.tensors.size()));
                  graph.tensors.push_back(std::make_unique<tflite::TensorT>(Tensor(model, graph.inputs[0])));
                }
              }),
      StatusCode::kUnsupported, HasSubstr("the model has 20000 inputs; at most 4096 are supported"));
}

/// A tensor that is an output again and again, under names of which no two are the same.
TEST(TfliteLimits, OutputsOfOneTensor) {
  const Bytes bytes = Changed("abs_f32", [](auto& model) {
    auto& graph = *model.subgraphs[0];
    graph.outputs.assign(4096, graph.outputs[0]);
  });
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  ASSERT_EQ(graph.outputs().size(), 4096u);
  EXPECT_EQ(graph.outputs()[1].name, graph.outputs()[0].name + "_2");
  EXPECT_EQ(graph.outputs()[4095].name, graph.outputs()[0].name + "_4096");
}

/// `depth` subgraphs beside the main one, each of which runs the next one `width` times, or else the last
/// one.
Bytes Branches(int depth, int width) {
  return Changed("abs_f32", [&](auto& model) {
    auto code = std::make_unique<tflite::OperatorCodeT>();
    code->builtin = tflite::BuiltinOperator::IF;
    code->old_builtin = static_cast<int8_t>(code->builtin);
    model.operator_codes.push_back(std::move(code));
    auto& main = *model.subgraphs[0];
    const auto condition = static_cast<int32_t>(main.tensors.size());
    main.tensors.push_back(std::make_unique<tflite::TensorT>());
    main.tensors.back()->type = tflite::TensorType::BOOL;
    main.tensors.back()->name = "condition";
    main.inputs.push_back(condition);
    const tflite::SubGraphT last = main;
    for (int level = 0; level < depth; ++level) {
      model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>(last));
      auto& graph = *model.subgraphs[static_cast<size_t>(level)];
      int32_t x = graph.inputs[0];
      graph.operators.clear();
      for (int i = 0; i < width; ++i) {
        auto node = std::make_unique<tflite::OperatorT>();
        node->code = static_cast<uint32_t>(model.operator_codes.size() - 1);
        node->inputs = {condition, x, condition};
        x = static_cast<int32_t>(graph.tensors.size());
        node->outputs = {x};
        tflite::IfOptionsT options;
        options.then_subgraph = level + 1;
        options.else_subgraph = depth;
        node->options.Set(options);
        graph.operators.push_back(std::move(node));
        graph.tensors.push_back(std::make_unique<tflite::TensorT>(*graph.tensors[0]));
        graph.tensors.back()->name = "made_" + std::to_string(i);
        graph.tensors.back()->buffer = 0;
      }
      graph.outputs = {x};
    }
  });
}

TEST(TfliteLimits, SubgraphsThatMultiply) {
  const Bytes nested = Branches(16, 1);
  EXPECT_NO_THROW(ImportTfliteBytes(nested.data(), nested.size()));
  ExpectError(Branches(17, 1), StatusCode::kInvalidModel, HasSubstr("lies in more than 16 subgraphs"));
  for (const auto& [depth, width] : {std::pair(5, 12), std::pair(13, 2)})  // Wide ones, and deep ones.
    ExpectError(Branches(depth, width), StatusCode::kUnsupported,
                HasSubstr("the model has more than 200000 operators, inputs and outputs"));
}

/// The signatures of a file share its operators, and each of them is converted.
TEST(TfliteLimits, SignaturesThatMultiply) {
  const Bytes bytes = Changed("abs_f32", [](auto& model) {
    auto& graph = *model.subgraphs[0];
    for (int i = 0; i < 900; ++i) {
      const auto made = static_cast<int32_t>(graph.tensors.size());
      graph.tensors.push_back(std::make_unique<tflite::TensorT>(*graph.tensors[0]));
      graph.tensors.back()->name = "made_" + std::to_string(i);
      graph.operators.push_back(std::make_unique<tflite::OperatorT>(Node(model)));
      graph.operators.back()->inputs = {graph.outputs[0]};
      graph.operators.back()->outputs = {made};
      graph.outputs = {made};
    }
    for (int i = 0; i < 1000; ++i) model.signatures.push_back(std::make_unique<tflite::SignatureT>());
  });
  const auto source = OpenTfliteBytes(bytes.data(), bytes.size());
  try {
    for (size_t i = 0; i < source->signatures().size(); ++i) source->Import(i, {});
    FAIL() << "it was imported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("the model has more than 200000 operators, inputs and outputs"));
  }
}

/// The elements of the constants of a graph, and of the bodies of its nodes.
void CollectConstants(const Graph& graph, std::vector<TensorData>& constants) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).constant) constants.push_back(*graph.value(id).constant);
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    for (const Graph& body : graph.node(id).bodies) CollectConstants(body, constants);
  }
}

/// What the importer makes of a few numbers is in memory once, however many operators want it.
TEST(TfliteLimits, OperatorsShareTables) {
  for (const char* name : {"matrix_diag_f32", "matrix_set_diag_f32", "rfft2d_parts_f32"}) {
    const Bytes bytes = Changed(name, [](auto& model) {
      auto& graph = *model.subgraphs[0];
      const tflite::OperatorT once = Node(model);
      for (int i = 0; i < 3; ++i) {
        graph.operators.push_back(std::make_unique<tflite::OperatorT>(once));
        graph.operators.back()->outputs = {static_cast<int32_t>(graph.tensors.size())};
        graph.tensors.push_back(std::make_unique<tflite::TensorT>(Tensor(model, once.outputs[0])));
      }
    });
    std::vector<TensorData> constants;
    CollectConstants(ImportTfliteBytes(bytes.data(), bytes.size()), constants);
    std::set<const void*> tables;
    size_t uses = 0;
    for (const TensorData& constant : constants) {
      if (constant.shape().rank() != 2) continue;
      ++uses;
      tables.insert(constant.data());
    }
    EXPECT_GE(uses, 4 * tables.size()) << name;
    EXPECT_GE(tables.size(), 1u) << name;
  }
}

/// A few bytes can say that there are millions of boxes.
TEST(TfliteLimits, BoxesAreNotListed) {
  constexpr int kAnchors = 1 << 20;
  const Bytes bytes = Changed("detection_fast_f32", [&](auto& model) {
    for (const int32_t input : Node(model).inputs) {
      tflite::TensorT& tensor = Tensor(model, input);
      tensor.shape[tensor.shape.size() - 2] = kAnchors;
      tensor.buffer = 0;
      if (std::find(model.subgraphs[0]->inputs.begin(), model.subgraphs[0]->inputs.end(), input) ==
          model.subgraphs[0]->inputs.end())
        model.subgraphs[0]->inputs.push_back(input);
    }
  });
  std::vector<TensorData> constants;
  CollectConstants(ImportTfliteBytes(bytes.data(), bytes.size()), constants);
  EXPECT_FALSE(constants.empty());
  for (const TensorData& constant : constants) EXPECT_LT(constant.elements(), kAnchors);
}

TEST(TfliteLimits, SegmentsThatAreNoIntegersOf32Bits) {
  const Bytes bytes = Changed("segment_sum_f32", [](auto& model) {
    tflite::TensorT& ids = Tensor(model, Node(model).inputs[1]);
    ids.type = tflite::TensorType::INT64;
    ids.shape = {1};
    model.buffers[ids.buffer]->data = {255, 255, 255, 255, 255, 255, 255, 127};
  });
  ExpectError(bytes, StatusCode::kInvalidModel, HasSubstr("its last segment is 9223372036854775807"));
}

/// What runs at conversion is a stranger's as well: a product of 2^36 multiply-adds.
TEST(TfliteLimits, WorkOfWhatRunsOnce) {
  const auto once = [](int32_t size, int products) {
    return Changed("abs_f32", [=](auto& model) {
      auto& main = *model.subgraphs[0];
      model.subgraphs.push_back(std::make_unique<tflite::SubGraphT>());
      auto& init = *model.subgraphs[1];
      const auto handle_in = [&](tflite::SubGraphT& graph) {
        const int32_t handle = AddTensor(graph, tflite::TensorType::RESOURCE, {});
        AddHandle(model, graph, "", "v", handle);
        return handle;
      };
      std::vector<uint8_t> extents;
      for (int i = 0; i < 2; ++i) {
        for (int byte = 0; byte < 4; ++byte) extents.push_back(static_cast<uint8_t>(size >> (8 * byte)));
      }
      const int32_t shape = AddTensor(init, tflite::TensorType::INT32, {2}, AddBuffer(model, extents));
      const int32_t zero = AddTensor(init, tflite::TensorType::FLOAT32, {}, AddBuffer(model, {0, 0, 0, 0}));
      int32_t x = AddTensor(init, tflite::TensorType::FLOAT32, {size, size});
      AddNode(model, init, tflite::BuiltinOperator::FILL, {shape, zero}, {x});
      for (int i = 0; i < products; ++i) {
        const int32_t product = AddTensor(init, tflite::TensorType::FLOAT32, {size, size});
        AddNode(model, init, tflite::BuiltinOperator::BATCH_MATMUL, {x, x}, {product})
            .options.Set(tflite::BatchMatMulOptionsT());
        x = product;
      }
      AddNode(model, init, tflite::BuiltinOperator::ASSIGN_VARIABLE, {handle_in(init), x}, {});
      tflite::CallOnceOptionsT options;
      options.init_subgraph = 1;
      AddNode(model, main, tflite::BuiltinOperator::CALL_ONCE, {}, {}).options.Set(options);
      AddNode(model, main, tflite::BuiltinOperator::READ_VARIABLE, {handle_in(main)},
              {AddTensor(main, tflite::TensorType::FLOAT32, {size, size})});
    });
  };
  ExpectError(once(4096, 1), StatusCode::kUnsupported,
              HasSubstr("are left of what a run in eager mode may take"));
  const Bytes bytes = once(16, 10);
  EXPECT_NO_THROW(ImportTfliteBytes(bytes.data(), bytes.size()));
}

}  // namespace
}  // namespace skiff
