/// Random graphs of quantised tensors, in text form. Every tensor of the main stream is [n, 4, 4, 4], so that
/// anything can follow anything.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff::testing {

class RandomQuantizedGraph {
 public:
  enum class Batch { kOne, kBounded, kUnbounded };

  /// Even seeds have scales that are powers of two, and floating-point operators between the quantised ones,
  /// whose arithmetic is exact: no pass may change a bit. Odd ones have any scales, and no floats.
  RandomQuantizedGraph(uint32_t seed, Batch batch);

  const std::string& text() const { return text_; }
  /// For every input, of `n` items.
  std::map<std::string, TensorData> Inputs(int64_t n, uint32_t seed) const;

 private:
  struct Stream {
    std::string name;
    std::string type;  ///< "u8 {scale=0.5}", or "" for f32.
    int floats = 0;    ///< Floating-point operators since the last integers.
  };

  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string Fresh(const char* stem) { return stem + std::to_string(next_++); }
  std::string Scale();
  std::string Type();
  /// A quantised type, or now and then f32 where floats are exact.
  std::string ResultType();
  const Stream& Any();
  const Stream& Quantised();
  Stream Floats();
  std::string Constant(const std::string& type_and_elements);
  std::string Weights(const std::string& shape);
  /// Writes "name: type = call"; the result joins the streams.
  Stream Emit(const std::string& type, const std::string& call);
  Stream Move(const Stream& x, const std::string& call);

  void Step();
  void Convolve(const Stream& x);
  void ConvolveTransposed();
  void Pad();
  void Combine();
  void Activate();
  void Transpose();
  void ReshapeAndBack();
  void JoinAndCut();
  void Pool();
  void FloatIsland();
  void FloatLinear();
  void Choose();
  void Repeat();
  void AddPacked();

  std::mt19937 random_;
  bool dyadic_;
  int next_ = 0;
  std::vector<Stream> streams_;
  std::string last_call_;
  std::string text_;
};

}  // namespace skiff::testing
