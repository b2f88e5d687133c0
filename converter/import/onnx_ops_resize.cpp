// ONNX rows: Resize in all its forms, and Upsample before it. Skiff resizes the two spatial axes of NHWC.
#include <algorithm>
#include <array>

#include "import/onnx_ops.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// What one Resize node asks for, before it is laid out as NHWC.
struct Request {
  ValueId x = kNoValue;
  ValueId scales = kNoValue;  ///< One of the two is present.
  ValueId sizes = kNoValue;
  std::vector<int64_t> axes;  ///< The axes that the elements of scales or sizes belong to.
  ResizeAttrs attrs;
};

template <class E, size_t N>
E Choose(OnnxBuilder& b, const char* attribute, const std::string& text,
         const std::array<std::pair<const char*, E>, N>& choices) {
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
  }
  b.Unsupported(
      "has {} = {}, which is not supported; export with another mode (half_pixel, align_corners, asymmetric)",
      attribute, text);
}

ResizeMode Mode(OnnxBuilder& b) {
  static constexpr std::array<std::pair<const char*, ResizeMode>, 4> kModes = {
      {{"nearest", ResizeMode::kNearest},
       {"linear", ResizeMode::kLinear},
       {"bilinear", ResizeMode::kLinear},
       {"cubic", ResizeMode::kCubic}}};
  return Choose(b, "mode", b.String("mode", "nearest"), kModes);
}

ResizeCoordinates Coordinates(OnnxBuilder& b, bool has_sizes) {
  const std::string text = b.String("coordinate_transformation_mode", "half_pixel");
  // The symmetric kind differs only where extent * scale is not a whole number, which sizes exclude.
  if (text == "half_pixel_symmetric" && has_sizes) return ResizeCoordinates::kHalfPixel;
  static constexpr std::array<std::pair<const char*, ResizeCoordinates>, 4> kKinds = {
      {{"half_pixel", ResizeCoordinates::kHalfPixel},
       {"pytorch_half_pixel", ResizeCoordinates::kPytorchHalfPixel},
       {"align_corners", ResizeCoordinates::kAlignCorners},
       {"asymmetric", ResizeCoordinates::kAsymmetric}}};
  return Choose(b, "coordinate_transformation_mode", text, kKinds);
}

ResizeNearest Nearest(OnnxBuilder& b) {
  static constexpr std::array<std::pair<const char*, ResizeNearest>, 4> kKinds = {
      {{"round_prefer_floor", ResizeNearest::kRoundPreferFloor},
       {"round_prefer_ceil", ResizeNearest::kRoundPreferCeil},
       {"floor", ResizeNearest::kFloor},
       {"ceil", ResizeNearest::kCeil}}};
  return Choose(b, "nearest_mode", b.String("nearest_mode", "round_prefer_floor"), kKinds);
}

/// The place of an axis in scales or sizes; -1 when the axis keeps its extent.
int64_t PlaceOf(const Request& request, int64_t axis) {
  const auto found = std::find(request.axes.begin(), request.axes.end(), axis);
  return found == request.axes.end() ? -1 : found - request.axes.begin();
}

/// Whether the request provably leaves an axis alone. Computed sizes are trusted: exporters copy the extents
/// of the other axes from the input.
bool KeepsAxis(OnnxBuilder& b, const Request& request, int64_t axis) {
  const int64_t place = PlaceOf(request, axis);
  if (place < 0) return true;
  if (request.scales != kNoValue) {
    return b.ConstantOf(request.scales)->ToDoubles()[static_cast<size_t>(place)] == 1.0;
  }
  const TensorData* sizes = b.ConstantOf(request.sizes);
  const int64_t extent = b.TypeOf(request.x).extents[axis];
  return sizes == nullptr || extent == KnownType::kUnknownExtent ||
         sizes->ToInts()[static_cast<size_t>(place)] == extent;
}

/// Scales or sizes of the two spatial axes, in this order, for a height that may be an added axis (-1).
std::array<ValueId, 2> SpatialTarget(OnnxBuilder& b, const Request& request, int64_t height, int64_t width) {
  const int64_t places[] = {height < 0 ? -1 : PlaceOf(request, height), PlaceOf(request, width)};
  if (request.scales != kNoValue) {
    const std::vector<double> all = b.ConstantOf(request.scales)->ToDoubles();
    std::vector<float> two;
    for (int64_t place : places)
      two.push_back(place < 0 ? 1.0f : static_cast<float>(all[static_cast<size_t>(place)]));
    return {kNoValue, b.Constant("spatial_scales", TensorData::OfFloats(two))};
  }
  std::vector<ValueId> parts;
  const int64_t axes[] = {height, width};
  for (int i = 0; i < 2; ++i) {
    if (places[i] < 0) {
      parts.push_back(axes[i] < 0
                          ? b.ConstantInts("one", {1})
                          : b.Emit("kept", OpCode::kShape, {request.x}, ShapeAttrs{axes[i], axes[i] + 1}));
    } else if (i == 0 && places[1] == places[0] + 1) {
      return {
          b.Emit("spatial_sizes", OpCode::kSlice,
                 {request.sizes, b.ConstantInts("from", {places[0]}), b.ConstantInts("to", {places[1] + 1})}),
          kNoValue};
    } else {
      parts.push_back(b.Emit(
          i == 0 ? "height" : "width", OpCode::kSlice,
          {request.sizes, b.ConstantInts("from", {places[i]}), b.ConstantInts("to", {places[i] + 1})}));
    }
  }
  return {b.Emit("spatial_sizes", OpCode::kConcat, parts, AxisAttrs{0}), kNoValue};
}

