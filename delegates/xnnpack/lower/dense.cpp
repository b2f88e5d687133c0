// Rows times constant weights with kernels of our own: fully connected layers, matrix products, 1 x 1
// convolutions.
#include <algorithm>
#include <cstring>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/strassen.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// Rows that one thread takes through all weights: they stay in its cache from panel to panel. More of them
/// where the weights do not, so that these come from memory less often.
constexpr size_t kBlockRows = 96;
constexpr size_t kStayingBytes = 512 * 1024;

/// The rows of a block. All have nearly as many, and threads as many blocks where these do not become small.
size_t RowsOfBlock(const DenseShape& shape, size_t rows, size_t threads) {
  size_t most = kBlockRows;
  if (shape.run * shape.outputs * sizeof(float) > kStayingBytes)
    most = std::max(most, kStayingBytes / (shape.run * sizeof(float)));
  if (threads > 1) most = std::max(kBlockRows, std::min(most, rows / (kTasksOfThread * threads)));
  size_t blocks = DivideUp(rows, most);
  const size_t as_many = DivideUp(blocks, threads) * threads;
  if (blocks > 1 && rows / as_many >= kBlockRows / 2) blocks = as_many;
  return blocks > 1 ? DivideUp(rows, blocks) : std::max<size_t>(rows, 1);
}

constexpr size_t kFour = 4;
using FourFloats [[gnu::vector_size(kFour * sizeof(float))]] = float;

FourFloats LoadFour(const float* from) {
  FourFloats four;
  std::memcpy(&four, from, sizeof(four));
  return four;
}

/// Four numbers of each of four rows that begin `distance` apart: to[i * width + row].
void TransposeFour(const float* from, size_t distance, float* to, size_t width) {
  const FourFloats a = LoadFour(from);
  const FourFloats b = LoadFour(from + distance);
  const FourFloats c = LoadFour(from + 2 * distance);
  const FourFloats d = LoadFour(from + 3 * distance);
  const FourFloats ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const FourFloats cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const FourFloats ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const FourFloats cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const FourFloats columns[] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                                __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                                __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (size_t i = 0; i < kFour; ++i) std::memcpy(to + i * width, &columns[i], sizeof(columns[i]));
}

/// Rows of `width` numbers, of which `exist` come from as many outputs that begin `distance` apart; 0 else.
void PackOutputs(const float* from, size_t distance, size_t inputs, size_t exist, size_t width, float* to) {
  size_t k = 0;
  for (; k + kFour <= inputs; k += kFour, from += kFour, to += kFour * width) {
    size_t i = 0;
    for (; i + kFour <= exist; i += kFour) TransposeFour(from + i * distance, distance, to + i, width);
    for (size_t row = 0; row < kFour; ++row) {
      for (size_t rest = i; rest < width; ++rest)
        to[row * width + rest] = rest < exist ? from[rest * distance + row] : 0.0f;
    }
  }
  for (; k < inputs; ++k, ++from, to += width) {
    for (size_t i = 0; i < width; ++i) to[i] = i < exist ? from[i * distance] : 0.0f;
  }
}

/// One group: `weights` and `bias` (or null) are its own.
void PackPanels(const DenseArgs& args, const float* weights, const float* bias, bool transposed, size_t panel,
                size_t columns, float* to) {
  const size_t inputs = args.inputs();
  for (size_t first = 0, width = 0; first < columns; first += width) {
    width = columns - first < 2 * panel ? columns - first : panel;
    const size_t exist = std::min(width, args.outputs - first);
    std::fill_n(to, width, 0.0f);
    if (bias != nullptr) std::copy_n(bias + first, exist, to);
    to += width;
    if (transposed) {
      for (size_t k = 0; k < inputs; ++k, to += width)
        std::fill(std::copy_n(weights + k * args.outputs + first, exist, to), to + width, 0.0f);
    } else {
      PackOutputs(weights + first * inputs, inputs, inputs, exist, width, to);
      to += inputs * width;
    }
  }
}

class DenseStep final : public Step {
 public:
  DenseStep(const NodeView& node, const Environment& environment, const DenseLayer& layer)
      : Step(node, environment), layer_(layer) {}

