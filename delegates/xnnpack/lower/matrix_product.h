/// A MatMul of two computed operands, f32, on the dense kernels. Input 1 is packed at each run; a few rows
/// read it where it lies. Others may run the step, some rows at a time, and with operands that lie elsewhere.
#pragma once

#include "delegates/xnnpack/lower/batches.h"
#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

class MatrixProductStep final : public Step {
 public:
  using Step::Step;
  /// Null: `step` is none, or others cannot run it at these extents.
  static const MatrixProductStep* Of(const Step& step) {
    const PartialWork* const work = step.partial_work();
    return work != nullptr && work->as_product != nullptr ? work->as_product(step) : nullptr;
  }

  Status Reshape() override;
  Status Bind(void* workspace) override;
  Status Run() override;

  // What follows from extents.
  const BatchShape& shape() const { return shape_; }
  size_t products() const { return products_; }
  bool packs() const { return packs_; }
  size_t packed_bytes() const { return packs_ ? matrices_ * matrix_elements_ * sizeof(float) : 0; }
  const Matrices& x() const { return x_; }
  const Matrices& b() const { return b_; }
  const Matrices& y() const { return y_; }
  /// Whether the kernels can read, in place of input 1, a `b` that lies so, and add in the same order.
  bool TakesB(const Matrices& b) const {
    if (!packs_ && HasOutputsTogether(b) != HasOutputsTogether(b_)) return false;
    return b.column == 1 || b.row == 1;
  }

  /// `b` to `packed`, packed_bytes() that are aligned to 64 bytes.
  void Pack(const Matrices& b, float* packed, pthreadpool_t pool) const;
  /// Rows of inputs and of outputs.
  struct Side {
    const float* x = nullptr;
    size_t x_stride = 0;
    float* y = nullptr;
    size_t y_stride = 0;
  };
  /// Row `row` of a product: elements from where the first matrix of x, or of y, begins.
  size_t Offset(const Matrices& of, size_t product, size_t row) const {
    return OffsetOf(product, shape_.rank, extents_, of.batch) + row * of.row;
  }
  /// After Pack() with the same arguments.
  struct Operand {
    const Matrices& b;
    const float* packed;
  };
  void RunRows(const Operand& operand, size_t product, const Side& side, size_t count) const;

 private:
  struct Packing;
  void PackMatrix(const Packing& packing, size_t matrix, size_t first_panel, size_t end_panel) const;
  bool HasOutputsTogether(const Matrices& b) const { return (by_outputs_ ? b.row : b.column) == 1; }
  DenseMatrix MatrixAt(const Matrices& b, size_t offset) const;
  void RunPanels(const Operand& operand, size_t product, const Side& side, size_t count, size_t first_panel,
                 size_t end_panel) const;
  void RunBlock(size_t product, size_t block, size_t part) const;

  BatchShape shape_;
  size_t extents_[XNN_MAX_TENSOR_DIMS] = {};  ///< Of the batches.
  size_t products_ = 0;
  size_t matrices_ = 0;  ///< That are packed.
  bool packs_ = true;
  bool by_outputs_ = false;  ///< Input 1 has a row for each output.
  Matrices x_, b_, y_;
  size_t packed_batch_[XNN_MAX_TENSOR_DIMS] = {};
  const Kernels* kernels_ = nullptr;
  DenseArgs args_;
  size_t matrix_elements_ = 0;  ///< Of one packed.
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  size_t block_rows_ = 0;
  size_t blocks_ = 0;  ///< Of a product.
  float* packed_ = nullptr;
};

}  // namespace skiff::xnnpack
