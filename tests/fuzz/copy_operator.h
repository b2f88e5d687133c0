/// A custom operator as an application may have it: each output is a copy of the first input.
#pragma once

#include <cstring>

#include "skiff/custom_operator.h"
#include "skiff/log.h"

namespace skiff::testing {

inline Status InferCopy(void*, const CustomCall& call) {
  if (call.inputs.empty() || call.inputs[0].dtype == DType::kInvalid)
    return Fail(StatusCode::kInvalidModel, "it has no input");
  for (TensorView& output : call.outputs) {
    output.dtype = call.inputs[0].dtype;
    output.shape = call.inputs[0].shape;
  }
  return OkStatus();
}

inline Status RunCopy(void*, const CustomCall& call) {
  for (const TensorView& output : call.outputs)
    std::memcpy(output.data, call.inputs[0].data, static_cast<size_t>(output.bytes()));
  return OkStatus();
}

/// Of ONNX's domain "fuzz", or as it stands in TensorFlow Lite.
inline constexpr CustomOperator kCopyOperator = {"fuzz::Copy", InferCopy, RunCopy, nullptr};

}  // namespace skiff::testing
