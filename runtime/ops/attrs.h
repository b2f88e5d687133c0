/// Attribute structs of the operators. Each lists its fields once, in Fields(); encoding in the file,
/// printing, parsing and equality all follow from that list (VisitAttrs() in op.h). Every struct is
/// trivially copyable and default values are what a missing field means. A field's tag is file format: never
/// reuse one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "skiff/tensor.h"

namespace skiff {

/// Up to kMaxRank integers by value.
struct Ints {
  int64_t values[kMaxRank] = {};
  int64_t size = 0;

  constexpr Ints() = default;
  constexpr Ints(std::initializer_list<int64_t> list) {
    for (int64_t value : list) values[size++] = value;
  }
  constexpr int64_t operator[](int64_t i) const { return values[i]; }
  constexpr int64_t& operator[](int64_t i) { return values[i]; }
  constexpr const int64_t* begin() const { return values; }
  constexpr const int64_t* end() const { return values + size; }
};

/// Names of an enumeration's values for the text form; specialised beside each enumeration.
template <class E>
struct EnumNames;

#define SKIFF_ENUM_NAMES(E, ...)                           \
  template <>                                              \
  struct EnumNames<E> {                                    \
    static constexpr const char* kNames[] = {__VA_ARGS__}; \
  }

#define SKIFF_FIELDS(...)                                                                       \
  template <class Self, class Visitor>                                                          \
  static constexpr void Fields([[maybe_unused]] Self& self, [[maybe_unused]] Visitor&& visit) { \
    __VA_ARGS__                                                                                 \
  }

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// How pads come about. kExplicit: the pads field. The SAME kinds derive them from the extents so that
/// output = ceil(input / stride), with the odd element at the end (upper) or at the beginning (lower).
enum class AutoPad : int64_t { kExplicit = 0, kSameUpper = 1, kSameLower = 2, kValid = 3 };
SKIFF_ENUM_NAMES(AutoPad, "explicit", "same_upper", "same_lower", "valid");

enum class PadMode : int64_t { kConstant = 0, kReflect = 1, kEdge = 2, kWrap = 3 };
SKIFF_ENUM_NAMES(PadMode, "constant", "reflect", "edge", "wrap");

enum class ResizeMode : int64_t { kNearest = 0, kLinear = 1, kCubic = 2 };
SKIFF_ENUM_NAMES(ResizeMode, "nearest", "linear", "cubic");

enum class ResizeCoordinates : int64_t {
  kHalfPixel = 0,
  kPytorchHalfPixel = 1,
  kAlignCorners = 2,
  kAsymmetric = 3,
  kHalfPixelSymmetric = 4,
  kTfCropAndResize = 5,
  kTfHalfPixelForNn = 6
};
SKIFF_ENUM_NAMES(ResizeCoordinates, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                 "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn");

enum class ResizeNearest : int64_t { kRoundPreferFloor = 0, kRoundPreferCeil = 1, kFloor = 2, kCeil = 3 };
SKIFF_ENUM_NAMES(ResizeNearest, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil");

enum class GeluKind : int64_t { kErf = 0, kTanh = 1 };
SKIFF_ENUM_NAMES(GeluKind, "erf", "tanh");

/// Floating-point formats without a dtype, named as ml_dtypes names them: bits of exponent and of mantissa;
/// fn: no infinities; uz: no negative zero; u: no sign.
enum class FloatFormat : int64_t {
  kFloat8E4M3Fn = 0,
  kFloat8E4M3Fnuz = 1,
  kFloat8E5M2 = 2,
  kFloat8E5M2Fnuz = 3,
  kFloat4E2M1Fn = 4,
  kFloat8E8M0Fnu = 5
};
SKIFF_ENUM_NAMES(FloatFormat, "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
                 "float4_e2m1fn", "float8_e8m0fnu");

enum class RoundingMode : int64_t { kNearestEven = 0, kUp = 1, kDown = 2 };
SKIFF_ENUM_NAMES(RoundingMode, "nearest_even", "up", "down");

enum class GridSampleMode : int64_t { kNearest = 0, kLinear = 1, kCubic = 2 };
SKIFF_ENUM_NAMES(GridSampleMode, "nearest", "linear", "cubic");

enum class GridSamplePadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };
SKIFF_ENUM_NAMES(GridSamplePadding, "zeros", "border", "reflection");

enum class RoiAlignMode : int64_t { kAverage = 0, kMax = 1 };
SKIFF_ENUM_NAMES(RoiAlignMode, "average", "max");

enum class ScatterReduction : int64_t { kNone = 0, kAdd = 1, kMul = 2, kMin = 3, kMax = 4 };
SKIFF_ENUM_NAMES(ScatterReduction, "none", "add", "mul", "min", "max");

enum class Distribution : int64_t { kUniform = 0, kNormal = 1 };
SKIFF_ENUM_NAMES(Distribution, "uniform", "normal");

enum class TreeAggregate : int64_t { kSum = 0, kAverage = 1, kMin = 2, kMax = 3 };
SKIFF_ENUM_NAMES(TreeAggregate, "sum", "average", "min", "max");

struct NoAttrs {
  SKIFF_FIELDS()
};

/// A clamp of the result; also what a fused activation is. NaN passes through.
struct ClampAttrs {
  float min = -kInfinity;
  float max = kInfinity;
  SKIFF_FIELDS(visit(1, "min", self.min); visit(2, "max", self.max);)
};

struct AlphaAttrs {
  float alpha = 0.01f;
  SKIFF_FIELDS(visit(1, "alpha", self.alpha);)
};

struct HardSigmoidAttrs {
  float alpha = 0.2f;
  float beta = 0.5f;
  SKIFF_FIELDS(visit(1, "alpha", self.alpha); visit(2, "beta", self.beta);)
};

struct GeluAttrs {
  GeluKind approximate = GeluKind::kErf;
  SKIFF_FIELDS(visit(1, "approximate", self.approximate);)
};

/// `rounding` is of the magnitude. What is beyond the format's largest number becomes that number where
/// `saturate` is set or the format has nothing else; otherwise an infinity, or NaN where it has none.
struct ReducePrecisionAttrs {
  FloatFormat format = FloatFormat::kFloat8E4M3Fn;
  bool saturate = true;
  RoundingMode rounding = RoundingMode::kNearestEven;
  SKIFF_FIELDS(visit(1, "format", self.format); visit(2, "saturate", self.saturate);
               visit(3, "rounding", self.rounding);)
};

/// Rows are what indices of the axes before `axis` stand for: 0 is one row, -1 rows of the innermost axis.
/// A row's numbers become the nearest of 256 in equal steps from the smallest one to the largest, 0 among
/// them; with `symmetric`, of 255 around 0.
struct FakeQuantizeAttrs {
  int64_t axis = -1;
  bool symmetric = false;
  int64_t block = 0;  ///< Numbers of a row, side by side, that choose a scale together; 0: all of them.
  SKIFF_FIELDS(visit(1, "axis", self.axis); visit(2, "symmetric", self.symmetric);
               visit(3, "block", self.block);)
};

struct CastAttrs {
  int64_t to = 0;  ///< A DType.
  SKIFF_FIELDS(visit(1, "to", self.to);)
};

/// Spatial order is (height, width); pads are (top, left, bottom, right). `min` and `max` are a fused
/// activation's (ClampAttrs).
struct Conv2dAttrs {
  Ints strides{1, 1};
  Ints dilations{1, 1};
  Ints pads{0, 0, 0, 0};
  AutoPad auto_pad = AutoPad::kExplicit;
  int64_t groups = 1;
  float min = -kInfinity;
  float max = kInfinity;
  SKIFF_FIELDS(visit(1, "strides", self.strides); visit(2, "dilations", self.dilations);
               visit(3, "pads", self.pads); visit(4, "auto_pad", self.auto_pad);
               visit(5, "groups", self.groups); visit(6, "min", self.min); visit(7, "max", self.max);)
};

struct ConvTranspose2dAttrs {
  Ints strides{1, 1};
  Ints dilations{1, 1};
  Ints pads{0, 0, 0, 0};
  Ints output_pads{0, 0};
  int64_t groups = 1;
  float min = -kInfinity;
  float max = kInfinity;
  SKIFF_FIELDS(visit(1, "strides", self.strides); visit(2, "dilations", self.dilations);
               visit(3, "pads", self.pads); visit(4, "output_pads", self.output_pads);
               visit(5, "groups", self.groups); visit(6, "min", self.min); visit(7, "max", self.max);)
};

struct Pool2dAttrs {
  Ints kernel{1, 1};
  Ints strides{1, 1};
  Ints dilations{1, 1};
  Ints pads{0, 0, 0, 0};
  AutoPad auto_pad = AutoPad::kExplicit;
  bool ceil_mode = false;
  bool count_include_pad = false;  ///< Average pooling only.
  SKIFF_FIELDS(visit(1, "kernel", self.kernel); visit(2, "strides", self.strides);
               visit(3, "dilations", self.dilations); visit(4, "pads", self.pads);
               visit(5, "auto_pad", self.auto_pad); visit(6, "ceil_mode", self.ceil_mode);
               visit(7, "count_include_pad", self.count_include_pad);)
};

struct AxisAttrs {
  int64_t axis = 0;  ///< May be negative: counted from the end.
  SKIFF_FIELDS(visit(1, "axis", self.axis);)
};

/// Channels (innermost axis), seen as [groups, channels per group], change places: output channel c * groups
/// + g is input channel g * (channels / groups) + c.
struct GroupsAttrs {
  int64_t groups = 1;
  SKIFF_FIELDS(visit(1, "groups", self.groups);)
};

/// Split into the sizes of input 1, or into `parts` equal pieces (the last one smaller) where that is absent.
struct SplitAttrs {
  int64_t axis = 0;
  int64_t parts = 0;
  SKIFF_FIELDS(visit(1, "axis", self.axis); visit(2, "parts", self.parts);)
};

struct AxesAttrs {
  Ints axes = {};
  SKIFF_FIELDS(visit(1, "axes", self.axes);)
};

/// `axes` empty means all of them, unless `noop_when_empty`.
struct ReduceAttrs {
  Ints axes = {};
  bool keep_dims = true;
  bool noop_when_empty = false;
  SKIFF_FIELDS(visit(1, "axes", self.axes); visit(2, "keep_dims", self.keep_dims);
               visit(3, "noop_when_empty", self.noop_when_empty);)
};

struct NormAttrs {
  int64_t axis = -1;  ///< LayerNorm: the first normalised axis. BatchNorm: the channel axis.
  float epsilon = 1e-5f;
  SKIFF_FIELDS(visit(1, "axis", self.axis); visit(2, "epsilon", self.epsilon);)
};

/// Extents [start, end) of the input's shape.
struct ShapeAttrs {
  int64_t start = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
  SKIFF_FIELDS(visit(1, "start", self.start); visit(2, "end", self.end);)
};

/// A 0 in the target copies the input's extent, unless `allow_zero`.
struct ReshapeAttrs {
  bool allow_zero = false;
  SKIFF_FIELDS(visit(1, "allow_zero", self.allow_zero);)
};

struct TransposeAttrs {
  Ints perm = {};  ///< Output axis i is input axis perm[i]. Empty reverses the axes.
  SKIFF_FIELDS(visit(1, "perm", self.perm);)
};

struct PadAttrs {
  PadMode mode = PadMode::kConstant;
  SKIFF_FIELDS(visit(1, "mode", self.mode);)
};

/// The region of interest (in parts of the extent - 1) and the value outside it are tf_crop_and_resize's.
struct ResizeAttrs {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearest nearest = ResizeNearest::kRoundPreferFloor;
  float cubic_coeff_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;  ///< Of the modes linear and cubic, where the image shrinks.
  float roi_top = 0.0f;
  float roi_left = 0.0f;
  float roi_bottom = 1.0f;
  float roi_right = 1.0f;
  float extrapolation = 0.0f;
  SKIFF_FIELDS(visit(1, "mode", self.mode); visit(2, "coordinates", self.coordinates);
               visit(3, "nearest", self.nearest); visit(4, "cubic_coeff_a", self.cubic_coeff_a);
               visit(5, "exclude_outside", self.exclude_outside); visit(6, "antialias", self.antialias);
               visit(7, "roi_top", self.roi_top); visit(8, "roi_left", self.roi_left);
               visit(9, "roi_bottom", self.roi_bottom); visit(10, "roi_right", self.roi_right);
               visit(11, "extrapolation", self.extrapolation);)
};

/// A tensor of the given extents filled with one value; `integer` is used by integer and bool dtypes.
struct FillAttrs {
  int64_t dtype = static_cast<int64_t>(DType::kF32);
  float value = 0.0f;
  int64_t integer = 0;
  SKIFF_FIELDS(visit(1, "dtype", self.dtype); visit(2, "value", self.value);
               visit(3, "integer", self.integer);)
};

/// b is read as its last two axes swapped where `transpose_b`.
struct MatMulAttrs {
  bool transpose_b = false;
  float min = -kInfinity;
  float max = kInfinity;
  SKIFF_FIELDS(visit(1, "transpose_b", self.transpose_b); visit(2, "min", self.min);
               visit(3, "max", self.max);)
};

struct IsInfAttrs {
  bool negative = true;  ///< Minus infinity counts.
  bool positive = true;  ///< Plus infinity counts.
  SKIFF_FIELDS(visit(1, "negative", self.negative); visit(2, "positive", self.positive);)
};

/// The remainder's sign is the divisor's, as in Python; where `truncate`, the dividend's, as C's fmod.
struct ModAttrs {
  bool truncate = false;
  SKIFF_FIELDS(visit(1, "truncate", self.truncate);)
};

/// x is NHWC; the grid is [N, height, width, 2] with (x, y) in [-1, 1] over the input's width and height.
struct GridSampleAttrs {
  GridSampleMode mode = GridSampleMode::kLinear;
  GridSamplePadding padding = GridSamplePadding::kZeros;
  bool align_corners = false;  ///< -1 and 1 are the centres of the border pixels, else their outer edges.
  SKIFF_FIELDS(visit(1, "mode", self.mode); visit(2, "padding", self.padding);
               visit(3, "align_corners", self.align_corners);)
};

/// x is NHWC; regions are [count, 4] with (x1, y1, x2, y2); the third input says which image each is from.
struct RoiAlignAttrs {
  RoiAlignMode mode = RoiAlignMode::kAverage;
  int64_t height = 1;  ///< Of the output.
  int64_t width = 1;
  int64_t sampling_ratio = 0;  ///< Samples per output cell and axis; 0: ceil(region / output).
  float spatial_scale = 1.0f;
  bool half_pixel = true;  ///< Region coordinates are moved by half a pixel before sampling.
  SKIFF_FIELDS(visit(1, "mode", self.mode); visit(2, "height", self.height); visit(3, "width", self.width);
               visit(4, "sampling_ratio", self.sampling_ratio); visit(5, "spatial_scale", self.spatial_scale);
               visit(6, "half_pixel", self.half_pixel);)
};

/// Of equal elements the first one wins, or the last one where `select_last`. A NaN wins over numbers.
struct ArgAttrs {
  int64_t axis = 0;
  bool keep_dims = true;
  bool select_last = false;
  SKIFF_FIELDS(visit(1, "axis", self.axis); visit(2, "keep_dims", self.keep_dims);
               visit(3, "select_last", self.select_last);)
};

/// Of equal elements the one with the smaller index comes first.
struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true;
  SKIFF_FIELDS(visit(1, "axis", self.axis); visit(2, "largest", self.largest);)
};

