/// Runs a graph eagerly: operator by operator with the reference kernels. It is the oracle of every parity
/// check and what folds constants.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Infers the output types of one operator call with the shape rule of ops.def. `inputs[i]` is null for an
/// absent input. Throws Error naming the node: kInvalidModel where the rule refuses.
std::vector<TensorView> InferOutputs(OpCode op, const AttrStorage& attrs,
                                     const std::vector<const TensorData*>& inputs, size_t output_count,
                                     const std::string& node_name);

/// What a quantised result was declared to be; without a quantisation it is what the rules say.
struct DeclaredType {
  DType dtype = DType::kInvalid;
  QuantizationPtr quantization;
};

/// Computes one operator. `declared`: none, or one for each output. Throws Error naming the node, or the
/// operator where the name is empty.
std::vector<TensorData> EvaluateOp(OpCode op, const AttrStorage& attrs,
                                   const std::vector<const TensorData*>& inputs, size_t output_count,
                                   const std::string& node_name,
                                   const std::vector<DeclaredType>& declared = {});

/// Computes one node of the graph, whose bodies, where it has some, fit it (CheckBodies). Throws Error naming
/// the node.
std::vector<TensorData> EvaluateNode(const Graph& graph, const Node& node,
                                     const std::vector<const TensorData*>& inputs);

struct EvaluateOptions {
  /// Called for every computed value but those in bodies, in order, right after its node ran.
  std::function<void(ValueId, const TensorData&)> observe;
  /// Called for every node without bodies, also for those in bodies, right after it ran: may change what it
  /// computed.
  std::function<void(const Node& node, const std::vector<const TensorData*>& inputs,
                     std::vector<TensorData>& results)>
      adjust;
};

/// Runs the whole graph. `inputs` are by the names of graph.inputs(); shapes must match constants and be
/// consistent over Symbols; variables that are not among them have their first values. Returns the outputs by
/// name, and what the variables are behind the run. Throws Error.
std::map<std::string, TensorData> Evaluate(const Graph& graph,
                                           const std::map<std::string, TensorData>& inputs,
                                           const EvaluateOptions& options = {});

}  // namespace skiff
