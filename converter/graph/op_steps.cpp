#include "graph/op_steps.h"

#include <algorithm>
#include <bit>

#include "core/extents.h"
#include "ops/op_codes.h"
#include "plan/work.h"

namespace skiff {
namespace {

uint64_t ElementsOf(const TensorView& view) { return static_cast<uint64_t>(view.shape.elements()); }

/// Exponentials and the like, beside the bytes moved.
constexpr uint64_t kStepsOfFunction = 32;

/// To compare, and to move what is compared.
uint64_t SortSteps(uint64_t elements) {
  constexpr uint64_t kStepsOfComparison = 8;
  return SaturatingMultiply(elements, kStepsOfComparison * static_cast<uint64_t>(std::bit_width(elements)));
}

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
    case OpCode::kTopK:
    case OpCode::kUnique:
      return SortSteps(ElementsOf(*inputs[0]));
    case OpCode::kRoiAlign: {
      const Shape& in = inputs[0]->shape;
      const int64_t stated = attrs.as<RoiAlignAttrs>().sampling_ratio;
      const auto per_axis = static_cast<uint64_t>(stated > 0 ? stated : std::max(in[1], in[2]));
      return SaturatingMultiply(ElementsOf(output), SaturatingMultiply(4 * per_axis, per_axis));
    }
    case OpCode::kResize2d: {
      if (!attrs.as<ResizeAttrs>().antialias) return 0;
      // A stretched kernel reaches as far as four times the input.
      constexpr uint64_t kMostTaps = 8 * 8;
      const Shape& in = inputs[0]->shape;
      return SaturatingMultiply(SaturatingMultiply(ElementsOf(output), kMostTaps),
                                static_cast<uint64_t>(in[1]) * static_cast<uint64_t>(in[2]));
    }
    case OpCode::kTreeEnsemble: {
      constexpr uint64_t kTargetsAtOnce = 128;  // Of the kernel.
      const auto elements = [&](size_t i) { return inputs[i] == nullptr ? 0 : ElementsOf(*inputs[i]); };
      const auto targets = static_cast<uint64_t>(attrs.as<TreeEnsembleAttrs>().targets);
      const uint64_t walks = SaturatingMultiply(static_cast<uint64_t>(inputs[0]->shape[0]), elements(3));
      return SaturatingMultiply(SaturatingMultiply(walks, targets / kTargetsAtOnce + 1),
                                elements(2) + elements(5));
    }
    case OpCode::kNonMaxSuppression:
    case OpCode::kDet: {
      uint64_t largest = 0;
      for (const TensorView* input : inputs) {
        if (input != nullptr) largest = std::max(largest, ElementsOf(*input));
      }
      return SaturatingMultiply(std::max(ElementsOf(output), ElementsOf(*inputs[0])), largest);
    }
    case OpCode::kPow:
    case OpCode::kSoftmax:
      return SaturatingMultiply(ElementsOf(output), kStepsOfFunction);
    default:
      return FindOp(op)->Is(kUnary) ? SaturatingMultiply(ElementsOf(output), kStepsOfFunction) : 0;
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

uint64_t StepsOf(OpCode op, const AttrStorage& attrs, const std::vector<const TensorData*>& inputs,
                 const std::vector<TensorView>& outputs) {
  std::vector<TensorView> views(inputs.size());
  std::vector<const TensorView*> present(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    views[i] = inputs[i]->view();
    present[i] = &views[i];
  }
  return StepsOf(op, attrs, present, outputs);
}

}  // namespace skiff
