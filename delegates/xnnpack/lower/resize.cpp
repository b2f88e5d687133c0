// Resizing: linear on XNNPACK, where it has the weights, nearest with a table of source pixels.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/convolution.h"
#include "delegates/xnnpack/lower/lowerings.h"

namespace skiff::xnnpack {
namespace {

class LinearResizeStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    // XNNPACK finds sources in f32, and does not look whether they lie in the picture.
    if (!IsPicture(x.shape, y.shape)) return Refuse();
    if (!CoordinatesAgree() || !IndirectionFits(y.shape.ElementsBetween(1, 3), 4)) return Refuse();
    const Functions f = FunctionsOf(x.dtype);
    const size_t created[4] = {static_cast<size_t>(y.shape[1]), static_cast<size_t>(y.shape[2]),
                               RowsOf(x).stride, RowsOf(y).stride};
    if (!operator_ || std::memcmp(created, created_, sizeof(created)) != 0) {
      SKIFF_RETURN_IF_ERROR(operator_.Make(
          [&](xnn_operator_t* made) { return f.create(created[0], created[1], Flags(), made); }));
      std::memcpy(created_, created, sizeof(created));
    }
    size_t alignment = 0;
    workspace_bytes_ = 0;
    return FromXnn(f.reshape(operator_.get(), static_cast<size_t>(x.shape[0]),
                             static_cast<size_t>(x.shape[1]), static_cast<size_t>(x.shape[2]),
                             static_cast<size_t>(x.shape[3]), created[2], created[3], &workspace_bytes_,
                             &alignment, environment_.pool));
  }

  Status Bind(void* workspace) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (IsF16(x.dtype)) {
      return FromXnn(xnn_setup_resize_bilinear2d_nhwc_f16(operator_.get(), workspace, x.data, y.data));
    }
    if (IsI8(x.dtype)) {
      return FromXnn(xnn_setup_resize_bilinear2d_nhwc_s8(operator_.get(), workspace, x.as<const int8_t>(),
                                                         y.as<int8_t>()));
    }
    if (IsU8(x.dtype)) {
      return FromXnn(xnn_setup_resize_bilinear2d_nhwc_u8(operator_.get(), workspace, x.as<const uint8_t>(),
                                                         y.as<uint8_t>()));
    }
    return FromXnn(
        xnn_setup_resize_bilinear2d_nhwc_f32(operator_.get(), workspace, x.as<const float>(), y.as<float>()));
  }

 private:
  struct Functions {
    xnn_status (*create)(size_t, size_t, uint32_t, xnn_operator_t*);
    xnn_status (*reshape)(xnn_operator_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t*, size_t*,
                          pthreadpool_t);
  };
  static Functions FunctionsOf(DType dtype) {
    if (IsF16(dtype)) return {xnn_create_resize_bilinear2d_nhwc_f16, xnn_reshape_resize_bilinear2d_nhwc_f16};
    if (IsI8(dtype)) return {xnn_create_resize_bilinear2d_nhwc_s8, xnn_reshape_resize_bilinear2d_nhwc_s8};
    if (IsU8(dtype)) return {xnn_create_resize_bilinear2d_nhwc_u8, xnn_reshape_resize_bilinear2d_nhwc_u8};
    return {xnn_create_resize_bilinear2d_nhwc_f32, xnn_reshape_resize_bilinear2d_nhwc_f32};
  }

  uint32_t Flags() const {
    switch (node_.As<ResizeAttrs>().coordinates) {
      case ResizeCoordinates::kAlignCorners:
        return XNN_FLAG_ALIGN_CORNERS;
      case ResizeCoordinates::kAsymmetric:
        return XNN_FLAG_TENSORFLOW_LEGACY_MODE;
      default:
        return 0;
    }
  }

  /// XNNPACK takes the scale from the extents, and has no special case for a single output pixel.
  bool CoordinatesAgree() const {
    const auto& attrs = node_.As<ResizeAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    for (int axis = 0; axis < 2; ++axis) {
      const auto input = static_cast<double>(x.shape[1 + axis]);
      const auto output = static_cast<double>(y.shape[1 + axis]);
      if (attrs.coordinates == ResizeCoordinates::kPytorchHalfPixel && output == 1 && input != 1)
        return false;
      if (attrs.coordinates == ResizeCoordinates::kAlignCorners || !node_.Has(2)) continue;
      const double scaled = input * static_cast<double>(node_.in(2).as<const float>()[axis]);
      if (std::fabs(scaled - output) > 1e-6 * output) return false;
    }
    return true;
  }

  size_t created_[4] = {};
};

class NearestResizeStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (!IsPicture(x.shape, y.shape)) return Refuse();
    SKIFF_RETURN_IF_ERROR(FindSources(0, rows_));
    SKIFF_RETURN_IF_ERROR(FindSources(1, columns_));
    pixel_bytes_ = static_cast<size_t>(x.shape[3]) * ElementBytes(x);
    from_stride_ = RowsOf(x).stride * ElementBytes(x);
    to_stride_ = RowsOf(y).stride * ElementBytes(x);
    height_ = static_cast<size_t>(x.shape[1]);
    width_ = static_cast<size_t>(x.shape[2]);
    images_ = static_cast<size_t>(x.shape[0]);
    return OkStatus();
  }

  Status Bind(void*) override {
    x_ = node_.in(0).as<const char>();
    y_ = node_.out(0).as<char>();
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_2d(
        environment_.pool,
        [](void* self, size_t image, size_t row) {
          static_cast<const NearestResizeStep*>(self)->CopyRow(image, row);
        },
        this, images_, rows_.size(), 0);
    return OkStatus();
  }

 private:
  /// Lets the reference kernel resize the pixels' own numbers along one axis.
  Status FindSources(int axis, FixedArray<int32_t>& sources) {
    const int64_t input = node_.in(0).shape[1 + axis];
    const int64_t output = node_.out(0).shape[1 + axis];
    // Scales that are no constants can change while the extents stay.
    const bool scaled = node_.Has(2) && !node_.input(2).constant;
    if (found_[axis][0] == input && found_[axis][1] == output && !scaled) return OkStatus();
    found_[axis][0] = -1;
    FixedArray<int32_t> numbers;
    SKIFF_RETURN_IF_ERROR(numbers.Allocate(static_cast<size_t>(input)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
    SKIFF_RETURN_IF_ERROR(sources.Allocate(static_cast<size_t>(output)));
    Shape from{1, 1, 1, 1};
    Shape to{1, 1, 1, 1};
    from[1 + axis] = input;
    to[1 + axis] = output;
    const TensorView inputs[3] = {TensorView(numbers.data(), DType::kI32, from),
                                  node_.Has(1) ? node_.in(1) : TensorView(),
                                  node_.Has(2) ? node_.in(2) : TensorView()};
    const TensorView outputs[1] = {TensorView(sources.data(), DType::kI32, to)};
    SKIFF_RETURN_IF_ERROR(node_.def().kernel({node_.op(), &node_.attrs(), {inputs, 3}, {outputs, 1}}));
    found_[axis][0] = input;
    found_[axis][1] = output;
    return OkStatus();
  }

  void CopyRow(size_t image, size_t row) const {
    const char* from = x_ + (image * height_ + static_cast<size_t>(rows_[row])) * width_ * from_stride_;
    char* to = y_ + (image * rows_.size() + row) * columns_.size() * to_stride_;
    for (const int32_t column : columns_) {
      std::memcpy(to, from + static_cast<size_t>(column) * from_stride_, pixel_bytes_);
      to += to_stride_;
    }
  }

  FixedArray<int32_t> rows_, columns_;
  int64_t found_[2][2] = {{-1, -1}, {-1, -1}};  ///< By axis: the extents that the tables are for.
  size_t pixel_bytes_ = 0, from_stride_ = 0, to_stride_ = 0;
  size_t height_ = 0, width_ = 0, images_ = 0;
  const char* x_ = nullptr;
  char* y_ = nullptr;
};

/// By weights that XNNPACK does not have.
bool IsMixed(const ResizeAttrs& attrs) {
  if (attrs.mode == ResizeMode::kNearest) return false;
  return attrs.mode == ResizeMode::kCubic || attrs.exclude_outside ||
         attrs.coordinates > ResizeCoordinates::kAsymmetric;
}

}  // namespace

bool IsPicture(const Shape& x, const Shape& y) {
  constexpr int64_t kMostSources = 1 << 20;
  return std::max({x[1], x[2], y[1], y[2]}) <= kMostSources;
}

Result<StepPointer> LowerResize2d(const NodeView& node, const Environment& environment) {
  if (IsMixed(node.As<ResizeAttrs>())) return LowerMixingResize(node, environment);
  if (node.As<ResizeAttrs>().mode == ResizeMode::kLinear)
    return MakeStep<LinearResizeStep>(node, environment);
  if (node.def().kernel == nullptr) return Refuse();
  return MakeStep<NearestResizeStep>(node, environment);
}

}  // namespace skiff::xnnpack
