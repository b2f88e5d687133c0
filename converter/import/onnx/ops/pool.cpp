// ONNX rows: pools over one to three axes. Pools are separable: a volume is pooled plane by plane, and then
// along its depth as an image of height D and width H * W.
#include <algorithm>

#include "import/onnx/nested.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

constexpr int64_t kOldest = kOldestOnnxOpset;
constexpr int64_t kNewest = kNewestOnnxOpset;

struct PoolWindow {
  int spatial_rank = 2;
  Pool2dAttrs plane;
  Pool2dAttrs depth;  ///< Along the height.
};

PoolWindow ReadWindow(OnnxBuilder& b) {
  const auto kernel = b.IntList("kernel_shape");
  if (!kernel) b.Invalid("attribute 'kernel_shape' is missing");
  const WindowAttributes window = b.Window(static_cast<int>(std::min<size_t>(kernel->size(), 9)));
  PoolWindow pool;
  pool.spatial_rank = window.spatial_rank;
  pool.plane.kernel = window.kernel;
  pool.plane.strides = window.strides;
  pool.plane.dilations = window.dilations;
  pool.plane.pads = window.pads;
  const WindowAxis& depth = window.depth;
  pool.depth.kernel = {depth.kernel, 1};
  pool.depth.strides = {depth.stride, 1};
  pool.depth.dilations = {depth.dilation, 1};
  pool.depth.pads = {depth.pad_begin, 0, depth.pad_end, 0};
  for (Pool2dAttrs* attrs : {&pool.plane, &pool.depth}) {
    attrs->auto_pad = window.auto_pad;
    attrs->ceil_mode = b.Flag("ceil_mode");
    attrs->count_include_pad = b.Flag("count_include_pad");
  }
  return pool;
}

/// [N, D, H, W, C] as images [N, D, H * W, C], and pooled ones as a volume again.
ValueId ColumnsOf(OnnxBuilder& b, ValueId volume) {
  return ReshapeToExtents(
      b, "columns", volume,
      {ExtentsOf(b, volume, 0, 2), ProductOf(b, volume, 2, 4), ExtentsOf(b, volume, 4, 5)});
}
ValueId FromColumns(OnnxBuilder& b, ValueId columns, ValueId volume) {
  return ReshapeToExtents(b, "pooled", columns, {ExtentsOf(b, columns, 0, 2), ExtentsOf(b, volume, 2, 5)});
}

/// ONNX layout in, channels behind out.
ValueId Pool(OnnxBuilder& b, OpCode op, ValueId x, const PoolWindow& pool) {
  if (pool.spatial_rank != 3) return b.Emit("pool", op, {ToNhwc(b, x, pool.spatial_rank)}, pool.plane);
  x = ToNdhwc(b, x);
  const ValueId planes = UnfoldDepth(b, b.Emit("plane_pool", op, {FoldDepth(b, x)}, pool.plane), x);
  const ValueId y = b.Emit("depth_pool", op, {ColumnsOf(b, planes)}, pool.depth);
  return FromColumns(b, y, planes);
}

ValueId ChannelsInFront(OnnxBuilder& b, ValueId y, int spatial_rank) {
  return spatial_rank == 3 ? FromNdhwc(b, y) : FromNhwc(b, y, spatial_rank);
}

void OutputPool(OnnxBuilder& b, ValueId y, int spatial_rank, size_t i = 0) {
  if (spatial_rank != 3) return OutputFromNhwc(b, y, spatial_rank, i);
  b.Output(OpCode::kTranspose, {y}, TransposeAttrs{{0, 4, 1, 2, 3}}, i);
}

void BuildAveragePool(OnnxBuilder& b) {
  const PoolWindow pool = ReadWindow(b);
  OutputPool(b, Pool(b, OpCode::kAveragePool2d, b.Input(0), pool), pool.spatial_rank);
}

ValueId Multiply(OnnxBuilder& b, ValueId x, ValueId y) {
  return b.Emit("product", OpCode::kMul, {x, y}, ClampAttrs{});
}

