// Weights in panels, as Kernels::dense reads them, and how many of these, and of rows, are computed at a
// time.
#include <algorithm>
#include <cstring>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// Rows that one thread takes through all weights: they stay in its cache from panel to panel. More of them
/// where the weights do not, so that these come from memory less often.
constexpr size_t kBlockRows = 96;
constexpr size_t kStayingBytes = 512 * 1024;

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

/// Rows of `width` numbers, of which `exist` come from rows that begin `distance` apart; 0 else.
void PackRows(const float* from, size_t distance, size_t inputs, size_t exist, size_t width, float* to) {
  constexpr size_t kPiece = 8;
  for (size_t k = 0; k < inputs; ++k, from += distance, to += width) {
    size_t i = 0;
    for (; i + kPiece <= exist; i += kPiece) std::memcpy(to + i, from + i, kPiece * sizeof(float));
    for (; i < width; ++i) to[i] = i < exist ? from[i] : 0.0f;
  }
}

}  // namespace

void PackPanels(const DenseShape& shape, const Kernels& kernels, const DenseMatrix& matrix, const float* bias,
                size_t first_panel, size_t end_panel, float* to) {
  const size_t inputs = shape.inputs();
  const size_t panels = DensePanelCount(shape, kernels);
  to += first_panel * kernels.dense_outputs * (1 + inputs);
  for (size_t panel = first_panel; panel < end_panel; ++panel) {
    const size_t first = panel * kernels.dense_outputs;
    const size_t width = panel + 1 == panels ? DenseColumns(shape, kernels) - first : kernels.dense_outputs;
    const size_t exist = std::min(width, shape.outputs - first);
    std::fill_n(to, width, 0.0f);
    if (bias != nullptr) std::copy_n(bias + first, exist, to);
    to += width;
    if (matrix.transposed)
      PackRows(matrix.weights + first, matrix.distance, inputs, exist, width, to);
    else
      PackOutputs(matrix.weights + first * matrix.distance, matrix.distance, inputs, exist, width, to);
    to += inputs * width;
  }
}

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
      PackPanels(*args, kernels, {weights, transposed ? args->outputs : args->inputs(), transposed}, bias, 0,
                 DensePanelCount(*args, kernels), static_cast<float*>(blob) + group * group_elements);
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

size_t DenseBlockRows(const DenseShape& shape, size_t rows, size_t threads) {
  size_t most = kBlockRows;
  if (shape.run * shape.outputs * sizeof(float) > kStayingBytes)
    most = std::max(most, kStayingBytes / (shape.run * sizeof(float)));
  if (threads > 1) most = std::max(kBlockRows, std::min(most, rows / (kTasksOfThread * threads)));
  size_t blocks = DivideUp(rows, most);
  const size_t as_many = DivideUp(blocks, threads) * threads;
  if (blocks > 1 && rows / as_many >= kBlockRows / 2) blocks = as_many;
  return blocks > 1 ? DivideUp(rows, blocks) : std::max<size_t>(rows, 1);
}

}  // namespace skiff::xnnpack
