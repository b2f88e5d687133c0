// Nets that exist as TensorFlow Lite and as ONNX files: both must compute the same numbers. What of them is
// the same is stated in models.json (`twins`), in the order of the ONNX file's inputs and outputs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tests/models/models_list.h"
#include "tests/models/tflite_case.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Tensors = std::map<std::string, TensorData>;

struct Twins {
  json tflite, onnx;
};
void PrintTo(const Twins& twins, std::ostream* stream) {
  *stream << twins.tflite["file"] << " and " << twins.onnx;
}

/// The tensor's real numbers, moved into a smaller range.
TensorData Within(const TensorData& data, double low, double high) {
  const std::vector<double> numbers = data.ToDoubles();
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  TensorData moved(data.dtype(), data.shape());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double number = low + (numbers[i] - *least) / (*most - *least) * (high - low);
    if (data.dtype() == DType::kF32) {
      static_cast<float*>(moved.mutable_data())[i] = static_cast<float>(number);
    } else {
      const auto& quantization = *data.quantization();
      static_cast<int8_t*>(moved.mutable_data())[i] = static_cast<int8_t>(
          std::lround(number / static_cast<double>(quantization.scale)) + quantization.zero_point);
    }
  }
  return data.quantization() ? moved.Quantized(data.quantization()) : moved;
}

/// Real numbers as f32, or the same picture with its channels first.
TensorData AsOnnx(const TensorData& data, bool channels_first) {
  const std::vector<double> numbers = data.ToDoubles();
  const Shape& from = data.shape();
  TensorData result(DType::kF32, channels_first ? Shape({from[0], from[3], from[1], from[2]}) : from);
  auto* elements = static_cast<float*>(result.mutable_data());
  const int64_t channels = channels_first ? from[3] : 1;
  const int64_t pixels = channels_first ? from[1] * from[2] : data.elements();
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int64_t picture = i / (channels * pixels);
    const int64_t pixel = i / channels % pixels;
    elements[(picture * channels + i % channels) * pixels + pixel] =
        static_cast<float>(numbers[static_cast<size_t>(i)]);
  }
  return result;
}

/// The largest difference of real numbers over the largest number.
double Apart(const TensorData& a, const TensorData& b) {
  const std::vector<double> x = a.ToDoubles();
  const std::vector<double> y = b.ToDoubles();
  if (x.size() != y.size()) return INFINITY;
  double worst = 0;
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return INFINITY;
    worst = std::max(worst, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  return worst / std::max(largest, 1e-30);
}

class TwinModels : public ::testing::TestWithParam<Twins> {};

TEST_P(TwinModels, ComputeTheSame) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  const auto open = [](const json& file) {
    const std::string path = (ModelsFolder() / file.get<std::string>()).string();
    return ModelCase(path, AllOnes(path));
  };
  const json& twin = GetParam().onnx;
  EXPECT_EQ(twin.contains("tolerance"), twin.contains("why"));
  ModelCase tflite = open(GetParam().tflite.at("file"));
  ModelCase onnx = open(twin.at("file"));
  const std::vector<GraphPort>& from = tflite.source().inputs();
  const std::vector<GraphPort>& to = onnx.source().inputs();
  ASSERT_EQ(from.size(), to.size());
  Tensors inputs = TfliteInputs(tflite.source());
  if (twin.contains("range")) {
    for (auto& [name, data] : inputs) data = Within(data, twin["range"][0], twin["range"][1]);
  }
  Tensors same;
  for (size_t i = 0; i < from.size(); ++i)
    same[to[i].name] = AsOnnx(inputs.at(from[i].name), twin.value("channels_first", false));
  for (const bool eager : {true, false}) {
    const Tensors a = eager ? tflite.RunEagerly(inputs) : tflite.Run(Backend::kPlanned, inputs);
    const Tensors b = eager ? onnx.RunEagerly(same) : onnx.Run(Backend::kPlanned, same);
    ASSERT_EQ(tflite.source().outputs().size(), onnx.source().outputs().size());
    for (size_t i = 0; i < onnx.source().outputs().size(); ++i) {
      const int place = twin.contains("outputs") ? twin["outputs"][i].get<int>() : static_cast<int>(i);
      if (place < 0) continue;
      const std::string& name = tflite.source().outputs()[static_cast<size_t>(place)].name;
      // A Session's outputs are plain integers.
      const Value& value = tflite.source().value(tflite.source().outputs()[static_cast<size_t>(place)].value);
      const TensorData real = value.quantization ? a.at(name).Quantized(value.quantization) : a.at(name);
      const double apart = Apart(real, b.at(onnx.source().outputs()[i].name));
      EXPECT_LE(apart, twin.value("tolerance", kF32NetTolerance))
          << (eager ? "eager" : "xnnpack") << ", output '" << name << "'";
      fmt::print("{}: {}, {} {:.1e}\n", twin.at("file").get<std::string>(), name, eager ? "eager" : "xnnpack",
                 apart);
    }
  }
}

std::vector<Twins> AllTwins() {
  std::vector<Twins> all;
  for (const json& entry : With("twins")) {
    for (const json& twin : entry["twins"]) all.push_back({entry, twin});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, TwinModels, ::testing::ValuesIn(AllTwins()), [](const auto& info) {
  return NameOf(info.param.tflite.at("file")) + "_and_" + NameOf(info.param.onnx.at("file"));
});

}  // namespace
}  // namespace skiff::testing
