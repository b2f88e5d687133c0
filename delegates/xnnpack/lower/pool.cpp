// Average pooling on XNNPACK, and what pools have in common. An average that counts its padding is a
// depthwise convolution by one constant.
#include "delegates/xnnpack/lower/pool.h"

#include <cstring>

#include "core/fixed_array.h"
#include "core/half.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {

bool DescribePool(const Pool2dAttrs& attrs, const TensorView& x, const TensorView& y, PoolGeometry* g) {
  for (int axis = 0; axis < 2; ++axis) {
    uint32_t begin = 0;
    uint32_t end = 0;
    if (!FitPads(attrs.auto_pad, attrs.pads, axis, x.shape[1 + axis], y.shape[1 + axis], attrs.kernel[axis],
                 attrs.strides[axis], attrs.dilations[axis], &begin, &end)) {
      return false;
    }
    // A window that lies in the padding alone has no value that XNNPACK would agree on.
    const int64_t window = (attrs.kernel[axis] - 1) * attrs.dilations[axis] + 1;
    if (begin >= window || end >= window) return false;
    g->pads[axis == 0 ? 0 : 3] = begin;
    g->pads[axis == 0 ? 2 : 1] = end;
  }
  g->channels = static_cast<size_t>(x.shape[3]);
  g->input_stride = RowsOf(x).stride;
  g->output_stride = RowsOf(y).stride;
  return IndirectionFits(y.shape.ElementsBetween(1, 3), attrs.kernel[0] * attrs.kernel[1]);
}

bool ReachesBeyondPads(const Pool2dAttrs& attrs, const TensorView& x, const PoolGeometry& g) {
  for (int axis = 0; axis < 2; ++axis) {
    const AxisPads given = ResolvePads(attrs.auto_pad, x.shape[1 + axis], attrs.kernel[axis],
                                       attrs.strides[axis], 1, attrs.pads[axis], attrs.pads[2 + axis]);
    if (g.pads[axis == 0 ? 2 : 1] > given.end) return true;
  }
  return false;
}

namespace {

/// Whether an average is added in f16, as cores with arithmetic on it do, and has too many taps for that.
bool AddsTooManyHalves(DType dtype, const Pool2dAttrs& attrs) {
  constexpr int64_t kMostHalves = 64;
  return IsF16(dtype) && attrs.kernel[0] * attrs.kernel[1] > kMostHalves;
}

/// XNNPACK keeps pointers for the rows of windows that reach above the image, for those that reach below it,
/// and for one of the others: rows that do both would be found among the wrong ones, and it keeps as many as
/// pads may reach where there are fewer rows.
bool PaddedRowsMeet(const PoolGeometry& g, int64_t stride, int64_t rows) {
  const auto reaching = [stride](uint32_t pad) { return (pad + stride - 1) / stride; };
  return reaching(g.pads[0]) + reaching(g.pads[2]) > rows;
}

/// Averages over the pixels inside the image.
class AveragePoolStep final : public OperatorStep {
 public:
  using OperatorStep::OperatorStep;

  Status Reshape() override {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    PoolGeometry g;
    if (!DescribePool(attrs, x, y, &g) || PaddedRowsMeet(g, attrs.strides[0], y.shape[1])) return Refuse();
    const bool f16 = IsF16(x.dtype);
    if (AddsTooManyHalves(x.dtype, attrs)) return Refuse();
    // Made anew for each size: where memory runs out while it takes a new one, XNNPACK frees its pixels for
    // the padding twice.
    if (!operator_ || !(g == geometry_) || x.shape[1] != height_ || x.shape[2] != width_) {
      geometry_ = g;
      height_ = x.shape[1];
      width_ = x.shape[2];
      const auto create = f16 ? xnn_create_average_pooling2d_nhwc_f16 : xnn_create_average_pooling2d_nhwc_f32;
      const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
      SKIFF_RETURN_IF_ERROR(operator_.Make([&](xnn_operator_t* made) {
        return create(g.pads[0], g.pads[1], g.pads[2], g.pads[3], u32(attrs.kernel[0]), u32(attrs.kernel[1]),
                      u32(attrs.strides[0]), u32(attrs.strides[1]), -kInfinity, kInfinity, /*flags=*/0, made);
      }));
    }
    const auto reshape =
        f16 ? xnn_reshape_average_pooling2d_nhwc_f16 : xnn_reshape_average_pooling2d_nhwc_f32;
    size_t alignment = 0;
    size_t height = 0;
    size_t width = 0;
    workspace_bytes_ = 0;
    SKIFF_RETURN_IF_ERROR(
        FromXnn(reshape(operator_.get(), static_cast<size_t>(x.shape[0]), static_cast<size_t>(x.shape[1]),
                        static_cast<size_t>(x.shape[2]), g.channels, g.input_stride, g.output_stride,
                        &workspace_bytes_, &alignment, &height, &width, environment_.pool)));
    return Agrees(y, height, width) ? OkStatus() : Refuse();
  }

