// Rows of f32 times constants of four or eight bits, with scales for the tensor, its outputs or blocks of
// inputs: as language models have them.
#include <cpuinfo.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/weights/packed_weights.h"
#include "ops/quantized.h"

namespace skiff::xnnpack {
namespace {

constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;

bool HasEightBits(const TensorView& weights) { return DTypeBits(weights.dtype) == 8; }
size_t InputsOfWord(const TensorView& weights) {
  return HasEightBits(weights) ? kFewBitsOfWord<8> : kFewBitsOfWord<4>;
}

/// Inputs whose sum is scaled at once. Where all share a scale, sums of many would round more than need be.
size_t BlockOf(const Quantization& quantization, size_t inputs) {
  constexpr size_t kMostAtOnce = 128;
  return quantization.block == 0 ? std::min(inputs, kMostAtOnce) : static_cast<size_t>(quantization.block);
}

/// By how much codes are more than kernels have them, which want both signs.
int32_t AboveOf(const TensorView& weights) {
  return weights.dtype == DType::kU8 ? 128 : weights.dtype == DType::kU4 ? 8 : 0;
}

/// Codes less `above` are around 0, or around -1: (code + 1) * scale is ~code * -scale, which is how a zero
/// point is left of quantisers whose scales are negative.
bool NeedNoZeroPoints(const Quantization& quantization, int32_t above) {
  for (int64_t i = 0; i < quantization.count; ++i) {
    const int32_t zero_point = quantization.ZeroPointAt(i) - above;
    if (zero_point != 0 && zero_point != -1) return false;
  }
  return true;
}

/// Whether blocks of x chose codes each, which kernels of ours multiply by the weights of that block.
bool TakesCodes(const NodeView& node, const TensorView& weights, const FewBitsKernels& kernels) {
  const std::optional<NodeView> codes = kHasRowCodes ? CodesBehind(node) : std::nullopt;
  if (!codes || kernels.of_codes == nullptr) return false;
#if defined(__aarch64__)
  if (!cpuinfo_has_arm_neon_dot()) return false;
#endif
  const auto& attrs = codes->As<FakeQuantizeAttrs>();
  const auto block = static_cast<size_t>(attrs.block);
  return attrs.symmetric && block > 0 && attrs.block == weights.quantization->block &&
         block <= kMostBlockOfCodes && block % kLeastBlockOfCodes == 0 &&
         (block <= kernels.of_codes->at_once || block % kernels.of_codes->at_once == 0);
}

/// The integers of a word of four bits each, in another order: those of the first half in the low halves of
/// bytes.
uint32_t InBytes(uint32_t word) {
  const auto spread = [](uint32_t four) {
    four = (four | four << 8) & 0x00ff00ff;
    return (four | four << 4) & 0x0f0f0f0f;
  };
  return spread(word & 0xffff) | spread(word >> 16) << 4;
}

/// Sums of products with integers of eight bits stay finite, of any block that there is.
bool LeavesRoom(float x) { return std::abs(x) < 0x1p96f; }

class FewBitsStep final : public Step {
 public:
  FewBitsStep(const NodeView& node, const Environment& environment, float min, float max)
      : Step(node, environment),
        weights_(AsStored(node.input(kWeights))),
        kernels_(environment.kernels->codes.few_bits[HasEightBits(weights_) ? 1 : 0]),
        of_word_(InputsOfWord(weights_)),
        above_(AboveOf(weights_)) {
    packs_stored_ = true;
    wants_codes_ = TakesCodes(node, weights_, kernels_);
    args_.has_zeros = !NeedNoZeroPoints(*weights_.quantization, above_);
    args_.min = min;
    args_.max = max;
  }

