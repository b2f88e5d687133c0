#version 450
#extension GL_GOOGLE_include_directive : require
// Convolution, transposed convolution and product with a constant matrix, NHWC. An invocation computes four output
// channels of kTile neighbouring output pixels, in registers. Weights are packed as
// [kernel row][kernel column][input channel][output channel / 4] vec4.
#include "common.glsl"

/// Output pixels of an invocation, at most 4.
layout(constant_id = 1) const uint kTile = 4;
/// A 1x1 kernel with stride 1 and no padding: a matrix product.
layout(constant_id = 2) const bool kPoint = false;
/// Input channels of a group are a multiple of 4.
layout(constant_id = 3) const bool kVectorIn = false;
/// Output channels are a multiple of 4.
layout(constant_id = 4) const bool kVectorOut = false;
layout(constant_id = 5) const bool kTransposed = false;

layout(binding = 0) readonly buffer X { T x[]; };
layout(binding = 0) readonly buffer X4 { T4 x4[]; };
layout(binding = 1) readonly buffer W { T4 weights[]; };
layout(binding = 2) readonly buffer B { T4 bias[]; };
layout(binding = 3) writeonly buffer Y { T y[]; };
layout(binding = 3) writeonly buffer Y4 { T4 y4[]; };
layout(push_constant) uniform Push {
  uint pixels;      ///< Of the output, over all images.
  uint in_height;
  uint in_width;
  uint in_channels;
  uint out_height;
  uint out_width;
  uint out_channels;  ///< That are computed here.
  uint depth;          ///< Input channels of a group.
  uint group_outputs;  ///< Output channels of a group.
  uint kernel_height;
  uint kernel_width;
  int stride_y;
  int stride_x;
  int dilation_y;
  int dilation_x;
  int pad_top;
  int pad_left;
  float low;
  float high;
  uint out_first;  ///< Where they begin among the out_step channels of a pixel.
  uint out_step;
} p;

/// The input position under a tap; -1 outside of the input.
int Source(int position, int tap, int stride, int dilation, int pad, uint extent) {
  int at = kTransposed ? position + pad - tap * dilation : position * stride - pad + tap * dilation;
  if (kTransposed) {
    if (at < 0 || at % stride != 0) return -1;
    at /= stride;
  }
  return at >= 0 && at < int(extent) ? at : -1;
}

vec4 sums[4];

/// A rounded sum of f16 products goes no further than four of them.
vec4 PlusProducts(vec4 sum, P4 v, P4 w0, P4 w1, P4 w2, P4 w3) {
#if F16 == 2
  return sum + vec4(fma(v.wwww, w3, fma(v.zzzz, w2, fma(v.yyyy, w1, v.xxxx * w0))));
#else
  return fma(v.wwww, w3, fma(v.zzzz, w2, fma(v.yyyy, w1, fma(v.xxxx, w0, sum))));
#endif
}

/// Adds one tap: first[t] is where the pixel's input channels begin, -1 for a pixel of the padding.
void AddTap(ivec4 first, uint weight, uint blocks) {
  for (uint c = 0; c < p.depth; c += kVectorIn ? 4 : 1) {
    if (kVectorIn) {
      P4 w0 = P4(weights[weight]);
      P4 w1 = P4(weights[weight + blocks]);
      P4 w2 = P4(weights[weight + 2 * blocks]);
      P4 w3 = P4(weights[weight + 3 * blocks]);
      [[unroll]] for (int t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        P4 v = first[t] < 0 ? P4(0.0) : P4(x4[(uint(first[t]) + c) / 4]);
        sums[t] = PlusProducts(sums[t], v, w0, w1, w2, w3);
      }
      weight += 4 * blocks;
    } else {
      vec4 w = vec4(weights[weight]);
      [[unroll]] for (int t = 0; t < 4; ++t) {
        if (t >= kTile) break;
        float v = first[t] < 0 ? 0.0 : float(x[uint(first[t]) + c]);
        sums[t] = fma(vec4(v), w, sums[t]);
      }
      weight += blocks;
    }
  }
}

void main() {
  uint blocks = (p.out_channels + 3) / 4;
  uint i = FlatIndex();
  uint block = i % blocks;
  uint pixel = i / blocks * kTile;
  if (pixel >= p.pixels) return;
  [[unroll]] for (int t = 0; t < 4; ++t) sums[t] = vec4(bias[block]);
  uint group_first = (p.out_first + block * 4) / p.group_outputs * p.depth;
  if (kPoint) {
    ivec4 first;
    [[unroll]] for (int t = 0; t < 4; ++t) {
      first[t] = int(min(pixel + t, p.pixels - 1) * p.in_channels + group_first);
    }
    AddTap(first, block, blocks);
  } else {
    for (uint ky = 0; ky < p.kernel_height; ++ky) {
      for (uint kx = 0; kx < p.kernel_width; ++kx) {
        ivec4 first;
        [[unroll]] for (int t = 0; t < 4; ++t) {
          uint at = min(pixel + t, p.pixels - 1);
          int out_x = int(at % p.out_width);
          int out_y = int(at / p.out_width % p.out_height);
          uint image = at / p.out_width / p.out_height;
          int in_y = Source(out_y, int(ky), p.stride_y, p.dilation_y, p.pad_top, p.in_height);
          int in_x = Source(out_x, int(kx), p.stride_x, p.dilation_x, p.pad_left, p.in_width);
          first[t] = in_y < 0 || in_x < 0
                         ? -1
                         : int(((image * p.in_height + in_y) * p.in_width + in_x) * p.in_channels + group_first);
        }
        AddTap(first, (ky * p.kernel_width + kx) * p.depth * blocks + block, blocks);
      }
    }
  }
  for (uint t = 0; t < kTile && pixel + t < p.pixels; ++t) {
    vec4 result = Clamped(sums[t], p.low, p.high);
    uint to = (pixel + t) * p.out_step + p.out_first + block * 4;
    if (kVectorOut) {
      y4[to / 4] = T4(result);
    } else {
      for (uint c = 0; c < 4 && block * 4 + c < p.out_channels; ++c) y[to + c] = T(result[c]);
    }
  }
}
