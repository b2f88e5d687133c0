/// Operators that are other operators of ONNX with something before or behind.
#pragma once

#include <string_view>
#include <vector>

#include "import/onnx/builder.h"

namespace skiff {

using OnnxAttributes = std::vector<onnx::AttributeProto>;

onnx::AttributeProto OnnxAttribute(const char* name, float value);
onnx::AttributeProto OnnxAttribute(const char* name, int64_t value);
/// Those of the node, and of `defaults` what it does not have.
OnnxAttributes NodeAttributes(const OnnxBuilder& b, const OnnxAttributes& defaults = {});

/// What the row of an operator of ai.onnx makes of these inputs: its output 0, as a helper value, or as the
/// node's own outputs where `suffix` is null.
ValueId EmitOnnx(OnnxBuilder& b, const char* suffix, std::string_view op, int64_t opset,
                 std::vector<ValueId> inputs, const OnnxAttributes& attributes = {});
/// All outputs that have a name, as helper values.
std::vector<ValueId> EmitAllOnnx(OnnxBuilder& b, const std::vector<std::string>& suffixes,
                                 std::string_view op, int64_t opset, std::vector<ValueId> inputs,
                                 const OnnxAttributes& attributes);
/// With the node's attributes, of quantised inputs, with products and sums in i32 of scale 1.
ValueId EmitOnnxOfIntegers(OnnxBuilder& b, const char* suffix, std::string_view op, int64_t opset,
                           std::vector<ValueId> inputs);

/// What `build` makes of the node where its input 0 is of another dtype; output 0 has the input's again.
void BuildAs(OnnxBuilder& b, DType dtype, void (*build)(OnnxBuilder&));

/// A row whose steps overflow f16 where its result does not, and are none of integers': such inputs are
/// widened, and results rounded towards zero to integers again.
template <void (*kBuild)(OnnxBuilder&)>
void BuildInSingle(OnnxBuilder& b) {
  const DType dtype = b.DTypeOf(b.Input(0));
  if (dtype == DType::kF16 || dtype == DType::kI32 || dtype == DType::kI64)
    return BuildAs(b, DType::kF32, kBuild);
  kBuild(b);
}

}  // namespace skiff
