/// Which nodes of a float graph are quantised, and into what.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace skiff {

enum class Format {
  kFloat,
  kI8,        ///< Values i8 with a zero point, weights i8 with a scale for each channel.
  k16x8,      ///< Values i16, weights i8.
  kWeights8,  ///< Weights alone: i8 with a scale for each channel,
  kWeights4,  ///< i4 with one for each run of neighbours,
  kF16,       ///< or rounded to f16.
  kDynamic,   ///< What products read becomes i8 at run time, by its own range; weights as kWeights8.
  kDynamic4,  ///< The same of each run of neighbours, which meets one of weights as kWeights4.
};

/// Neighbours that share a scale of four bits.
inline constexpr int64_t kFourBitBlock = 32;
/// Formats of weights that have four bits.
inline bool HasFourBits(Format format) { return format == Format::kWeights4 || format == Format::kDynamic4; }

/// As options, reports and files have it: "f32", "i8", "16x8", "weights8", "weights4", "f16",
/// "dynamic", "dynamic4".
const char* FormatName(Format format);
std::optional<Format> FormatFromName(std::string_view name);

inline bool RoundsValues(Format format) { return format == Format::kI8 || format == Format::k16x8; }

/// A node that can be quantised.
struct Layer {
  NodeId node = kNoNode;
  std::string name;
  Format format = Format::kFloat;  ///< What it can be.
};

/// By node; those that are not there stay float.
using FormatPlan = std::map<NodeId, Format>;

/// Nodes that can be quantised so, in the order in which they run. For formats of values: products with
/// constant weights, and what delegates compute on codes between them. For formats of weights: all that have
/// constants worth it. For kDynamic and kDynamic4 these, too: products as such, others as kWeights8
/// and kWeights4.
std::vector<Layer> FindLayers(const Graph& graph, Format format);

/// Operators between products are computed on codes where some of their inputs are such, and are wanted
/// behind; elsewhere they stay float. Takes those out of the plan.
void SettlePlan(const Graph& graph, FormatPlan& plan);

/// Inputs that are rounded: floats that are no constants.
std::vector<ValueId> RoundedInputs(const Graph& graph, const Node& node);

/// Inputs that share codes with the result, because the node moves elements, or its kernels want the same
/// scale.
std::vector<ValueId> SharedInputs(const Graph& graph, const Node& node);

/// Whether the node computes any of the values.
bool MakesAny(const Node& node, const std::set<ValueId>& values);

/// Nodes whose results a logarithm reads, directly or through others: a spectrum, for example. It tells small
/// numbers apart that codes of eight bits do not have, not even those of weights. Not what is before an
/// exponential function, which the logarithm takes back.
std::set<NodeId> NodesBeforeLogarithms(const Graph& graph);

/// Values that nodes of the plan read as codes, also through nodes that move elements.
std::set<ValueId> ReadAsCodes(const Graph& graph, const FormatPlan& plan);

/// Constant f32 inputs of the node that are stored as codes in formats of weights.
std::vector<size_t> LargeConstants(const Graph& graph, const Node& node);

/// No code stands for NaN and infinities.
bool HasFiniteConstants(const Graph& graph, const Node& node);

}  // namespace skiff
