/// Types and constants of TensorFlow Lite tensors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "import/tflite/file.h"

namespace skiff {

/// kInvalid where Skiff has no such dtype.
DType DTypeOfTflite(tflite::TensorType type);
/// The same of a constant, which may be of 2 bits: it becomes i8.
DType DTypeOfConstant(tflite::TensorType type);
std::string TfliteTypeName(tflite::TensorType type);

/// Constants that have the same of these have the same elements: buffer, element type, shape, and what the
/// buffer leaves out.
using TfliteElements =
    std::tuple<uint32_t, tflite::TensorType, std::vector<int32_t>, const tflite::Sparsity*>;
TfliteElements ElementsOf(const tflite::Tensor& tensor);

/// A tensor of a subgraph: tables of several subgraphs may be one, and refer to other tensors in each.
using TfliteTensorIn = std::pair<const tflite::SubGraph*, const tflite::Tensor*>;

/// How integers of a file's tensors stand for real numbers. Each is read once: scales may be as many as
/// weights, and operators and subgraphs that run often ask again and again.
class TfliteQuantizations {
 public:
  /// The file outlives it.
  explicit TfliteQuantizations(const TfliteFile& file) : file_(file) {}

  /// Of a tensor of the subgraph; null: its integers are plain numbers. Floats that were quantised once,
  /// whose ranges the file keeps, have none, nor have i32 and i64, which are plain but for biases. Throws
  /// Error.
  QuantizationPtr Of(const tflite::SubGraph& graph, const tflite::Tensor& tensor);

 private:
  QuantizationPtr Read(const tflite::SubGraph& graph, const tflite::Tensor& tensor);
  QuantizationPtr InBlocks(const tflite::SubGraph& graph, const tflite::Tensor& tensor,
                           const tflite::BlockwiseQuantization& blocks);

  /// Scales, zero points where there are some, elements of a block, axes and element type of the tensor.
  using BlocksKey = std::tuple<TfliteElements, std::optional<TfliteElements>, int32_t, uint32_t, DType>;

  const TfliteFile& file_;
  std::map<TfliteTensorIn, QuantizationPtr> read_;
  /// Subgraphs with the same weights have tables of their own, of the same scales.
  std::map<BlocksKey, QuantizationPtr> blocks_;
};

/// Whether the file holds the tensor's elements.
bool IsTfliteConstant(const TfliteFile& file, const tflite::Tensor& tensor);

/// The elements of a constant, dense and with its quantisation, if it has one. i2 become i8. Throws Error,
/// which names the tensor. Zeros that the file leaves out, of a sparse tensor, are as many as it says: they
/// are taken from `bytes_left`; where these are not enough, it is an Error (kUnsupported).
TensorData ReadTfliteTensor(const TfliteFile& file, const tflite::Tensor& tensor,
                            const QuantizationPtr& quantization, uint64_t& bytes_left);

/// What a variable tensor holds before the first run: real zeros, all of them from `bytes_left`, as above.
TensorData FirstValueOfTflite(const tflite::Tensor& tensor, const QuantizationPtr& quantization,
                              uint64_t& bytes_left);

}  // namespace skiff
