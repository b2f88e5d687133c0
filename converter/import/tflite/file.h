/// A TensorFlow Lite file that was verified: every index that a table holds is one of a table that exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/tflite/schema.h"
#include "skiff/span.h"
#include "skiff/tensor.h"

namespace skiff {

class TfliteFile {
 public:
  /// Throws Error (kInvalidModel) where the bytes are no such file, or a damaged one.
  explicit TfliteFile(std::vector<uint8_t> bytes);

  Span<const uint8_t> bytes() const { return {bytes_.data(), bytes_.size()}; }
  const tflite::Model& model() const { return *model_; }
  uint32_t subgraph_count() const { return model_->subgraphs()->size(); }
  const tflite::SubGraph& subgraph(uint32_t i) const { return *model_->subgraphs()->Get(i); }
  /// Of a tensor or of metadata; empty where the buffer is. Throws Error (kInvalidModel) where it lies
  /// outside of the file.
  Span<const uint8_t> Buffer(uint32_t index) const;

  struct Operator {
    tflite::BuiltinOperator builtin = tflite::BuiltinOperator::ADD;
    std::string_view custom;  ///< Of a CUSTOM one, in the file.
    /// As in messages: CONV_2D, or what a custom operator is called.
    std::string Name() const;
  };
  Operator OperatorOf(const tflite::Operator& node) const;

 private:
  void CheckIndices() const;
  void CheckSubgraph(uint32_t index) const;

  std::vector<uint8_t> bytes_;
  const tflite::Model* model_ = nullptr;
};

/// The elements of a list that may be absent.
template <class Vector>
uint32_t SizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// Of an operator's options, those whose elements have eight bytes: null where one is absent.
std::vector<const flatbuffers::Vector<int64_t>*> LongListsOf(const tflite::Operator& node);

/// The text of a string that may be absent.
std::string TextOf(const flatbuffers::String* text);

}  // namespace skiff
