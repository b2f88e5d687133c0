// TensorFlow Lite rows: blocks of pixels become channels or batches, and back.
#include "import/tflite/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// An extent of x, multiplied and then divided.
ValueId Extent(TfliteBuilder& b, ValueId x, int64_t axis, int64_t times = 1, int64_t by = 1) {
  if (const auto extent = b.ExtentOf(x, axis)) {
    if (*extent > TfliteBuilder::kMaxWindowNumber) b.Invalid("an extent is {}", *extent);
    if (*extent * times % by != 0)
      b.Invalid("the extent {} of axis {} is no multiple of {}", *extent, axis, by);
    return b.ConstantInts("extent", {*extent * times / by});
  }
  ValueId extent = ExtentsOf(b, x, axis, axis + 1);
  if (times != 1) extent = EmitMul(b, "extent_times", extent, b.ConstantInts("times", {times}));
  if (by != 1) extent = EmitDiv(b, "extent_by", extent, b.ConstantInts("by", {by}));
  return extent;
}

int64_t BlockSize(const TfliteBuilder& b, int64_t size) {
  b.CheckRange("block size", size, 1);
  return size;
}

void BuildDepthToSpace(TfliteBuilder& b) {
  const int64_t block = BlockSize(b, b.Options<tflite::DepthToSpaceOptions>().block_size);
  const ValueId x = b.Moved(0);
  const auto number = [&](int64_t n) { return b.ConstantInts("number", {n}); };
  b.CheckRange("block size", block, 1);
  if (block > 1024) b.Unsupported("has blocks of {} pixels", block);
  const ValueId blocks = ReshapeTo(b, "blocks", x,
                                   {Extent(b, x, 0), Extent(b, x, 1), Extent(b, x, 2), number(block),
                                    number(block), Extent(b, x, 3, 1, block * block)});
  const ValueId rows = EmitTranspose(b, "rows", blocks, {0, 1, 3, 2, 4, 5});
  const ValueId image = ReshapeTo(
      b, "image", rows,
      {Extent(b, x, 0), Extent(b, x, 1, block), Extent(b, x, 2, block), Extent(b, x, 3, 1, block * block)});
  b.Output(OpCode::kIdentity, {image});
}

void BuildSpaceToDepth(TfliteBuilder& b) {
  const int64_t block = BlockSize(b, b.Options<tflite::SpaceToDepthOptions>().block_size);
  const ValueId x = b.Moved(0);
  const auto number = [&](int64_t n) { return b.ConstantInts("number", {n}); };
  if (block > 1024) b.Unsupported("has blocks of {} pixels", block);
  const ValueId rows = ReshapeTo(b, "rows", x,
                                 {Extent(b, x, 0), Extent(b, x, 1, 1, block), number(block),
                                  Extent(b, x, 2, 1, block), number(block), Extent(b, x, 3)});
  const ValueId blocks = EmitTranspose(b, "blocks", rows, {0, 1, 3, 2, 4, 5});
  const ValueId image = ReshapeTo(b, "image", blocks,
                                  {Extent(b, x, 0), Extent(b, x, 1, 1, block), Extent(b, x, 2, 1, block),
                                   Extent(b, x, 3, block * block)});
  b.Output(OpCode::kIdentity, {image});
}

/// Spatial axes 1 and, where there are two, 2: their block sizes, and what is padded or cropped.
struct Blocks {
  std::vector<int64_t> sizes;
  std::vector<int64_t> borders;  ///< (before, behind) of each; empty where they are computed.
  int64_t product = 1;
};
Blocks BlocksOf(TfliteBuilder& b, ValueId x) {
  Blocks blocks{b.ConstantInts(1, "block sizes"), {}};
  const bool known = b.KnownValueOf(b.Input(2)).has_value();
  if (known) blocks.borders = b.ConstantInts(2, "borders");
  if (blocks.sizes.size() > 2 || (known && blocks.borders.size() != 2 * blocks.sizes.size()) ||
      b.RankOf(x) < static_cast<int>(blocks.sizes.size()) + 1)
    b.Unsupported("has blocks along {} axes; 1 or 2 are supported", blocks.sizes.size());
  for (const int64_t size : blocks.sizes) {
    b.CheckRange("block size", size, 1);
    if (size > 1024) b.Unsupported("has blocks of {} pixels", size);
    blocks.product *= size;
  }
  for (const int64_t border : blocks.borders) b.CheckRange("border", border, 0);
  return blocks;
}

/// What the model computes as the borders (before, behind) of spatial axis i.
ValueId ComputedBorders(TfliteBuilder& b, size_t i) {
  const auto axis = static_cast<int64_t>(i);
  const ValueId borders =
      EmitSlice(b, "borders_of_axis", b.Integers("borders", b.Input(2)), 0, axis, axis + 1);
  return b.Emit("border_pair", OpCode::kSqueeze, {borders}, AxesAttrs{{0}});
}