  Status Reshape() override {
    workspace_bytes_ = 0;
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    args_.run = from.length;
    args_.outputs = static_cast<size_t>(node_.in(1).shape.elements()) / from.length;
    args_.x_stride = from.stride;
    args_.y_stride = to.stride;
    // A product with a vector drops the axis of its one output.
    if (to.length != args_.outputs) {
      if (!node_.out(0).dense()) return Refuse();
      args_.y_stride = args_.outputs;
    }
    args_.min = layer_.min;
    args_.max = layer_.max;
    kernels_ = &KernelsForOutputs(*environment_.kernels, args_.outputs);
    rows_ = from.count;
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    block_rows_ = RowsOfBlock(args_, rows_, threads);
    blocks_ = DivideUp(rows_, block_rows_);
    const size_t parts = threads == 1 ? 1 : kTasksOfThread * threads / blocks_;
    leads_ = parts <= 1 && to.length == args_.outputs;
    panels_ = DensePanelCount(args_, *kernels_);
    // Weights that one row uses need not stay in a cache, and come faster from several panels at a time.
    at_once_ = rows_ == 1 ? panels_ / std::clamp<size_t>(parts, 1, panels_)
                          : DensePanelsAtOnce(args_, args_.inputs(), *kernels_, parts);
    work_ = to.length == args_.outputs ? &kWork : nullptr;
    SKIFF_RETURN_IF_ERROR(PackDense(node_, environment_, *kernels_, layer_.transposed, /*groups=*/1, &args_));
    by_strassen_ = !environment_.exact && StrassenProduct::IsFaster(args_, rows_, *kernels_);
    return by_strassen_ ? ReshapeStrassen() : OkStatus();
  }

  Status Bind(void* workspace) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    if (by_strassen_) strassen_.Bind(args_, workspace);
    return OkStatus();
  }

  Status Run() override {
    if (by_strassen_) {
      strassen_.Run(*this, environment_.pool);
      return OkStatus();
    }
    if (has_follower()) {
      pthreadpool_parallelize_1d(
          environment_.pool,
          [](void* step, size_t block) { static_cast<const DenseStep*>(step)->RunBlock(block); }, this,
          blocks_, /*flags=*/0);
      return OkStatus();
    }
    pthreadpool_parallelize_2d(
        environment_.pool,
        [](void* step, size_t block, size_t part) {
          static_cast<const DenseStep*>(step)->RunPart(block,
                                                       part * static_cast<const DenseStep*>(step)->at_once_);
        },
        this, blocks_, DivideUp(panels_, at_once_), /*flags=*/0);
    return OkStatus();
  }

 private:
  static LineWindows WindowsOf(const Step&) { return {}; }
  static void RunLines(const Step& step, const Lines& x, const Lines& y, const LineRange& lines, void*) {
    const auto& self = static_cast<const DenseStep&>(step);
    DenseArgs args = self.args_;
    args.x_stride = x.pixel;
    args.y_stride = y.pixel;
    for (LineRange left = lines; !left.empty();) {
      const size_t count = std::min(x.Together(left), y.Together(left));
      args.x = x[left.first];
      args.y = y[left.first];
      const size_t rows = count * y.width();
      const size_t block_rows = RowsOfBlock(args, rows, /*threads=*/1);
      for (size_t row = 0; row < rows; row += block_rows)
        self.RunRows(args, row, std::min(row + block_rows, rows));
      left.first += count;
    }
  }
  static constexpr PartialWork kWork = {.windows = &WindowsOf, .run_lines = &RunLines};

  /// Lines of a strip would be too few rows for the sums of weights.
  Status ReshapeStrassen() {
    SKIFF_RETURN_IF_ERROR(strassen_.Prepare(args_, rows_, *kernels_, environment_.pool));
    workspace_bytes_ = strassen_.workspace_bytes();
    leads_ = strassen_.leads() && work_ != nullptr;
    work_ = nullptr;
    return OkStatus();
  }

  size_t EndOfBlock(size_t block) const { return std::min((block + 1) * block_rows_, rows_); }
  void RunPanels(const DenseArgs& args, size_t first_row, size_t end_row, size_t first_panel) const {
    kernels_->dense(args, first_row, end_row, first_panel, std::min(first_panel + at_once_, panels_));
  }
  void RunRows(const DenseArgs& args, size_t first_row, size_t end_row) const {
    for (size_t panel = 0; panel < panels_; panel += at_once_) RunPanels(args, first_row, end_row, panel);
  }
  void RunPart(size_t block, size_t first_panel) const {
    RunPanels(args_, block * block_rows_, EndOfBlock(block), first_panel);
  }
  void RunBlock(size_t block) const {
    RunRows(args_, block * block_rows_, EndOfBlock(block));
    FollowUp(block * block_rows_, EndOfBlock(block) - block * block_rows_);
  }

  const DenseLayer layer_;
  const Kernels* kernels_ = nullptr;
  DenseArgs args_;
  size_t rows_ = 0;
  size_t block_rows_ = 0;
  size_t blocks_ = 0;
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  bool by_strassen_ = false;
  StrassenProduct strassen_;
};

}  // namespace

