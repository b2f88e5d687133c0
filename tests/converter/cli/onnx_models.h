/// Small ONNX files, right and wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/onnx/proto.h"

namespace skiff::testing {

/// y[1, 3] = x[1, 4] * w[4, 3] by a node named 'product', in opset 13; all f32.
onnx::ModelProto ProductModel();
/// The same with an open first dimension named 'batch'.
onnx::ModelProto OpenProductModel();
/// y = x + x for a picture x[1, 3, 4, 4], a node named 'twice'.
onnx::ModelProto PictureModel();
/// Of any height and width.
onnx::ModelProto OpenPictureModel();
/// z = a - b for i64 inputs a[2] and b[2], a node named 'difference'.
onnx::ModelProto TwoInputModel();

/// The bytes of a model after a change.
std::string Serialized(onnx::ModelProto model, const std::function<void(onnx::ModelProto&)>& change = {});

onnx::NodeProto* AddNode(onnx::ModelProto& model, const std::string& op, const std::string& name,
                         const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace skiff::testing