struct SuppressionAttrs {
  bool centers = false;  ///< Boxes are [x, y, width, height] about a centre, not two corners [y, x, y, x].
  SKIFF_FIELDS(visit(1, "centers", self.centers);)
};

/// Of single elements, or of slices along an axis.
struct UniqueAttrs {
  bool slices = false;
  int64_t axis = 0;    ///< Of slices.
  bool sorted = true;  ///< Otherwise in the order of their first occurrence.
  SKIFF_FIELDS(visit(1, "slices", self.slices); visit(2, "axis", self.axis); visit(3, "sorted", self.sorted);)
};

/// The axis is input 1, a scalar or a vector of one element.
struct CumSumAttrs {
  bool exclusive = false;  ///< Element i is the sum of those before it.
  bool reverse = false;    ///< From the end.
  SKIFF_FIELDS(visit(1, "exclusive", self.exclusive); visit(2, "reverse", self.reverse);)
};

struct GatherNDAttrs {
  int64_t batch_dims = 0;
  SKIFF_FIELDS(visit(1, "batch_dims", self.batch_dims);)
};

/// `axis` is ScatterElements'. Updates that meet are reduced in the order of the indices.
struct ScatterAttrs {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  SKIFF_FIELDS(visit(1, "axis", self.axis); visit(2, "reduction", self.reduction);)
};

