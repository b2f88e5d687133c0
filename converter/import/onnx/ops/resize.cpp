// ONNX rows: Resize in all its forms, and Upsample before it. Skiff resizes the two spatial axes of NHWC. A
// resize is separable: more axes, or others, are resized in pairs of neighbours.
#include <algorithm>

#include "import/onnx/choice.h"
#include "import/onnx/nested.h"
#include "import/onnx/nhwc.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// What one Resize node asks for, before it is laid out as NHWC.
struct Request {
  ValueId x = kNoValue;
  ValueId scales = kNoValue;  ///< At least one of the two; where both are, sizes decide the extents.
  ValueId sizes = kNoValue;
  std::vector<int64_t> axes;  ///< The axes that the elements of scales, sizes and roi belong to.
  std::vector<double> roi;    ///< The beginnings, then the ends. Empty: all of the input.
  bool shrinks_up = false;    ///< Before opset 11: along axes that shrink the nearest pixel is the next one.
  ResizeAttrs attrs;
};

constexpr OnnxChoice<ResizeMode> kModes[] = {{"nearest", ResizeMode::kNearest},
                                             {"linear", ResizeMode::kLinear},
                                             {"bilinear", ResizeMode::kLinear},
                                             {"cubic", ResizeMode::kCubic}};
constexpr OnnxChoice<ResizeCoordinates> kCoordinates[] = {
    {"half_pixel", ResizeCoordinates::kHalfPixel},
    {"half_pixel_symmetric", ResizeCoordinates::kHalfPixelSymmetric},
    {"pytorch_half_pixel", ResizeCoordinates::kPytorchHalfPixel},
    {"align_corners", ResizeCoordinates::kAlignCorners},
    {"asymmetric", ResizeCoordinates::kAsymmetric},
    {"tf_crop_and_resize", ResizeCoordinates::kTfCropAndResize},
    {"tf_half_pixel_for_nn", ResizeCoordinates::kTfHalfPixelForNn}};
constexpr OnnxChoice<ResizeNearest> kNearest[] = {{"round_prefer_floor", ResizeNearest::kRoundPreferFloor},
                                                  {"round_prefer_ceil", ResizeNearest::kRoundPreferCeil},
                                                  {"floor", ResizeNearest::kFloor},
                                                  {"ceil", ResizeNearest::kCeil}};

/// What to do with the two sides of an image whose sizes ask for another ratio.
enum class Ratio { kStretch, kNotLarger, kNotSmaller };
constexpr OnnxChoice<Ratio> kRatios[] = {
    {"stretch", Ratio::kStretch}, {"not_larger", Ratio::kNotLarger}, {"not_smaller", Ratio::kNotSmaller}};

/// The place of an axis in scales or sizes; -1 when the axis keeps its extent.
int64_t PlaceOf(const Request& request, int64_t axis) {
  const auto found = std::find(request.axes.begin(), request.axes.end(), axis);
  return found == request.axes.end() ? -1 : found - request.axes.begin();
}

/// The region of interest of an axis.
std::pair<double, double> RoiOf(const Request& request, int64_t axis) {
  const int64_t place = PlaceOf(request, axis);
  if (request.roi.empty() || place < 0) return {0.0, 1.0};
  return {request.roi[static_cast<size_t>(place)],
          request.roi[request.axes.size() + static_cast<size_t>(place)]};
}

/// Whether the request leaves an axis alone at every size.
bool KeepsAxis(OnnxBuilder& b, const Request& request, int64_t axis) {
  const int64_t place = PlaceOf(request, axis);
  if (place < 0) return true;
  if (RoiOf(request, axis) != std::pair(0.0, 1.0)) return false;
  if (request.sizes != kNoValue) return b.IsExtent(request.sizes, place, request.x, axis);
  return b.NumberAt(request.scales, place) == 1.0;
}

