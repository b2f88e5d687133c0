/// Inputs as an application may have them: in memory that cannot be written.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

#include "graph/graph.h"

namespace skiff::testing {

/// A copy of a tensor, with the bytes behind it that BindInput() asks for.
class ReadOnlyCopy {
 public:
  explicit ReadOnlyCopy(const TensorData& tensor)
      : dtype_(tensor.dtype()), shape_(tensor.shape()), bytes_(tensor.size_bytes() + 16) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory to protect");
    std::memcpy(memory_, tensor.data(), tensor.size_bytes());
    if (mprotect(memory_, bytes_, PROT_READ) != 0) throw std::runtime_error("memory cannot be protected");
  }
  ~ReadOnlyCopy() { munmap(memory_, bytes_); }
  ReadOnlyCopy(const ReadOnlyCopy&) = delete;
  ReadOnlyCopy& operator=(const ReadOnlyCopy&) = delete;

  ConstTensorView view() const { return {memory_, dtype_, shape_}; }

 private:
  const DType dtype_;
  const Shape shape_;
  const size_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace skiff::testing
