/// Changes fields of ONNX models.
#pragma once

#include <onnx/onnx_pb.h>

#include <random>

namespace skiff::testing {

/// Makes a mistake (mistakes_onnx.h), or walks down a random path of set fields and changes, removes or
/// repeats what it ends at; raw tensor data stay then. What was a name, an operator or a choice becomes
/// another one of the model's, or an operator of the importer.
void MutateModel(std::mt19937& random, onnx::ModelProto& model);

}  // namespace skiff::testing
