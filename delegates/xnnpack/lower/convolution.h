/// XNNPACK's NHWC convolution behind one interface for f32 and f16, with packed weights shared by the Model.
/// Convolution itself, BatchNorm and average pooling that counts its padding all come down to it.
#pragma once

#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {

/// What XNNPACK is told when it creates the operator.
struct ConvolutionGeometry {
  uint32_t pads[4] = {};  ///< Top, right, bottom, left: XNNPACK's order.
  uint32_t kernel[2] = {1, 1};
  uint32_t strides[2] = {1, 1};
  uint32_t dilations[2] = {1, 1};
  uint32_t groups = 1;
  size_t group_input_channels = 0;
  size_t group_output_channels = 0;
  size_t input_stride = 0;
  size_t output_stride = 0;
  float min = -kInfinity;
  float max = kInfinity;
  uint32_t flags = 0;  ///< XNN_FLAG_TENSORFLOW_SAME_PADDING: it finds the pads itself, at each size.
  bool operator==(const ConvolutionGeometry&) const = default;
  PackedExtents packed() const {
    return {group_input_channels, group_output_channels, uint64_t{kernel[0]} * kernel[1], groups,
            group_input_channels == 1 && group_output_channels == 1};
  }
};

/// Where the weights (OHWI) and the bias (or null) lie, and what they are known by.
struct ConvolutionWeights {
  PackingKind kind = PackingKind::kConvolution;
  const void* weights = nullptr;
  const void* bias = nullptr;
  ContentHash weights_hash;
  ContentHash bias_hash;
};

/// Pads of one axis, with which XNNPACK makes `output` windows: those of the node, which do not change with
/// the input's size, and only where they make more or fewer (ceil mode) others at the end.
bool FitPads(AutoPad auto_pad, const Ints& pads, int axis, int64_t input, int64_t output, int64_t kernel,
             int64_t stride, int64_t dilation, uint32_t* begin, uint32_t* end);

/// An indirection buffer of this many windows is one that a device can hold.
bool IndirectionFits(int64_t outputs, int64_t taps);

/// Whether XNNPACK takes a transposed convolution of this result. With strides it makes a convolution of
/// every (stride)th row and column, counts those of a start behind the result's end as about 2^64, and keeps
/// pointers of whole tiles without a look at how many these are.
bool TransposedFits(const TensorView& weights, const TensorView& result, const Ints& strides);
/// Of the weights (OHWI) of one.
PackedExtents TransposedExtents(const Shape& weights, int64_t groups);

/// All but the bounds, for a Conv2d node. kUnsupported: pads that XNNPACK does not take.
Status DescribeConvolution(const NodeView& node, ConvolutionGeometry* geometry);

class Convolution {
 public:
  explicit Convolution(const Environment& environment)
      : environment_(environment), provider_(environment.weights) {}

  /// Creates the operator anew when the geometry differs from the present one.
  Status Reshape(DType dtype, const ConvolutionGeometry& geometry, const ConvolutionWeights& weights,
                 const TensorView& input, const TensorView& output, size_t* workspace_bytes);
  Status Bind(void* workspace, const void* input, void* output);
  Status Run() const { return operator_.Run(environment_.pool); }

 private:
  Status Create(const ConvolutionWeights& weights);

  const Environment& environment_;
  WeightsProvider provider_;
  Operator operator_;  ///< Uses the provider; declared after it.
  ConvolutionGeometry geometry_;
  DType dtype_ = DType::kInvalid;
};

}  // namespace skiff::xnnpack
