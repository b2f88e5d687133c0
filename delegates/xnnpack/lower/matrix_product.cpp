#include "delegates/xnnpack/lower/matrix_product.h"

#include <algorithm>

#include "core/align.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {
namespace {

/// To pack a matrix takes longer than to multiply it by so many rows: three times as long as by three of 2048
/// keys, and as long as by six of 512 (a Zen 4, 64 inputs).
constexpr size_t kFewRows = 5;

}  // namespace

Status MatrixProductStep::Reshape() {
  const auto& attrs = node_.As<MatMulAttrs>();
  const TensorView& y = node_.out(0);
  if (!node_.in(0).dense() || !node_.in(1).dense() || !y.dense()) return Refuse();
  shape_ = BatchShape();
  if (!DescribeBatches(node_.in(0).shape, node_.in(1).shape, attrs.transpose_b, &shape_)) return Refuse();
  products_ = matrices_ = 1;
  for (size_t i = 0; i < shape_.rank; ++i) {
    extents_[i] = std::max(shape_.a[i], shape_.b[i]);
    products_ *= extents_[i];
    matrices_ *= shape_.b[i];
  }
  packs_ = shape_.m > kFewRows;
  by_outputs_ = attrs.transpose_b || node_.in(1).shape.rank() == 1;
  x_ = DenseMatrices(node_.in(0), shape_.m, shape_.k, shape_.rank, shape_.a);
  b_ = by_outputs_ ? DenseMatrices(node_.in(1), shape_.n, shape_.k, shape_.rank, shape_.b)
                   : DenseMatrices(node_.in(1), shape_.k, shape_.n, shape_.rank, shape_.b);
  y_ = DenseMatrices(y, shape_.m, shape_.n, shape_.rank, extents_);

  args_.run = shape_.k;
  args_.outputs = shape_.n;
  args_.min = attrs.min;
  args_.max = attrs.max;
  kernels_ = &KernelsForOutputs(*environment_.kernels, shape_.n);
  matrix_elements_ = AlignUp(DenseGroupElements(args_, *kernels_) * sizeof(float)) / sizeof(float);
  for (size_t i = shape_.rank, stride = matrix_elements_; i-- > 0; stride *= shape_.b[i])
    packed_batch_[i] = shape_.b[i] == 1 ? 0 : stride;
  panels_ = DensePanelCount(args_, *kernels_);

  const size_t threads = pthreadpool_get_threads_count(environment_.pool);
  const size_t tasks = threads == 1 ? 1 : kTasksOfThread * threads;
  block_rows_ = DenseBlockRows(args_, shape_.m, products_ >= threads ? 1 : threads);
  blocks_ = DivideUp(shape_.m, block_rows_);
  const size_t parts = tasks / std::min(products_ * blocks_, tasks);
  at_once_ = DensePanelsAtOnce(args_, args_.inputs(), *kernels_, parts);
  // A product with a vector drops an axis.
  const bool has_rows = static_cast<size_t>(y.shape.last()) == shape_.n;
  leads_ = parts == 1 && has_rows;
  static constexpr PartialWork kWork = {
      .as_product = [](const Step& step) { return static_cast<const MatrixProductStep*>(&step); }};
  work_ = has_rows ? &kWork : nullptr;
  workspace_bytes_ = packed_bytes();
  return OkStatus();
}

Status MatrixProductStep::Bind(void* workspace) {
  packed_ = static_cast<float*>(workspace);
  return OkStatus();
}

DenseMatrix MatrixProductStep::MatrixAt(const Matrices& b, size_t offset) const {
  const bool together = HasOutputsTogether(b);
  // From input to input, or from output to output.
  const size_t distance = together == by_outputs_ ? b.column : b.row;
  return {b.tensor->as<const float>() + offset, distance, together};
}

struct MatrixProductStep::Packing {
  const MatrixProductStep* step;
  const Matrices* from;
  float* to;
};

void MatrixProductStep::PackMatrix(const Packing& packing, size_t matrix, size_t first_panel,
                                   size_t end_panel) const {
  const DenseMatrix from =
      MatrixAt(*packing.from, OffsetOf(matrix, shape_.rank, shape_.b, packing.from->batch));
  PackPanels(args_, *kernels_, from, /*bias=*/nullptr, first_panel, end_panel,
             packing.to + matrix * matrix_elements_);
}

void MatrixProductStep::Pack(const Matrices& b, float* packed, pthreadpool_t pool) const {
  if (!packs_) return;
  const size_t tasks = kTasksOfThread * pthreadpool_get_threads_count(pool);
  const size_t parts = pool == nullptr ? 1 : DivideUp(tasks, std::min(matrices_, tasks));
  Packing packing{this, &b, packed};
  pthreadpool_parallelize_2d_tile_1d(
      pool,
      [](void* of, size_t matrix, size_t first, size_t count) {
        const auto& self = *static_cast<const Packing*>(of);
        self.step->PackMatrix(self, matrix, first, first + count);
      },
      &packing, matrices_, panels_, DivideUp(panels_, parts), /*flags=*/0);
}

void MatrixProductStep::RunPanels(const Operand& operand, size_t product, const Side& side, size_t count,
                                  size_t first_panel, size_t end_panel) const {
  DenseArgs args = args_;
  args.x = side.x;
  args.y = side.y;
  args.x_stride = side.x_stride;
  args.y_stride = side.y_stride;
  if (packs_) {
    args.weights = operand.packed + OffsetOf(product, shape_.rank, extents_, packed_batch_);
    for (size_t panel = first_panel; panel < end_panel; panel += at_once_)
      kernels_->dense(args, 0, count, panel, std::min(panel + at_once_, end_panel));
    return;
  }
  const DenseMatrix matrix = MatrixAt(operand.b, Offset(operand.b, product, 0));
  const size_t first = first_panel * kernels_->dense_outputs;
  const size_t end = end_panel == panels_ ? shape_.n : end_panel * kernels_->dense_outputs;
  for (; count > 0; --count, args.x += args.x_stride, args.y += args.y_stride)
    kernels_->row_times_matrix(args, matrix, first, end);
}

void MatrixProductStep::RunRows(const Operand& operand, size_t product, const Side& side,
                                size_t count) const {
  RunPanels(operand, product, side, count, 0, panels_);
}

void MatrixProductStep::RunBlock(size_t product, size_t block, size_t part) const {
  const size_t first = block * block_rows_;
  const size_t count = std::min(block_rows_, shape_.m - first);
  const Side side = {x_.tensor->as<const float>() + Offset(x_, product, first), x_.row,
                     y_.tensor->as<float>() + Offset(y_, product, first), y_.row};
  if (!leads_) {
    const size_t panel = part * at_once_;
    return RunPanels({b_, packed_}, product, side, count, panel, std::min(panel + at_once_, panels_));
  }
  RunRows({b_, packed_}, product, side, count);
  FollowUp(product * shape_.m + first, count);
}

Status MatrixProductStep::Run() {
  Pack(b_, packed_, environment_.pool);
  pthreadpool_parallelize_3d(
      environment_.pool,
      [](void* step, size_t product, size_t block, size_t part) {
        static_cast<const MatrixProductStep*>(step)->RunBlock(product, block, part);
      },
      this, products_, blocks_, leads_ ? 1 : DivideUp(panels_, at_once_), /*flags=*/0);
  return OkStatus();
}

}  // namespace skiff::xnnpack