/// Whether an axis takes the next pixel, where others take the one before; nothing where only the run knows.
std::optional<bool> RoundsUp(OnnxBuilder& b, const Request& request, int64_t axis) {
  const int64_t place = axis < 0 || !request.shrinks_up ? -1 : PlaceOf(request, axis);
  if (place < 0) return false;
  const std::optional<double> scale = b.NumberAt(request.scales, place);
  return scale ? std::optional(*scale < 1.0) : std::nullopt;
}

/// Elements of scales or sizes as one vector of two. An axis of -1 was added and keeps its extent of 1.
ValueId PairOf(OnnxBuilder& b, const Request& request, ValueId all, int64_t first, int64_t second,
               bool is_size) {
  const auto place = [&](int64_t axis) { return axis < 0 ? -1 : PlaceOf(request, axis); };
  if (const TensorData* constant = b.ConstantOf(all); constant != nullptr && !is_size) {
    const std::vector<double> numbers = constant->ToDoubles();
    std::vector<float> two;
    for (int64_t axis : {first, second}) {
      const int64_t at = place(axis);
      two.push_back(at < 0 ? 1.0f : static_cast<float>(numbers[static_cast<size_t>(at)]));
    }
    return b.Constant("spatial_scales", TensorData::OfFloats(two));
  }
  const auto slice = [&](const char* suffix, int64_t from, int64_t to) {
    return b.Emit(suffix, OpCode::kSlice, {all, b.ConstantInts("from", {from}), b.ConstantInts("to", {to})});
  };
  const char* suffix = is_size ? "spatial_sizes" : "spatial_scales";
  if (place(first) >= 0 && place(second) == place(first) + 1) {
    return slice(suffix, place(first), place(second) + 1);
  }
  std::vector<ValueId> parts;
  for (int64_t axis : {first, second}) {
    if (place(axis) >= 0) {
      parts.push_back(slice("one_axis", place(axis), place(axis) + 1));
    } else if (!is_size) {
      parts.push_back(b.Constant("kept", TensorData::OfFloats({1.0f})));
    } else {
      parts.push_back(axis < 0 ? b.ConstantInts("one", {1}) : ExtentsOf(b, request.x, axis, axis + 1));
    }
  }
  return b.Emit(suffix, OpCode::kConcat, parts, AxisAttrs{0});
}

/// The operands of one Resize2d whose height and width are these axes.
struct Plane {
  ValueId sizes = kNoValue;
  ValueId scales = kNoValue;
  ResizeAttrs attrs;
};

Plane PlaneOf(OnnxBuilder& b, const Request& request, int64_t height, int64_t width) {
  Plane plane;
  plane.attrs = request.attrs;
  // Both, or one that keeps its extent and finds each pixel where it is.
  const bool rounds_up =
      RoundsUp(b, request, height).value_or(false) || RoundsUp(b, request, width).value_or(false);
  if (rounds_up) plane.attrs.nearest = ResizeNearest::kCeil;
  if (request.sizes != kNoValue) plane.sizes = PairOf(b, request, request.sizes, height, width, true);
  if (request.scales != kNoValue) plane.scales = PairOf(b, request, request.scales, height, width, false);
  const auto rows = RoiOf(request, height);
  const auto columns = RoiOf(request, width);
  plane.attrs.roi_top = static_cast<float>(rows.first);
  plane.attrs.roi_bottom = static_cast<float>(rows.second);
  plane.attrs.roi_left = static_cast<float>(columns.first);
  plane.attrs.roi_right = static_cast<float>(columns.second);
  return plane;
}

