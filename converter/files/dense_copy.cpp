// Apart from tensor_files.cpp, for the same reason as read_file.cpp.
#include <cstring>

#include "files/tensor_files.h"
#include "graph/quantization.h"

namespace skiff {

TensorData DenseCopy(const TensorView& view) {
  if (view.dense()) return TensorData(view.dtype, view.shape, view.data).Quantized(CopyOf(view.quantization));
  TensorData result = TensorData(view.dtype, view.shape).Quantized(CopyOf(view.quantization));
  const int64_t size = DTypeSize(view.dtype);
  const int64_t rows = view.shape.elements() / view.shape.last();
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(static_cast<uint8_t*>(result.mutable_data()) + i * view.shape.last() * size,
                view.as<uint8_t>() + i * view.row_stride * size,
                static_cast<size_t>(view.shape.last() * size));
  }
  return result;
}

}  // namespace skiff
