// Dense products for 64-bit Arm, whose instructions multiply a vector by one lane of another. XNNPACK's
// kernels are assembly, and the better ones where they can be used as they are; these are for products in
// the middle of something else.
#include <arm_neon.h>

#include <utility>

#include "delegates/xnnpack/kernels/kept.h"
#include "delegates/xnnpack/kernels/kernels.h"

namespace skiff::xnnpack {
namespace {

#include "delegates/xnnpack/kernels/tier.inc"

#include "delegates/xnnpack/kernels/panels.inc"

constexpr size_t kMostRows = kDenseRows[0];
/// Floats ahead of those in use: nothing is used twice by few rows.
constexpr size_t kPrefetch = 128;

/// Adds the products of `inputs` inputs of each row, a multiple of kLanes, with as many rows of weights.
template <size_t kRows, size_t kVectors>
[[gnu::always_inline]] inline void AddProducts(const float* const (&x)[kRows], const float* weights,
                                               size_t inputs, Vector (&sums)[kRows][kVectors]) {
  for (size_t k = 0; k < inputs; k += kLanes) {
    Vector some[kRows];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) some[r] = Load(x[r] + k);
    __builtin_prefetch(weights + kPrefetch);
#pragma GCC unroll 4
    for (size_t i = 0; i < kLanes; ++i, weights += kVectors * kLanes) {
      Vector w[kVectors];
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) w[v] = Load(weights + v * kLanes);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (size_t v = 0; v < kVectors; ++v) sums[r][v] += some[r][i] * w[v];
      }
    }
  }
}

/// kRows x `columns` outputs, of panels of kVectors vectors one behind the other. Terms are added in the
/// order of the inputs.
template <size_t kRows, size_t kVectors>
void DenseTile(const DenseArgs& args, const float* const* rows, const float* weights, float* y,
               size_t columns) {
  constexpr size_t kColumns = kVectors * kLanes;
  // The compiler takes a vector that is stored for a change of any of `args`.
  const size_t run = args.run;
  const size_t whole_run = run / kLanes * kLanes;
  const size_t y_stride = args.y_stride;
  for (;; columns -= kColumns, y += kColumns) {
    Vector sums[kRows][kVectors];
#pragma GCC unroll 32
    for (size_t i = 0; i < kRows * kVectors; ++i)
      sums[i / kVectors][i % kVectors] = Load(weights + i % kVectors * kLanes);
    weights += kColumns;
    for (size_t outer = 0; outer < args.runs[0]; ++outer) {
      for (size_t inner = 0; inner < args.runs[1]; ++inner) {
        const size_t offset = outer * args.run_strides[0] + inner * args.run_strides[1];
        const float* x[kRows];
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) x[r] = rows[r] + offset;
        AddProducts(x, weights, whole_run, sums);
        weights += whole_run * kColumns;
        for (size_t k = whole_run; k < run; ++k, weights += kColumns) {
#pragma GCC unroll 8
          for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
            for (size_t v = 0; v < kVectors; ++v) sums[r][v] += x[r][k] * Load(weights + v * kLanes);
          }
        }
      }
    }
    const Vector min = Repeated(args.min);
    const Vector max = Repeated(args.max);
    float some[kRows * kColumns];
    const bool whole = columns >= kColumns;
    float* to = whole ? y : some;
    const size_t stride = whole ? y_stride : kColumns;
#pragma GCC unroll 32
    for (size_t r = 0; r < kRows; ++r, to += stride) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) Store(to + v * kLanes, ClampedVector(sums[r][v], min, max));
    }
    if (!whole) StoreRows(some, kColumns, kRows, columns, y, y_stride);
    if (columns <= kColumns) return;
  }
}

using DenseTileFn = void (*)(const DenseArgs& args, const float* const* rows, const float* weights, float* y,
                             size_t columns);
#define SKIFF_TILE(Tile, rows, vectors) \
  Tile<(rows < kDenseRows[vectors - 1] ? rows : kDenseRows[vectors - 1]), vectors>
#define SKIFF_TILES_OF(Tile, rows) \
  { SKIFF_TILE(Tile, rows, 1), SKIFF_TILE(Tile, rows, 2), SKIFF_TILE(Tile, rows, 3) }
#define SKIFF_TILES(Tile)                                                                                   \
  {                                                                                                         \
    SKIFF_TILES_OF(Tile, 1), SKIFF_TILES_OF(Tile, 2), SKIFF_TILES_OF(Tile, 3), SKIFF_TILES_OF(Tile, 4),     \
        SKIFF_TILES_OF(Tile, 5), SKIFF_TILES_OF(Tile, 6), SKIFF_TILES_OF(Tile, 7), SKIFF_TILES_OF(Tile, 8), \
  }
constexpr DenseTileFn kTiles[kMostRows][kPanelVectors + 1] = SKIFF_TILES(DenseTile);

/// Calls function(lane) for each: a constant, which is part of an instruction.
template <class Function, int... kLane>
[[gnu::always_inline]] inline void ForLanes(const Function& function, std::integer_sequence<int, kLane...>) {
  (function(std::integral_constant<int, kLane>()), ...);
}

