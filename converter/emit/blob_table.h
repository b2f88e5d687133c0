/// The weights part of a file in the making: every distinct content once.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "graph/graph.h"
#include "model_generated.h"
#include "skiff/delegate.h"
#include "skiff/span.h"

namespace skiff {

/// How a constant that is wider in memory is made of its blob. The loader takes one for each blob.
struct WideForm {
  DType dtype = DType::kInvalid;  ///< Of the blob's elements.
  int32_t quantization = -1;
  /// What scales along an axis belong to, else how many elements: an odd number of i4 takes as many bytes as
  /// one more. Rank 0 where neither matters.
  Shape shape;

  bool operator==(const WideForm& other) const {
    return dtype == other.dtype && quantization == other.quantization && shape == other.shape;
  }
};

class BlobTable {
 public:
  /// A blob with the tensor's elements, which outlive the table. With a form: one that has no other form.
  int32_t Add(const TensorView& view, const ContentHash& hash, const std::optional<WideForm>& form = {});
  /// Of elements that live nowhere else.
  int32_t AddCopy(const TensorData& data, const std::optional<WideForm>& form = {});

  const std::vector<format::Blob>& blobs() const { return blobs_; }
  uint64_t bytes() const { return bytes_; }
  /// The elements of a blob, where they are.
  Span<const uint8_t> data(size_t index) const {
    return {data_[index], static_cast<size_t>(blobs_[index].size())};
  }

 private:
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;
  std::multimap<Key, int32_t> index_;
  std::vector<format::Blob> blobs_;
  std::vector<std::optional<WideForm>> forms_;  ///< By blob.
  std::vector<const uint8_t*> data_;
  std::vector<TensorData> copies_;
  uint64_t bytes_ = 0;
};

}  // namespace skiff
