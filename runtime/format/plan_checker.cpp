#include "format/plan_checker.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "format/container.h"
#include "ops/op.h"
#include "plan/placement.h"

namespace skiff {
namespace {

/// Known i32 values that a shape rule may ask for, widened into a buffer; i64 values are read where they lie.
constexpr int64_t kMaxWidenedValues = 4 * kMaxRank;

class Checker {
 public:
  Checker(const PlanData& plan, char* message, size_t message_bytes)
      : plan_(plan), message_(message), message_bytes_(message_bytes) {}

  Status Check() {
    SKIFF_RETURN_IF_ERROR(CheckPlacements());
    SKIFF_RETURN_IF_ERROR(CheckDefinitions());
    SKIFF_RETURN_IF_ERROR(AllocateInfer());
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      SKIFF_RETURN_IF_ERROR(CheckTypes(i));
      SKIFF_RETURN_IF_ERROR(CheckOverlaps(i));
      SKIFF_RETURN_IF_ERROR(CheckInputsStay(i));
    }
    return OkStatus();
  }

 private:
  Status Invalid(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message_, message_bytes_, format, arguments);
    va_end(arguments);
    return Status(StatusCode::kInvalidModel);
  }

  const TensorView& view(int32_t index) const { return plan_.tensors[static_cast<size_t>(index)].view; }

