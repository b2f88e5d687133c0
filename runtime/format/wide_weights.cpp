#include "format/wide_weights.h"

#include "core/extents.h"
#include "skiff/quantization.h"

namespace skiff {
namespace {

/// Whether both stand for the same numbers in the same order. Scales of their own belong to a shape. As many
/// bytes hold an odd number of i4, and one more.
bool SameForm(const TensorView& a, const TensorView& b) {
  const bool any_shape = a.quantization == nullptr || a.quantization->per_tensor();
  return a.dtype == b.dtype && a.quantization == b.quantization && (any_shape || a.shape == b.shape) &&
         a.shape.elements() == b.shape.elements();
}

}  // namespace

void WideWeights::Init(uint32_t blob_count, uint64_t stored_bytes) {
  blob_count_ = blob_count;
  limit_ = SaturatingMultiply(stored_bytes, kMostGrowth);
}

Result<WideConstant*> WideWeights::Find(uint32_t blob, const TensorView& stored) {
  if (constants_.empty()) SKIFF_RETURN_IF_ERROR(constants_.Allocate(blob_count_));
  WideConstant& constant = constants_[blob];
  if (constant.reserved() && SameForm(constant.stored(), stored)) return &constant;
  const uint64_t bytes = static_cast<uint64_t>(stored.shape.elements()) * sizeof(float);
  if (constant.reserved() || SaturatingAdd(reserved_bytes_, bytes) > limit_)
    return Status(StatusCode::kInvalidModel);
  SKIFF_RETURN_IF_ERROR(constant.Reserve(stored, &held_));
  reserved_bytes_ += bytes;
  return &constant;
}

}  // namespace skiff
