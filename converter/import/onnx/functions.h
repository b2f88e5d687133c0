/// Lists of ONNX nodes, those of a graph and those of a function body: their names, their order, and the
/// attributes that a call binds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "import/onnx/proto.h"

namespace skiff {

using OnnxNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// The bytes of a node with its sub-graphs, of their constants ImportedBytes() the tensors.
size_t ImportedBytes(const onnx::NodeProto& node);

/// The nodes of a function, which outlives this, for its calls. What they share is read once.
class FunctionNodes {
 public:
  /// Throws Error (kInvalidModel) where a default attribute is damaged.
  explicit FunctionNodes(const onnx::FunctionProto& function);

  /// About so many bytes has what BoundTo() makes.
  size_t BytesFor(const onnx::NodeProto& call) const;
  /// With every attribute reference replaced by the call's attribute, or the function's default; a reference
  /// to an attribute that neither gives vanishes, so that the operator's own default holds.
  OnnxNodes BoundTo(const onnx::NodeProto& call) const;

 private:
  const onnx::FunctionProto& function_;
  std::map<std::string, onnx::AttributeProto> defaults_;
  std::map<std::string, size_t> references_;  ///< How many there are to each attribute.
  size_t bytes_ = 0;                          ///< ImportedBytes() the nodes.
};

/// Which of the functions of one domain and name this is; "" where it does not say.
std::string OverloadOf(const onnx::FunctionProto& function);
/// Which of them the node calls.
std::string OverloadOf(const onnx::NodeProto& call);

/// The node's own name, else its operator and index, behind the names of the calls around it.
std::string NodeLabel(const onnx::NodeProto& node, int index, const std::string& prefix);

/// Indices so that producers come first, else in the file's order. `defined` tells the tensors that exist
/// beforehand. Throws Error (kInvalidModel) for tensors that are undefined, made twice, or part of a cycle.
std::vector<int> OrderNodes(const OnnxNodes& nodes, const std::function<bool(const std::string&)>& defined,
                            const std::string& prefix);

}  // namespace skiff
