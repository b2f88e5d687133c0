#include "delegates/xnnpack/packed_weights.h"

#include <gtest/gtest.h>

#include <vector>

#include "delegates/xnnpack/convolution.h"
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
  const uint64_t bytes = weights_.bytes();
  EXPECT_GE(bytes, values_.size() * sizeof(float));
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 1u);
  EXPECT_EQ(weights_.packings(), 1u);
  EXPECT_EQ(weights_.bytes(), bytes);
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
  const uint64_t bytes = weights_.bytes();
  Make(geometry_, source_);
  EXPECT_EQ(weights_.entries(), 1u);
  EXPECT_EQ(weights_.bytes(), bytes);
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
