#include "tests/support/tiny_models.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/error_capture.h"
#include "core/half.h"
#include "graph/error.h"
#include "graph/text.h"
#include "skiff/delegates.h"

namespace skiff::testing {

const char* const kSmallNet = R"(graph small {
  input image: f32[1, 16, 16, 3]
  const w1: f32[8, 3, 3, 3] = seed 1
  const b1: f32[8] = seed 2
  const w2: f32[8, 1, 1, 8] = seed 3
  const w3: f32[8, 1, 1, 8] = seed 4
  const w4: f32[10, 16] = seed 5
  const shape: i64[2] = [1, 16]
  stem: f32[1, 8, 8, 8] = Conv2d(image, w1, b1) {strides=[2, 2], pads=[1, 1, 1, 1], min=0}
  left: f32[1, 8, 8, 8] = Conv2d(stem, w2, _) {min=0, max=6}
  sum: f32[1, 8, 8, 8] = Add(stem, left)
  right: f32[1, 8, 8, 8] = Conv2d(sum, w3, _)
  activated: f32[1, 8, 8, 8] = HardSwish(right)
  joined: f32[1, 8, 8, 16] = Concat(sum, activated) {axis=3}
  pooled: f32[1, 1, 1, 16] = ReduceMean(joined) {axes=[1, 2]}
  flat: f32[1, 16] = Reshape(pooled, shape)
  scores: f32[1, 10] = FullyConnected(flat, w4, _)
  output scores = scores
}
)";

AlignedBytes::AlignedBytes(const std::vector<uint8_t>& bytes)
    : storage_(new uint8_t[bytes.size() + 64]), size_(bytes.size()) {
  const auto address = reinterpret_cast<uintptr_t>(storage_.get());
  data_ = storage_.get() + (64 - address % 64) % 64;
  std::memcpy(data_, bytes.data(), bytes.size());
}

OpenedModel::OpenedModel(const std::string& text, const ConvertOptions& options)
    : OpenedModel(ParseGraph(text), options) {}

OpenedModel::OpenedModel(Graph graph, const ConvertOptions& options)
    : converted(ConvertGraph(std::move(graph), options)), bytes(converted->file) {
  ErrorCapture capture;
  ModelOptions model_options;
  model_options.delegates = BuiltinDelegates();
  Result<std::unique_ptr<Model>> opened = Model::Open(bytes.span(), model_options);
  if (!opened.ok()) Throw(opened.status().code(), "{}", capture.message());
  model = std::move(opened.value());
}

TensorData RandomTensor(DType dtype, const Shape& shape, uint32_t seed) {
  std::mt19937 generator(seed);
  TensorData data(dtype, shape);
  const auto fill = [&]<class T>(T*, auto convert) {
    auto* elements = static_cast<T*>(data.mutable_data());
    // Two elements of 4 bits are one byte.
    const int64_t count = std::min(data.elements(), static_cast<int64_t>(data.size_bytes() / sizeof(T)));
    for (int64_t i = 0; i < count; ++i) elements[i] = convert(generator());
  };
  const auto real = [](uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f; };
  switch (dtype) {
    case DType::kF32:
      fill(static_cast<float*>(nullptr), real);
      break;
    case DType::kF64:
      fill(static_cast<double*>(nullptr), real);
      break;
    case DType::kF16:
      fill(static_cast<Half*>(nullptr), [&](uint32_t bits) { return Half(real(bits)); });
      break;
    case DType::kI64:
      fill(static_cast<int64_t*>(nullptr), [](uint32_t bits) { return int64_t(bits % 10); });
      break;
    case DType::kI32:
      fill(static_cast<int32_t*>(nullptr), [](uint32_t bits) { return int32_t(bits % 10); });
      break;
    default:
      fill(static_cast<uint8_t*>(nullptr), [](uint32_t bits) { return uint8_t(bits % 2); });
      break;
  }
  return data;
}

std::map<std::string, TensorData> RandomInputs(const Graph& graph, uint32_t seed) {
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.caller_inputs()) {
    const Value& value = graph.value(port.value);
    inputs[port.name] = RandomTensor(value.dtype, value.shape(), seed++);
    if (value.quantization) inputs[port.name] = inputs[port.name].Quantized(value.quantization);
  }
  return inputs;
}

Difference Compare(const TensorData& got, const TensorData& expected) {
  Difference result;
  if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) {
    Throw(StatusCode::kInternal, "compared {} {} with {} {}", DTypeName(got.dtype()),
          ShapeText(got.shape()).c_str(), DTypeName(expected.dtype()), ShapeText(expected.shape()).c_str());
  }
  const std::vector<double> a = got.ToDoubles();
  const std::vector<double> b = expected.ToDoubles();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      result.difference = std::max(result.difference, std::abs(a[i] - b[i]));
      result.largest = std::max(result.largest, std::abs(b[i]));
    } else if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) {
      result.difference = std::numeric_limits<double>::infinity();
    }
  }
  return result;
}

std::map<std::string, TensorData> RunSession(Session& session,
                                             const std::map<std::string, TensorData>& inputs) {
  ErrorCapture capture;
  const auto check = [&](Status status) {
    if (!status.ok()) Throw(status.code(), "{}", capture.message());
  };
  for (const auto& [name, data] : inputs) check(session.SetInput(name.c_str(), data.view()));
  check(session.Run());
  std::map<std::string, TensorData> outputs;
  for (size_t i = 0; i < session.signature().outputs.size(); ++i) {
    const Result<TensorView> view = session.Output(static_cast<int>(i));
    check(view.status());
    outputs[session.signature().outputs[i].name] =
        TensorData(view.value().dtype, view.value().shape, view.value().data);
  }
  return outputs;
}

}  // namespace skiff::testing
