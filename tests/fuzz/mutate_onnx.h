/// Changes fields of ONNX models.
#pragma once

#include <google/protobuf/message.h>

#include <random>

namespace skiff::testing {

/// Walks down a random path of set fields and changes, removes or repeats what it ends at; raw tensor data
/// stay. What was a name, an operator or a choice becomes another one of the model's, or an operator of the
/// importer.
void MutateModel(std::mt19937& random, google::protobuf::Message& model);

}  // namespace skiff::testing
