/// Rows times packed weights by Strassen's way (kernels/strassen.inc): an eighth of the multiplications less,
/// for sums of inputs and of weights.
#pragma once

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

class StrassenProduct {
 public:
  /// Whether it takes less time than the direct way. Follows from extents alone, so that the numbers do not
  /// depend on anything else.
  static bool IsFaster(const DenseShape& shape, size_t rows, const Kernels& kernels);

  /// `args` has its weights, the same ones each time; they are looked through the first time.
  Status Prepare(const DenseArgs& args, size_t rows, const Kernels& kernels, pthreadpool_t pool);
  size_t workspace_bytes() const { return workspace_bytes_; }
  /// Run() calls FollowUp() of the step that it runs for.
  bool leads() const { return parts_ == 1; }

  /// `args` as in Prepare(), with addresses.
  void Bind(const DenseArgs& args, void* workspace);
  void Run(const Step& step, pthreadpool_t pool);

 private:
  void RunPart(const Step& step, size_t thread, size_t index);

  const StrassenKernels* kernels_ = nullptr;
  StrassenArgs args_;
  FixedArray<uint8_t> of_like_size_;
  size_t rows_ = 0;
  size_t blocks_ = 0;  ///< Of nearly equal numbers of pairs.
  size_t parts_ = 0;   ///< Of a block.
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels of a part.
  /// For each thread: one more than the block of whose inputs it has the sums. Others make them, too: to wait
  /// for each other would take longer.
  FixedArray<size_t> summed_;
  size_t sums_elements_ = 0;
  size_t thread_elements_ = 0;  ///< Of memory, for each.
  size_t workspace_bytes_ = 0;
  float* workspace_ = nullptr;
};

}  // namespace skiff::xnnpack