/// Resizes `axis` and, where `pair`, the next one, in [axes before, axis, next or 1, axes behind].
ValueId ResizeNeighbours(OnnxBuilder& b, const Request& request, int64_t axis, bool pair) {
  const ValueId x = request.x;
  const int64_t rank = b.RankOf(x);
  const int64_t behind = axis + (pair ? 2 : 1);
  const ValueId next = pair ? ExtentsOf(b, x, axis + 1, axis + 2) : b.ConstantInts("one", {1});
  const ValueId image = ReshapeToExtents(
      b, "image", x,
      {ProductOf(b, x, 0, axis), ExtentsOf(b, x, axis, axis + 1), next, ProductOf(b, x, behind, rank)});
  const Plane plane = PlaneOf(b, request, axis, pair ? axis + 1 : -1);
  const ValueId resized =
      b.Emit("resized", OpCode::kResize2d, {image, plane.sizes, plane.scales}, plane.attrs);
  std::vector<ValueId> extents;
  if (axis > 0) extents.push_back(ExtentsOf(b, x, 0, axis));
  extents.push_back(ExtentsOf(b, resized, 1, pair ? 3 : 2));
  if (behind < rank) extents.push_back(ExtentsOf(b, x, behind, rank));
  return ReshapeToExtents(b, "step", resized, std::move(extents));
}

/// The next pixels where the run's scale of the axis shrinks it, else those before.
ValueId ResizeEitherWay(OnnxBuilder& b, Request request, int64_t axis) {
  const int64_t place = PlaceOf(request, axis);
  const ValueId scale =
      b.Emit("one_scale", OpCode::kSlice,
             {request.scales, b.ConstantInts("from", {place}), b.ConstantInts("to", {place + 1})});
  const ValueId shrinks = b.Emit("shrinks", OpCode::kLess, {scale, b.Scalar("kept", DType::kF32, 1.0)});
  request.shrinks_up = false;
  const ValueId before = ResizeNeighbours(b, request, axis, false);
  request.attrs.nearest = ResizeNearest::kCeil;
  const ValueId next = ResizeNeighbours(b, request, axis, false);
  return b.Emit("either_way", OpCode::kWhere, {shrinks, next, before});
}

void ResizeStepByStep(OnnxBuilder& b, Request request, const std::vector<int64_t>& moving) {
  for (size_t i = 0; i < moving.size(); ++i) {
    const int64_t axis = moving[i];
    const std::optional<bool> rounds_up = RoundsUp(b, request, axis);
    if (!rounds_up) {
      request.x = ResizeEitherWay(b, request, axis);
      continue;
    }
    const bool pair =
        i + 1 < moving.size() && moving[i + 1] == axis + 1 && rounds_up == RoundsUp(b, request, axis + 1);
    request.x = ResizeNeighbours(b, request, axis, pair);
    if (pair) ++i;
  }
  b.Output(OpCode::kIdentity, {request.x});
}

void Resize(OnnxBuilder& b, const Request& request) {
  const int rank = b.RankOf(request.x);
  std::vector<int64_t> moving;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!KeepsAxis(b, request, axis)) moving.push_back(axis);
  }
  const auto all_within = [&](int64_t first, int64_t last) {
    return std::all_of(moving.begin(), moving.end(), [&](int64_t axis) {
      const std::optional<bool> rounds_up = RoundsUp(b, request, axis);
      return axis >= first && axis <= last && rounds_up && rounds_up == RoundsUp(b, request, moving.front());
    });
  };
  if ((rank == 3 || rank == 4) && all_within(2, 3)) {
    const Plane plane = rank == 3 ? PlaneOf(b, request, -1, 2) : PlaneOf(b, request, 2, 3);
    const ValueId x = ToNhwc(b, request.x, rank - 2);
    const ValueId y = b.Emit("resized", OpCode::kResize2d, {x, plane.sizes, plane.scales}, plane.attrs);
    return OutputFromNhwc(b, y, rank - 2);
  }
  if (rank == 4 && all_within(1, 2)) {
    const Plane plane = PlaneOf(b, request, 1, 2);
    return b.Output(OpCode::kResize2d, {request.x, plane.sizes, plane.scales}, plane.attrs);
  }
  ResizeStepByStep(b, request, moving);
}

