/// Folding y * a + b, with one number per output channel, into the operator that makes y.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Conv2d, ConvTranspose2d and FullyConnected: output channels are axis 0 of the weights and the last axis of
/// the result.
bool IsLinear(OpCode op);

/// Factors and addends per output channel.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> addend;
};

/// Whether the number, rounded to a floating-point type, is neither an infinity nor NaN; whether it has all
/// its digits there, too.
bool IsFiniteIn(DType dtype, double number);
bool IsNormalIn(DType dtype, double number);

/// Whether weights may be multiplied by these: an infinity times a weight of 0 is no number.
bool AreFiniteIn(DType dtype, const std::vector<double>& factors);

/// Why not, where no budget is left.
inline constexpr const char* kTooMuchWork = "too much would be multiplied ahead of time";

/// Why the result of `linear` cannot be rescaled, or "" when it can: constant weights, which may be integers
/// behind a Dequantize where x are none, and bias, one use, no activation.
std::string WhyNotRescalable(const Graph& graph, NodeId linear);

/// Multiplies the weights, of integers their scales, and sets the bias; everything is computed in double and
/// rounded once. Why not, and nothing happens, where no budget is left for that, or the type cannot hold the
/// products, or no scale can be such; else "".
std::string Rescale(Graph& graph, NodeId linear, const ChannelAffine& affine);

/// The elements of a constant that is one number, or one per channel along the last axis; else nothing,
/// as where no budget is left to look at them.
std::optional<std::vector<double>> PerChannel(Graph& graph, ValueId constant, int64_t channels);

}  // namespace skiff
