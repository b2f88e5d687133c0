/// Small graphs for the runtime's tests, converted and opened in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "convert.h"
#include "skiff/model.h"
#include "skiff/session.h"

namespace skiff::testing {

/// A convolution net with a residual block, a channel concat, a pool and a fully connected layer, in text
/// form.
extern const char* const kSmallNet;

/// Bytes at a 64-byte aligned address.
class AlignedBytes {
 public:
  explicit AlignedBytes(const std::vector<uint8_t>& bytes);
  Span<const uint8_t> span() const { return {data_, size_}; }

 private:
  std::unique_ptr<uint8_t[]> storage_;
  uint8_t* data_;
  size_t size_;
};

/// A graph in text form, converted and opened with the built-in delegates.
struct OpenedModel {
  explicit OpenedModel(const std::string& text, const ConvertOptions& options = {});
  explicit OpenedModel(Graph graph, const ConvertOptions& options = {});

  std::unique_ptr<ConvertResult> converted;
  AlignedBytes bytes;
  std::unique_ptr<Model> model;
};

/// Values in [-1, 1) from a fixed generator, the same on every platform.
TensorData RandomTensor(DType dtype, const Shape& shape, uint32_t seed);

/// Seeded values for every input of a graph but its variables.
std::map<std::string, TensorData> RandomInputs(const Graph& graph, uint32_t seed);

/// The largest |a - b|, and the largest |b|; NaN and infinities must agree in place and sign, else
/// `difference` is infinite.
struct Difference {
  double difference = 0;
  double largest = 0;
};
Difference Compare(const TensorData& got, const TensorData& expected);

/// Sets all inputs, runs, and copies the outputs by name. Throws Error when a call fails.
std::map<std::string, TensorData> RunSession(Session& session,
                                             const std::map<std::string, TensorData>& inputs);

}  // namespace skiff::testing
