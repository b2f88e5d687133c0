/// The passes. Each is one function over a Graph, in a file named after it; pipeline.cpp holds their order.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Fills in dtype and dims of every value that has none yet, with the shape rules of ops.def, and folds what
/// a shape rule needs to know (constants behind shape inputs). Throws Error (kInvalidModel) naming the node
/// and its source.
void InferShapes(Graph& graph);
/// The same for one node whose inputs are typed.
void InferNode(Graph& graph, NodeId node);

void SinkConstants(Graph& graph);  ///< What is the same in every run of a body moves into the body.
void FoldConstants(Graph& graph);  ///< Evaluates nodes whose inputs are constant, and Shape of static shapes.
void Canonicalize(
    Graph& graph);  ///< Identities vanish, reshapes and transposes merge, one spelling for each thing.
void RecognizeComposites(
    Graph& graph);          ///< HardSwish, Silu, Gelu, LayerNorm, ChannelShuffle out of their parts.
void ToNhwc(Graph& graph);  ///< Pushes transposes through the graph until they meet and cancel.
void SpellTransposesAsReshapes(
    Graph& graph);  ///< Transposes that only move extents of 1; after ToNhwc, which looks for transposes.
void ShuffleStridedSlices(
    Graph& graph);  ///< Slices of every n-th channel: one ChannelShuffle and contiguous slices.
/// BatchNorm into the convolution before it, else into Mul and Add, between integers into a depthwise Conv2d.
void FoldBatchNorm(Graph& graph);
void FuseLinear(Graph& graph);  ///< MatMul by a constant becomes FullyConnected; Mul/Add constants fold into
                                ///< weights and bias, and so do convolutions of one picture whose
                                ///< results are added.
void FusePad(Graph& graph);     ///< Zero padding into the window operator behind it.
void FuseActivation(Graph& graph);  ///< Clamp into the operator before it.
void UnfoldWords(Graph& graph);     ///< Quantised integers of 16 bits: floats between roundings.
void SimplifyQdq(Graph& graph);     ///< Values are quantised where they are rounded, and nowhere else.
void ShapeQuantizedWeights(
    Graph& graph);           ///< Dequantised constants take the form that operators want of their weights.
void FoldQdq(Graph& graph);  ///< Dequantize, operator, Quantize becomes an operator over integers.
void SignedCodes(Graph& graph);    ///< Quantised u8 becomes i8, where all of the net's weights can.
void ComposeTables(Graph& graph);  ///< Operators from the codes of one tensor to codes become one Lookup.
void EliminateCommonSubexpressions(Graph& graph);
void EliminateDeadCode(Graph& graph);  ///< Nodes that no output needs.
void OrderAttention(Graph& graph);     ///< Scores run right before what they weigh, first among operands.

/// One row of the pipeline.
struct Pass {
  const char* name;     ///< As in --disable-pass and --dump-after.
  const char* purpose;  ///< One line for --list-passes and docs.
  void (*run)(Graph& graph);
  bool required = false;  ///< Cannot be disabled: later steps rely on it.
};

/// The order in which passes run. A pass may appear more than once.
const std::vector<Pass>& Pipeline();

struct PipelineOptions {
  std::set<std::string> disabled;    ///< Throws Error (kInvalidArgument) for an unknown or required pass.
  std::set<std::string> dump_after;  ///< Passes whose result goes to `dump`; "all" for each.
  std::function<void(const std::string& text)> dump;  ///< Takes the text form.
  std::string until;    ///< Stops before the first pass of this name; "": runs all.
  bool verify = false;  ///< Runs Verify after every pass (always on in debug builds).
  std::vector<std::pair<std::string, double>>* timings_ms = nullptr;
};

/// Runs the pipeline over a graph, then over the bodies of its nodes.
void RunPipeline(Graph& graph, const PipelineOptions& options = {});

}  // namespace skiff
