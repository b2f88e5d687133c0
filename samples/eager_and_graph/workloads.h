/// The functions that the examples run: plain C++ over tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/tensor.h"

namespace sample {

using skiff::eager::Tensor;
using skiff::eager::Tensors;

/// Seeded values in [-1, 1) times `scale`.
Tensor Uniform(const skiff::Shape& shape, uint32_t seed, float scale = 1.0f);

/// A 10x10 int32 matrix of zeros and ones, so that its powers wrap around. x is [10, 10].
Tensor PowerBase();
/// x to the power of 100, by a While of 100 rounds.
Tensor PowerByLoop(const Tensor& x);
/// The same by a C++ loop: 100 products in a trace.
Tensor PowerUnrolled(const Tensor& x);

/// Flatten, then one dense layer per width, ReLU between them. Makes its weights once.
class DenseNet {
 public:
  DenseNet(int64_t inputs, const std::vector<int64_t>& widths);
  /// x: [N, ...] with `inputs` elements behind N. Returns [N, last width].
  Tensor operator()(const Tensor& x) const;
  int64_t parameters() const;

 private:
  Tensors weights_;
  Tensors biases_;
};

/// 20.5 million parameters: three convolutions 4x4 without padding (16, 32, 64 channels), each with ReLU and
/// a 2x2 maximum pool, then dense 512 with ReLU and dense 2.
class PictureNet {
 public:
  PictureNet();
  /// u8 [1, height, width, 3], RGB. Resizes to 224x224 and scales to [-1, 1] first. Returns f32 [1, 2].
  Tensor operator()(const Tensor& picture) const;
  /// What is behind the preprocessing: f32 [1, 224, 224, 3].
  Tensor Classify(const Tensor& x) const;
  int64_t parameters() const;

 private:
  Tensors kernels_;
  Tensors biases_;
  DenseNet head_;
};
/// Noise, u8 [1, height, width, 3].
Tensor NoisePicture(int64_t height, int64_t width);

/// Rows [X, 20] of any number: their maximum, then dense 64, 64, 10.
class RowsNet {
 public:
  RowsNet() : head_(20, {64, 64, 10}) {}
  Tensor operator()(const Tensor& rows) const;

 private:
  DenseNet head_;
};

/// What docs/numerics.md allows a whole net: 2e-5 of the largest number of the expected result.
bool Near(const Tensor& got, const Tensor& expected);

}  // namespace sample
