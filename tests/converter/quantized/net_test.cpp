// A quantised net from the text to the numbers, which expected.py has computed.
#include <gtest/gtest.h>

#include <cmath>

#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "skiff/delegates.h"
#include "tests/converter/quantized/exact.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using Tensors = std::map<std::string, TensorData>;

const char* const kFolder = SKIFF_SOURCE_DIR "/tests/converter/quantized/";

Tensors ReadTensors(const nlohmann::json& part) {
  Tensors tensors;
  for (const auto& [name, entry] : part.items()) {
    const DType dtype = DTypeFromName(entry["dtype"].get<std::string>().c_str());
    Shape shape;
    for (const int64_t extent : entry["shape"].get<std::vector<int64_t>>()) shape.Append(extent);
    tensors[name] = IsFloat(dtype)
                        ? TensorData(dtype, shape, entry["elements"].get<std::vector<float>>().data())
                        : OfCodes(dtype, shape, entry["elements"].get<std::vector<int64_t>>());
  }
  return tensors;
}

class QuantizedNet : public ::testing::Test {
 protected:
  QuantizedNet() {
    const nlohmann::json expected = nlohmann::json::parse(ReadWhole(std::string(kFolder) + "expected.json"));
    inputs_ = ReadTensors(expected["inputs"]);
    expected_ = ReadTensors(expected["outputs"]);
  }

  static Graph Net() { return ParseGraph(ReadWhole(std::string(kFolder) + "net.txt")); }

  void ExpectExactly(const Tensors& got) const {
    ASSERT_EQ(got.size(), expected_.size());
    for (const auto& [name, data] : expected_) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(got.contains(name));
      const TensorData& computed = got.at(name);
      ASSERT_EQ(computed.dtype(), data.dtype());
      ASSERT_EQ(computed.shape(), data.shape());
      // The codes; who knows their scale is the port.
      const TensorData codes(computed.dtype(), computed.shape(), computed.data());
      EXPECT_EQ(codes.ToDoubles(), data.ToDoubles());
    }
  }

  /// Fast paths may have the other one of two codes that are nearly as near (docs/numerics.md).
  void ExpectNeighbours(const Tensors& got) const {
    constexpr double kMostApart = 0.02;
    ASSERT_EQ(got.size(), expected_.size());
    for (const auto& [name, data] : expected_) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(got.contains(name));
      const TensorData codes(data.dtype(), data.shape(), got.at(name).data());
      const std::vector<double> want = data.ToDoubles();
      const std::vector<double> have = codes.ToDoubles();
      size_t apart = 0;
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_LE(std::abs(have[i] - want[i]), IsFloat(data.dtype()) ? 0 : 1) << i;
        apart += have[i] == want[i] ? 0 : 1;
      }
      EXPECT_LE(static_cast<double>(apart), kMostApart * static_cast<double>(want.size()));
    }
  }

  Tensors inputs_;
  Tensors expected_;
};

TEST_F(QuantizedNet, ComputesTheIntegersEagerly) { ExpectExactly(Evaluate(Net(), inputs_)); }

TEST_F(QuantizedNet, ComputesTheIntegersFromAFile) {
  const TempFolder folder;
  const auto converted = ConvertGraph(Net());
  const std::string path = folder.Write("net.skiff", {converted->file.begin(), converted->file.end()});
  ModelOptions model_options;
  model_options.delegates = BuiltinDelegates();
  auto model = Model::Open(path.c_str(), model_options);
  ASSERT_TRUE(model.ok());
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SCOPED_TRACE(backend == Backend::kReference ? "reference" : "planned");
    SessionOptions options;
    options.backend = backend;
    options.threads = 1;
    auto session = Session::Create(**model, options);
    ASSERT_TRUE(session.ok());
    const Tensors got = RunSession(**session, inputs_);
    backend == Backend::kReference ? ExpectExactly(got) : ExpectNeighbours(got);
    const PortInfo& image = (*session)->signature().inputs[0];
    ASSERT_NE(image.quantization, nullptr);
    EXPECT_EQ(image.quantization->scale, 0.02f);
    EXPECT_EQ(image.quantization->zero_point, 128);
  }
}

/// With 64 x 64 weights of a dtype, on which nothing else of the file depends: products that become sums of
/// 32 bits, for which no delegate wants other weights.
size_t FileSize(const std::string& dtype) {
  const std::string text =
      "graph g { input x: i8[1, 64] {scale=0.1} const w: " + dtype +
      "[64, 64] {scale=0.05} = seed 1 y: i32[1, 64] {scale=0.005} = FullyConnected(x, w, _) output y }";
  return ConvertGraph(ParseGraph(text))->file.size();
}

TEST(QuantizedFile, HoldsAByteForEachWeightOfEightBitsAndHalfAByteForEachOfFour) {
  const size_t eight = FileSize("i8");
  EXPECT_EQ(FileSize("i16") - eight, 64u * 64u);
  EXPECT_EQ(eight - FileSize("i4"), 64u * 64u / 2u);
  EXPECT_EQ(FileSize("u4"), FileSize("i4"));
  EXPECT_LT(FileSize("i4"), 64u * 64u / 2u + 2048u);
}

/// The last byte of an odd number of them is half empty.
TEST(QuantizedFile, HoldsOddNumbersOfPackedWeights) {
  const char* const text = R"(graph g {
    input x: i8[1, 5] {scale=1}
    const w: i4[3, 5] {scale=[1, 0.5, 2], axis=0} = [1, 2, 3, -4, 5, -6, 7, -8, 0, 1, 2, -3, 4, 5, 6]
    y: i16[1, 3] {scale=0.5} = FullyConnected(x, w, _)
    output y
  })";
  const OpenedModel model(text);
  auto session = Session::Create(*model.model, {});
  ASSERT_TRUE(session.ok());
  const Tensors inputs = {{"x", OfCodes(DType::kI8, Shape{1, 5}, {1, 10, 100, -1, 2})}};
  const std::vector<int64_t> expected = {2 * (1 + 20 + 300 + 4 + 10), -6 + 70 - 800 + 0 + 2,
                                         4 * (2 - 30 + 400 - 5 + 12)};
  EXPECT_EQ(RunSession(**session, inputs).at("y").ToInts(), expected);
  EXPECT_EQ(Evaluate(ParseGraph(text), inputs).at("y").ToInts(), expected);
}

}  // namespace
}  // namespace skiff::testing
