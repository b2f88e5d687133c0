/// Elements of tensors that lie in files beside the model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "graph/graph.h"
#include "import/import_budget.h"
#include "import/onnx/proto.h"

namespace skiff {

/// How a file has the elements of a tensor: packed ones as the units that they lie in.
struct FileForm {
  DType dtype = DType::kInvalid;
  Shape shape;
};

class ExternalData {
 public:
  /// `folder` is the model's, where the files may lie; "" forbids them. Where `model`, its path, is a link,
  /// those in its folder may be links into the folder that it leads to.
  explicit ExternalData(std::string folder, std::string model = "")
      : folder_(std::move(folder)), model_(std::move(model)) {}

  /// Makes the tensor out of what is in the file.
  using Finish = std::function<TensorData(TensorData stored)>;

  /// Reads the elements in the form that the file has, and finishes them. What several tensors have in common
  /// is read, counted and finished once, and shared. `label` names the tensor in messages. Throws Error:
  /// kInvalidModel (a location outside the folder, sizes that contradict each other, tensors that overlap
  /// until files are read several times over), kIo (a file that cannot be read).
  TensorData Read(const onnx::TensorProto& tensor, const Shape& shape, const FileForm& form,
                  const std::string& label, const Finish& finish);
  /// Of all files together.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  /// File, first byte, ONNX's element type and elements.
  using Place = std::tuple<std::string, int64_t, int32_t, int64_t>;

  std::string folder_;
  std::string model_;
  std::map<Place, TensorData> read_;
  int64_t bytes_read_ = 0;
  std::map<std::string, int64_t> bytes_left_;  ///< By file, of what it may be read for its size.
  int64_t overlap_left_ = kFreeShared;         ///< Of what all of them may be read beyond that.
};

}  // namespace skiff
