/// How a lowering tells what the GPU is to do for a node: a pure function from the node at its extents to
/// dispatches. Lowerings run at every new shape; nothing that they choose constants by may change inside a
/// bucket, or the pipelines of all choices are asked for (Needs).
#pragma once

#include <cstring>
#include <initializer_list>

#include "delegates/vulkan/pipelines/tuning.h"
#include "delegates/vulkan/program/program.h"
#include "delegates/vulkan/program/weights.h"
#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff::vulkan {

/// Unsupported at these extents, quietly: the reference kernel takes over.
inline Status Refuse() { return Status(StatusCode::kUnsupported); }

/// Rounds of all loops of an invocation in one dispatch. A driver takes a device for dead that is busy for
/// long, and lavapipe ends the loops after 65,535 (LP_MAX_TGSI_LOOP_ITERATIONS in its sources), of which one
/// is the way out of a loop. What is left is for short loops that nobody counts.
inline constexpr int64_t kMostRounds = 50'000;

class Emitter {
 public:
  Emitter(const SegmentView& segment, const Device& device, const VulkanOptions& options,
          const Tuning& tuning, Weights& weights, Program& program)
      : segment_(segment),
        device_(device),
        options_(options),
        limits_(device.LimitsFor(options)),
        tuning_(tuning),
        weights_(weights),
        program_(program),
        precision_(options.precision) {}

  /// What follows is about this node.
  void Begin(uint32_t node) {
    index_ = node;
    node_ = &segment_.nodes[node];
    precision_ = options_.precision;
    for (StandIn& stand_in : stand_ins_) stand_in = {};
    output_stand_in_ = {};
  }

  OpCode op() const { return node_->op->code; }
  size_t inputs() const { return node_->inputs.size(); }
  size_t outputs() const { return node_->outputs.size(); }
  bool Has(size_t i) const { return i < inputs() && node_->inputs[i] >= 0; }
  const PlanTensor& input(size_t i) const {
    if (i < kMostStandIns && stand_ins_[i].is()) return stand_ins_[i].tensor;
    return segment_.tensors[static_cast<size_t>(node_->inputs[i])];
  }
  const TensorView& in(size_t i) const { return input(i).view; }
  const TensorView& out(size_t i) const {
    if (i == 0 && output_stand_in_.is()) return output_stand_in_.tensor.view;
    return segment_.tensors[static_cast<size_t>(node_->outputs[i])].view;
  }
  const AttrStorage& attrs() const { return *node_->attrs; }
  template <class A>
  const A& As() const {
    return node_->attrs->as<A>();
  }
  /// Those that products of codes are to be computed with (DotProducts).
  uint32_t dots() const { return device_.DotsFor(options_); }
  bool f16() const { return precision_ != VulkanPrecision::kF32; }
  bool is_software() const { return device_.is_software(); }

  /// Until the next node, input i (or output 0) is a tensor of f32 in scratch, for a lowering that is to
  /// compute on real numbers.
  void ReplaceInput(size_t i, const Operand& place) { Replace(stand_ins_[i], in(i).shape, place); }
  void ReplaceOutput(const Operand& place) { Replace(output_stand_in_, out(0).shape, place); }
  static constexpr size_t kMostStandIns = 8;
  /// Storage and arithmetic from here on; of the options until then, and again from the next node on.
  void SetPrecision(VulkanPrecision precision) { precision_ = precision; }
  VulkanPrecision precision() const { return precision_; }

  /// An input as it is; constants are brought to the device. kUnsupported: more than a shader can address.
  Result<Operand> In(size_t i);
  /// Neighbouring elements of an input constant, as they are.
  Result<Operand> InPart(size_t i, int64_t first, int64_t count);
  /// How many elements of this type a shader can see at once.
  int64_t MostElements(DType dtype) const;
  Result<Operand> Out(size_t i);
  /// An input constant in another order: fill(floats) writes `elements` of them. `layout` and `sizes` say
  /// everything that the order depends on.
  template <class Fill>
  Result<Operand> Packed(const ContentHash& hash, uint32_t layout, std::initializer_list<int64_t> sizes,
                         uint64_t elements, Fill&& fill);
  /// Constant words that `hash` and `sizes` tell all about: fill(words) writes them.
  template <class Fill>
  Result<Operand> PackedWords(const ContentHash& hash, uint32_t layout, std::initializer_list<int64_t> sizes,
                              uint64_t words, Fill&& fill);
  /// Constant words that were computed.
  Result<Operand> Words(uint32_t layout, Span<const uint32_t> words);
  /// Room for words of 32 bits between two dispatches of the node.
  Result<Operand> Scratch(uint64_t words);
  /// Words that depend on the extents and are too many for push constants. kUnsupported: with those of the
  /// nodes before they take more memory than a small file may ask for.
  Result<Operand> Table(Span<const uint32_t> words);
  /// The integers of input i (every stride-th from `first` on) are in [low, end), or a run fails. What reads
  /// them must not rely on it: it runs before the host knows. kUnsupported: a constant has others.
  Status CheckIntegers(size_t i, int64_t low, int64_t end, int64_t first = 0, int64_t stride = 1);
  /// kUnsupported: loops of so many rounds are ended too early by a driver in software. GPUs go through them.
  Status CheckRounds(int64_t rounds) const {
    return is_software() && rounds > kMostRounds ? Refuse() : OkStatus();
  }
  /// Output i has input 0's elements in its place.
  Status Alias(size_t output);

