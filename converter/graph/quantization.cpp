#include "graph/quantization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/error.h"

namespace skiff {
namespace {

struct Owned {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  Quantization quantization;
};

QuantizationPtr WithArrays(const Quantization& quantization, int axis) {
  std::vector<int32_t> zero_points;
  if (quantization.zero_points != nullptr)
    zero_points.assign(quantization.zero_points, quantization.zero_points + quantization.count);
  return PerAxis(axis, {quantization.scales, quantization.scales + quantization.count},
                 std::move(zero_points), quantization.block);
}

}  // namespace

QuantizationPtr PerTensor(float scale, int32_t zero_point) {
  Quantization quantization;
  quantization.scale = scale;
  quantization.zero_point = zero_point;
  return std::make_shared<const Quantization>(quantization);
}

QuantizationPtr PerAxis(int axis, std::vector<float> scales, std::vector<int32_t> zero_points,
                        int64_t block) {
  if (!zero_points.empty() && zero_points.size() != scales.size())
    Throw(StatusCode::kInvalidArgument, "{} zero points were given for {} scales; expected one for each",
          zero_points.size(), scales.size());
  auto owned = std::make_shared<Owned>();
  owned->scales = std::move(scales);
  owned->zero_points = std::move(zero_points);
  Quantization& quantization = owned->quantization;
  quantization.axis = axis;
  quantization.block = block;
  quantization.count = static_cast<int64_t>(owned->scales.size());
  quantization.scales = owned->scales.data();
  quantization.zero_points = owned->zero_points.empty() ? nullptr : owned->zero_points.data();
  return {owned, &quantization};
}

QuantizationPtr AlongAxis(const QuantizationPtr& quantization, int axis) {
  if (quantization->per_tensor() || quantization->axis == axis) return quantization;
  return WithArrays(*quantization, axis);
}

QuantizationPtr CopyOf(const Quantization* quantization) {
  if (quantization == nullptr) return nullptr;
  if (quantization->per_tensor()) return PerTensor(quantization->scale, quantization->zero_point);
  return WithArrays(*quantization, quantization->axis);
}

std::string QuantizationText(const Quantization* quantization) {
  if (quantization == nullptr) return "";
  if (quantization->per_tensor()) {
    return quantization->zero_point == 0
               ? fmt::format(" {{scale={}}}", quantization->scale)
               : fmt::format(" {{scale={}, zero_point={}}}", quantization->scale, quantization->zero_point);
  }
  std::string text = fmt::format(
      " {{scale=[{}]", fmt::join(quantization->scales, quantization->scales + quantization->count, ", "));
  if (quantization->zero_points != nullptr) {
    text += fmt::format(
        ", zero_point=[{}]",
        fmt::join(quantization->zero_points, quantization->zero_points + quantization->count, ", "));
  }
  text += fmt::format(", axis={}", quantization->axis);
  if (quantization->block > 0) text += fmt::format(", block={}", quantization->block);
  return text + "}";
}

}  // namespace skiff
