/// If, While and Stage: operators whose work is done by graphs of their own, the bodies of the node
/// (Node::bodies).
///
///   outputs = If(condition, x...)     then(x...) and else(x...), one of which runs
///   outputs = While(v..., x...)       condition(v..., x...) is asked before each run of v... = body(v...,
///   x...)
///   outputs = Stage(x...)             rest(x...), whose shapes follow from elements of x (emit/stages.h)
///
/// The condition is a bool of one element. The loop variables v keep their dtype and rank; their last values
/// are the outputs. An extent that an iteration may change is a Symbol inside the bodies, and the extent of
/// the result (passes/shapes/loop_extents.h). What is no loop variable is the same in every iteration.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/node_types.h"
#include "ops/op_codes.h"
#include "plan/body_ports.h"

namespace skiff {

/// What the text form and messages call the bodies of an operator, in order; empty for one without bodies.
std::span<const char* const> BodyNames(OpCode op);

/// How many of a While's inputs are loop variables; 0 for others.
inline size_t LoopVariables(const Node& node) { return node.op == OpCode::kWhile ? node.outputs.size() : 0; }

/// Throws Error (kInvalidModel) naming the node where its bodies do not have the inputs and outputs that it
/// wants.
void CheckBodies(const Graph& graph, const Node& node);

/// The types of the results of a node whose bodies are typed. Extents in which branches differ
/// become Symbols. Throws Error (kInvalidModel): branches that return different dtypes or ranks, a loop
/// variable that changes its type, a condition that is no bool of one element.
std::vector<ValueType> BodyResults(Graph& graph, const Node& node);

/// Whether the shape of result `i` is that of the branch that was taken, or what iterations made of it: the
/// run alone knows.
bool IsCountedResult(const Graph& graph, const Node& node, size_t i);

/// Whether loop variable `i` of a While with typed bodies may have another shape in each iteration.
bool ChangesShape(const Graph& graph, const Node& node, size_t i);

/// Whether the bodies of the node are shaped in the run: that of a Stage, those of a While with such a
/// variable.
bool IsShapedInRun(const Graph& graph, const Node& node);

/// The sentence for a loop variable that comes back from an iteration with another type; types as in
/// "f32[1]".
[[noreturn]] void ThrowLoopVariableChanges(const std::string& node, size_t variable, const std::string& name,
                                           const std::string& before, const std::string& after);

/// Whether the node, or one in its bodies, has an effect: then it is never dropped, folded or merged.
bool HasEffect(const Node& node);

}  // namespace skiff
