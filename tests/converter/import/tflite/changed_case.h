/// A case's file with something changed, and what importing it says. Of one subgraph, with one operator.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "import/import_model.h"
#include "import/tflite/schema.h"

namespace skiff {

using Bytes = std::vector<uint8_t>;

Bytes ReadCase(const char* name);
Bytes Changed(const char* name, const std::function<void(tflite::ModelT&)>& change);

void ExpectError(const Bytes& bytes, StatusCode code, const ::testing::Matcher<std::string>& message,
                 const FixedInputs& fixed = {});

inline tflite::TensorT& Tensor(tflite::ModelT& model, int32_t index) {
  return *model.subgraphs[0]->tensors[static_cast<size_t>(index)];
}
inline tflite::OperatorT& Node(tflite::ModelT& model) { return *model.subgraphs[0]->operators[0]; }

/// One without options; its code is added where the model has none.
tflite::OperatorT& AddNode(tflite::ModelT& model, tflite::SubGraphT& graph, tflite::BuiltinOperator op,
                           std::vector<int32_t> inputs, std::vector<int32_t> outputs);
int32_t AddTensor(tflite::SubGraphT& graph, tflite::TensorType type, std::vector<int32_t> shape,
                  uint32_t buffer = 0);
uint32_t AddBuffer(tflite::ModelT& model, std::vector<uint8_t> bytes);
/// The operator that makes a handle of a variable.
void AddHandle(tflite::ModelT& model, tflite::SubGraphT& graph, const std::string& container,
               const std::string& name, int32_t handle);

}  // namespace skiff
