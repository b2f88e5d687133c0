// TensorFlow Lite files that are wrong, or more than Skiff can import: one clear message each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/tflite/import_tflite.h"
#include "tests/converter/import/tflite/changed_case.h"

namespace skiff {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TfliteErrors, TruncatedFiles) {
  const Bytes whole = ReadCase("conv_2d_same_i8");
  for (const size_t size : {size_t{8}, size_t{40}, whole.size() / 2, whole.size() - 8}) {
    ExpectError(Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(size)), StatusCode::kInvalidModel,
                HasSubstr("truncated or damaged"));
  }
}

/// Half of the one number is taken for a list's length, so that the verifier finds a list of one that lies
/// four bytes behind where numbers of eight bytes may.
TEST(TfliteErrors, MisalignedZeroPoints) {
  constexpr int64_t kLengthInside = (int64_t{3} << 32) | 1;
  Bytes bytes = Changed("conv_2d_same_i8", [](auto& model) {
    Tensor(model, 0).quantization->zero_point = {kLengthInside, 0};
  });
  const auto* quantization =
      tflite::GetModel(bytes.data())->subgraphs()->Get(0)->tensors()->Get(0)->quantization();
  auto* table = reinterpret_cast<flatbuffers::Table*>(
      bytes.data() + (reinterpret_cast<const uint8_t*>(quantization) - bytes.data()));
  auto* offset =
      reinterpret_cast<flatbuffers::uoffset_t*>(table->GetAddressOf(tflite::Quantization::VT_ZERO_POINT));
  *offset += 4;
  ASSERT_EQ(quantization->zero_point()->size(), 1u);
  ExpectError(bytes, StatusCode::kInvalidModel,
              HasSubstr("the zero points of tensor 0 of subgraph 0 are misaligned"));
}

TEST(TfliteErrors, AnotherVersionOfTheFormat) {
  ExpectError(Changed("abs_f32", [](auto& model) { model.version = 2; }), StatusCode::kUnsupported,
              HasSubstr("version 2 of the TensorFlow Lite format; 3 was expected"));
}

TEST(TfliteErrors, AllUnsupportedOperatorsAreListedAtOnce) {
  const Bytes bytes = Changed("add_f32", [](auto& model) {
    const auto add = [&](tflite::BuiltinOperator op, const char* custom) {
      auto code = std::make_unique<tflite::OperatorCodeT>();
      code->builtin = op;
      code->old_builtin = static_cast<int8_t>(std::min<int>(static_cast<int>(op), 127));
      code->custom = custom;
      model.operator_codes.push_back(std::move(code));
      auto& graph = *model.subgraphs[0];
      auto made = std::make_unique<tflite::TensorT>(*graph.tensors[0]);
      made->name = "made_" + std::to_string(graph.tensors.size());
      made->buffer = 0;
      graph.tensors.push_back(std::move(made));
      auto node = std::make_unique<tflite::OperatorT>();
      node->code = static_cast<uint32_t>(model.operator_codes.size() - 1);
      node->inputs = {graph.inputs[0]};
      node->outputs = {static_cast<int32_t>(graph.tensors.size() - 1)};
      graph.outputs.push_back(node->outputs[0]);
      graph.operators.push_back(std::move(node));
    };
    add(tflite::BuiltinOperator::CUSTOM, "FlexRoll");
    add(tflite::BuiltinOperator::CUSTOM, "Sharpen");
    add(tflite::BuiltinOperator::STABLEHLO_SORT, "");
  });
  ExpectError(bytes, StatusCode::kUnsupported,
              AllOf(HasSubstr("3 things"), HasSubstr("operator FlexRoll (1 time: 'made_"),
                    HasSubstr("TFLITE_BUILTINS"), HasSubstr("operator Sharpen"), HasSubstr("author's own"),
                    HasSubstr("operator STABLEHLO_SORT"), Not(HasSubstr("ADD"))));
}

