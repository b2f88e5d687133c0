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

}  // namespace skiff