struct ReverseAttrs {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
  SKIFF_FIELDS(visit(1, "batch_axis", self.batch_axis); visit(2, "time_axis", self.time_axis);)
};

/// Keeps the triangle above (`upper`) or below the diagonal that input 1 (default 0) shifts to the right.
struct TriluAttrs {
  bool upper = true;
  SKIFF_FIELDS(visit(1, "upper", self.upper);)
};

/// Lstm, Gru, Rnn.
struct RecurrentAttrs {
  bool reverse = false;  ///< From the last step to the first.
  bool reset_after =
      false;          ///< Gru: the reset gate multiplies the recurrent product, not the state in front of it.
  bool relu = false;  ///< Rnn: in place of tanh.
  float cell_clip = kInfinity;  ///< Lstm: each step's cell is clamped to [-cell_clip, cell_clip].
  SKIFF_FIELDS(visit(1, "reverse", self.reverse); visit(2, "reset_after", self.reset_after);
               visit(3, "relu", self.relu); visit(4, "cell_clip", self.cell_clip);)
};

/// Element i of a run is a function of the seed, the stream, the number of the run and i alone
/// (eager/kernels/random.cpp), so that every machine draws the same. Uniform numbers lie in [low, high).
struct RandomAttrs {
  Distribution distribution = Distribution::kUniform;
  int64_t dtype = static_cast<int64_t>(DType::kF32);
  int64_t seed = 0;
  int64_t stream = 0;  ///< Tells draws of one seed apart; the low 32 bits count.
  float low = 0.0f;
  float high = 1.0f;
  float mean = 0.0f;
  float deviation = 1.0f;
  SKIFF_FIELDS(visit(1, "distribution", self.distribution); visit(2, "dtype", self.dtype);
               visit(3, "seed", self.seed); visit(4, "stream", self.stream); visit(5, "low", self.low);
               visit(6, "high", self.high); visit(7, "mean", self.mean);
               visit(8, "deviation", self.deviation);)
};