/// The extents behind the spatial axes.
void AddRest(TfliteBuilder& b, ValueId x, size_t spatial, std::vector<ValueId>& extents) {
  for (int axis = static_cast<int>(spatial) + 1; axis < b.RankOf(x); ++axis)
    extents.push_back(Extent(b, x, axis));
}

/// [N, H, W, ...] to [blocks, N, H / block, W / block, ...].
void BuildSpaceToBatch(TfliteBuilder& b) {
  ValueId x = b.Moved(0);
  const Blocks blocks = BlocksOf(b, x);
  const size_t spatial = blocks.sizes.size();
  for (size_t i = 0; i < spatial; ++i) {
    const std::string name = fmt::format("padded_{}", i);
    const auto axis = static_cast<int64_t>(i) + 1;
    x = blocks.borders.empty()
            ? PadAxis(b, name.c_str(), x, axis, ComputedBorders(b, i))
            : PadAxis(b, name.c_str(), x, axis, blocks.borders[2 * i], blocks.borders[2 * i + 1]);
  }
  std::vector<ValueId> apart{Extent(b, x, 0)};
  std::vector<ValueId> together{Extent(b, x, 0, blocks.product)};
  Ints perm;
  for (size_t i = 0; i < spatial; ++i) {
    const ValueId extent = Extent(b, x, static_cast<int64_t>(i) + 1, 1, blocks.sizes[i]);
    apart.push_back(extent);
    apart.push_back(b.ConstantInts("block", {blocks.sizes[i]}));
    together.push_back(extent);
    perm[perm.size++] = 2 * static_cast<int64_t>(i) + 2;
  }
  perm[perm.size++] = 0;
  for (size_t i = 0; i < spatial; ++i) perm[perm.size++] = 2 * static_cast<int64_t>(i) + 1;
  AddRest(b, x, spatial, apart);
  AddRest(b, x, spatial, together);
  if (apart.size() > kMaxRank) b.Unsupported("makes an intermediate result of more than {} axes", kMaxRank);
  while (perm.size < static_cast<int64_t>(apart.size())) {
    const int64_t axis = perm.size;
    perm[perm.size++] = axis;
  }
  const ValueId parted = ReshapeTo(b, "parted", x, apart);
  b.Output(OpCode::kIdentity,
           {ReshapeTo(b, "batches", EmitTranspose(b, "in_front", parted, perm), together)});
}

void BuildBatchToSpace(TfliteBuilder& b) {
  const ValueId x = b.Moved(0);
  const Blocks blocks = BlocksOf(b, x);
  const size_t spatial = blocks.sizes.size();
  std::vector<ValueId> apart;
  for (const int64_t size : blocks.sizes) apart.push_back(b.ConstantInts("block", {size}));
  apart.push_back(Extent(b, x, 0, 1, blocks.product));
  std::vector<ValueId> together{apart.back()};
  Ints perm{static_cast<int64_t>(spatial)};
  for (size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<int64_t>(i) + 1;
    apart.push_back(Extent(b, x, axis));
    together.push_back(Extent(b, x, axis, blocks.sizes[i]));
    perm[perm.size++] = static_cast<int64_t>(spatial) + axis;
    perm[perm.size++] = axis - 1;
  }
  AddRest(b, x, spatial, apart);
  AddRest(b, x, spatial, together);
  if (apart.size() > kMaxRank) b.Unsupported("makes an intermediate result of more than {} axes", kMaxRank);
  while (perm.size < static_cast<int64_t>(apart.size())) {
    const int64_t axis = perm.size;
    perm[perm.size++] = axis;
  }
  const ValueId parted = EmitTranspose(b, "behind", ReshapeTo(b, "parted", x, apart), perm);
  ValueId image = ReshapeTo(b, "image", parted, together);
  for (size_t i = 0; i < spatial; ++i) {
    const std::string name = fmt::format("cropped_{}", i);
    const auto axis = static_cast<int64_t>(i) + 1;
    if (!blocks.borders.empty()) {
      image = SliceAxis(b, name.c_str(), image, axis, blocks.borders[2 * i], blocks.borders[2 * i + 1]);
      continue;
    }
    const ValueId borders = ComputedBorders(b, i);
    const ValueId behind = EmitSlice(b, "crop_behind", borders, 0, 1, 2);
    image = b.Emit(name.c_str(), OpCode::kSlice,
                   {image, EmitSlice(b, "crop_before", borders, 0, 0, 1),
                    EmitSub(b, "crop_end", ExtentsOf(b, image, axis, axis + 1), behind),
                    b.ConstantInts("axis", {axis})});
  }
  b.Output(OpCode::kIdentity, {image});
}

constexpr TfliteOp kRows[] = {
    {Op::DEPTH_TO_SPACE, BuildDepthToSpace},
    {Op::SPACE_TO_DEPTH, BuildSpaceToDepth},
    {Op::SPACE_TO_BATCH_ND, BuildSpaceToBatch},
    {Op::BATCH_TO_SPACE_ND, BuildBatchToSpace},
};

}  // namespace

std::span<const TfliteOp> TfliteBlockOps() { return kRows; }

}  // namespace skiff