void Resize(OnnxBuilder& b, const Request& request) {
  const int rank = b.RankOf(request.x);
  const auto keeps = [&](int64_t axis) { return KeepsAxis(b, request, axis); };
  const bool channels_first = (rank == 3 || rank == 4) && keeps(0) && keeps(1);
  const bool channels_last = rank == 4 && keeps(0) && keeps(3);
  if (!channels_first && !channels_last) {
    b.Unsupported(
        "resizes axes other than the two (or one) behind batch and channels of an input of rank {}; split it "
        "into steps",
        rank);
  }
  if (!channels_first) {
    const auto [sizes, scales] = SpatialTarget(b, request, 1, 2);
    return b.Output(OpCode::kResize2d, {request.x, sizes, scales}, request.attrs);
  }
  ValueId x = request.x;
  if (rank == 3) x = b.Emit("as_2d", OpCode::kUnsqueeze, {x}, AxesAttrs{{2}});
  x = b.Emit("nhwc", OpCode::kTranspose, {x}, TransposeAttrs{{0, 2, 3, 1}});
  const auto [sizes, scales] = rank == 3 ? SpatialTarget(b, request, -1, 2) : SpatialTarget(b, request, 2, 3);
  const ValueId y = b.Emit("resized", OpCode::kResize2d, {x, sizes, scales}, request.attrs);
  const TransposeAttrs back{{0, 3, 1, 2}};
  if (rank == 4) return b.Output(OpCode::kTranspose, {y}, back);
  b.Output(OpCode::kSqueeze, {b.Emit("nchw", OpCode::kTranspose, {y}, back)}, AxesAttrs{{2}});
}

/// Checks scales (constant floats) or sizes (a vector) and fills in the axes that they speak of.
void CompleteRequest(OnnxBuilder& b, Request& request) {
  const int rank = b.RankOf(request.x);
  if (request.axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) request.axes.push_back(axis);
  }
  for (int64_t& axis : request.axes) {
    if (axis < -rank || axis >= rank) b.Invalid("axis {} is outside an input of rank {}", axis, rank);
    if (axis < 0) axis += rank;
  }
  const ValueId target = request.scales != kNoValue ? request.scales : request.sizes;
  if (request.scales != kNoValue) {
    if (b.ConstantOf(target) == nullptr) {
      b.Unsupported("computes its scales at run time; export with sizes, or with constant scales");
    }
    if (!IsFloat(b.ConstantOf(target)->dtype())) b.Invalid("the scales must be floats");
  } else if (b.ConstantOf(target) != nullptr && IsFloat(b.ConstantOf(target)->dtype())) {
    b.Invalid("the sizes must be integers");
  }
  const KnownType& type = b.TypeOf(target);
  const auto count = static_cast<int64_t>(request.axes.size());
  if (type.rank != 1 || (type.extents[0] != KnownType::kUnknownExtent && type.extents[0] != count)) {
    b.Invalid("scales or sizes must be a vector of {} values, one per axis", count);
  }
}

/// Upsample, and Resize of opset 10: asymmetric coordinates, nearest by floor.
void ResizeByScales(OnnxBuilder& b, ValueId scales) {
  Request request;
  request.x = b.Input(0);
  request.scales = scales;
  request.attrs.mode = Mode(b);
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

void BuildResize(OnnxBuilder& b) {
  // An input that is there but empty counts as absent.
  const auto given = [&](size_t i) {
    const ValueId value = b.OptionalInput(i);
    const TensorData* constant = b.ConstantOf(value);
    return constant != nullptr && constant->elements() == 0 ? kNoValue : value;
  };
  Request request;
  request.x = b.Input(0);
  request.sizes = given(3);
  request.scales = request.sizes == kNoValue ? given(2) : kNoValue;
  if (request.sizes == kNoValue && request.scales == kNoValue) {
    b.Invalid("the node has neither scales nor sizes");
  }
  if (b.Flag("antialias")) b.Unsupported("has antialias = 1");
  if (request.sizes != kNoValue && b.String("keep_aspect_ratio_policy", "stretch") != "stretch") {
    b.Unsupported("has keep_aspect_ratio_policy = {}; export with stretch",
                  b.String("keep_aspect_ratio_policy", ""));
  }
  request.attrs.mode = Mode(b);
  request.attrs.coordinates = Coordinates(b, request.sizes != kNoValue);
  request.attrs.nearest = Nearest(b);
  request.attrs.cubic_coeff_a = b.Float("cubic_coeff_a", -0.75f);
  request.attrs.exclude_outside = b.Flag("exclude_outside");
  request.axes = b.IntList("axes").value_or(std::vector<int64_t>{});
  CompleteRequest(b, request);
  Resize(b, request);
}

constexpr OnnxOp kRows[] = {
    {"Upsample", 7, 8, BuildUpsampleAttributes},
    {"Upsample", 9, 9, BuildUpsampleInput},
    {"Resize", 10, 10, BuildUpsampleInput},
    {"Resize", 11, kNewest, BuildResize},
};

}  // namespace

std::span<const OnnxOp> OnnxResizeOps() { return kRows; }

}  // namespace skiff
