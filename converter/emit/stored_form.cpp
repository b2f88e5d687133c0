#include "emit/stored_form.h"

#include <bit>

#include "core/half.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// Below, what is saved is less than what the form takes, or hardly more.
constexpr int64_t kSmallestBytes = 4096;

/// Bit by bit: a NaN whose payload f16 has no room for is none of its elements.
bool IsHalf(float value) {
  return std::bit_cast<uint32_t>(HalfToFloat(FloatToHalf(value))) == std::bit_cast<uint32_t>(value);
}

}  // namespace

const TensorData* CodesBehind(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || graph.node(producer).op != OpCode::kDequantize ||
      graph.value(value).dtype != DType::kF32 || graph.IsGraphOutput(value))
    return nullptr;
  const Value& codes = graph.value(graph.node(producer).inputs[0]);
  return codes.constant ? &*codes.constant : nullptr;
}

bool IsNarrower(const TensorData& codes) {
  const Quantization& quantization = *codes.quantization();
  int64_t bytes = static_cast<int64_t>(codes.size_bytes());
  if (!quantization.per_tensor()) {
    bytes += quantization.count * static_cast<int64_t>(sizeof(float));
    if (quantization.zero_points != nullptr)
      bytes += quantization.count * static_cast<int64_t>(sizeof(int32_t));
  }
  const int64_t wide = codes.elements() * static_cast<int64_t>(sizeof(float));
  return wide >= kSmallestBytes && bytes < wide;
}

std::optional<TensorData> AsHalves(const TensorView& floats) {
  if (floats.dtype != DType::kF32 || floats.bytes() < kSmallestBytes) return {};
  const int64_t elements = floats.shape.elements();
  const auto* from = floats.as<const float>();
  for (int64_t i = 0; i < elements; ++i) {
    if (!IsHalf(from[i])) return {};
  }
  TensorData halves(DType::kF16, floats.shape);
  auto* to = static_cast<uint16_t*>(halves.mutable_data());
  for (int64_t i = 0; i < elements; ++i) to[i] = FloatToHalf(from[i]);
  return halves;
}

}  // namespace skiff
