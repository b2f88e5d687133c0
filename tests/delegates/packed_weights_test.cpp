#include "delegates/xnnpack/weights/packed_weights.h"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "core/platform.h"
#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/memory.h"

namespace skiff::xnnpack {
namespace {

/// A 3x3 convolution of 8 to 16 channels over the same weights, whatever the test changes about it.
class PackedWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Initialize().ok());
    environment_.weights = &weights_;
    geometry_.kernel[0] = geometry_.kernel[1] = 3;
    geometry_.group_input_channels = 8;
    geometry_.group_output_channels = 16;
    geometry_.input_stride = 8;
    geometry_.output_stride = 16;
    source_.weights = values_.data();
    source_.weights_hash = {1, 2};
  }

  void Make(const ConvolutionGeometry& geometry, const ConvolutionWeights& source) {
    Convolution convolution(environment_);
    const auto channels = static_cast<int64_t>(geometry.groups * geometry.group_input_channels);
    const TensorView input(nullptr, DType::kF32, {1, 9, 9, channels});
    const TensorView output(
        nullptr, DType::kF32,
        {1, 7, 7, static_cast<int64_t>(geometry.groups * geometry.group_output_channels)});
    size_t workspace = 0;
    ASSERT_TRUE(convolution.Reshape(DType::kF32, geometry, source, input, output, &workspace).ok());
  }

  std::vector<float> values_ = std::vector<float>(16 * 3 * 3 * 8, 0.5f);
  PackedWeights weights_;
  Environment environment_;
  ConvolutionGeometry geometry_;
  ConvolutionWeights source_;
};

TEST_F(PackedWeightsTest, TheSameTwiceIsPackedOnce) {
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 1u);
  EXPECT_EQ(weights_.packings(), 1u);
  const uint64_t bytes = weights_.bytes().heap;
  EXPECT_GE(bytes, values_.size() * sizeof(float));
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 1u);
  EXPECT_EQ(weights_.packings(), 1u);
  EXPECT_EQ(weights_.bytes().heap, bytes);
}

/// Nodes with the same weights and other biases each have a copy.
TEST(PackedWeightsLimit, IsManyTimesTheFile) {
  PackedWeights weights(1 << 20);
  size_t packed = 0;
  for (uint64_t i = 0; i < 10; ++i) {
    PackingKey key;
    key.packed_bytes = 10 << 20;
    key.parameters[0] = i;
    if (weights.FindOrPack(key, [](void*) {}) != nullptr) ++packed;
  }
  EXPECT_EQ(packed, 8u) << "64 MiB and 16 times the file's";
}

/// Threads that pack at once may pass the limit together.
TEST(PackedWeightsLimit, HoldsOnceItWasPassed) {
  PackedWeights weights(0);
  PackingKey key;
  key.packed_bytes = 65u << 20;
  void* const blob = platform::AllocateAligned(64);
  ASSERT_NE(blob, nullptr);
  ASSERT_EQ(weights.Insert(key, blob), blob);
  EXPECT_EQ(weights.AllocateBlob(64), nullptr);
}

/// What many nodes have in common must not decide alone where their weights are looked for.
TEST(PackingKeys, AllButTheirSizeDecidesTheirHash) {
  PackingKey key;
  key.weights = {1, 2};
  const uint64_t hash = HashOf(key);
  std::vector<PackingKey> others(8, key);
  others[0].kind = PackingKind::kDense;
  others[1].dtype = DType::kF32;
  others[2].has_bias = true;
  others[3].micro_kernel_seed = 1;
  others[4].flags = 1;
  others[5].weights.high = 3;
  others[6].bias.low = 1;
  others[7].bias.high = 1;
  for (size_t i = 0; i < std::size(key.parameters); ++i) {
    others.push_back(key);
    others.back().parameters[i] = 1;
  }
  for (size_t i = 0; i < others.size(); ++i) EXPECT_NE(HashOf(others[i]), hash) << i;
  key.packed_bytes = 64;
  EXPECT_EQ(HashOf(key), hash);
}

TEST_F(PackedWeightsTest, StridesOfViewsAndClampsShareOneEntry) {
  Make(geometry_, source_);
  geometry_.input_stride = 12;
  geometry_.output_stride = 40;
  geometry_.max = 6;
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 1u);
  EXPECT_EQ(weights_.packings(), 1u);
}

TEST_F(PackedWeightsTest, TwoSetsOfParametersAreTwoEntries) {
  Make(geometry_, source_);
  geometry_.groups = 2;
  geometry_.group_input_channels = 4;
  geometry_.group_output_channels = 8;
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 2u);
}

TEST_F(PackedWeightsTest, AnotherBiasIsAnotherEntry) {
  Make(geometry_, source_);
  const std::vector<float> bias(16, 1.0f);
  source_.bias = bias.data();
  source_.bias_hash = {3, 4};
  Make(geometry_, source_);
  source_.bias_hash = {3, 5};
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 3u);
}