TEST(TfliteErrors, TensorsThatNobodyMakes) {
  ExpectError(Changed("add_f32", [](auto& model) { model.subgraphs[0]->inputs.pop_back(); }),
              StatusCode::kInvalidModel, HasSubstr("is read before an operator makes it"));
  ExpectError(Changed("add_f32", [](auto& model) { Node(model).inputs[0] = 1000; }),
              StatusCode::kInvalidModel, HasSubstr("refer to tensor 1000 of"));
  ExpectError(Changed("add_f32", [](auto& model) { Node(model).inputs.pop_back(); }),
              StatusCode::kInvalidModel, HasSubstr("(ADD): input 1 is missing; the node has 1 inputs"));
  ExpectError(Changed("add_f32", [](auto& model) { Node(model).outputs.clear(); }), StatusCode::kInvalidModel,
              HasSubstr("the node has no outputs"));
}

/// Tensors of one name are several inputs: each can be set.
TEST(TfliteErrors, InputsOfOneNameGetNumbers) {
  const Bytes bytes = Changed("add_f32", [](auto& model) {
    for (const int32_t input : model.subgraphs[0]->inputs) Tensor(model, input).name = "same";
  });
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  ASSERT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.inputs()[0].name, "same");
  EXPECT_EQ(graph.inputs()[1].name, "same_2");
}

/// An LSTM has an input gate or none; half of one is none of both. So are biases of some of its gates.
TEST(TfliteErrors, HalfOfAGate) {
  for (const size_t input : {1, 2, 5, 6}) {
    ExpectError(Changed("lstm_f32", [&](auto& model) { Node(model).inputs[input] = -1; }),
                StatusCode::kInvalidModel, HasSubstr("the weights of a gate are missing"));
  }
  for (const size_t input : {9, 10, 11}) {
    ExpectError(Changed("lstm_peephole_f32", [&](auto& model) { Node(model).inputs[input] = -1; }),
                StatusCode::kInvalidModel, HasSubstr("the weights of a peephole are missing"));
  }
  for (const size_t input : {12, 13, 14, 15}) {
    ExpectError(Changed("lstm_f32", [&](auto& model) { Node(model).inputs[input] = -1; }),
                StatusCode::kInvalidModel, HasSubstr("the bias of a gate is missing"));
  }
}

/// Integers of 32 bits are plain ones, though the file may state a scale.
TEST(TfliteErrors, ScalesOfWideIntegers) {
  const auto wide = [](const char* name, bool input) {
    return Changed(name, [=](tflite::ModelT& model) {
      Tensor(model, input ? Node(model).inputs[0] : Node(model).outputs[0]).type = tflite::TensorType::INT32;
    });
  };
  ExpectError(wide("requantize_f32", true), StatusCode::kUnsupported,
              HasSubstr("operator QUANTIZE: it reads i32 whose scale is not known"));
  ExpectError(wide("quantize_i8", false), StatusCode::kUnsupported,
              HasSubstr("operator QUANTIZE: it makes i32 of a scale"));
  ExpectError(wide("dequantize_i8", true), StatusCode::kUnsupported,
              HasSubstr("operator DEQUANTIZE: it reads i32 whose scale is not known"));
  ExpectError(Changed("dequantize_i8",
                      [](auto& model) { Tensor(model, Node(model).inputs[0]).quantization.reset(); }),
              StatusCode::kUnsupported, HasSubstr("it reads i8 whose scale is not known"));
  ExpectError(
      Changed("quantize_i8", [](auto& model) { Tensor(model, Node(model).outputs[0]).quantization.reset(); }),
      StatusCode::kInvalidModel, HasSubstr("its output has no scale"));
}

TEST(TfliteErrors, OptionsOfAnotherOperator) {
  ExpectError(Changed("add_f32", [](auto& model) { Node(model).options.Set(tflite::Conv2DOptionsT()); }),
              StatusCode::kInvalidModel, HasSubstr("(ADD): it has the options of another operator"));
  ExpectError(
      Changed("conv_2d_same_f32", [](auto& model) { Node(model).options.AsConv2DOptions()->stride_w = 0; }),
      StatusCode::kInvalidModel, HasSubstr("its stride is 0; a number from 1 to"));
}

