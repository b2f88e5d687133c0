/// Types of a node's results by the shape rules of ops.def, over extents that may be expressions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace skiff {

struct ValueType {
  DType dtype = DType::kInvalid;
  std::vector<Dim> dims;
  QuantizationPtr quantization;
  /// See Value::elements.
  std::shared_ptr<const std::vector<Dim>> elements;
};

/// Whether input `i` may be absent. Resize2d is the only operator with an optional input before a required
/// one.
bool IsOptionalInput(const OpDef& op, size_t i);

/// Whether a tensor of these extents, each as small as it may be, has more than kMaxTensorBytes even without
/// its zeros.
bool IsTooLarge(DType dtype, const std::vector<Dim>& dims);

/// Whether every present input has a type, and the elements of every shape input are known.
bool CanInfer(const Graph& graph, const Node& node);

/// One type per result; those of a node with bodies follow from the types that its bodies have already. What
/// a rule cannot express becomes a fresh Symbol of the graph. Throws Error (kInvalidModel) naming the node
/// and its source: where the shape rule refuses, or where an input has no type.
std::vector<ValueType> InferTypes(Graph& graph, const Node& node);

/// Why a shape rule refuses. At any size: no number that is open could change that.
struct Refusal {
  std::string reason;
  bool at_any_size = false;
};

/// InferTypes of a node without bodies; nothing where the shape rule refuses.
std::optional<std::vector<ValueType>> TryInferTypes(Graph& graph, const Node& node, Refusal* refusal);

/// What is wrong with the quantisation of a value whose shape is known; null: nothing.
const char* DefectOfQuantization(const Value& value);

/// Throws Error (kInvalidModel), which begins with `speaker`, where an operator's result is of a dtype that
/// cannot be declared to be quantised: truths, indices.
void CheckStandsForReal(DType rule, const std::string& speaker, size_t output);

/// The elements of a small integer value: of a constant, or as inference left them; null when unknown.
std::shared_ptr<const std::vector<Dim>> KnownElements(const Graph& graph, ValueId value);

/// The result of a Shape node whose input's extents are constants.
TensorData StaticShape(const Graph& graph, const Node& node);

/// "node 'a' (Conv2d), which comes from Conv 'b'", for messages.
std::string DescribeNode(const Graph& graph, const Node& node);

/// "[batch, 3, floor((h-1)/2)+1]".
std::string DimsText(const Graph& graph, const std::vector<Dim>& dims);

}  // namespace skiff