  /// Fills begins_: where each activation begins in the arena.
  Status CheckPlacements() {
    SKIFF_RETURN_IF_ERROR(begins_.Allocate(plan_.tensors.size()));
    uint64_t used = 0;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const PlanTensor& tensor = plan_.tensors[i];
      const TensorPlacement& placement = plan_.placements[i];
      if (tensor.constant) continue;
      const auto span = static_cast<uint64_t>(SpanBytes(tensor.view));
      uint64_t room = plan_.arena_bytes;
      uint64_t base = 0;
      if (placement.view_of == TensorPlacement::kRoot) {
        if (placement.offset % format::kAlignment != 0 || !tensor.view.dense())
          return Invalid("tensor %zu is misaligned", i);
      } else {
        const auto root = static_cast<size_t>(placement.view_of);
        if (placement.view_of < 0 || root >= plan_.tensors.size() || plan_.tensors[root].constant ||
            plan_.placements[root].view_of != TensorPlacement::kRoot) {
          return Invalid("tensor %zu is a view of tensor %d, which cannot be viewed", i, placement.view_of);
        }
        if (placement.offset % static_cast<uint64_t>(DTypeSize(tensor.view.dtype)) != 0)
          return Invalid("tensor %zu is misaligned", i);
        room = static_cast<uint64_t>(plan_.tensors[root].view.bytes());
        base = plan_.placements[root].offset;
      }
      if (placement.offset > room || span > room - placement.offset)
        return Invalid("tensor %zu lies outside of its memory", i);
      begins_[i] = base + placement.offset;
      const uint64_t end = begins_[i] + span;
      used = used > end ? used : end;
    }
    // A tiny file must not ask for a huge arena.
    return plan_.arena_bytes <= format::AlignUp(used) ? OkStatus()
                                                      : Invalid("the arena is larger than its tensors");
  }

  /// Each tensor is written once, before it is read.
  Status CheckDefinitions() {
    FixedArray<bool> defined;
    SKIFF_RETURN_IF_ERROR(defined.Allocate(plan_.tensors.size()));
    const auto define = [&](int32_t index) {
      const auto i = static_cast<size_t>(index);
      if (plan_.tensors[i].constant || defined[i]) return false;
      return defined[i] = true;
    };
    for (int32_t input : plan_.inputs) {
      if (!define(input)) return Invalid("tensor %d is an input twice, or a constant", input);
    }
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      for (int32_t input : plan_.nodes[i].inputs) {
        if (input >= 0 && !plan_.tensors[static_cast<size_t>(input)].constant &&
            !defined[static_cast<size_t>(input)]) {
          return Invalid("node %zu reads tensor %d before it is written", i, input);
        }
      }
      for (int32_t output : plan_.nodes[i].outputs) {
        if (!define(output)) return Invalid("node %zu writes tensor %d, which is not its own", i, output);
      }
    }
    for (int32_t output : plan_.outputs) {
      if (!plan_.tensors[static_cast<size_t>(output)].constant && !defined[static_cast<size_t>(output)]) {
        return Invalid("output tensor %d is never written", output);
      }
    }
    return OkStatus();
  }

  Status AllocateInfer() {
    size_t inputs = 0;
    size_t outputs = 0;
    for (const PlanNode& node : plan_.nodes) {
      inputs = inputs > node.inputs.size() ? inputs : node.inputs.size();
      outputs = outputs > node.outputs.size() ? outputs : node.outputs.size();
    }
    SKIFF_RETURN_IF_ERROR(infer_inputs_.Allocate(inputs));
    SKIFF_RETURN_IF_ERROR(infer_outputs_.Allocate(outputs));
    return values_.Allocate(inputs * kMaxWidenedValues);
  }

  void Describe(int32_t index, size_t slot) {
    const PlanTensor& tensor = plan_.tensors[static_cast<size_t>(index)];
    InferInput<int64_t>& input = infer_inputs_[slot];
    input.present = true;
    input.dtype = tensor.view.dtype;
    input.rank = tensor.view.shape.rank();
    for (int i = 0; i < input.rank; ++i) input.extents[i] = tensor.view.shape[i];
    if (!tensor.constant) return;
    input.constant = tensor.view.data;
    const int64_t count = tensor.view.shape.elements();
    if (tensor.view.dtype == DType::kI64) {
      input.values = tensor.view.as<const int64_t>();
      input.value_count = count;
    } else if (tensor.view.dtype == DType::kI32 && count <= kMaxWidenedValues) {
      int64_t* values = values_.data() + slot * kMaxWidenedValues;
      for (int64_t i = 0; i < count; ++i) values[i] = tensor.view.as<const int32_t>()[i];
      input.values = values;
      input.value_count = count;
    }
  }

  Status CheckTypes(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      infer_inputs_[i] = {};
      if (node.inputs[i] < 0) continue;
      if (node.op->NeedsValues(i) && !plan_.tensors[static_cast<size_t>(node.inputs[i])].constant) {
        return Invalid("input %zu of node %zu (%s) decides a shape and is no constant", i, index,
                       node.op->name);
      }
      Describe(node.inputs[i], i);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) infer_outputs_[i] = {};
    char reason[InferContext<int64_t>::kMessageBytes] = "";
    InferContext<int64_t> context{node.op->code,
                                  node.attrs,
                                  {infer_inputs_.data(), node.inputs.size()},
                                  {infer_outputs_.data(), node.outputs.size()},
                                  reason};
    if (!node.op->infer(context).ok()) return Invalid("node %zu (%s): %s", index, node.op->name, reason);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const InferOutput<int64_t>& inferred = infer_outputs_[i];
      const TensorView& stored = view(node.outputs[i]);
      if (stored.dtype != inferred.dtype || !(stored.shape == Shape(inferred.extents, inferred.rank))) {
        return Invalid("node %zu (%s): output %zu is stored as %s %s, the operator makes %s %s", index,
                       node.op->name, i, DTypeName(stored.dtype), ShapeText(stored.shape).c_str(),
                       DTypeName(inferred.dtype), ShapeText(Shape(inferred.extents, inferred.rank)).c_str());
      }
    }
    return OkStatus();
  }

  /// Rows of two channel views into one wider tensor cover the same span and no common byte.
  bool Interleaved(int32_t a, int32_t b) const {
    const TensorView left = Located(a);
    const TensorView right = Located(b);
    if (left.row_stride != right.row_stride || DTypeSize(left.dtype) != DTypeSize(right.dtype) ||
        left.dense() || right.dense()) {
      return false;
    }
    const int64_t size = DTypeSize(left.dtype);
    const int64_t stride = left.row_stride * size;
    const int64_t distance = static_cast<int64_t>(begins_[static_cast<size_t>(a)]) -
                             static_cast<int64_t>(begins_[static_cast<size_t>(b)]);
    const int64_t phase = ((distance % stride) + stride) % stride;  // a's rows begin so far behind b's.
    return phase >= right.shape.last() * size && phase + left.shape.last() * size <= stride;
  }

  bool Overlap(int32_t a, int32_t b) const {
    if (plan_.tensors[static_cast<size_t>(a)].constant || plan_.tensors[static_cast<size_t>(b)].constant)
      return false;
    const uint64_t a_begin = begins_[static_cast<size_t>(a)];
    const uint64_t b_begin = begins_[static_cast<size_t>(b)];
    return a_begin < b_begin + static_cast<uint64_t>(SpanBytes(view(b))) &&
           b_begin < a_begin + static_cast<uint64_t>(SpanBytes(view(a))) && !Interleaved(a, b);
  }

  /// The tensors' views with addresses relative to the arena's beginning, so that places can be compared.
  TensorView Located(int32_t index) const {
    TensorView located = view(index);
    located.data = reinterpret_cast<void*>(begins_[static_cast<size_t>(index)]);
    return located;
  }

  Status CheckOverlaps(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      for (size_t other = 0; other < o; ++other) {
        if (Overlap(node.outputs[o], node.outputs[other])) {
          return Invalid("node %zu (%s) writes two outputs to the same memory", index, node.op->name);
        }
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0 || !Overlap(node.outputs[o], node.inputs[i])) continue;
        if (!MayOverlap(node, i, o)) {
          return Invalid("node %zu (%s) would overwrite its input %zu while reading it", index, node.op->name,
                         i);
        }
      }
    }
    return OkStatus();
  }

  /// A graph input may live in the caller's memory and keeps its value between runs: nobody writes it. An
  /// output that is a view of it may only name elements that are already there.
  Status CheckInputsStay(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const int32_t root = plan_.placements[static_cast<size_t>(node.outputs[o])].view_of;
      for (const int32_t input : plan_.inputs) {
        const bool writes = Overlap(node.outputs[o], input) || root == input;
        const bool names_it = !node.op->Is(kUnary) && !node.op->Is(kBinary) &&
                              node.op->code != OpCode::kConcat && MayOverlap(node, 0, o);
        if (writes && !names_it)
          return Invalid("node %zu (%s) would overwrite graph input tensor %d", index, node.op->name, input);
      }
    }
    return OkStatus();
  }

  bool MayOverlap(const PlanNode& node, size_t i, size_t o) const {
    const TensorView input = Located(node.inputs[i]);
    const TensorView output = Located(node.outputs[o]);
    const bool same_place =
        input.data == output.data && input.dense() && output.dense() && input.bytes() == output.bytes();
    if (node.op->Is(kUnary) || node.op->Is(kBinary)) return same_place && input.dtype == output.dtype;
    if (node.op->Is(kReinterpret)) return same_place;
    Placement place;
    if (node.op->code == OpCode::kConcat) {
      return PlaceInConcat(plan_.tensors, node, i, &place) && IsInPlace(output, input, place);
    }
    return PlaceInInput(plan_.tensors, node, o, &place) && i == 0 && IsInPlace(input, output, place);
  }

  const PlanData& plan_;
  char* message_;
  size_t message_bytes_;
  FixedArray<uint64_t> begins_;
  FixedArray<InferInput<int64_t>> infer_inputs_;
  FixedArray<InferOutput<int64_t>> infer_outputs_;
  FixedArray<int64_t> values_;
};

}  // namespace

Status CheckPlan(const PlanData& plan, char* message, size_t message_bytes) {
  return Checker(plan, message, message_bytes).Check();
}

}  // namespace skiff