/// x / y of integers that are not negative, and the remainder.
struct Quotient {
  ValueId quotient;
  ValueId remainder;
};
Quotient Divide(OnnxBuilder& b, ValueId x, ValueId y) {
  const ValueId quotient = b.Emit("quotient", OpCode::kDiv, {x, y}, ClampAttrs{});
  return {quotient, b.Emit("remainder", OpCode::kSub, {x, Multiply(b, quotient, y)}, ClampAttrs{})};
}

/// Positions in planes of rows, as positions in planes of columns.
ValueId ColumnMajor(OnnxBuilder& b, ValueId indices, ValueId x) {
  const ValueId height = ExtentsOf(b, x, 2, 3);
  const ValueId width = ExtentsOf(b, x, 3, 4);
  const Quotient in_tensor = Divide(b, indices, Multiply(b, height, width));
  const Quotient in_plane = Divide(b, in_tensor.remainder, width);
  const ValueId plane = b.Emit("plane_start", OpCode::kSub, {indices, in_tensor.remainder}, ClampAttrs{});
  const ValueId column =
      b.Emit("column_start", OpCode::kAdd, {plane, Multiply(b, in_plane.remainder, height)}, ClampAttrs{});
  return b.Emit("column_major", OpCode::kAdd, {column, in_plane.quotient}, ClampAttrs{});
}

/// Positions in NCDHW, channels behind: the pool along the depth says which plane, the plane pool where in
/// it.
ValueId VolumeIndices(OnnxBuilder& b, ValueId input, const PoolWindow& pool) {
  const ValueId x = ToNdhwc(b, input);
  const ValueId folded = FoldDepth(b, x);
  const ValueId planes = UnfoldDepth(b, b.Emit("plane_pool", OpCode::kMaxPool2d, {folded}, pool.plane), x);
  const ValueId in_planes =
      UnfoldDepth(b, b.Emit("plane_indices", OpCode::kMaxPool2dIndices, {folded}, pool.plane), x);
  const ValueId columns = ColumnsOf(b, planes);
  const ValueId chosen = b.Emit("depth_indices", OpCode::kMaxPool2dIndices, {columns}, pool.depth);
  // `chosen` counts the elements of [N, C, D, H' * W'].
  const ValueId all =
      b.Emit("in_order", OpCode::kTranspose, {ColumnsOf(b, in_planes)}, TransposeAttrs{{0, 3, 1, 2}});
  const ValueId flat = b.Emit("flat", OpCode::kReshape, {all, b.ConstantInts("all", {-1})}, ReshapeAttrs{});
  const ValueId found = b.Emit("found", OpCode::kGather, {flat, chosen}, AxisAttrs{0});
  const ValueId plane_size = Multiply(b, ExtentsOf(b, input, 3, 4), ExtentsOf(b, input, 4, 5));
  const ValueId pooled_size = Multiply(b, ExtentsOf(b, planes, 2, 3), ExtentsOf(b, planes, 3, 4));
  const ValueId start = Multiply(b, Divide(b, chosen, pooled_size).quotient, plane_size);
  const ValueId indices =
      b.Emit("indices", OpCode::kAdd, {start, Divide(b, found, plane_size).remainder}, ClampAttrs{});
  return FromColumns(b, indices, planes);
}

void BuildMaxPool(OnnxBuilder& b) {
  const PoolWindow pool = ReadWindow(b);
  const int spatial_rank = pool.spatial_rank;
  const ValueId x = b.Input(0);
  if (b.OutputUsed(0) || !b.OutputUsed(1)) {
    OutputPool(b, Pool(b, OpCode::kMaxPool2d, x, pool), spatial_rank);
  }
  if (!b.OutputUsed(1)) return;
  const bool by_column = b.Flag("storage_order") && spatial_rank > 1;
  if (by_column && spatial_rank == 3) b.Unsupported("stores the indices of three spatial axes by columns");
  const ValueId indices =
      spatial_rank == 3 ? VolumeIndices(b, x, pool) : Pool(b, OpCode::kMaxPool2dIndices, x, pool);
  if (!by_column) return OutputPool(b, indices, spatial_rank, 1);
  b.Output(OpCode::kIdentity, {ColumnMajor(b, ChannelsInFront(b, indices, spatial_rank), x)}, NoAttrs{}, 1);
}

