// MediaPipe's MaxPoolingWithArgmax2D and MaxUnpooling2D. An index counts within its window, in floats.
#include <algorithm>
#include <cstring>

#include "import/tflite/ops.h"
#include "import/tflite/window.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// (height, width), as everywhere but in the options.
struct Window {
  int64_t kernel[2] = {};
  int64_t strides[2] = {};
  bool same = false;
  tflite::Activation activation = tflite::Activation::NONE;
};

/// The options are the bytes of TensorFlow Lite's TfLitePoolParams.
Window Read(const TfliteBuilder& b) {
  struct {
    int32_t padding;  // 1: SAME, 2: VALID.
    int32_t stride_w, stride_h;
    int32_t kernel_w, kernel_h;
    int32_t activation;
  } params = {};
  const Span<const uint8_t> bytes = b.CustomOptions();
  if (bytes.size() < sizeof(params)) b.Invalid("its options have {} bytes", bytes.size());
  std::memcpy(&params, bytes.data(), sizeof(params));
  if (params.padding != 1 && params.padding != 2) b.Invalid("its padding is {}", params.padding);
  if (params.activation < 0 || params.activation > static_cast<int32_t>(tflite::Activation::RELU6))
    b.Unsupported("has the fused activation {}; make it an operator of its own", params.activation);
  for (const int64_t number : {params.stride_w, params.stride_h}) b.CheckRange("stride", number, 1);
  for (const int64_t number : {params.kernel_w, params.kernel_h}) b.CheckRange("window", number, 1);
  return {{params.kernel_h, params.kernel_w},
          {params.stride_h, params.stride_w},
          params.padding == 1,
          static_cast<tflite::Activation>(params.activation)};
}

constexpr int64_t kLargestImage = 1 << 16;

/// Height and width.
std::vector<int64_t> PlaneOf(TfliteBuilder& b, ValueId x) {
  const auto plane = b.ExtentsOf(x, 1, 3);
  if (!plane) b.Unsupported("has an image of open size; convert the net with fixed shapes");
  for (const int64_t extent : *plane) {
    if (extent < 1 || extent > kLargestImage)
      b.Invalid("it works on an image of {} by {}", (*plane)[0], (*plane)[1]);
  }
  return *plane;
}

/// Where the windows of `count` outputs start along one axis, as [count, 1, 1] or [count, 1].
ValueId Starts(TfliteBuilder& b, const char* suffix, int axis, int64_t count, int64_t stride, int64_t pad) {
  std::vector<int64_t> starts(static_cast<size_t>(count));
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int64_t>(i) * stride - pad;
  std::vector<int64_t> shape = {count, 1};
  if (axis == 0) shape.push_back(1);
  return EmitReshape(b, suffix, b.ConstantInts(fmt::format("{}_list", suffix).c_str(), starts), shape);
}

ValueId Integer(TfliteBuilder& b, const char* suffix, int64_t number) {
  return b.Scalar(suffix, DType::kI64, static_cast<double>(number));
}

ValueId Remainder(TfliteBuilder& b, const char* suffix, ValueId x, ValueId divisor) {
  return b.Emit(suffix, OpCode::kMod, {x, divisor}, ModAttrs{.truncate = true});
}

void BuildPool(TfliteBuilder& b) {
  if (b.output_count() != 2) b.Invalid("it has {} outputs; 2 were expected", b.output_count());
  const Window window = Read(b);
  const ValueId x = b.Real("real", b.Input(0));
  Pool2dAttrs attrs;
  attrs.kernel = {window.kernel[0], window.kernel[1]};
  attrs.strides = {window.strides[0], window.strides[1]};
  attrs.auto_pad = window.same ? AutoPad::kSameUpper : AutoPad::kValid;
  b.OutputActivated(b.Emit("largest", OpCode::kMaxPool2d, {x}, attrs), window.activation);
  if (!b.OutputUsed(1)) return;
  // Skiff's indices count the elements of NCHW.
  const std::vector<int64_t> plane = PlaneOf(b, x);
  const ValueId at = b.Emit("positions", OpCode::kMaxPool2dIndices, {x}, attrs);
  const std::vector<int64_t> outputs = PlaneOf(b, at);
  ValueId places[2];
  for (int axis = 0; axis < 2; ++axis) {
    const auto name = [&](const char* step) {
      return fmt::format("{}_{}", axis == 0 ? "row" : "column", step);
    };
    const size_t i = static_cast<size_t>(axis);
    const AxisPads pads =
        ResolvePads(attrs.auto_pad, plane[i], window.kernel[axis], window.strides[axis], 1, 0, 0);
    const ValueId rows = axis == 1 ? at : EmitDiv(b, "rows", at, Integer(b, "width", plane[1]));
    const ValueId place =
        Remainder(b, name("place").c_str(), rows, Integer(b, name("extent").c_str(), plane[i]));
    places[axis] =
        EmitSub(b, name("in_window").c_str(), place,
                Starts(b, name("start").c_str(), axis, outputs[i], window.strides[axis], pads.begin));
  }
  const ValueId above = EmitMul(b, "rows_above", places[0], Integer(b, "window_width", window.kernel[1]));
  const ValueId index = b.CastTo("index", EmitAdd(b, "index_i64", above, places[1]), DType::kF32);
  // What truncates it does not fall below.
  b.OutputValue(EmitAdd(b, "index_above", index, b.Scalar("a_tenth", DType::kF32, 0.1)), 1);
}