/// A row of nodes is [feature, kind, yes, no]. Kind 0 is a leaf, whose votes are [yes, no); TreeNodeKind's
/// other bits say how x[feature] and the threshold are compared, and yes and no which node comes next: one
/// further behind, so that no walk is endless. Each vote is a weight for one of the targets; a target's
/// result is the votes' sum, that divided by the number of roots, or the least or largest vote; 0 without
/// any.
struct TreeEnsembleAttrs {
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::kSum;
  SKIFF_FIELDS(visit(1, "targets", self.targets); visit(2, "aggregate", self.aggregate);)
};

/// Bits of a node's kind.
enum TreeNodeKind : int32_t {
  kTreeLessOrEqual = 1,  ///< Yes where x <= threshold.
  kTreeEqual = 2,        ///< Yes where x == threshold.
  kTreeNaNIsYes = 4,     ///< NaN goes to yes, else to no.
};

/// Room for any attribute struct, by value.
struct CustomOperator;
/// Which operator of the process a Custom node is (ops/custom.h): no part of the file. Null: none is
/// registered.
struct CustomAttrs {
  const CustomOperator* registered = nullptr;
  SKIFF_FIELDS()
};

struct AttrStorage {
  alignas(8) unsigned char bytes[384] = {};

  template <class A>
  A& as() {
    static_assert(sizeof(A) <= sizeof(bytes));
    return *reinterpret_cast<A*>(bytes);
  }
  template <class A>
  const A& as() const {
    return *reinterpret_cast<const A*>(bytes);
  }
};

}  // namespace skiff
