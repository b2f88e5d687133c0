#include "plan/placement_checker.h"

#include "core/align.h"
#include "core/extents.h"
#include "ops/build_ops.h"
#include "ops/op.h"
#include "plan/body_ports.h"
#include "plan/built_plan.h"
#include "plan/placement.h"

namespace skiff {
namespace {

/// Buffers of graph inputs beside the arena get addresses that no arena has, so that all places can be
/// compared.
constexpr uint64_t kOutside = uint64_t{1} << 48;

class Checker {
 public:
  Checker(const PlacedTensors& placed, Span<Place> places, PlanMessage& message)
      : placed_(placed), plan_(placed.plan), tensors_(placed.tensors), places_(places), message_(message) {}

  Status Check() {
    SKIFF_RETURN_IF_ERROR(CheckPlaces());
    for (size_t i = plan_.shape_node_count; i < plan_.nodes.size(); ++i) {
      SKIFF_RETURN_IF_ERROR(CheckOverlaps(i));
      SKIFF_RETURN_IF_ERROR(CheckInputsStay(i));
      if (BuildHas(OpCode::kStage)) SKIFF_RETURN_IF_ERROR(CheckLateInputsStay(i));
    }
    return OkStatus();
  }

 private:
  const TensorView& view(int32_t index) const { return tensors_[static_cast<size_t>(index)].view; }
  bool IsElsewhere(int32_t index) const {
    return tensors_[static_cast<size_t>(index)].constant || plan_.IsShapeValue(index) || plan_.IsLate(index);
  }

  /// The tensor that this one is a view of, or itself.
  int32_t RootOf(int32_t index) const {
    const int32_t root = plan_.placements[static_cast<size_t>(index)].view_of;
    return root == TensorPlacement::kRoot ? index : root;
  }

  /// The tensor whose memory holds a root: a variable's input, or itself.
  size_t HomeOf(size_t root) const {
    const int32_t state = plan_.StateOf(static_cast<int32_t>(root));
    return state == TensorPlacement::kRoot || placed_.kept_apart ? root : static_cast<size_t>(state);
  }
  bool IsOutside(size_t root) const {
    const bool state = plan_.StateOf(static_cast<int32_t>(root)) == static_cast<int32_t>(root);
    return (plan_.inputs_outside || state) && placed_.input_of[root] >= 0;
  }

  /// Fills places_ for each activation.
  Status CheckPlaces() {
    uint64_t used = 0;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const TensorPlacement& placement = plan_.placements[i];
      if (IsElsewhere(static_cast<int32_t>(i))) continue;
      const TensorView& tensor = tensors_[i].view;
      const bool is_view = placement.view_of != TensorPlacement::kRoot;
      const size_t root = is_view ? static_cast<size_t>(placement.view_of) : i;
      if (is_view && IsElsewhere(placement.view_of))
        return message_.Invalid("tensor %zu is a view of tensor %d, which cannot be viewed", i,
                                placement.view_of);
      if (tensor.row_stride < tensor.shape.last() || !SpanFits(tensor))
        return message_.Invalid("tensor %zu has a bad stride", i);
      const auto span = static_cast<uint64_t>(SpanBytes(tensor));
      const size_t home = HomeOf(root);
      const bool outside = home != root || IsOutside(root);
      const uint64_t base =
          outside ? kOutside * (1 + static_cast<uint64_t>(placed_.input_of[home])) : placed_.offsets[root];
      const auto home_bytes = static_cast<uint64_t>(tensors_[is_view ? root : home].view.bytes());
      const uint64_t offset = is_view ? placement.offset : (outside ? 0 : base);
      const uint64_t room = is_view || outside ? home_bytes : placed_.arena_bytes;
      const auto alignment = is_view ? static_cast<uint64_t>(DTypeSize(tensor.dtype)) : kAlignment;
      if (offset % alignment != 0 || (!is_view && !tensor.dense()))
        return message_.Invalid("tensor %zu is misaligned", i);
      if (span == 0) {  // Has no place, whatever the plan says of other shapes.
        places_[i] = {};
        continue;
      }
      if (offset > room || span > room - offset)
        return message_.Invalid("tensor %zu lies outside of its memory", i);
      const uint64_t begin = base + (is_view ? placement.offset : 0);
      places_[i] = {begin, begin + span};
      if (!outside) used = begin + span > used ? begin + span : used;
    }
    // A tiny file must not ask for a huge arena.
    const bool exact = plan_.exact() && !placed_.kept_apart;
    return !exact || plan_.arena_bytes <= AlignUp(used)
               ? OkStatus()
               : message_.Invalid("the arena is larger than its tensors");
  }

  static bool SpanFits(const TensorView& tensor) {
    const int64_t rows = tensor.shape.last() > 0 ? tensor.shape.elements() / tensor.shape.last() : 0;
    int64_t elements = 0;
    return !__builtin_mul_overflow(rows, tensor.row_stride, &elements) && elements <= kMaxTensorBytes;
  }