/// kRows x kVectors sums of i32, of rows of `run` inputs of i16. In `weights`, for each input kVectors
/// vectors of i16.
template <size_t kRows, size_t kVectors>
void CodeSumsTile(size_t run, const int16_t* const* rows, const int32_t* biases, const int16_t* weights,
                  int32_t* y, size_t y_stride) {
  constexpr size_t kInputs = 8;
  int32x4_t sums[kRows][kVectors];
#pragma GCC unroll 32
  for (size_t i = 0; i < kRows * kVectors; ++i)
    sums[i / kVectors][i % kVectors] = vld1q_s32(biases + i % kVectors * kLanes);
  const int16_t* x[kRows];
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) x[r] = rows[r];
  size_t k = 0;
  for (; k + kInputs <= run; k += kInputs) {
    int16x8_t some[kRows];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) some[r] = vld1q_s16(x[r] + k);
    __builtin_prefetch(weights + 2 * kPrefetch);
    ForLanes(
        [&](auto lane) {
          int16x4_t w[kVectors];
#pragma GCC unroll 4
          for (size_t v = 0; v < kVectors; ++v) w[v] = vld1_s16(weights + v * kLanes);
          weights += kVectors * kLanes;
#pragma GCC unroll 8
          for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
            for (size_t v = 0; v < kVectors; ++v)
              sums[r][v] = vmlal_laneq_s16(sums[r][v], w[v], some[r], lane.value);
          }
        },
        std::make_integer_sequence<int, kInputs>());
  }
  for (; k < run; ++k, weights += kVectors * kLanes) {
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v)
        sums[r][v] = vmlal_n_s16(sums[r][v], vld1_s16(weights + v * kLanes), x[r][k]);
    }
  }
#pragma GCC unroll 32
  for (size_t i = 0; i < kRows * kVectors; ++i)
    vst1q_s32(y + i / kVectors * y_stride + i % kVectors * kLanes, sums[i / kVectors][i % kVectors]);
}

using CodeSumsTileFn = void (*)(size_t run, const int16_t* const* rows, const int32_t* biases,
                                const int16_t* weights, int32_t* y, size_t y_stride);
constexpr CodeSumsTileFn kSumsTiles[kMostRows][kPanelVectors + 1] = SKIFF_TILES(CodeSumsTile);
#undef SKIFF_TILES
#undef SKIFF_TILES_OF
#undef SKIFF_TILE

#include "delegates/xnnpack/kernels/few_bits_panels.inc"

#include "delegates/xnnpack/kernels/few_bits.inc"

template <size_t kBits>
consteval FewBitsKernels FewBitsOfNeon() {
  FewBitsKernels kernels = kFewBits<kBits>;
  if (IsLowered(Op::kFakeQuantize)) kernels.of_codes = &kNeonDotFewBits[kBits == 4 ? 0 : 1];
  return kernels;
}

}  // namespace

const FewBitsKernels kNeonFewBits[] = {FewBitsOfNeon<4>(), FewBitsOfNeon<8>()};

void NeonCodeSums(const CodeDenseArgs& args, size_t first_row, size_t end_row, size_t first_panel,
                  size_t end_panel) {
  if (first_row == end_row) return;
  const size_t words = 2 + (args.run + 1) / 2;
  ForPanels(args, first_panel, end_panel, [&](size_t first, size_t end, size_t vectors) {
    const size_t width = vectors * kLanes;
    for (size_t panel = first; panel < end; ++panel) {
      const size_t output = panel * kPanelOutputs;
      const int32_t* const biases = args.weights + output * words;
      const auto* const weights = reinterpret_cast<const int16_t*>(biases + 2 * width);
      RowWalk walk(args, first_row);
      EqualTiles tiles(end_row - first_row, kDenseRows[vectors - 1]);
      for (size_t row = first_row; row < end_row;) {
        const size_t height = tiles.Next();
        const int16_t* rows[kMostRows];
        for (size_t r = 0; r < height; ++r) rows[r] = static_cast<const int16_t*>(args.x) + walk.Next();
        kSumsTiles[height - 1][vectors - 1](args.run, rows, biases, weights,
                                            static_cast<int32_t*>(args.y) + row * args.y_stride + output,
                                            args.y_stride);
        row += height;
      }
    }
  });
}

void NeonDense(const DenseArgs& args, size_t first_row, size_t end_row, size_t first_panel,
               size_t end_panel) {
  ForPanels(args, first_panel, end_panel, [&](size_t first, size_t end, size_t vectors) {
    if (first == end || first_row == end_row) return;
    const size_t output = first * kPanelOutputs;
    const size_t columns = ColumnsOf(args, first, end, vectors);
    const float* const weights = args.weights + output * (1 + args.inputs());
    RowWalk walk(args, first_row);
    EqualTiles tiles(end_row - first_row, kDenseRows[vectors - 1]);
    for (size_t row = first_row; row < end_row;) {
      const size_t height = tiles.Next();
      const float* rows[kMostRows];
      for (size_t r = 0; r < height; ++r) rows[r] = args.x + walk.Next();
      kTiles[height - 1][vectors - 1](args, rows, weights, args.y + row * args.y_stride + output, columns);
      row += height;
    }
  });
}

}  // namespace skiff::xnnpack