/// Each element goes to its place in its window; what is outside of the image is left out.
void BuildUnpool(TfliteBuilder& b) {
  const Window window = Read(b);
  const ValueId x = b.Real("real", b.Input(0));
  const std::vector<int64_t> plane = PlaneOf(b, x);
  const ValueId index = b.CastTo("index", b.Real("real_index", b.Input(1)), DType::kI64);
  const ValueId width = Integer(b, "window_width", window.kernel[1]);
  const ValueId in_window[] = {EmitDiv(b, "row_in_window", index, width),
                               Remainder(b, "column_in_window", index, width)};
  int64_t image[2];
  ValueId places[2];
  ValueId inside = kNoValue;
  for (int axis = 0; axis < 2; ++axis) {
    const auto name = [&](const char* step) {
      return fmt::format("{}_{}", axis == 0 ? "row" : "column", step);
    };
    const int64_t count = plane[static_cast<size_t>(axis)];
    image[axis] = count * window.kernel[axis];
    b.CheckRange("image", image[axis], 1);
    const int64_t beyond = (count - 1) * window.strides[axis] + window.kernel[axis] - image[axis];
    const ValueId start =
        Starts(b, name("start").c_str(), axis, count, window.strides[axis], std::max<int64_t>(beyond, 0) / 2);
    places[axis] = EmitAdd(b, name("place").c_str(), in_window[axis], start);
    const ValueId low = b.Emit(name("low").c_str(), OpCode::kGreaterOrEqual,
                               {places[axis], Integer(b, name("first").c_str(), 0)});
    const ValueId high = b.Emit(name("high").c_str(), OpCode::kLess,
                                {places[axis], Integer(b, name("end").c_str(), image[axis])});
    const ValueId both = b.Emit(name("inside").c_str(), OpCode::kAnd, {low, high});
    inside = axis == 0 ? both : b.Emit("inside", OpCode::kAnd, {inside, both});
  }
  const int64_t cells = image[0] * image[1];
  const ValueId above = EmitMul(b, "cells_above", places[0], Integer(b, "image_width", image[1]));
  const ValueId cell =
      b.Emit("cell", OpCode::kWhere,
             {inside, EmitAdd(b, "cell_inside", above, places[1]), Integer(b, "outside", cells)});
  const auto columns = [&](const char* suffix, ValueId value) {
    return EmitReshape(b, suffix, value, {0, plane[0] * plane[1], -1});
  };
  // One more cell takes what lies outside.
  const ValueId shape = b.Emit(
      "cells_shape", OpCode::kConcat,
      {ExtentsOf(b, x, 0, 1), b.ConstantInts("cells", {cells + 1}), ExtentsOf(b, x, 3, 4)}, AxisAttrs{0});
  const ValueId zeros = b.Emit("zeros", OpCode::kExpand, {b.Scalar("zero", b.DTypeOf(x), 0), shape});
  const ValueId written =
      b.Emit("written", OpCode::kScatterElements,
             {zeros, columns("cells_of_index", cell), columns("elements", x)}, ScatterAttrs{1});
  const ValueId image_cells = EmitSlice(b, "image_cells", written, 1, 0, cells);
  b.OutputValue(EmitReshape(b, "image", image_cells, {0, image[0], image[1], -1}));
}

constexpr TfliteCustomOp kRows[] = {
    {"MaxPoolingWithArgmax2D", BuildPool},
    {"MaxUnpooling2D", BuildUnpool},
};

}  // namespace

std::span<const TfliteCustomOp> TfliteUnpoolOps() { return kRows; }

}  // namespace skiff
