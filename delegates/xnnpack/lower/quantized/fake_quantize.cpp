// Rows of codes that follow from the rows' own ends: as real numbers, or as codes for the products behind.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/row_codes.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

static_assert(sizeof(BlockOfCodes) == sizeof(xnn_quantization_params));  // One takes the other's place.

size_t ParamsBytes(size_t rows) {
  constexpr size_t kAlignment = 64;
  const size_t bytes = (rows + XNN_EXTRA_QUANTIZATION_PARAMS) * sizeof(xnn_quantization_params);
  return DivideUp(bytes, kAlignment) * kAlignment;
}

/// Where rows end in the middle of a tile, kernels compute the last one several times, by the parameters of
/// rows that there are not.
void PadParams(xnn_quantization_params* params, size_t rows) {
  for (size_t i = 0; i < XNN_EXTRA_QUANTIZATION_PARAMS; ++i) params[rows + i] = params[rows - 1];
}

}  // namespace

FakeQuantizeStep::FakeQuantizeStep(const NodeView& node, const Environment& environment)
    : Step(node, environment),
      symmetric_(node.As<FakeQuantizeAttrs>().symmetric),
      block_(static_cast<size_t>(node.As<FakeQuantizeAttrs>().block)) {}

Status FakeQuantizeStep::Reshape() {
  const TensorView& x = node_.in(0);
  if (!x.dense() || !node_.out(0).dense()) return Refuse();
  length_ = static_cast<size_t>(RowOfCodes(node_.As<FakeQuantizeAttrs>(), x.shape));
  rows_ = static_cast<size_t>(x.shape.elements()) / length_;
  blocks_ = environment_.pool == nullptr ? 1 : DivideUp(length_, kBlock);
  if (blocks_ > 1) SKIFF_RETURN_IF_ERROR(ranges_.Allocate(rows_ * blocks_));
  return Want(false, true);
}

Status FakeQuantizeStep::Want(bool codes, bool reals) {
  wants_reals_ = reals;
  makes_codes_ = codes;
  const size_t elements = rows_ * length_;
  const size_t needed = ParamsBytes(rows_) + elements + XNN_EXTRA_BYTES;
  const bool fits = !reals && needed <= elements * sizeof(float);
  codes_at_ = nullptr;
  blocks_of_codes_ = nullptr;
  const bool has_own = !codes || (reals && block_ > 0);
  SKIFF_RETURN_IF_ERROR(own_params_.Allocate(has_own ? rows_ + XNN_EXTRA_QUANTIZATION_PARAMS : 0));
  return aside_.Allocate(codes && !fits ? needed : 0);
}

Status FakeQuantizeStep::Bind(void*) {
  params_ = own_params_.data();
  if (!makes_codes_) return OkStatus();
  auto* const place = aside_.empty() ? node_.out(0).as<unsigned char>() : aside_.data();
  if (block_ > 0)
    blocks_of_codes_ = reinterpret_cast<BlockOfCodes*>(place);
  else
    params_ = reinterpret_cast<xnn_quantization_params*>(place);
  codes_at_ = reinterpret_cast<int8_t*>(place + ParamsBytes(rows_));
  return OkStatus();
}

size_t FakeQuantizeStep::BlockLength(size_t block) const {
  if (blocks_ == 1) return length_;
  return block + 1 < blocks_ ? kBlock : length_ - block * kBlock;
}

FakeQuantizeStep::Range FakeQuantizeStep::RangeOf(size_t n, const float* x) const {
  const auto reduce = [&](ReduceKernel kernel) {
    return environment_.kernels->reduce_row[static_cast<size_t>(kernel)](n, x);
  };
  return {reduce(ReduceKernel::kMin), reduce(ReduceKernel::kMax)};
}

void FakeQuantizeStep::SetRow(size_t row, Range range) const {
  const RowCodes<float> codes = RowCodesFor(range.low, range.high, symmetric_);
  params_[row] = {static_cast<int32_t>(codes.zero_point), codes.scale};
}

void FakeQuantizeStep::Round(size_t row, size_t begin, size_t n) const {
  const RowCodeParams params{params_[row].scale, static_cast<float>(params_[row].zero_point),
                             static_cast<float>(LowestRowCode(symmetric_)), kHighestRowCode};
  const float* const x = RowAt(row) + begin;
  if (codes_at_ != nullptr && block_ == 0)
    environment_.kernels->round_to_codes(n, x, codes_at_ + row * length_ + begin, params);
  if (wants_reals_)
    environment_.kernels->round_to_reals(n, x, node_.out(0).as<float>() + row * length_ + begin, params);
}

