#include "plan/work.h"

#include "core/extents.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

uint64_t MultiplyAdds(const PlanNode& node, Span<const PlanTensor> tensors) {
  const Shape& out = tensors[static_cast<size_t>(node.outputs[0])].view.shape;
  const auto input = [&](size_t i) -> const Shape& {
    return tensors[static_cast<size_t>(node.inputs[i])].view.shape;
  };
  int64_t per_output = 0;
  switch (node.op->code) {
    case OpCode::kConv2d:
      per_output = input(1).ElementsBetween(1, 4);
      break;
    case OpCode::kConvTranspose2d:
      return SaturatingMultiply(static_cast<uint64_t>(input(0).elements()),
                                static_cast<uint64_t>(input(1).elements())) /
             static_cast<uint64_t>(input(1)[3] > 0 ? input(1)[3] : 1) /
             static_cast<uint64_t>(node.attrs->as<ConvTranspose2dAttrs>().groups);
    case OpCode::kMatMul:
    case OpCode::kFullyConnected:
      per_output = input(0).last();
      break;
    case OpCode::kLstm:
    case OpCode::kGru:
    case OpCode::kRnn:
      per_output = input(1)[0];
      break;
    default:
      break;
  }
  return SaturatingMultiply(static_cast<uint64_t>(out.elements()), static_cast<uint64_t>(per_output));
}

}  // namespace

Work WorkOf(const PlanNode& node, Span<const PlanTensor> tensors) {
  Work work;
  work.multiply_adds = MultiplyAdds(node, tensors);
  for (const Span<const int32_t>& indices : {node.inputs, node.outputs}) {
    for (int32_t tensor : indices) {
      if (tensor < 0) continue;
      const TensorView& view = tensors[static_cast<size_t>(tensor)].view;
      work.bytes = SaturatingAdd(work.bytes, static_cast<uint64_t>(view.bytes()));
    }
  }
  return work;
}

}  // namespace skiff
