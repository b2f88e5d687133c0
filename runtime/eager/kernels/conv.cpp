// Convolution and transposed convolution, NHWC with OHWI weights.
//
// Both are the product of patches with the weights of each output channel: row p of the product holds what
// lies under the window at output pixel p. They differ only in where a window's taps lie. A tap in the
// padding contributes its weight times zero.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/product.h"
#include "eager/kernels/window.h"

namespace skiff {
namespace {

using namespace eager;

template <class T>
struct Convolution {
  const T* x;
  const T* weights;
  const T* bias;
  T* out;
  Window y_window;
  Window x_window;
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  int64_t groups;
  LaneClamp<double> clamp;

  int64_t taps() const { return y_window.taps * x_window.taps; }
  int64_t depth() const { return in_channels / groups; }
  int64_t pixels() const { return y_window.output * x_window.output; }
};

/// Widens elements [first, first + count) of one patch. `stride` is the distance between them in the block.
template <bool kTransposed, class T>
void FillPatch(const Convolution<T>& conv, const T* image, int64_t pixel, int64_t first, int64_t count,
               double* block) {
  const int64_t depth = conv.depth();
  const int64_t out_y = pixel / conv.x_window.output;
  const int64_t out_x = pixel % conv.x_window.output;
  int64_t tap = first / depth;
  int64_t channel = first % depth;
  for (int64_t done = 0; done < count; ++tap, channel = 0) {
    const int64_t run = depth - channel < count - done ? depth - channel : count - done;
    const int64_t tap_y = tap / conv.x_window.taps;
    const int64_t tap_x = tap % conv.x_window.taps;
    int64_t y;
    int64_t x;
    if constexpr (kTransposed) {
      y = conv.y_window.TransposedSource(out_y, tap_y);
      x = conv.x_window.TransposedSource(out_x, tap_x);
    } else {
      y = conv.y_window.Source(out_y, tap_y);
      x = conv.x_window.Source(out_x, tap_x);
    }
    double* to = block + done * kBlockRows;
    if (y >= 0 && x >= 0) {
      const T* from = image + (y * conv.x_window.input + x) * conv.in_channels + channel;
      for (int64_t i = 0; i < run; ++i) to[i * kBlockRows] = ToDouble(from[i]);
    } else {
      for (int64_t i = 0; i < run; ++i) to[i * kBlockRows] = 0.0;
    }
    done += run;
  }
}

template <bool kTransposed, class T>
void Convolve(const Convolution<T>& conv) {
  const int64_t group_outputs = conv.out_channels / conv.groups;
  const int64_t image_elements = conv.y_window.input * conv.x_window.input * conv.in_channels;
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t g = 0; g < conv.groups; ++g) {
      const T* image = conv.x + n * image_elements + g * conv.depth();
      const int64_t patch = conv.taps() * conv.depth();
      const ProductColumns<T> columns{conv.weights + g * group_outputs * patch, patch, 1, group_outputs,
                                      patch};
      const ProductOutput<T> out{conv.out + n * conv.pixels() * conv.out_channels + g * group_outputs,
                                 conv.out_channels,
                                 conv.bias == nullptr ? nullptr : conv.bias + g * group_outputs, conv.clamp};
      BlockedProduct(conv.pixels(), columns, out,
                     [&](int64_t row, int64_t rows, int64_t first, int64_t count, double* block) {
                       for (int64_t r = 0; r < rows; ++r) {
                         FillPatch<kTransposed>(conv, image, row + r, first, count, block + r);
                       }
                     });
    }
  }
}

/// Weights of a block of channels that the depthwise path keeps widened and transposed, [tap][channel].
constexpr int64_t kDepthwiseWeights = 4096;
constexpr int64_t kDepthwiseChannels = 64;

/// One input and one output channel in each group: the channels of a pixel side by side instead of one by
/// one.
template <class T>
void ConvolveDepthwise(const Convolution<T>& conv) {
  const int64_t channels = conv.out_channels;
  const int64_t taps = conv.taps();
  const int64_t fitting = kDepthwiseWeights / taps;
  const int64_t block = fitting < kDepthwiseChannels ? fitting : kDepthwiseChannels;
  const int64_t image_elements = conv.y_window.input * conv.x_window.input * channels;
  double weights[kDepthwiseWeights];
  double bias[kDepthwiseChannels];
  double sums[kDepthwiseChannels];
  for (int64_t first = 0; first < channels; first += block) {
    const int64_t count = channels - first < block ? channels - first : block;
    for (int64_t c = 0; c < count; ++c) {
      bias[c] = conv.bias != nullptr ? ToDouble(conv.bias[first + c]) : 0.0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        weights[tap * count + c] = ToDouble(conv.weights[(first + c) * taps + tap]);
      }
    }
    for (int64_t row = 0; row < conv.batch * conv.pixels(); ++row) {
      const T* image = conv.x + row / conv.pixels() * image_elements + first;
      const int64_t out_y = row % conv.pixels() / conv.x_window.output;
      const int64_t out_x = row % conv.x_window.output;
      for (int64_t c = 0; c < count; ++c) sums[c] = 0.0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t y = conv.y_window.Source(out_y, tap / conv.x_window.taps);
        const int64_t x = conv.x_window.Source(out_x, tap % conv.x_window.taps);
        if (y < 0 || x < 0) continue;
        const T* from = image + (y * conv.x_window.input + x) * channels;
        const double* factors = weights + tap * count;
        for (int64_t c = 0; c < count; ++c) sums[c] += ToDouble(from[c]) * factors[c];
      }
      T* to = conv.out + row * channels + first;
      for (int64_t c = 0; c < count; ++c) to[c] = Store<T>(conv.clamp(sums[c] + bias[c]));
    }
  }
}

template <class T, class Attrs>
Convolution<T> Describe(const KernelArgs& args) {
  const auto& attrs = args.As<Attrs>();
  const TensorView& x = args.inputs[0];
  const TensorView& weights = args.inputs[1];
  const TensorView& out = args.outputs[0];
  return {.x = x.as<const T>(),
          .weights = weights.as<const T>(),
          .bias = args.Has(2) ? args.inputs[2].as<const T>() : nullptr,
          .out = out.as<T>(),
          .y_window = MakeWindow(attrs, 0, x, out, weights.shape[1]),
          .x_window = MakeWindow(attrs, 1, x, out, weights.shape[2]),
          .batch = x.shape[0],
          .in_channels = x.shape[3],
          .out_channels = out.shape[3],
          .groups = attrs.groups,
          .clamp = LaneClamp<double>(attrs.min, attrs.max)};
}

}  // namespace

Status KernelConv2d(const KernelArgs& args) {
  return VisitFloat(args.op, args.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto conv = Describe<T, Conv2dAttrs>(args);
    if (conv.groups == conv.in_channels && conv.groups == conv.out_channels &&
        conv.taps() <= kDepthwiseWeights) {
      ConvolveDepthwise(conv);
    } else {
      Convolve<false>(conv);
    }
    return OkStatus();
  });
}

Status KernelConvTranspose2d(const KernelArgs& args) {
  return VisitFloat(args.op, args.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Convolve<true>(Describe<T, ConvTranspose2dAttrs>(args));
    return OkStatus();
  });
}

}  // namespace skiff