/// |x|^p.
ValueId AbsolutePower(OnnxBuilder& b, ValueId x, double p) {
  if (p == 2.0) return Multiply(b, x, x);
  x = b.Emit("abs", OpCode::kAbs, {x});
  return p == 1.0 ? x : b.Emit("power", OpCode::kPow, {x, b.Scalar("p", b.DTypeOf(x), p)});
}

void OutputRoot(OnnxBuilder& b, ValueId sum, double p) {
  if (p == 2.0) return b.Output(OpCode::kSqrt, {sum});
  if (p == 1.0) return b.Output(OpCode::kIdentity, {sum});
  b.Output(OpCode::kPow, {sum, b.Scalar("inverse_p", b.DTypeOf(sum), 1.0 / p)});
}

/// An integer since opset 2.
double PowerOf(OnnxBuilder& b) {
  const int64_t p = b.Int("p", 2);
  if (p <= 0) b.Invalid("attribute 'p' is {}; a positive number was expected", p);
  return static_cast<double>(p);
}

/// Ceil mode as explicit pads: a window then never reaches beyond the padded input, and an average over it
/// always divides by the whole kernel.
void ResolveCeilMode(OnnxBuilder& b, Pool2dAttrs& attrs, int axis, std::optional<int64_t> open_extent) {
  if (!attrs.ceil_mode) return;
  if (attrs.auto_pad == AutoPad::kValid) {
    attrs.auto_pad = AutoPad::kExplicit;
    attrs.pads = {0, 0, 0, 0};
  }
  if (attrs.auto_pad != AutoPad::kExplicit) return;
  const int64_t span = (attrs.kernel[axis] - 1) * attrs.dilations[axis] + 1;
  if (attrs.strides[axis] == 1) return;
  if (!open_extent)
    b.Unsupported("has ceil_mode = 1 although its input's extents are open; export with pads instead");
  const int64_t extent = *open_extent;
  const int64_t room = extent + attrs.pads[axis] + attrs.pads[2 + axis] - span;
  if (room < 0) return;  // The shape rule refuses.
  const int64_t stride = attrs.strides[axis];
  // The last window starts inside the input or the pads in front of it.
  const int64_t last =
      std::min((room + stride - 1) / stride, (extent + attrs.pads[axis] + stride - 1) / stride - 1);
  attrs.pads[2 + axis] = std::max(attrs.pads[2 + axis], last * stride + span - extent - attrs.pads[axis]);
}

/// The mean of |x|^p times the size of the window is the sum.
void BuildLpPool(OnnxBuilder& b) {
  PoolWindow pool = ReadWindow(b);
  const ValueId x = b.Input(0);
  const double p = PowerOf(b);
  for (int i = 0; i < pool.spatial_rank; ++i) {
    const int place = 2 - pool.spatial_rank + i;
    ResolveCeilMode(b, place < 0 ? pool.depth : pool.plane, std::max(place, 0), b.ExtentOf(x, 2 + i));
  }
  double size = 1;
  for (Pool2dAttrs* attrs : {&pool.plane, &pool.depth}) {
    attrs->ceil_mode = false;
    attrs->count_include_pad = true;
    size *= static_cast<double>(attrs->kernel[0]) * static_cast<double>(attrs->kernel[1]);
  }
  const ValueId pooled = Pool(b, OpCode::kAveragePool2d, AbsolutePower(b, x, p), pool);
  const ValueId mean = ChannelsInFront(b, pooled, pool.spatial_rank);
  OutputRoot(b, Multiply(b, mean, b.Scalar("taps", b.DTypeOf(x), size)), p);
}