  /// Rows of two channel views into one wider tensor cover the same span and no common byte.
  bool Interleaved(int32_t a, int32_t b) const {
    const TensorView& left = view(a);
    const TensorView& right = view(b);
    if (left.row_stride != right.row_stride || DTypeSize(left.dtype) != DTypeSize(right.dtype) ||
        left.dense() || right.dense()) {
      return false;
    }
    const int64_t size = DTypeSize(left.dtype);
    const int64_t stride = left.row_stride * size;
    const int64_t phase = ((Distance(b, a) % stride) + stride) % stride;  // a's rows begin so far behind b's.
    return phase >= right.shape.last() * size && phase + left.shape.last() * size <= stride;
  }

  bool Overlap(int32_t a, int32_t b) const {
    if (IsElsewhere(a) || IsElsewhere(b)) return false;
    const Place& left = places_[static_cast<size_t>(a)];
    const Place& right = places_[static_cast<size_t>(b)];
    if (left.begin == left.end || right.begin == right.end) return false;
    return left.begin < right.end && right.begin < left.end && !Interleaved(a, b);
  }

  /// Bytes from the first one of tensor `from` to that of tensor `to`.
  int64_t Distance(int32_t from, int32_t to) const {
    return static_cast<int64_t>(places_[static_cast<size_t>(to)].begin) -
           static_cast<int64_t>(places_[static_cast<size_t>(from)].begin);
  }

  Status CheckOverlaps(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      for (size_t other = 0; other < o; ++other) {
        if (Overlap(node.outputs[o], node.outputs[other])) {
          return message_.Invalid("node %zu (%s) writes two outputs to the same memory", index,
                                  node.op->name);
        }
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0 || !Overlap(node.outputs[o], node.inputs[i])) continue;
        if (!MayOverlap(node, i, o)) {
          return message_.Invalid("node %zu (%s) would overwrite its input %zu while reading it", index,
                                  node.op->name, i);
        }
      }
    }
    return OkStatus();
  }

  /// A late result lies in the scratch of the node that made it, where a body of its reader must not write:
  /// it takes its inputs to lie outside.
  Status CheckLateInputsStay(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (const int32_t input : node.inputs) {
      if (input >= 0 && plan_.IsLate(input) && Overlap(RootOf(input), ScratchOf(node)))
        return message_.Invalid("node %zu (%s) would overwrite late tensor %d", index, node.op->name, input);
    }
    return OkStatus();
  }

  /// A graph input may live in the caller's memory and keeps its value between runs: nobody writes it. An
  /// output that is a view of it may only name elements that are already there: of this input, wherever that
  /// lies.
  Status CheckInputsStay(size_t index) {
    const PlanNode& node = plan_.nodes[index];
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const int32_t output = node.outputs[o];
      if (view(output).shape.elements() == 0) continue;
      for (const int32_t input : plan_.inputs) {
        if (!Overlap(output, input) && RootOf(output) != input) continue;
        if (plan_.WritesState(node) && plan_.StateOf(output) == input) continue;
        // Asked of one input only: where an output lies in a Split depends on all before it.
        if (!ReadsFirst(node, input) || node.op->Is(kUnary) || node.op->Is(kBinary) ||
            node.op->code == OpCode::kConcat || !MayOverlap(node, 0, o)) {
          return message_.Invalid("node %zu (%s) would overwrite graph input tensor %d", index, node.op->name,
                                  input);
        }
      }
    }
    return OkStatus();
  }

  /// Whether the node's first input lies in this graph input.
  bool ReadsFirst(const PlanNode& node, int32_t input) const {
    return node.op->min_inputs > 0 &&
           HomeOf(static_cast<size_t>(RootOf(node.inputs[0]))) == static_cast<size_t>(input);
  }

  bool MayOverlap(const PlanNode& node, size_t i, size_t o) const {
    const TensorView& input = view(node.inputs[i]);
    const TensorView& output = view(node.outputs[o]);
    const int64_t behind = Distance(node.inputs[i], node.outputs[o]);
    const bool same_place = behind == 0 && input.dense() && output.dense() && input.bytes() == output.bytes();
    if (node.op->Is(kUnary) && i > 0) return false;  // A table, of which any element may be read next.
    if (node.op->Is(kUnary) || node.op->Is(kBinary)) return same_place && input.dtype == output.dtype;
    if (plan_.WritesState(node)) return i == 0 && same_place && input.dtype == output.dtype;
    if (node.op->Is(kReinterpret)) return same_place;
    Placement place;
    if (BuildHas(OpCode::kConcat) && node.op->code == OpCode::kConcat) {
      return PlaceInConcat(tensors_, node, i, &place) && IsInPlace(output, input, -behind, place);
    }
    return PlaceInInput(tensors_, node, o, &place) && i == 0 && IsInPlace(input, output, behind, place);
  }

  const PlacedTensors& placed_;
  const PlanData& plan_;
  Span<const PlanTensor> tensors_;
  Span<Place> places_;
  PlanMessage& message_;
};

}  // namespace

Status CheckPlacement(const PlacedTensors& placed, Span<Place> places, PlanMessage& message) {
  return Checker(placed, places, message).Check();
}

}  // namespace skiff