TEST(TfliteErrors, ScalesThatFitNothing) {
  const auto weights = [](tflite::ModelT& model) -> tflite::TensorT& {
    return Tensor(model, Node(model).inputs[1]);
  };
  ExpectError(Changed("conv_2d_same_i8", [&](auto& model) { weights(model).quantization->axis = 7; }),
              StatusCode::kInvalidModel, HasSubstr("scales along axis 7 of its 4 axes"));
  ExpectError(Changed("conv_2d_same_i8", [&](auto& model) { weights(model).quantization->scale[0] = -1; }),
              StatusCode::kInvalidModel, HasSubstr("one of its scales is -1"));
  ExpectError(Changed("conv_2d_same_i8",
                      [&](auto& model) {
                        weights(model).quantization->zero_point = {0, 0};
                      }),
              StatusCode::kInvalidModel, HasSubstr("scales and 2 zero points"));
  ExpectError(
      Changed("conv_2d_same_i8", [&](auto& model) { weights(model).quantization->zero_point = {128}; }),
      StatusCode::kInvalidModel, HasSubstr("a zero point is 128, which INT8 does not hold"));
  ExpectError(
      Changed("fully_connected_dyn4", [](auto& model) { Node(model).inputs[2] = Node(model).inputs[1]; }),
      StatusCode::kInvalidModel, HasSubstr("its bias has 4 scales for 20 elements"));
  ExpectError(Changed("conv_2d_same_i8", [&](auto& model) { weights(model).shape.push_back(3); }),
              StatusCode::kInvalidModel, HasSubstr("bytes, the file holds"));
  // The signature of the shape is what an input has.
  ExpectError(Changed("conv_2d_same_i8",
                      [](auto& model) {
                        tflite::TensorT& x = Tensor(model, model.subgraphs[0]->inputs[0]);
                        const auto channels = static_cast<size_t>(x.shape.back());
                        x.quantization->scale.assign(channels, 0.5F);
                        x.quantization->zero_point.assign(channels, 0);
                        x.quantization->axis = static_cast<int32_t>(x.shape.size()) - 1;
                        x.shape_signature = x.shape;
                        ++x.shape_signature.back();
                      }),
              StatusCode::kInvalidModel, HasSubstr("its quantisation cannot be used: it has another number"));
}

TEST(TfliteErrors, WhatRunsOnceDoesNotRunItself) {
  ExpectError(Changed("variable_f32",
                      [](auto& model) {
                        const auto& main = *model.subgraphs[0];
                        for (const auto& node : main.operators) {
                          const auto* options = node->options.AsCallOnceOptions();
                          if (options == nullptr) continue;
                          auto& once = *model.subgraphs[static_cast<size_t>(options->init_subgraph)];
                          once.operators.insert(once.operators.begin(),
                                                std::make_unique<tflite::OperatorT>(*node));
                        }
                      }),
              StatusCode::kUnsupported, HasSubstr("inside of what runs once"));
}

TEST(TfliteErrors, VariablesAreCalledAsNothingElse) {
  const Bytes bytes = Changed("variable_f32", [](auto& model) {
    model.signatures.clear();
    for (const auto& node : model.subgraphs[0]->operators) {
      if (const auto* options = node->options.AsVarHandleOptions())
        Tensor(model, model.subgraphs[0]->inputs[0]).name = options->shared_name;
    }
  });
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  ASSERT_EQ(graph.variables.size(), 1u);
  EXPECT_EQ(graph.variables[0].name, graph.caller_inputs()[0].name + "_2");
}

TEST(TfliteErrors, StringsAreNamed) {
  ExpectError(Changed("abs_f32",
                      [](auto& model) {
                        Tensor(model, model.subgraphs[0]->inputs[0]).type = tflite::TensorType::STRING;
                      }),
              StatusCode::kUnsupported, HasSubstr("inputs of STRING"));
}

TEST(TfliteErrors, InputsThatCannotBeFixed) {
  ExpectError(ReadCase("abs_f32"), StatusCode::kInvalidArgument, HasSubstr("the model has no input 'sr'"),
              {{"sr", 1}});
}

}  // namespace
}  // namespace skiff
