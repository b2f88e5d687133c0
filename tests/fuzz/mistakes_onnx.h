/// Mistakes in ONNX models that an importer has to notice.
#pragma once

#include <onnx/onnx_pb.h>

#include <random>

namespace skiff::testing {

/// Makes a mistake in a node, in what a tensor is, or in the opset: an input or attribute that is missing, of
/// another kind or out of range, a constant that is computed, extents or a rank that nobody states. The model
/// stays one that protobuf reads.
void MakeMistake(std::mt19937& random, onnx::ModelProto& model);

}  // namespace skiff::testing
