/// The constants that the file holds narrower than kernels read them: each of the file's weights once, for
/// all plans that use them.
#pragma once

#include "core/fixed_array.h"
#include "core/wide_constant.h"

namespace skiff {

class WideWeights {
 public:
  /// Integers of four bits become f32.
  static constexpr uint64_t kMostGrowth = 8;

  /// Of a file that has so many weights, in so many bytes. Nothing is allocated before Find().
  void Init(uint32_t blob_count, uint64_t stored_bytes);
  /// The constant that is made of `stored`; `blob` tells which of the file's weights they are. kOutOfMemory.
  /// kInvalidModel, unlogged, where these weights had another form before, or where all would take more than
  /// kMostGrowth times the file's bytes (blobs may lie one over the other): a small file cannot ask for much
  /// memory.
  Result<WideConstant*> Find(uint32_t blob, const TensorView& stored);
  /// Of those that are there at this moment, and of all.
  uint64_t bytes() const { return held_.load(std::memory_order_relaxed); }
  uint64_t most_bytes() const { return reserved_bytes_; }

 private:
  FixedArray<WideConstant> constants_;  ///< By blob; empty while none is wide.
  std::atomic<uint64_t> held_{0};
  uint32_t blob_count_ = 0;
  uint64_t limit_ = 0;
  uint64_t reserved_bytes_ = 0;
};

}  // namespace skiff
