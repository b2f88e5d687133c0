/// Quantize and Dequantize around nodes over floats: how formats and frameworks write quantised nets.
///
/// Passes on floats see such nodes as they see others. Only at the end (fold-qdq) does Dequantize, operator,
/// Quantize become one operator over integers.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace skiff {

/// Nodes that a rule looks at behind one: what is farther away is left as it is.
inline constexpr int kMostVisits = 64;

/// What a quantised value's type has beside its shape.
struct CodeType {
  DType dtype = DType::kInvalid;
  QuantizationPtr quantization;

  bool operator==(const CodeType& other) const {
    return dtype == other.dtype && SameQuantization(quantization, other.quantization);
  }
};
CodeType CodeTypeOf(const Graph& graph, ValueId value);

/// The quantised value behind a Dequantize; kNoValue where there is none.
ValueId DequantizedFrom(const Graph& graph, ValueId value);

/// The same, for who will read the integers instead: they hold what the numbers were known by.
ValueId TakeCodes(Graph& graph, ValueId value);

/// Inputs whose elements reach the output as they are, where the operator makes no others: of those that move
/// elements, and of those that pick the largest or the nearest. Empty for others.
std::vector<size_t> PickedInputs(const Graph& graph, const Node& node);

/// What all users of the node's results quantise them to: every result that is used at all goes to Quantize
/// nodes only, all of one type with one scale. Nothing where that is not so, or where one is an output of the
/// graph.
std::optional<CodeType> QuantizedTo(const Graph& graph, const Node& node);

/// Adds a node whose only result is declared to be quantised so.
ValueId EmitCodes(Graph& graph, OpCode op, ValueId input, const CodeType& type, const std::string& name,
                  NodeId like);

/// Gives the node's results the types and the names of the Quantize nodes behind them, which are removed.
void TakeOverQuantize(Graph& graph, NodeId node, const CodeType& type);

}  // namespace skiff