void BuildGlobalLpPool(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const double p = PowerOf(b);
  ReduceAttrs spatial;
  for (int axis = 2; axis < b.RankOf(x); ++axis) spatial.axes[spatial.axes.size++] = axis;
  spatial.noop_when_empty = true;
  OutputRoot(b, b.Emit("sum", OpCode::kReduceSum, {AbsolutePower(b, x, p)}, spatial), p);
}

/// Elements of x at the indices that a maximum pool gave, the others 0. The indices count in the shape that
/// the attributes imply; a larger output_shape is filled up behind it.
void BuildMaxUnpool(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const PoolWindow pool = ReadWindow(b);
  const int rank = b.RankOf(x);
  if (rank != pool.spatial_rank + 2) {
    b.Invalid("attribute 'kernel_shape' speaks of {} axes, the input has rank {}", pool.spatial_rank, rank);
  }
  std::vector<int64_t> strides;
  std::vector<int64_t> added;
  for (int i = 0; i < pool.spatial_rank; ++i) {
    const int place = 2 - pool.spatial_rank + i;
    const Pool2dAttrs& attrs = place < 0 ? pool.depth : pool.plane;
    const int axis = std::max(place, 0);
    strides.push_back(attrs.strides[axis]);
    added.push_back(attrs.kernel[axis] - attrs.strides[axis] - attrs.pads[axis] - attrs.pads[2 + axis]);
  }
  const ValueId scaled = Multiply(b, ExtentsOf(b, x, 2, rank), b.ConstantInts("strides", strides));
  const ValueId spatial =
      b.Emit("spatial", OpCode::kAdd, {scaled, b.ConstantInts("added", added)}, ClampAttrs{});
  const ValueId shape = b.Emit("shape", OpCode::kConcat, {ExtentsOf(b, x, 0, 2), spatial}, AxisAttrs{0});
  const ValueId all = b.ConstantInts("all", {-1});
  FillAttrs zeros;
  zeros.dtype = static_cast<int64_t>(b.DTypeOf(x));
  const ValueId size = b.Emit("size", OpCode::kReduceProd, {shape}, ReduceAttrs{{0}});
  const ValueId empty = b.Emit("empty", OpCode::kFill, {size}, zeros);
  const ValueId indices = b.Emit("flat_indices", OpCode::kReshape, {b.Input(1), all}, ReshapeAttrs{});
  const ValueId values = b.Emit("flat_values", OpCode::kReshape, {x, all}, ReshapeAttrs{});
  const ValueId filled = b.Emit("filled", OpCode::kScatterElements, {empty, indices, values}, ScatterAttrs{});
  if (!b.HasInput(2)) return b.Output(OpCode::kReshape, {filled, shape}, ReshapeAttrs{});
  const ValueId implied = b.Emit("implied", OpCode::kReshape, {filled, shape}, ReshapeAttrs{});
  const ValueId behind = b.Emit("behind", OpCode::kSub, {b.Input(2), shape}, ClampAttrs{});
  const ValueId none = b.ConstantInts("none", std::vector<int64_t>(static_cast<size_t>(rank), 0));
  const ValueId pads = b.Emit("pads", OpCode::kConcat, {none, behind}, AxisAttrs{0});
  b.Output(OpCode::kPad, {implied, pads}, PadAttrs{});
}

constexpr OnnxOp kRows[] = {
    {"MaxPool", kOldest, kNewest, BuildMaxPool},
    {"AveragePool", kOldest, kNewest, BuildAveragePool},
    {"LpPool", kOldest, kNewest, BuildInSingle<BuildLpPool>},
    {"GlobalLpPool", kOldest, kNewest, BuildInSingle<BuildGlobalLpPool>},
    {"MaxUnpool", 9, kNewest, BuildMaxUnpool},
};

}  // namespace

std::span<const OnnxOp> OnnxPoolOps() { return kRows; }

}  // namespace skiff