void FakeQuantizeStep::RunRow(size_t row) const {
  SetRow(row, RangeOf(length_, RowAt(row)));
  Round(row, 0, length_);
}

Status FakeQuantizeStep::Run() {
  constexpr uint32_t kFlags = PTHREADPOOL_FLAG_DISABLE_DENORMALS;
  if (blocks_of_codes_ != nullptr) {
    RunBlocksOfCodes();
    if (!wants_reals_) return OkStatus();
  }
  if (blocks_ == 1) {
    pthreadpool_parallelize_1d(
        environment_.pool,
        [](void* self, size_t row) { static_cast<const FakeQuantizeStep*>(self)->RunRow(row); }, this, rows_,
        kFlags);
  } else {
    RunBlocks();
  }
  PadParams(params_, rows_);
  return OkStatus();
}

void FakeQuantizeStep::RunBlocksOfCodes() {
  pthreadpool_parallelize_1d_tile_1d(
      environment_.pool,
      [](void* self, size_t first, size_t count) {
        const auto* const s = static_cast<const FakeQuantizeStep*>(self);
        s->environment_.kernels->codes.few_bits->of_codes->codes_of_blocks(
            count, s->block_, s->RowAt(first), s->codes_at_ + first * s->block_, s->blocks_of_codes_ + first);
      },
      this, rows_, DivideUp(kBlock, block_), PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

void FakeQuantizeStep::RunBlocks() {
  constexpr uint32_t kFlags = PTHREADPOOL_FLAG_DISABLE_DENORMALS;
  pthreadpool_parallelize_2d(
      environment_.pool,
      [](void* self, size_t row, size_t block) {
        auto* const s = static_cast<FakeQuantizeStep*>(self);
        s->ranges_[row * s->blocks_ + block] =
            s->RangeOf(s->BlockLength(block), s->RowAt(row) + block * kBlock);
      },
      this, rows_, blocks_, kFlags);
  for (size_t row = 0; row < rows_; ++row) {
    Range range = ranges_[row * blocks_];
    for (size_t block = 1; block < blocks_; ++block) {
      // A NaN stays.
      const Range& next = ranges_[row * blocks_ + block];
      range.low = next.low < range.low || std::isnan(next.low) ? next.low : range.low;
      range.high = next.high > range.high || std::isnan(next.high) ? next.high : range.high;
    }
    SetRow(row, range);
  }
  pthreadpool_parallelize_2d(
      environment_.pool,
      [](void* self, size_t row, size_t block) {
        const auto* const s = static_cast<const FakeQuantizeStep*>(self);
        s->Round(row, block * kBlock, s->BlockLength(block));
      },
      this, rows_, blocks_, kFlags);
}

Status RowParams::Reshape(size_t rows) {
  rows_ = rows;
  return params_.Allocate(rows + XNN_EXTRA_QUANTIZATION_PARAMS);
}

const xnn_quantization_params* RowParams::Bind(const FakeQuantizeStep& codes) {
  repeated_ = codes.rows() != rows_;
  bound_ = repeated_ ? params_.data() : codes.params();
  return bound_;
}

void RowParams::Fill(const FakeQuantizeStep& codes) {
  if (!repeated_) return;
  const size_t times = rows_ / codes.rows();
  for (size_t row = 0; row < rows_; ++row) params_[row] = codes.params()[row / times];
  PadParams(params_.data(), rows_);
}

void RowParams::KeepNan(float* results, size_t runs, size_t length, size_t stride) const {
  for (size_t row = 0; row < rows_; ++row) {
    if (std::isfinite(bound_[row].scale)) continue;
    float* const first = results + row * runs * stride;
    for (size_t run = 0; run < runs; ++run)
      std::fill_n(first + run * stride, length, std::numeric_limits<float>::quiet_NaN());
  }
}

Result<StepPointer> LowerFakeQuantize(const NodeView& node, const Environment& environment) {
  return MakeStep<FakeQuantizeStep>(node, environment);
}

}  // namespace skiff::xnnpack
