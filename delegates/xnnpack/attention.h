/// A product of computed matrices, what changes its rows (a factor, a mask, softmax), and a product of these
/// rows: attention, a block of rows at a time. The scores of a block lie in the workspace, and those of all
/// rows nowhere (M. N. Rabe and C. Staats, Self-attention does not need O(n^2) memory, 2021; here a block has
/// all keys). What heads are transposed for, products read and write where it lies. The numbers are those of
/// one node after the other, bit by bit.
#pragma once

#include "delegates/xnnpack/lower/matrix_product.h"
#include "delegates/xnnpack/node_group.h"
#include "ops/build_ops.h"

namespace skiff::xnnpack {

inline constexpr bool kHasAttention = kHasOwnKernels && BuildHas(OpCode::kMatMul);

class Attention final : public NodeGroup {
 public:
  static constexpr size_t kMostChanges = 8;
  /// Steps that outlive it: each but the first product reads the result of the one before, and nobody else
  /// does. What the products read and write beside.
  struct Parts {
    const MatrixProductStep* scores = nullptr;
    const Step* changes[kMostChanges] = {};
    size_t change_count = 0;
    const MatrixProductStep* sums = nullptr;
    Matrices queries, keys, values, result;
  };

  /// Whether `step` may be one of those between the products: it changes rows.
  static bool IsChange(const Step& step);
  /// Whether the kernels can take these parts.
  static bool Takes(const Parts& parts);

  Attention() = default;
  Attention(const Parts& parts, pthreadpool_t pool);

  const Parts& parts() const { return parts_; }
  /// From addresses: each row of the result lies where the row of the queries does that it comes from.
  bool WritesOverOwnQueries() const;
  size_t workspace_bytes() const { return queries_place_ + queries_bytes_; }
  /// `workspace` is aligned to 64 bytes. Tensors have their addresses. `copies_queries`: the result is
  /// written over them.
  void Bind(void* workspace, bool copies_queries);
  void Run() const override;

 private:
  void RunBlock(size_t thread, size_t index) const;

  Parts parts_;
  pthreadpool_t pool_ = nullptr;
  size_t block_rows_ = 0;
  size_t blocks_ = 0;  ///< Of a product.
  // Bytes in the workspace: keys and values, packed, then the scores of each thread.
  size_t values_place_ = 0;
  size_t scores_place_ = 0;
  size_t thread_bytes_ = 0;
  size_t queries_place_ = 0;
  size_t queries_bytes_ = 0;
  char* workspace_ = nullptr;
  const float* queries_ = nullptr;
};

}  // namespace skiff::xnnpack