  /// One dispatch. `constants` are the shader's own specialisation constants, `operands` its bindings in
  /// order, the last of which is written. `invocations` are those of the shader's FlatIndex().
  template <class Push>
  Status Dispatch(Shader shader, std::initializer_list<uint32_t> constants,
                  std::initializer_list<Operand> operands, const Push& push, uint64_t invocations) {
    static_assert(sizeof(Push) <= kPushBytes && sizeof(Push) % 4 == 0);
    const PipelineKey key = KeyOf(shader, constants);
    return Add(key, operands, 1, &push, sizeof(Push),
               (invocations + key.constants[0] - 1) / key.constants[0]);
  }
  /// The same, for a shader that counts work groups, and may write more than the last operand.
  template <class Push>
  Status DispatchGroups(Shader shader, std::initializer_list<uint32_t> constants,
                        std::initializer_list<Operand> operands, const Push& push, uint64_t groups,
                        size_t written = 1) {
    static_assert(sizeof(Push) <= kPushBytes && sizeof(Push) % 4 == 0);
    return Add(KeyOf(shader, constants), operands, written, &push, sizeof(Push), groups);
  }
  /// The invocations of a work group of such a dispatch.
  uint32_t GroupSizeOf(Shader shader, std::initializer_list<uint32_t> constants) const {
    return KeyOf(shader, constants).constants[0];
  }
  /// What takes the place of the first constant, the rule's tile, where the shader has tiles.
  uint32_t TileOf(Shader shader, std::initializer_list<uint32_t> constants) const {
    return KeyOf(shader, constants).constants[1];
  }
  /// Part of this build, and not quarantined.
  bool IsUsable(Shader shader) const;
  /// A pipeline that the node wants at other extents.
  Status Needs(Shader shader, std::initializer_list<uint32_t> constants) {
    return program_.variants.Append(KeyOf(shader, constants));
  }

 private:
  PipelineKey KeyOf(Shader shader, std::initializer_list<uint32_t> constants) const;
  Status Add(const PipelineKey& key, std::initializer_list<Operand> operands, size_t written,
             const void* push, size_t push_bytes, uint64_t groups);
  Result<Operand> TensorOperand(int32_t tensor);
  Result<Operand> Store(const WeightsKey& key, Span<const float> elements);
  Status CheckRange(uint64_t bytes) const;
  Operand FindTable(Span<const uint32_t> words) const;

  struct StandIn {
    PlanTensor tensor;
    Operand place;
    bool is() const { return place.place != Operand::Place::kNone; }
  };
  static void Replace(StandIn& stand_in, const Shape& shape, const Operand& place) {
    stand_in.tensor = PlanTensor();
    stand_in.tensor.view = TensorView(nullptr, DType::kF32, shape);
    stand_in.place = place;
  }

  const SegmentView& segment_;
  const Device& device_;
  const VulkanOptions& options_;
  const VulkanLimits limits_;
  const Tuning& tuning_;
  Weights& weights_;
  Program& program_;
  uint32_t index_ = 0;
  const PlanNode* node_ = nullptr;
  VulkanPrecision precision_;
  StandIn stand_ins_[kMostStandIns];
  StandIn output_stand_in_;
};

template <class Fill>
Result<Operand> Emitter::PackedWords(const ContentHash& hash, uint32_t layout,
                                     std::initializer_list<int64_t> sizes, uint64_t words, Fill&& fill) {
  WeightsKey key{hash, layout};
  size_t i = 0;
  for (const int64_t size : sizes) key.sizes[i++] = static_cast<uint32_t>(size);
  if (const Operand known = weights_.Find(key); known.place != Operand::Place::kNone) return known;
  SKIFF_RETURN_IF_ERROR(CheckRange(words * 4));
  unsigned char* host = nullptr;
  SKIFF_ASSIGN_OR_RETURN(const Operand place, weights_.Add(key, words * 4, &host));
  fill(reinterpret_cast<uint32_t*>(host));
  return place;
}

template <class Fill>
Result<Operand> Emitter::Packed(const ContentHash& hash, uint32_t layout,
                                std::initializer_list<int64_t> sizes, uint64_t elements, Fill&& fill) {
  WeightsKey key{hash, layout};
  size_t i = 0;
  for (const int64_t size : sizes) key.sizes[i++] = static_cast<uint32_t>(size);
  key.f16 = f16();
  if (const Operand known = weights_.Find(key); known.place != Operand::Place::kNone) return known;
  SKIFF_RETURN_IF_ERROR(CheckRange(elements * DeviceBytes(DType::kF32, f16())));
  FixedArray<float> floats;
  SKIFF_RETURN_IF_ERROR(floats.Allocate(elements));
  fill(floats.data());
  return Store(key, floats);
}

/// A lowering. kUnsupported: not at these extents, or not on this device.
using LowerFn = Status (*)(Emitter& emit);

/// Of a node that computes on quantised operands, or of any other. Null where the table names none.
LowerFn FindLowering(OpCode op, bool quantized = false);

}  // namespace skiff::vulkan
