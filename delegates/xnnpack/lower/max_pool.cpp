// Max pooling on XNNPACK.
#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/pool.h"

namespace skiff::xnnpack {
namespace {

class MaxPoolStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    PoolGeometry g;
    if (!DescribePool(attrs, x, y, &g)) return Refuse();
    // With a dilation, XNNPACK's stand-in for a pixel of the padding can lie outside the image.
    if (g.any_pads() && (attrs.dilations[0] > 1 || attrs.dilations[1] > 1)) return Refuse();
    if (!operator_ || !(g == geometry_)) {
      geometry_ = g;
      SKIFF_RETURN_IF_ERROR(Create(x.dtype));
    }
    const auto reshape = ReshapeOf(x.dtype);
    size_t height = 0;
    size_t width = 0;
    SKIFF_RETURN_IF_ERROR(
        FromXnn(reshape(operator_.get(), static_cast<size_t>(x.shape[0]), static_cast<size_t>(x.shape[1]),
                        static_cast<size_t>(x.shape[2]), g.channels, g.input_stride, g.output_stride, &height,
                        &width, environment_.pool)));
    return Agrees(y, height, width) ? OkStatus() : Refuse();
  }

  Status Bind(void*) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    const xnn_operator_t made = operator_.get();
    if (IsF16(x.dtype)) return FromXnn(xnn_setup_max_pooling2d_nhwc_f16(made, x.data, y.data));
    if (IsI8(x.dtype))
      return FromXnn(xnn_setup_max_pooling2d_nhwc_s8(made, x.as<const int8_t>(), y.as<int8_t>()));
    if (IsU8(x.dtype))
      return FromXnn(xnn_setup_max_pooling2d_nhwc_u8(made, x.as<const uint8_t>(), y.as<uint8_t>()));
    return FromXnn(xnn_setup_max_pooling2d_nhwc_f32(made, x.as<const float>(), y.as<float>()));
  }

 private:
  Status Create(DType dtype) {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const uint32_t(&pads)[4] = geometry_.pads;
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const auto with = [&](auto create, auto low, auto high) {
      return operator_.Make([&](xnn_operator_t* made) {
        return create(pads[0], pads[1], pads[2], pads[3], u32(attrs.kernel[0]), u32(attrs.kernel[1]),
                      u32(attrs.strides[0]), u32(attrs.strides[1]), u32(attrs.dilations[0]),
                      u32(attrs.dilations[1]), low, high, /*flags=*/0, made);
      });
    };
    if (IsF16(dtype)) return with(xnn_create_max_pooling2d_nhwc_f16, -kInfinity, kInfinity);
    if (IsI8(dtype)) return with(xnn_create_max_pooling2d_nhwc_s8, int8_t{INT8_MIN}, int8_t{INT8_MAX});
    if (IsU8(dtype)) return with(xnn_create_max_pooling2d_nhwc_u8, uint8_t{0}, uint8_t{UINT8_MAX});
    return with(xnn_create_max_pooling2d_nhwc_f32, -kInfinity, kInfinity);
  }

  static decltype(&xnn_reshape_max_pooling2d_nhwc_f32) ReshapeOf(DType dtype) {
    if (IsF16(dtype)) return xnn_reshape_max_pooling2d_nhwc_f16;
    if (IsI8(dtype)) return xnn_reshape_max_pooling2d_nhwc_s8;
    if (IsU8(dtype)) return xnn_reshape_max_pooling2d_nhwc_u8;
    return xnn_reshape_max_pooling2d_nhwc_f32;
  }

  PoolGeometry geometry_;
};

}  // namespace

Result<StepPointer> LowerMaxPool2d(const NodeView& node, const Environment& environment) {
  const DType dtype = node.in(0).dtype;
  if (kHasOwnKernels && (dtype == DType::kF32 || IsF16(dtype))) return LowerOwnPool(node, environment);
  return MakeStep<MaxPoolStep>(node, environment);
}

}  // namespace skiff::xnnpack