Status PackDense(const NodeView& node, const Environment& environment, const Kernels& kernels,
                 bool transposed, size_t groups, DenseArgs* args) {
  if (args->weights != nullptr) return OkStatus();
  const size_t group_elements = DenseGroupElements(*args, kernels);
  PackingKey key;
  key.kind = PackingKind::kDense;
  key.dtype = node.in(1).dtype;
  key.has_bias = node.Has(2);
  key.flags = transposed ? 1 : 0;
  key.weights = node.input(1).hash;
  if (key.has_bias) key.bias = node.input(2).hash;
  key.parameters[0] = args->inputs();
  key.parameters[1] = args->outputs;
  key.parameters[2] = kernels.dense_outputs;
  key.parameters[3] = groups;
  key.packed_bytes = groups * group_elements * sizeof(float);
  const void* const packed = environment.weights->FindOrPack(key, [&](void* blob) {
    for (size_t group = 0; group < groups; ++group) {
      const float* const weights = node.in(1).as<const float>() + group * args->outputs * args->inputs();
      const float* const bias = node.Has(2) ? node.in(2).as<const float>() + group * args->outputs : nullptr;
      PackPanels(*args, weights, bias, transposed, kernels.dense_outputs, DenseColumns(*args, kernels),
                 static_cast<float*>(blob) + group * group_elements);
    }
  });
  if (packed == nullptr)
    return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node.name());
  args->weights = static_cast<const float*>(packed);
  return OkStatus();
}

const Kernels& KernelsForOutputs(const Kernels& best, size_t outputs) {
  const bool two_halves = WideVectorsAreTwoHalves();
  DenseShape shape;
  shape.outputs = outputs;
  const auto is_better = [&](const Kernels& narrower, const Kernels& kernels) {
    return outputs <= narrower.dense_outputs / 2 ||
           (two_halves && DenseColumns(shape, narrower) < DenseColumns(shape, kernels));
  };
  const Kernels* kernels = &best;
  while (kernels->narrower != nullptr && is_better(*kernels->narrower, *kernels)) kernels = kernels->narrower;
  return *kernels;
}

size_t DenseGroupElements(const DenseShape& args, const Kernels& kernels) {
  return (1 + args.inputs()) * DenseColumns(args, kernels);
}

size_t DensePanelCount(const DenseShape& args, const Kernels& kernels) {
  return std::max<size_t>(DenseColumns(args, kernels) / kernels.dense_outputs, 1);
}

size_t DenseColumns(const DenseShape& shape, const Kernels& kernels) {
  const size_t half = kernels.dense_outputs / 2;
  return DivideUp(shape.outputs, half) * half;
}

size_t DensePanelsAtOnce(const DenseShape& shape, size_t words, const Kernels& kernels, size_t parts) {
  constexpr size_t kStayingBytes = 24 * 1024;
  const size_t panels = DensePanelCount(shape, kernels);
  const size_t fit = kStayingBytes / (words * kernels.dense_outputs * sizeof(float));
  return std::clamp<size_t>(fit, 1, panels / std::clamp<size_t>(parts, 1, panels));
}

bool RunsDense(const NodeView& node, const Environment& environment) {
  return environment.kernels->dense != nullptr && node.in(0).dtype == DType::kF32;
}

Result<StepPointer> LowerDense(const NodeView& node, const Environment& environment,
                               const DenseLayer& layer) {
  return MakeStep<DenseStep>(node, environment, layer);
}

}  // namespace skiff::xnnpack
