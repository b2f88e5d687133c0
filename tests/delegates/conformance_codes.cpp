#include "conformance_codes.h"

#include <list>
#include <vector>

#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

constexpr float kXScale = 0.03f;
constexpr float kWeightScale = 0.011f;

const Quantization* Kept(const Quantization& quantization) {
  static std::list<Quantization> all;
  return &all.emplace_back(quantization);
}

const float* Kept(std::vector<float> scales) {
  static std::list<std::vector<float>> all;
  return all.emplace_back(std::move(scales)).data();
}

Argument BiasOf(const Codes& codes, const Quantization& weights, int64_t outputs) {
  Argument bias = Weights({outputs});
  if (codes.bias == Bias::kAbsent) return Absent();
  if (codes.bias == Bias::kF32) return bias;
  bias.dtype = DType::kI32;
  bias.high = codes.bias == Bias::kLarge ? 40'000'000 : 3000;
  bias.low = -bias.high;
  Quantization quantization;
  if (codes.bias == Bias::kOtherScale) {
    quantization.scale = 0.0003f;
  } else if (weights.per_tensor()) {
    quantization.scale = kXScale * weights.scale;
  } else {
    std::vector<float> scales;
    for (int64_t i = 0; i < outputs; ++i) scales.push_back(kXScale * weights.scales[i]);
    quantization.axis = 0;
    quantization.count = outputs;
    quantization.scales = Kept(std::move(scales));
  }
  bias.quantization = Kept(quantization);
  return bias;
}

}  // namespace

const Quantization* Quantized(float scale, int32_t zero_point) {
  Quantization quantization;
  quantization.scale = scale;
  quantization.zero_point = zero_point;
  return Kept(quantization);
}

const Quantization* QuantizedAlong(int axis, int64_t count, float scale, bool dead) {
  std::vector<float> scales;
  for (int64_t i = 0; i < count; ++i) scales.push_back(scale * (1 + 0.1f * static_cast<float>(i % 7)));
  for (size_t i = 1; dead && i < scales.size(); i += 3) scales[i] = 1e-14f;
  Quantization quantization;
  quantization.axis = axis;
  quantization.count = count;
  quantization.scales = Kept(std::move(scales));
  return Kept(quantization);
}

const Quantization* QuantizedInBlocks(const Shape& shape, int axis, int64_t block, float scale, bool zeros) {
  static std::list<std::vector<int32_t>> all_zeros;
  Quantization quantization;
  quantization.axis = axis;
  quantization.block = block;
  quantization.count = shape[axis];
  if (block != 0) quantization.count = shape.elements() / shape[axis] * ((shape[axis] + block - 1) / block);
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < quantization.count; ++i) {
    scales.push_back(scale * (1 + 0.1f * static_cast<float>(i % 11)));
    zero_points.push_back(static_cast<int32_t>(i * 3 % 5));
  }
  quantization.scales = Kept(std::move(scales));
  if (zeros) quantization.zero_points = all_zeros.emplace_back(std::move(zero_points)).data();
  return Kept(quantization);
}

Argument CodesOf(DType dtype, const Shape& shape, const Quantization* quantization) {
  Argument argument;
  argument.dtype = dtype;
  argument.shape = shape;
  argument.low = dtype == DType::kU8 ? 0 : -128.9;
  argument.high = dtype == DType::kU8 ? 255.9 : 127.9;
  argument.quantization = quantization;
  return argument;
}

Case& AddProduct(CaseList& list, OpCode op, const std::string& name, const Shape& x, const Shape& weights,
                 int axis, const Codes& codes) {
  const bool is_signed = codes.dtype == DType::kI8;
  const int64_t outputs = weights.rank() == 1 ? 1 : weights[axis];
  Argument w = CodesOf(codes.dtype, weights,
                       codes.per_channel ? QuantizedAlong(axis, outputs, kWeightScale, codes.dead)
                                         : Quantized(kWeightScale, is_signed ? 0 : codes.weights_zero_point));
  if (is_signed) w.low = -127.9;
  if (codes.least_weight != 0) {
    const int zero_point = is_signed ? 0 : codes.weights_zero_point;
    w.low = codes.least_weight + zero_point;
    w.high = codes.most_weight + zero_point;
  }
  w.constant = true;
  Argument x_codes = CodesOf(codes.dtype, x, Quantized(kXScale, is_signed ? -5 : 130));
  if (codes.largest) x_codes.low = x_codes.high;
  const Argument inputs[] = {x_codes, w, BiasOf(codes, *w.quantization, outputs)};
  Case& made = op == OpCode::kMatMul ? list.Add(op, name.c_str(), {inputs[0], inputs[1]})
                                     : list.Add(op, name.c_str(), {inputs[0], inputs[1], inputs[2]});
  made.quantized_output = codes.dtype;
  made.output_quantization = Quantized(codes.y_scale, is_signed ? 7 : 101);
  return made;
}

}  // namespace skiff::testing
