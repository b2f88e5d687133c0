#include "graph/op_steps.h"

#include <algorithm>

#include "core/extents.h"
#include "ops/op_codes.h"
#include "plan/work.h"

namespace skiff {
namespace {

uint64_t ElementsOf(const TensorView& view) { return static_cast<uint64_t>(view.shape.elements()); }

/// Beside the operators that multiply matrices.
uint64_t LooksOf(OpCode op, const AttrStorage& attrs, const std::vector<const TensorView*>& inputs,
                 const TensorView& output) {
  switch (op) {
    case OpCode::kMaxPool2d:
    case OpCode::kMaxPool2dIndices:
    case OpCode::kAveragePool2d: {
      const Shape& in = inputs[0]->shape;
      const Ints& kernel = attrs.as<Pool2dAttrs>().kernel;
      return SaturatingMultiply(ElementsOf(output), static_cast<uint64_t>(std::min(kernel[0], in[1])) *
                                                        static_cast<uint64_t>(std::min(kernel[1], in[2])));
    }
    case OpCode::kRoiAlign:
    case OpCode::kNonMaxSuppression:
    case OpCode::kTreeEnsemble:
    case OpCode::kDet: {
      uint64_t largest = 0;
      for (const TensorView* input : inputs) {
        if (input != nullptr) largest = std::max(largest, ElementsOf(*input));
      }
      return SaturatingMultiply(std::max(ElementsOf(output), ElementsOf(*inputs[0])), largest);
    }
    default:
      return 0;
  }
}

}  // namespace

uint64_t StepsOf(OpCode op, const AttrStorage& attrs, const std::vector<const TensorView*>& inputs,
                 const std::vector<TensorView>& outputs) {
  std::vector<PlanTensor> tensors;
  std::vector<int32_t> in;
  std::vector<int32_t> out;
  const auto add = [&](const TensorView& view) {
    tensors.emplace_back().view = view;
    return static_cast<int32_t>(tensors.size() - 1);
  };
  for (const TensorView* input : inputs) in.push_back(input == nullptr ? -1 : add(*input));
  for (const TensorView& output : outputs) out.push_back(add(output));
  const PlanNode node{FindOp(op), &attrs, "", {in.data(), in.size()}, {out.data(), out.size()}, {}};
  const Work work = WorkOf(node, {tensors.data(), tensors.size()});
  return SaturatingAdd(SaturatingAdd(work.multiply_adds, work.bytes), LooksOf(op, attrs, inputs, outputs[0]));
}

}  // namespace skiff