  Status Bind(void* workspace) override {
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    if (IsF16(x.dtype)) {
      return FromXnn(xnn_setup_average_pooling2d_nhwc_f16(operator_.get(), workspace, x.data, y.data));
    }
    return FromXnn(
        xnn_setup_average_pooling2d_nhwc_f32(operator_.get(), workspace, x.as<const float>(), y.as<float>()));
  }

 private:
  PoolGeometry geometry_;
  int64_t height_ = 0;
  int64_t width_ = 0;
};

/// Averages that count the padding as zeros: every weight is one over the number of taps.
class PaddedAveragePoolStep final : public Step {
 public:
  PaddedAveragePoolStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), convolution_(environment) {}

  Status Reshape() override {
    const auto& attrs = node_.As<Pool2dAttrs>();
    const TensorView& x = node_.in(0);
    const TensorView& y = node_.out(0);
    PoolGeometry pool;
    if (!DescribePool(attrs, x, y, &pool)) return Refuse();
    if (ReachesBeyondPads(attrs, x, pool) || AddsTooManyHalves(x.dtype, attrs)) return Refuse();
    SKIFF_RETURN_IF_ERROR(MakeWeights(x, attrs));
    ConvolutionGeometry g;
    for (int i = 0; i < 4; ++i) g.pads[i] = pool.pads[i];
    for (int axis = 0; axis < 2; ++axis) {
      g.kernel[axis] = static_cast<uint32_t>(attrs.kernel[axis]);
      g.strides[axis] = static_cast<uint32_t>(attrs.strides[axis]);
    }
    g.groups = static_cast<uint32_t>(pool.channels);
    g.group_input_channels = 1;
    g.group_output_channels = 1;
    g.input_stride = pool.input_stride;
    g.output_stride = pool.output_stride;
    ConvolutionWeights weights;
    weights.kind = PackingKind::kAverageAsConvolution;
    weights.weights = weights_.data();
    const Status status = convolution_.Reshape(x.dtype, g, weights, x, y, &workspace_bytes_);
    weights_ = {};  // They are packed.
    return status;
  }

  Status Bind(void* workspace) override {
    return convolution_.Bind(workspace, node_.in(0).data, node_.out(0).data);
  }
  Status Run() override { return convolution_.Run(); }

 private:
  Status MakeWeights(const TensorView& x, const Pool2dAttrs& attrs) {
    const int64_t taps = attrs.kernel[0] * attrs.kernel[1];
    if (taps > kMostWeights / x.shape[3]) return Refuse();
    const auto count = static_cast<size_t>(taps * x.shape[3]);
    const size_t bytes = count * ElementBytes(x);
    SKIFF_RETURN_IF_ERROR(weights_.Allocate(bytes));
    const float value = static_cast<float>(1.0 / static_cast<double>(taps));
    const uint16_t half = FloatToHalf(value);
    for (size_t i = 0; i < count; ++i) {
      if (IsF16(x.dtype)) {
        std::memcpy(weights_.data() + 2 * i, &half, sizeof(half));
      } else {
        std::memcpy(weights_.data() + 4 * i, &value, sizeof(value));
      }
    }
    return OkStatus();
  }

  static constexpr int64_t kMostWeights = int64_t{1} << 21;

  FixedArray<unsigned char> weights_;
  Convolution convolution_;
};

}  // namespace

Result<StepPointer> LowerAveragePool2d(const NodeView& node, const Environment& environment) {
  if (kHasOwnKernels) return LowerOwnPool(node, environment);
  const auto& attrs = node.As<Pool2dAttrs>();
  const bool same = attrs.auto_pad == AutoPad::kSameUpper || attrs.auto_pad == AutoPad::kSameLower;
  const bool explicit_pads = attrs.auto_pad == AutoPad::kExplicit &&
                             (attrs.pads[0] | attrs.pads[1] | attrs.pads[2] | attrs.pads[3]) != 0;
  if (attrs.count_include_pad && (same || explicit_pads))
    return MakeStep<PaddedAveragePoolStep>(node, environment);
  return MakeStep<AveragePoolStep>(node, environment);
}

}  // namespace skiff::xnnpack
