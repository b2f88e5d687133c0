/// Elements of tensors that lie in files beside the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "graph/graph.h"
#include "import/onnx/proto.h"

namespace skiff {

class ExternalData {
 public:
  /// `folder` is the model's, where the files may lie; "" forbids them.
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  /// What several tensors have in common is read once and shared. `label` names the tensor in messages.
  /// Throws Error: kInvalidModel (a location outside the folder, sizes that contradict each other, tensors
  /// that overlap until a file is read several times over), kIo (a file that cannot be read).
  TensorData Read(const onnx::TensorProto& tensor, DType dtype, const Shape& shape, const std::string& label);

 private:
  /// File, first byte, dtype and elements.
  using Place = std::tuple<std::string, int64_t, DType, int64_t>;

  std::string folder_;
  std::map<Place, TensorData> read_;
  std::map<std::string, int64_t> bytes_read_;  ///< By file.
};

}  // namespace skiff
