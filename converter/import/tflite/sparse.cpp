#include "import/tflite/sparse.h"

#include <cstring>

#include "graph/error.h"

namespace skiff {
namespace {

template <class... Args>
[[noreturn]] void Bad(fmt::format_string<Args...> format, Args&&... args) {
  Throw(StatusCode::kInvalidModel, "its sparse elements are damaged: {}",
        fmt::format(format, std::forward<Args>(args)...));
}

template <class Table>
std::vector<int64_t> ValuesOf(const void* table) {
  const auto* values = static_cast<const Table*>(table)->values();
  return values == nullptr ? std::vector<int64_t>{} : std::vector<int64_t>(values->begin(), values->end());
}

std::vector<int64_t> Indices(tflite::SparseIndices kind, const void* table) {
  if (table == nullptr) return {};
  switch (kind) {
    case tflite::SparseIndices::Int32Vector:
      return ValuesOf<tflite::Int32Vector>(table);
    case tflite::SparseIndices::Uint16Vector:
      return ValuesOf<tflite::Uint16Vector>(table);
    case tflite::SparseIndices::Uint8Vector:
      return ValuesOf<tflite::Uint8Vector>(table);
    case tflite::SparseIndices::NONE:
      return {};
  }
  return {};
}

struct Level {
  bool dense = true;
  int64_t extent = 0;  ///< Dense.
  std::vector<int64_t> segments, indices;
  int64_t stride = 0;  ///< In elements of the dense tensor.
};

struct Walk {
  std::vector<Level> levels;
  size_t size;
  Span<const uint8_t> values;
  std::vector<uint8_t>& dense;
  int64_t visits_left;  ///< Damaged segments could lead anywhere, again and again.
  int64_t next = 0;     ///< Of the values.

  void Visit(size_t depth, int64_t position, int64_t element) {
    if (--visits_left < 0) Bad("its segments overlap");
    if (depth == levels.size()) {
      const auto from = static_cast<size_t>(next++) * size;
      const auto to = static_cast<size_t>(element) * size;
      if (from + size > values.size() || element < 0 || to + size > dense.size())
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
    if (position + 1 >= static_cast<int64_t>(level.segments.size())) Bad("a segment is missing");
    const int64_t end = level.segments[static_cast<size_t>(position) + 1];
    for (int64_t i = level.segments[static_cast<size_t>(position)]; i < end; ++i) {
      if (i < 0 || i >= static_cast<int64_t>(level.indices.size())) Bad("an index is missing");
      Visit(depth + 1, i, element + level.indices[static_cast<size_t>(i)] * level.stride);
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
  const uint32_t block_count = blocks == nullptr ? 0 : blocks->size();
  if (order == nullptr || dimensions == nullptr || order->size() != rank + block_count ||
      dimensions->size() != order->size())
    Bad("it has other dimensions than the tensor");
  // The extent of a block along each axis; 1 where there is none.
  std::vector<int64_t> block(rank, 1);
  for (uint32_t i = 0; i < block_count; ++i) {
    const int32_t axis = blocks->Get(i);
    if (axis < 0 || static_cast<uint32_t>(axis) >= rank) Bad("block {} is of axis {}", i, axis);
    for (uint32_t level = 0; level < order->size(); ++level) {
      if (order->Get(level) == static_cast<int32_t>(rank + i))
        block[static_cast<size_t>(axis)] = dimensions->Get(level)->dense_size();
    }
    if (block[static_cast<size_t>(axis)] < 1) Bad("block {} is empty", i);
  }
  std::vector<uint8_t> dense(static_cast<size_t>(shape.elements()) * size);
  // Every level visits each element of the dense tensor once at most.
  Walk walk{{}, size, values, dense, (shape.elements() + 1) * static_cast<int64_t>(order->size() + 1)};
  for (uint32_t i = 0; i < order->size(); ++i) {
    const tflite::SparseDimension& dimension = *dimensions->Get(i);
    const int32_t place = order->Get(i);
    if (place < 0 || static_cast<uint32_t>(place) >= rank + block_count) Bad("axis {} is traversed", place);
    const bool inner = static_cast<uint32_t>(place) >= rank;
    const int axis = inner ? blocks->Get(static_cast<uint32_t>(place) - rank) : place;
    Level level;
    level.dense = dimension.format() == tflite::DimensionFormat::DENSE;
    level.extent = dimension.dense_size();
    if (level.dense && (level.extent < 0 || level.extent > shape[axis])) Bad("axis {} is too long", axis);
    level.segments = Indices(dimension.segments_type(), dimension.segments());
    level.indices = Indices(dimension.indices_type(), dimension.indices());
    level.stride =
        shape.ElementsBetween(axis + 1, shape.rank()) * (inner ? 1 : block[static_cast<size_t>(axis)]);
    walk.levels.push_back(std::move(level));
  }
  if (shape.elements() > 0) walk.Visit(0, 0, 0);
  return dense;
}

}  // namespace skiff
