/// Types and constants of TensorFlow Lite tensors.
#pragma once

#include <string>

#include "graph/graph.h"
#include "import/tflite/file.h"

namespace skiff {

/// kInvalid where Skiff has no such dtype.
DType DTypeOfTflite(tflite::TensorType type);
std::string TfliteTypeName(tflite::TensorType type);

/// How a tensor's integers stand for real numbers; null: they do not. Floats that were quantised once, whose
/// ranges the file keeps, have none, nor have i32 and i64, which are plain but for biases. Throws Error.
QuantizationPtr QuantizationOfTflite(const TfliteFile& file, const tflite::SubGraph& graph,
                                     const tflite::Tensor& tensor);

/// Whether the file holds the tensor's elements.
bool IsTfliteConstant(const TfliteFile& file, const tflite::Tensor& tensor);

/// The elements of a constant, dense and with its quantisation. i2 become i8. Throws Error, which names the
/// tensor. Zeros that the file leaves out, of a sparse tensor, are as many as it says: they are taken from
/// `bytes_left`; where these are not enough, it is an Error (kUnsupported).
TensorData ReadTfliteTensor(const TfliteFile& file, const tflite::SubGraph& graph,
                            const tflite::Tensor& tensor, uint64_t& bytes_left);

/// What a variable tensor holds before the first run: real zeros, all of them from `bytes_left`, as above.
TensorData FirstValueOfTflite(const TfliteFile& file, const tflite::SubGraph& graph,
                              const tflite::Tensor& tensor, uint64_t& bytes_left);

}  // namespace skiff