  Status Reshape() override {
    const Rows from = RowsOf(node_.in(0));
    const Rows to = RowsOf(node_.out(0));
    args_.inputs = from.length;
    args_.outputs = static_cast<size_t>(weights_.shape[0]);
    if (to.length != args_.outputs || to.count != from.count) return Refuse();
    args_.x_stride = from.stride;
    args_.y_stride = to.stride;
    args_.block = BlockOf(*weights_.quantization, args_.inputs);
    args_.panel_words =
        (args_.blocks() * (args_.has_zeros ? 2 : 1) + args_.inputs / of_word_) * kernels_.lanes;
    rows_ = from.count;
    panels_ = DivideUp(args_.outputs, kernels_.lanes);
    Divide();
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    args_.x = node_.in(0).as<const float>();
    args_.y = node_.out(0).as<float>();
    workspace_ = static_cast<float*>(workspace);
    if (wants_codes_) {
      args_.codes = codes_->codes();
      args_.blocks_of_codes = codes_->blocks_of_codes();
    }
    return OkStatus();
  }

  Status Run() override {
    as_many_ = !wants_codes_ && (rows_ >= kernels_.many_rows || !LeaveRoom());
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t block, size_t part) {
          static_cast<const FewBitsStep*>(step)->RunPart(thread, block, part);
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
    const size_t blocks = DivideUp(rows_, kMostFewBitsRows);
    block_rows_ = DivideUp(rows_, blocks);
    const size_t parts = DivideUp(tasks, blocks);
    part_panels_ = DivideUp(DivideUp(panels_, parts), kMostFewBitsPanels) * kMostFewBitsPanels;
    leads_ = part_panels_ >= panels_;
    workspace_bytes_ = threads * kFewBitsScratch * sizeof(float);
  }

  bool LeaveRoom() const {
    for (size_t row = 0; row < rows_; ++row) {
      const float* const x = args_.x + row * args_.x_stride;
      if (!std::all_of(x, x + args_.inputs, LeavesRoom)) return false;
    }
    return true;
  }

  void RunPart(size_t thread, size_t block, size_t part) const {
    const size_t row = block * block_rows_;
    const size_t rows = std::min(block_rows_, rows_ - row);
    FewBitsArgs args = args_;
    args.x += row * args.x_stride;
    args.y += row * args.y_stride;
    if (wants_codes_) {
      args.codes += row * args.inputs;
      args.blocks_of_codes += row * args.blocks();
    }
    const size_t first = part * part_panels_;
    const size_t end = std::min(first + part_panels_, panels_);
    if (wants_codes_)
      kernels_.of_codes->product(args, rows, first, end);
    else if (as_many_)
      kernels_.product_of_many(args, rows, first, end, workspace_ + thread * kFewBitsScratch);
    else
      kernels_.product(args, rows, first, end);
    FollowUp(row, rows);
  }

  Status Pack() {
    SKIFF_RETURN_IF_ERROR(bias_.Allocate(panels_ * kernels_.lanes));
    std::fill(bias_.begin(), bias_.end(), 0.0f);
    if (node_.Has(kBias)) std::copy_n(node_.in(kBias).as<const float>(), args_.outputs, bias_.data());
    args_.bias = bias_.data();
    PackingKey key;
    key.kind = PackingKind::kFewBits;
    key.dtype = weights_.dtype;
    key.flags = wants_codes_ ? 1 : 0;
    key.weights = node_.input(kWeights).hash;
    const Quantization& quantization = *weights_.quantization;
    const auto count = static_cast<size_t>(quantization.count);
    const float* const scales = quantization.per_tensor() ? &quantization.scale : quantization.scales;
    key.bias = HashOf({reinterpret_cast<const uint8_t*>(scales), count * sizeof(float)});
    const int32_t* const zeros =
        quantization.per_tensor() ? &quantization.zero_point : quantization.zero_points;
    const size_t zero_bytes = zeros != nullptr ? count * sizeof(int32_t) : 0;
    const ContentHash zeros_hash = HashOf({reinterpret_cast<const uint8_t*>(zeros), zero_bytes});
    const uint64_t parameters[] = {args_.inputs, args_.outputs,  args_.block,    kernels_.lanes,
                                   zero_bytes,   zeros_hash.low, zeros_hash.high};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    key.packed_bytes = panels_ * args_.panel_words * sizeof(int32_t);
    const void* const packed =
        environment_.weights->FindOrPack(key, [&](void* blob) { PackWeights(static_cast<int32_t*>(blob)); });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    return OkStatus();
  }

