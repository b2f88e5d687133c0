/// Changes fields of ONNX models.
#pragma once

#include <google/protobuf/message.h>

#include <random>

namespace skiff::testing {

/// Walks down a random path of set fields and changes, removes or repeats what it ends at; raw tensor data
/// stay.
void MutateMessage(std::mt19937& random, google::protobuf::Message& message);

}  // namespace skiff::testing
