#include "import/tflite/sparse.h"

#include <algorithm>
#include <cstring>

#include "graph/error.h"

namespace skiff {
namespace {

template <class... Args>
[[noreturn]] void Bad(fmt::format_string<Args...> format, Args&&... args) {
  Throw(StatusCode::kInvalidModel, "its sparse elements are damaged: {}",
        fmt::format(format, std::forward<Args>(args)...));
}

/// A list of the file, as it lies there: levels may share one of any length.
class Numbers {
 public:
  Numbers() = default;
  Numbers(tflite::SparseIndices kind, const void* table) {
    if (table == nullptr) return;
    if (kind == tflite::SparseIndices::Int32Vector)
      wide_ = static_cast<const tflite::Int32Vector*>(table)->values();
    if (kind == tflite::SparseIndices::Uint16Vector)
      half_ = static_cast<const tflite::Uint16Vector*>(table)->values();
    if (kind == tflite::SparseIndices::Uint8Vector)
      narrow_ = static_cast<const tflite::Uint8Vector*>(table)->values();
  }

  int64_t size() const { return int64_t{SizeOf(wide_)} + SizeOf(half_) + SizeOf(narrow_); }
  int64_t operator[](int64_t i) const {
    const auto at = static_cast<flatbuffers::uoffset_t>(i);
    if (wide_ != nullptr) return wide_->Get(at);
    return half_ != nullptr ? half_->Get(at) : narrow_->Get(at);
  }

 private:
  // The one that it is; the others are null.
  const flatbuffers::Vector<int32_t>* wide_ = nullptr;
  const flatbuffers::Vector<uint16_t>* half_ = nullptr;
  const flatbuffers::Vector<uint8_t>* narrow_ = nullptr;
};

struct Level {
  bool dense = true;
  int64_t extent = 0;         ///< Dense: all of these places.
  int64_t limit = 0;          ///< No place lies at it or behind it.
  Numbers segments, indices;  ///< Sparse.
  int64_t stride = 0;         ///< In elements of the dense tensor.
};

/// Segments cut the indices into parts, one behind the other.
void CheckSegments(const Numbers& segments, int64_t indices, int axis) {
  int64_t last = 0;
  for (int64_t i = 0; i < segments.size(); ++i) {
    const int64_t next = segments[i];
    if (next < last || (i == 0 && next > 0))
      Bad("segment {} along axis {} begins at {}, where {} was expected", i, axis, next,
          i == 0 ? "0" : fmt::format("{} or more", last));
    last = next;
  }
  if (last != indices) Bad("the segments along axis {} end at {} of {} indices", axis, last, indices);
}

struct Walk {
  std::vector<Level> levels;
  size_t size;
  Span<const uint8_t> values;
  std::vector<uint8_t>& dense;
  int64_t next = 0;  ///< Of the values.

  /// Dense levels leave no place out and segments do not overlap: each level has as many visits as there are
  /// values or segments at most, and there are no more values than elements.
  void Visit(size_t depth, int64_t position, int64_t element) {
    if (depth == levels.size()) {
      const auto from = static_cast<size_t>(next++) * size;
      const auto to = static_cast<size_t>(element) * size;
      if (from + size > std::min(values.size(), dense.size()) || to + size > dense.size())
        Bad("they do not fit the tensor");
      std::memcpy(dense.data() + to, values.data() + from, size);
      return;
    }
    const Level& level = levels[depth];
    if (level.dense) {
      for (int64_t i = 0; i < level.extent; ++i)
        Visit(depth + 1, position * level.extent + i, element + i * level.stride);
      return;
    }
    if (position + 1 >= level.segments.size()) Bad("a segment is missing");
    const int64_t end = level.segments[position + 1];
    for (int64_t i = level.segments[position]; i < end; ++i) {
      const int64_t place = level.indices[i];
      if (place < 0 || place >= level.limit) Bad("they do not fit the tensor");
      Visit(depth + 1, i, element + place * level.stride);
    }
  }
};

}  // namespace

std::vector<uint8_t> Densified(const tflite::Sparsity& sparsity, const Shape& shape, size_t size,
                               Span<const uint8_t> values) {
  const auto* order = sparsity.traversal_order();
  const auto* blocks = sparsity.block_map();
  const auto* dimensions = sparsity.dimensions();
  const auto rank = static_cast<uint32_t>(shape.rank());
  const uint32_t block_count = SizeOf(blocks);
  // An axis has one block at most; more of them would be levels without end.
  if (block_count > rank) Bad("it has {} blocks, the tensor {} axes", block_count, rank);
  if (order == nullptr || dimensions == nullptr || order->size() != rank + block_count ||
      dimensions->size() != order->size())
    Bad("it has other dimensions than the tensor");
  std::vector<bool> traversed(order->size(), false);
  for (const int32_t place : *order) {
    if (place < 0 || static_cast<uint32_t>(place) >= order->size() || traversed[static_cast<size_t>(place)])
      Bad("axis {} is traversed", place);
    traversed[static_cast<size_t>(place)] = true;
  }
  // The extent of a block along each axis; 1 where there is none.
  std::vector<int64_t> block(rank, 1);
  std::vector<bool> blocked(rank, false);
  for (uint32_t i = 0; i < block_count; ++i) {
    const int32_t axis = blocks->Get(i);
    if (axis < 0 || static_cast<uint32_t>(axis) >= rank || blocked[static_cast<size_t>(axis)])
      Bad("block {} is of axis {}", i, axis);
    blocked[static_cast<size_t>(axis)] = true;
    for (uint32_t level = 0; level < order->size(); ++level) {
      if (order->Get(level) == static_cast<int32_t>(rank + i))
        block[static_cast<size_t>(axis)] = dimensions->Get(level)->dense_size();
    }
    const int64_t extent = block[static_cast<size_t>(axis)];
    if (extent < 1 || extent > shape[axis]) Bad("block {} has {} elements along axis {}", i, extent, axis);
  }
  std::vector<uint8_t> dense(static_cast<size_t>(shape.elements()) * size);
  Walk walk{{}, size, values, dense};
  for (uint32_t i = 0; i < order->size(); ++i) {
    const tflite::SparseDimension& dimension = *dimensions->Get(i);
    const auto place = static_cast<uint32_t>(order->Get(i));
    const bool inner = place >= rank;
    const int axis = inner ? blocks->Get(place - rank) : static_cast<int>(place);
    const int64_t of_block = block[static_cast<size_t>(axis)];
    Level level;
    level.dense = dimension.format() == tflite::DimensionFormat::DENSE;
    level.extent = dimension.dense_size();
    level.limit = inner ? of_block : shape[axis] / of_block;
    if (level.dense && level.extent != level.limit)
      Bad("it has {} places along axis {}, the tensor {}", level.extent, axis, level.limit);
    level.segments = Numbers(dimension.segments_type(), dimension.segments());
    level.indices = Numbers(dimension.indices_type(), dimension.indices());
    if (!level.dense) CheckSegments(level.segments, level.indices.size(), axis);
    level.stride = shape.ElementsBetween(axis + 1, shape.rank()) * (inner ? 1 : of_block);
    walk.levels.push_back(level);
  }
  if (shape.elements() > 0) walk.Visit(0, 0, 0);
  return dense;
}

}  // namespace skiff