/// XNNPACK packs depthwise weights before it asks; the copy must be dropped.
TEST_F(PackedWeightsTest, DepthwiseKeepsOneEntry) {
  geometry_.groups = 8;
  geometry_.group_input_channels = 1;
  geometry_.group_output_channels = 1;
  geometry_.output_stride = 8;
  Make(geometry_, source_);
  const uint64_t bytes = weights_.bytes().heap;
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 1u);
  EXPECT_EQ(weights_.bytes().heap, bytes);
}

/// A chain holds several entries; each must be found again.
TEST_F(PackedWeightsTest, FindsEachOfManyEntries) {
  constexpr uint64_t kEntries = 1000;
  std::vector<void*> blobs;
  for (uint64_t i = 0; i < kEntries; ++i) {
    PackingKey key;
    key.weights = {i % 300, i};
    EXPECT_EQ(weights_.Find(key), nullptr);
    blobs.push_back(platform::AllocateAligned(64));
    EXPECT_EQ(weights_.Insert(key, blobs.back()), blobs.back());
  }
  for (uint64_t i = 0; i < kEntries; ++i) {
    PackingKey key;
    key.weights = {i % 300, i};
    EXPECT_EQ(weights_.Find(key), blobs[i]);
  }
  EXPECT_EQ(weights_.entries(), kEntries);
}

struct Window {
  int64_t kernel, stride, dilation, begin, end;
};

/// How many windows XNNPACK makes.
int64_t Windows(int64_t input, const Window& window, uint32_t begin, uint32_t end) {
  return (input + begin + end - ((window.kernel - 1) * window.dilation + 1)) / window.stride + 1;
}

constexpr Window kWindows[] = {{3, 2, 1, 1, 1}, {3, 2, 1, 0, 0}, {1, 2, 1, 0, 0}, {5, 3, 1, 2, 2},
                               {3, 3, 2, 2, 1}, {7, 2, 1, 3, 3}, {2, 3, 1, 0, 1}};

TEST(FitPads, AreThoseOfTheNodeWhateverTheSize) {
  for (const Window& w : kWindows) {
    for (int64_t input = 8; input < 40; ++input) {
      const int64_t output = Windows(input, w, static_cast<uint32_t>(w.begin), static_cast<uint32_t>(w.end));
      uint32_t begin = 99;
      uint32_t end = 99;
      ASSERT_TRUE(FitPads(AutoPad::kExplicit, {w.begin, w.begin, w.end, w.end}, 0, input, output, w.kernel,
                          w.stride, w.dilation, &begin, &end));
      EXPECT_EQ(begin, w.begin);
      EXPECT_EQ(end, w.end) << w.kernel << " over " << input;
    }
  }
}

/// Ceil mode has one window more, or the same number.
TEST(FitPads, GrowForAWindowThatReachesFurther) {
  for (const Window& w : kWindows) {
    for (int64_t input = 8; input < 40; ++input) {
      const int64_t floor = Windows(input, w, static_cast<uint32_t>(w.begin), static_cast<uint32_t>(w.end));
      uint32_t begin = 0;
      uint32_t end = 0;
      ASSERT_TRUE(FitPads(AutoPad::kExplicit, {w.begin, w.begin, w.end, w.end}, 0, input, floor + 1, w.kernel,
                          w.stride, w.dilation, &begin, &end));
      EXPECT_EQ(Windows(input, w, begin, end), floor + 1) << w.kernel << " over " << input;
      ASSERT_TRUE(FitPads(AutoPad::kExplicit, {w.begin, w.begin, w.end + w.stride, w.end + w.stride}, 0,
                          input, floor, w.kernel, w.stride, w.dilation, &begin, &end));
      EXPECT_EQ(Windows(input, w, begin, end), floor) << "cut, " << w.kernel << " over " << input;
    }
  }
}

/// XNNPACK multiplies in 32 bits where pointers have 32, and in some places everywhere.
TEST(PackedExtents, MustNotWrapAround) {
  EXPECT_TRUE((PackedExtents{64, 64, 9}).Fit());
  EXPECT_TRUE((PackedExtents{1, 1, 31 * 31, 1024, true}).Fit());
  EXPECT_TRUE((PackedExtents{1, 1, 9, 100000, true}).Fit());
  EXPECT_TRUE((PackedExtents{9, 16, 1, 200000}).Fit());
  EXPECT_TRUE((PackedExtents{4096, 32000}).Fit());
  EXPECT_EQ((PackedExtents{1, 1, 1, 59652324}).Fit(), sizeof(size_t) > 4);
  EXPECT_EQ((PackedExtents{1 << 27, 1}).Fit(), sizeof(size_t) > 4);
  EXPECT_FALSE((PackedExtents{64, 1, 4096 * 4096}).Fit());
  EXPECT_FALSE((PackedExtents{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}).Fit());
}

TEST(PackingKeyTest, EveryParameterCounts) {
  const PackingKey key;
  PackingKey other = key;
  EXPECT_EQ(key, other);
  for (uint64_t& parameter : other.parameters) {
    parameter = 1;
    EXPECT_NE(key, other);
    parameter = 0;
  }
  other.flags = 1;
  EXPECT_NE(key, other);
}

}  // namespace
}  // namespace skiff::xnnpack