  void PackWeights(int32_t* to) const {
    // In which u4 and 8 less differ, or u8 and 128 less.
    const uint32_t high = HasEightBits(weights_) ? 0x80808080 : 0x88888888;
    const uint32_t turned = (above_ == 0) == wants_codes_ ? high : 0;
    const Quantization& quantization = *weights_.quantization;
    const ScaleIndex scale_of(quantization, weights_.shape);
    const size_t lanes = kernels_.lanes;
    std::fill_n(to, panels_ * args_.panel_words, 0);
    for (size_t output = 0; output < args_.outputs; ++output) {
      const auto* codes = weights_.as<const uint8_t>() + output * (args_.inputs / of_word_) * sizeof(int32_t);
      int32_t* at = to + output / lanes * args_.panel_words + output % lanes;
      for (size_t begin = 0; begin < args_.inputs; begin += args_.block) {
        const int64_t scale = scale_of(static_cast<int64_t>(output * args_.inputs + begin));
        const int32_t zero_point = quantization.ZeroPointAt(scale) - above_;
        const bool negative = !args_.has_zeros && zero_point != 0;
        const float numbers[] = {negative ? -quantization.ScaleAt(scale) : quantization.ScaleAt(scale),
                                 static_cast<float>(zero_point)};
        for (size_t i = 0; i < (args_.has_zeros ? 2 : 1); ++i, at += lanes)
          std::memcpy(at, &numbers[i], sizeof(float));
        const size_t end = std::min(begin + args_.block, args_.inputs);
        for (size_t k = begin; k < end; k += of_word_, codes += sizeof(int32_t), at += lanes) {
          uint32_t word = 0;
          std::memcpy(&word, codes, sizeof(word));
          word ^= negative ? ~turned : turned;
          if (wants_codes_ && !HasEightBits(weights_)) word = InBytes(word);
          if (wants_codes_ || !kernels_.bytes_apart) {
            std::memcpy(at, &word, sizeof(word));
            continue;
          }
          auto* const bytes = reinterpret_cast<uint8_t*>(at - output % lanes) + output % lanes;
          for (size_t i = 0; i < sizeof(word); ++i) bytes[i * lanes] = static_cast<uint8_t>(word >> 8 * i);
        }
      }
    }
  }

  const TensorView weights_;
  const FewBitsKernels& kernels_;
  const size_t of_word_;  ///< Inputs.
  const int32_t above_;
  FewBitsArgs args_;
  FixedArray<float> bias_;
  float* workspace_ = nullptr;  ///< Of each thread its own.
  size_t rows_ = 0;
  bool as_many_ = false;
  size_t block_rows_ = 0;
  size_t panels_ = 0;
  size_t part_panels_ = 0;
};

}  // namespace

bool RunsFewBits(const NodeView& node, const Environment& environment) {
  const PlanTensor& tensor = node.input(kWeights);
  if (!tensor.constant || (tensor.wide == nullptr && tensor.view.quantization == nullptr)) return false;
  const TensorView weights = AsStored(tensor);
  const int bits = DTypeBits(weights.dtype);
  if ((bits != 4 && bits != 8) || weights.quantization == nullptr || weights.shape.rank() != 2) return false;
  if (environment.kernels->codes.few_bits == nullptr) return false;
  const TensorView& x = node.in(0);
  const bool bias = !node.Has(kBias) || (node.input(kBias).constant && node.in(kBias).dtype == DType::kF32);
  if (x.dtype != DType::kF32 || x.quantization != nullptr || !bias) return false;
  const Quantization& quantization = *weights.quantization;
  const bool along_inputs = quantization.axis == 1 && quantization.block > 0;
  const bool along_outputs = quantization.axis == 0 && quantization.block == 0;
  const auto inputs = static_cast<size_t>(weights.shape[1]);
  const size_t of_word = InputsOfWord(weights);
  return (along_inputs || along_outputs || quantization.per_tensor()) && inputs > 0 &&
         inputs % of_word == 0 && BlockOf(quantization, inputs) % of_word == 0;
}

Result<StepPointer> LowerFewBits(const NodeView& node, const Environment& environment, float min, float max) {
  return MakeStep<FewBitsStep>(node, environment, min, max);
}

}  // namespace skiff::xnnpack