/// Sizes that keep the ratio of the listed axes: one scale for all of them, the smallest or largest one that
/// the sizes ask for. Computed in double, as the specification's reference does.
void KeepRatio(OnnxBuilder& b, Request& request, Ratio ratio) {
  std::vector<ValueId> extents;
  for (int64_t axis : request.axes) extents.push_back(ExtentsOf(b, request.x, axis, axis + 1));
  const ValueId listed = b.Emit("extents", OpCode::kConcat, extents, AxisAttrs{0});
  const ValueId from = b.CastTo("extents_f64", listed, DType::kF64);
  const ValueId to = b.CastTo("sizes_f64", request.sizes, DType::kF64);
  const ValueId ratios = b.Emit("ratios", OpCode::kDiv, {to, from}, ClampAttrs{});
  const OpCode choose = ratio == Ratio::kNotLarger ? OpCode::kReduceMin : OpCode::kReduceMax;
  const ValueId scale = b.Emit("scale", choose, {ratios}, ReduceAttrs{{0}});
  const ValueId exact = b.Emit("exact", OpCode::kMul, {from, scale}, ClampAttrs{});
  const ValueId raised =
      b.Emit("raised", OpCode::kAdd, {exact, b.Scalar("half", DType::kF64, 0.5)}, ClampAttrs{});
  const ValueId count = b.ConstantInts("count", {static_cast<int64_t>(request.axes.size())});
  request.sizes = b.CastTo("sizes", b.Emit("rounded", OpCode::kFloor, {raised}), DType::kI64);
  request.scales = b.Emit("scales", OpCode::kExpand, {b.CastTo("scale_f32", scale, DType::kF32), count});
}

/// Checks scales or sizes and fills in the axes that they speak of.
void CompleteRequest(OnnxBuilder& b, Request& request) {
  const int rank = b.RankOf(request.x);
  if (request.axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) request.axes.push_back(axis);
  }
  uint32_t seen = 0;
  for (int64_t& axis : request.axes) {
    if (axis < -rank || axis >= rank) b.Invalid("axis {} is outside an input of rank {}", axis, rank);
    if (axis < 0) axis += rank;
    if (((seen >> axis) & 1u) != 0) b.Invalid("axis {} is named twice", axis);
    seen |= 1u << axis;
  }
  if (request.scales != kNoValue) {
    if (!IsFloat(b.DTypeOf(request.scales))) b.Invalid("the scales must be floats");
    if (b.ConstantOf(request.scales) == nullptr) {
      request.scales = b.CastTo("scales_f32", request.scales, DType::kF32);
    }
  } else if (IsFloat(b.DTypeOf(request.sizes))) {
    b.Invalid("the sizes must be integers");
  }
  const ValueId list = request.scales != kNoValue ? request.scales : request.sizes;
  const auto count = static_cast<int64_t>(request.axes.size());
  if (!b.HasRank(list, 1) || b.ExtentOf(list, 0).value_or(count) != count) {
    b.Invalid("scales or sizes must be a vector of {} values, one per axis", count);
  }
  if (!request.roi.empty() && request.roi.size() != 2 * request.axes.size()) {
    b.Invalid("the region of interest has {} values; {} were expected, two per axis", request.roi.size(),
              2 * count);
  }
}

/// Upsample, and Resize of opset 10: asymmetric coordinates, nearest by floor or, where Resize shrinks, by
/// the next pixel.
void ResizeByScales(OnnxBuilder& b, ValueId scales) {
  Request request;
  request.x = b.Input(0);
  request.scales = scales;
  request.attrs.mode = ChooseValue(b, "mode", "nearest", kModes);
  request.shrinks_up = b.opset() == 10 && request.attrs.mode == ResizeMode::kNearest;
  request.attrs.coordinates = ResizeCoordinates::kAsymmetric;
  request.attrs.nearest = ResizeNearest::kFloor;
  CompleteRequest(b, request);
  Resize(b, request);
}

