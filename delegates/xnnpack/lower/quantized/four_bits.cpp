// Rows of f32 times constants of four bits, with scales for blocks of inputs: as language models have them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/fixed_array.h"
#include "core/wide_constant.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/weights/packed_weights.h"
#include "ops/quantized.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;

/// [outputs, inputs] as the file has them.
const TensorView& StoredWeights(const NodeView& node) { return node.input(kWeights).wide->stored(); }

size_t BlockOf(const Quantization& quantization, size_t inputs) {
  return quantization.block == 0 ? inputs : static_cast<size_t>(quantization.block);
}

class FourBitsStep final : public Step {
 public:
  FourBitsStep(const NodeView& node, const Environment& environment)
      : Step(node, environment),
        kernels_(environment.kernels->codes.four_bits),
        below_(StoredWeights(node).dtype == DType::kU4 ? 0 : 8) {
    args_.has_zeros = !HasZeroPoint(*StoredWeights(node).quantization, 8 - below_);
  }

  Status Reshape() override {
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    const auto& attrs = node_.As<ClampAttrs>();
    const TensorView& weights = StoredWeights(node_);
    args_.inputs = from.length;
    args_.outputs = static_cast<size_t>(weights.shape[0]);
    if (to.length != args_.outputs || to.count != from.count) return Refuse();
    x_stride_ = from.stride;
    args_.y_stride = to.stride;
    args_.block = BlockOf(*weights.quantization, args_.inputs);
    args_.panel_words =
        (args_.blocks() * (args_.has_zeros ? 2 : 1) + args_.inputs / kFourBitsOfWord) * kernels_.lanes;
    args_.min = attrs.min;
    args_.max = attrs.max;
    rows_ = from.count;
    panels_ = DivideUp(args_.outputs, kernels_.lanes);
    Divide();
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    workspace_ = static_cast<float*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    as_many_ = rows_ >= kManyFourBitsRows || !PrepareRows();
    args_.x = as_many_ ? x_ : workspace_;
    args_.x_stride = as_many_ ? x_stride_ : args_.inputs;
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t block, size_t part) {
          static_cast<const FourBitsStep*>(step)->RunPart(thread, block, part);
        },
        this, DivideUp(rows_, block_rows_), DivideUp(panels_, part_panels_), /*flags=*/0);
    return OkStatus();
  }

 private:
  /// Blocks of rows, which stay in the second-level cache from panel to panel; where there are few of them,
  /// also parts of the panels.
  void Divide() {
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    const size_t tasks = threads == 1 ? 1 : kTasksOfThread * threads;
    const size_t blocks = DivideUp(rows_, kMostFourBitsRows);
    block_rows_ = DivideUp(rows_, blocks);
    const size_t parts = DivideUp(tasks, blocks);
    part_panels_ = DivideUp(DivideUp(panels_, parts), kMostFourBitsPanels) * kMostFourBitsPanels;
    leads_ = part_panels_ >= panels_;
    const size_t prepared = rows_ < kManyFourBitsRows ? rows_ * (args_.inputs + args_.blocks()) : 0;
    workspace_bytes_ = std::max(threads * kFourBitsScratch, prepared) * sizeof(float);
  }

  /// For the kernel of few rows. False: infinities, which that one would multiply by 0 where the weights are
  /// none, or what makes some.
  bool PrepareRows() {
    float* const sums = workspace_ + rows_ * args_.inputs;
    args_.x_sums = sums;
    for (size_t row = 0; row < rows_; ++row) {
      kernels_.prepare(x_ + row * x_stride_, args_.inputs, args_.block, workspace_ + row * args_.inputs,
                       sums + row * args_.blocks());
    }
    return std::all_of(sums, sums + rows_ * args_.blocks(), [](float sum) { return std::isfinite(sum); });
  }

  void RunPart(size_t thread, size_t block, size_t part) const {
    const size_t row = block * block_rows_;
    const size_t rows = std::min(block_rows_, rows_ - row);
    FourBitsArgs args = args_;
    args.x += row * args.x_stride;
    args.y += row * args.y_stride;
    const size_t first = part * part_panels_;
    const size_t end = std::min(first + part_panels_, panels_);
    if (as_many_)
      kernels_.product_of_many(args, rows, first, end, workspace_ + thread * kFourBitsScratch);
    else
      kernels_.product(args, rows, first, end);
    FollowUp(row, rows);
  }

  Status Pack() {
    const TensorView& weights = StoredWeights(node_);
    SKIFF_RETURN_IF_ERROR(bias_.Allocate(panels_ * kernels_.lanes));
    std::fill(bias_.begin(), bias_.end(), 0.0f);
    if (node_.Has(kBias)) std::copy_n(node_.in(kBias).as<const float>(), args_.outputs, bias_.data());
    args_.bias = bias_.data();
    PackingKey key;
    key.kind = PackingKind::kFourBits;
    key.dtype = weights.dtype;
    key.weights = node_.input(kWeights).hash;
    const Quantization& quantization = *weights.quantization;
    const auto count = static_cast<size_t>(quantization.count);
    const float* const scales = quantization.per_tensor() ? &quantization.scale : quantization.scales;
    key.bias = HashOf({reinterpret_cast<const uint8_t*>(scales), count * sizeof(float)});
    const int32_t* const zeros =
        quantization.per_tensor() ? &quantization.zero_point : quantization.zero_points;
    const size_t zero_bytes = args_.has_zeros && zeros != nullptr ? count * sizeof(int32_t) : 0;
    const ContentHash zeros_hash = HashOf({reinterpret_cast<const uint8_t*>(zeros), zero_bytes});
    const size_t parameters[] = {args_.inputs, args_.outputs,  args_.block,    kernels_.lanes,
                                 zero_bytes,   zeros_hash.low, zeros_hash.high};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    key.packed_bytes = panels_ * args_.panel_words * sizeof(int32_t);
    const void* const packed = environment_.weights->FindOrPack(
        key, [&](void* blob) { PackWeights(weights, static_cast<int32_t*>(blob)); });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    return OkStatus();
  }

  void PackWeights(const TensorView& weights, int32_t* to) const {
    constexpr uint32_t kEachHigh = 0x88888888;  // In which i4 and 8 more differ.
    const uint32_t turned = below_ == 8 ? kEachHigh : 0;
    const Quantization& quantization = *weights.quantization;
    const ScaleIndex scale_of(quantization, weights.shape);
    const size_t lanes = kernels_.lanes;
    std::fill_n(to, panels_ * args_.panel_words, 0);
    for (size_t output = 0; output < args_.outputs; ++output) {
      const auto* codes = weights.as<const uint8_t>() + output * args_.inputs / 2;
      int32_t* at = to + output / lanes * args_.panel_words + output % lanes;
      for (size_t begin = 0; begin < args_.inputs; begin += args_.block) {
        const int64_t scale = scale_of(static_cast<int64_t>(output * args_.inputs + begin));
        const float numbers[] = {quantization.ScaleAt(scale),
                                 static_cast<float>(quantization.ZeroPointAt(scale) + below_)};
        for (size_t i = 0; i < (args_.has_zeros ? 2 : 1); ++i, at += lanes)
          std::memcpy(at, &numbers[i], sizeof(float));
        const size_t end = std::min(begin + args_.block, args_.inputs);
        for (size_t k = begin; k < end; k += kFourBitsOfWord, codes += sizeof(int32_t), at += lanes) {
          uint32_t word = 0;
          std::memcpy(&word, codes, sizeof(word));
          word ^= turned;
          std::memcpy(at, &word, sizeof(word));
        }
      }
    }
  }

  const FourBitsKernels& kernels_;
  const int32_t below_;  ///< By how much codes are below those of the kernels.
  FourBitsArgs args_;
  FixedArray<float> bias_;
  const float* x_ = nullptr;
  size_t x_stride_ = 0;
  float* workspace_ = nullptr;  ///< Few rows as prepared, and their sums; or of each thread its own.
  size_t rows_ = 0;
  bool as_many_ = false;
  size_t block_rows_ = 0;
  size_t panels_ = 0;
  size_t part_panels_ = 0;
};

}  // namespace

bool RunsFourBits(const NodeView& node, const Environment& environment) {
  const WideConstant* const wide = node.input(kWeights).wide;
  const CodeKernels& kernels = environment.kernels->codes;
  if (kernels.four_bits.product == nullptr || wide == nullptr || node.in(0).dtype != DType::kF32)
    return false;
  const TensorView& weights = wide->stored();
  if (DTypeBits(weights.dtype) != 4 || weights.shape.rank() != 2) return false;
  const Quantization& quantization = *weights.quantization;
  const bool along_inputs = quantization.axis == 1 && quantization.block > 0;
  const bool one_block = quantization.per_tensor() || (quantization.axis == 0 && quantization.block == 0);
  const auto inputs = static_cast<size_t>(weights.shape[1]);
  return (along_inputs || one_block) && inputs > 0 && inputs % kFourBitsOfWord == 0 &&
         BlockOf(quantization, inputs) % kFourBitsOfWord == 0;
}

Result<StepPointer> LowerFourBits(const NodeView& node, const Environment& environment) {
  return MakeStep<FourBitsStep>(node, environment);
}

}  // namespace skiff::xnnpack
