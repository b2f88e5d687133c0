/// Lists of ONNX nodes, those of a graph and those of a function body: their names, their order, and the
/// attributes that a call binds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/onnx/proto.h"

namespace skiff {

using OnnxNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// The function's nodes with every attribute reference replaced by the call's attribute, or the function's
/// default; a reference to an attribute that neither gives vanishes, so that the operator's own default
/// holds.
OnnxNodes BindFunctionAttributes(const onnx::FunctionProto& function, const onnx::NodeProto& call);

/// The node's own name, else its operator and index, behind the names of the calls around it.
std::string NodeLabel(const onnx::NodeProto& node, int index, const std::string& prefix);

/// Indices so that producers come first, else in the file's order. `defined` tells the tensors that exist
/// beforehand. Throws Error (kInvalidModel) for tensors that are undefined, made twice, or part of a cycle.
std::vector<int> OrderNodes(const OnnxNodes& nodes, const std::function<bool(const std::string&)>& defined,
                            const std::string& prefix);

}  // namespace skiff
