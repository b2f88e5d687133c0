// TensorFlow Lite files in which many operators refer to the same large thing: it is read once, or counted
// before it is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace skiff
