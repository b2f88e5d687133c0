/// TensorProto as constant tensors.
#pragma once

#include <cstddef>
#include <string>

#include "graph/graph.h"
#include "import/onnx/external_data.h"
#include "import/onnx/proto.h"

namespace skiff {

/// Reads the elements, wherever they are: raw, typed fields, or an `external` file. `label` names the tensor
/// in messages. Throws Error: kUnsupported (element type, sparse segments), kInvalidModel (sizes that
/// contradict each other, a location outside the folder), kIo (external file unreadable).
TensorData ReadTensor(const onnx::TensorProto& tensor, ExternalData& external, const std::string& label);

/// The same, and the message does not hold the elements any more: many are taken over without a copy.
TensorData TakeTensor(onnx::TensorProto& tensor, ExternalData& external, const std::string& label);

/// Of a tensor by itself, which has no folder and no external data.
TensorData ReadTensor(const onnx::TensorProto& tensor, const std::string& label);

/// The bytes of the message, or of what ReadTensor() makes of the elements in it where these are more:
/// compact numbers become many times as many.
size_t ImportedBytes(const onnx::TensorProto& tensor);

/// Reads a message from a file, whose bytes are never in memory beside it. Throws Error: kIo, kInvalidModel
/// above the 2 GiB that protobuf can read, and where the content is none: "PATH: {}", `what` with its size.
void ReadProtobufFile(const std::string& path, const char* what, google::protobuf::MessageLite& message);

}  // namespace skiff
