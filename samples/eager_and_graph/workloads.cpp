#include "samples/eager_and_graph/workloads.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "trace/control.h"
#include "trace/ops.h"

namespace sample {
namespace {

using namespace skiff::eager;  // NOLINT: the operators, as a user's program has them
using skiff::DType;
using skiff::Shape;

/// Keeps activations of about the same size from layer to layer.
Tensor Weights(const Shape& shape, int64_t inputs, uint32_t seed) {
  return Uniform(shape, seed, std::sqrt(3.0f / static_cast<float>(inputs)));
}

int64_t ElementsOf(const Tensors& tensors) {
  int64_t elements = 0;
  for (const Tensor& tensor : tensors) elements += tensor.elements();
  return elements;
}

}  // namespace

Tensor Uniform(const Shape& shape, uint32_t seed, float scale) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  // The generator's bits and not a distribution: the same numbers with every standard library.
  for (float& value : values) value = (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f) * scale;
  return Tensor::Of(values, shape);
}

Tensor PowerBase() {
  std::vector<int32_t> values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * i % 7 % 2);
  return Tensor::Of(values, {10, 10});
}

namespace {

Tensor Eye(int64_t size) {
  std::vector<int32_t> values(static_cast<size_t>(size * size));
  for (int64_t i = 0; i < size; ++i) values[static_cast<size_t>(i * size + i)] = 1;
  return Tensor::Of(values, {size, size});
}

constexpr int32_t kPower = 100;

}  // namespace

Tensor PowerByLoop(const Tensor& x) {
  return While([](const Tensors& loop) { return loop[0] < kPower; },
               [&](const Tensors& loop) {
                 return Tensors{loop[0] + 1, MatMul(loop[1], x)};
               },
               {Tensor::Scalar(int32_t{0}), Eye(10)})[1];
}

Tensor PowerUnrolled(const Tensor& x) {
  Tensor result = Eye(10);
  for (int i = 0; i < kPower; ++i) result = MatMul(result, x);
  return result;
}

DenseNet::DenseNet(int64_t inputs, const std::vector<int64_t>& widths) {
  uint32_t seed = 1;
  for (const int64_t width : widths) {
    weights_.push_back(Weights({width, inputs}, inputs, seed++));
    biases_.push_back(Uniform({width}, seed++, 0.1f));
    inputs = width;
  }
}

Tensor DenseNet::operator()(const Tensor& x) const {
  Tensor y = Flatten(x);
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (i > 0) y = Relu(y);
    y = FullyConnected(y, weights_[i], biases_[i]);
  }
  return y;
}

int64_t DenseNet::parameters() const { return ElementsOf(weights_) + ElementsOf(biases_); }

PictureNet::PictureNet() : head_(25 * 25 * 64, {512, 2}) {
  int64_t in = 3;
  uint32_t seed = 100;
  for (const int64_t out : {16, 32, 64}) {
    kernels_.push_back(Weights({out, 4, 4, in}, 16 * in, seed++));
    biases_.push_back(Uniform({out}, seed++, 0.1f));
    in = out;
  }
}

Tensor PictureNet::Classify(const Tensor& x) const {
  Tensor y = x;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    y = Relu(Conv2d(y, kernels_[i], biases_[i]));
    y = MaxPool2d(y, {.kernel = {2, 2}, .strides = {2, 2}});
  }
  return head_(y);
}

Tensor PictureNet::operator()(const Tensor& picture) const {
  const Tensor resized =
      Resize2d(Cast(picture, DType::kF32), {224, 224}, {.mode = skiff::ResizeMode::kLinear});
  return Classify(resized / 127.5f - 1.0f);
}

int64_t PictureNet::parameters() const {
  return ElementsOf(kernels_) + ElementsOf(biases_) + head_.parameters();
}

Tensor NoisePicture(int64_t height, int64_t width) {
  return Cast(Uniform({1, height, width, 3}, 7) * 127.0f + 128.0f, DType::kU8);
}

Tensor RowsNet::operator()(const Tensor& rows) const { return head_(ReduceMax(rows, {.axes = {0}})); }

bool Near(const Tensor& got, const Tensor& expected) {
  if (!(got.shape() == expected.shape())) return false;
  const float* a = got.as<float>();
  const float* b = expected.as<float>();
  float largest = 0, difference = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    if (!std::isfinite(a[i])) return false;
    largest = std::max(largest, std::fabs(b[i]));
    difference = std::max(difference, std::fabs(a[i] - b[i]));
  }
  return difference <= 2e-5f * largest;
}

}  // namespace sample