void BuildUpsampleAttributes(OnnxBuilder& b) {
  const auto scales = b.FloatList("scales");
  if (!scales) b.Invalid("attribute 'scales' is missing");
  ResizeByScales(b, b.Constant("scales", TensorData::OfFloats(*scales)));
}

void BuildUpsampleInput(OnnxBuilder& b) { ResizeByScales(b, b.Input(1)); }

std::vector<double> RegionOfInterest(OnnxBuilder& b) {
  if (!b.HasInput(1)) b.Invalid("tf_crop_and_resize needs a region of interest (input 1)");
  const TensorData* roi = b.ConstantOf(b.Input(1));
  if (roi == nullptr) {
    b.Unsupported("computes its region of interest at run time; export with a constant one");
  }
  if (!IsFloat(roi->dtype())) b.Invalid("the region of interest must be floats");
  return roi->ToDoubles();
}

void BuildResize(OnnxBuilder& b) {
  // An input that is there but empty counts as absent.
  const auto given = [&](size_t i) {
    const ValueId value = b.OptionalInput(i);
    return value != kNoValue && b.HasRank(value, 1) && b.ExtentOf(value, 0) == 0 ? kNoValue : value;
  };
  Request request;
  request.x = b.Input(0);
  request.sizes = given(3);
  request.scales = request.sizes == kNoValue ? given(2) : kNoValue;
  if (request.sizes == kNoValue && request.scales == kNoValue) {
    b.Invalid("the node has neither scales nor sizes");
  }
  ResizeAttrs& attrs = request.attrs;
  attrs.mode = ChooseValue(b, "mode", "nearest", kModes);
  attrs.coordinates = ChooseValue(b, "coordinate_transformation_mode", "half_pixel", kCoordinates);
  attrs.nearest = ChooseValue(b, "nearest_mode", "round_prefer_floor", kNearest);
  attrs.cubic_coeff_a = b.Float("cubic_coeff_a", -0.75f);
  attrs.exclude_outside = b.Flag("exclude_outside");
  attrs.antialias = b.Flag("antialias") && attrs.mode != ResizeMode::kNearest;
  attrs.extrapolation = b.Float("extrapolation_value", 0.0f);
  if (attrs.coordinates == ResizeCoordinates::kTfCropAndResize) request.roi = RegionOfInterest(b);
  request.axes = b.IntList("axes").value_or(std::vector<int64_t>{});
  CompleteRequest(b, request);
  const Ratio ratio = ChooseValue(b, "keep_aspect_ratio_policy", "stretch", kRatios);
  if (request.sizes != kNoValue && ratio != Ratio::kStretch) {
    KeepRatio(b, request, ratio);
  } else if (request.sizes != kNoValue && attrs.coordinates == ResizeCoordinates::kHalfPixelSymmetric) {
    // The symmetric kind differs only where extent * scale is not a whole number, which sizes exclude.
    attrs.coordinates = ResizeCoordinates::kHalfPixel;
  }
  Resize(b, request);
}

/// Between integers lie real numbers, of which the whole part is taken.
template <void (*kBuild)(OnnxBuilder&)>
void BuildOfAny(OnnxBuilder& b) {
  const bool computes = ChooseValue(b, "mode", "nearest", kModes) != ResizeMode::kNearest;
  if (computes && !IsFloat(b.DTypeOf(b.Input(0)))) return BuildAs(b, DType::kF32, kBuild);
  kBuild(b);
}

constexpr OnnxOp kRows[] = {
    {"Upsample", 7, 8, BuildOfAny<BuildUpsampleAttributes>},
    {"Upsample", 9, 9, BuildOfAny<BuildUpsampleInput>},
    {"Resize", 10, 10, BuildOfAny<BuildUpsampleInput>},
    {"Resize", 11, kNewest, BuildOfAny<BuildResize>},
};

}  // namespace

std::span<const OnnxOp> OnnxResizeOps() { return kRows; }

}  // namespace skiff
