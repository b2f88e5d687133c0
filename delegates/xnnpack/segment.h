/// A segment's nodes as steps, each with the reference kernel behind it.
#pragma once

#include "core/fixed_array.h"
#include "core/memory_account.h"
#include "delegates/xnnpack/attention.h"
#include "delegates/xnnpack/lower/step.h"
#include "delegates/xnnpack/strip.h"
#include "eager/reference_node.h"

namespace skiff::xnnpack {

class Segment final : public PreparedSegment {
 public:
  Segment(const SegmentView& segment, const Environment& environment, const DelegateSessionOptions& options);
  ~Segment() override;

  Status Prepare();
  Status Reshape() override;
  Status Bind() override;
  Status Run(const RunContext& context) override;
  bool FellBack(uint32_t node) const override;
  uint64_t workspace_bytes() const override;

 private:
  /// For each segment that has at least one in so many of the plan's nodes, all of these are looked at.
  static constexpr size_t kSmallPart = 64;
  bool IsSmallPart() const { return nodes_.size() * kSmallPart < segment_.nodes.size(); }

  enum class Mode : uint8_t { kStep, kReference, kNothing };
  struct Node {
    Mode mode = Mode::kReference;
    bool has_one_reader = false;       ///< Its one result.
    bool passes_on = false;            ///< The same, and that is the next node of the segment, as input 0.
    const NodeGroup* group = nullptr;  ///< That runs here.
    FixedArray<const PlanTensor*> tensors;  ///< Inputs, then outputs.
    NodeTypes types;                        ///< What the support predicate sees.
    WideConstant* packed = nullptr;         ///< Weights that are there only while they are packed.
    LowerFn lower = nullptr;                ///< Null where there is no lowering.
    Environment environment;                ///< With the pool where the work is worth it.
    StepPointer step;                       ///< Null until the predicate accepts a shape.
    int32_t codes_from = -1;  ///< The FakeQuantize node of this segment that makes input 0 of a product.
    /// Of a FakeQuantize: such products read its result, and others; who does so at these extents.
    bool needs_codes = false, needs_reals = false;
    bool wants_codes = false, wants_reals = false;
    bool follows = false;  ///< Another node's step, or group, runs it, too.
    bool reference_prepared = false;
    ReferenceNode reference;
  };

  Status Describe(const PlanNode& plan_node, Node& node);
  Mode ModeFor(const PlanNode& node) const;
  Status Lower(uint32_t index);
  void ChooseThreads();
  Status ReshapeNodes(const AllocationLimit& limit, size_t* workspace);
  Status PrepareStep(uint32_t index);
  Status ReshapeNode(uint32_t index, const AllocationLimit& limit);
  Status FindCodes();
  Status LinkCodes();
  Status FindPassing();
  uint32_t GrowStrip(uint32_t head, Strip* strip) const;
  Status FindStrips(size_t* workspace);
  struct PlacedStrip;
  bool IsWritten(uint32_t last, const TensorView& tensor) const;
  void* RoomForInput(const PlacedStrip& placed, const TensorView& input) const;
  void BindStrips();
  struct PlacedAttention;
  const Step* StepOf(uint32_t index) const;
  const MatrixProductStep* ProductOf(uint32_t index) const;
  bool ReadsThrough(uint32_t head, uint32_t end, uint32_t product, size_t input, Matrices* from) const;
  bool WritesThrough(uint32_t transpose, const Attention::Parts& parts, Matrices* to) const;
  bool FindAttention(uint32_t head, PlacedAttention* found) const;
  Status FindAttentions(size_t* workspace);
  bool WritesOverOperands(const PlacedAttention& placed) const;
  void BindAttentions();
  Status BindNode(uint32_t index);
  void FindFollowers();
  /// `i`: the node that runs, at a failure that which failed.
  Status RunNodes(const RunContext& context, uint32_t& i);
  Status UseReference(uint32_t index);
  Status GrowWorkspace(size_t bytes);

  const SegmentView segment_;
  const Environment environment_;
  const DelegateSessionOptions options_;
  bool reshaped_ = false;  ///< Since the last Reshape() that failed.
  bool bound_ = false;
  FixedArray<Node> nodes_;
  void* workspace_ = nullptr;
  size_t workspace_size_ = 0;
  int64_t step_bytes_ = 0;      ///< Of XNNPACK's operators, and of tables for them.
  uint64_t scratch_bytes_ = 0;  ///< Of reference kernels.

  /// Builds without what makes groups have none, and no code that would end them.
  template <bool kBuilt>
  struct EndGroups {
    template <class Groups>
    void operator()(Groups* groups) const {
      if (kBuilt) delete groups;
    }
  };
  template <class Placed, bool kBuilt>
  using GroupsOf = std::unique_ptr<FixedArray<Placed>, EndGroups<kBuilt>>;

  struct PlacedStrip {
    Strip group;
    uint32_t head = 0;  ///< The first node and the last one.
    uint32_t last = 0;
  };
  GroupsOf<PlacedStrip, kHasOwnKernels> strips_;

  struct PlacedAttention {
    Attention group;
    uint32_t head = 0;   ///< The first node...
    uint32_t first = 0;  ///< ...the first product...
    uint32_t last = 0;   ///< ...and the last node.
  };
  GroupsOf<PlacedAttention, kHasAttention> attentions_;

  pthreadpool_t PoolOf(uint32_t head, uint32_t last) const;
  /// Keeps those that for_each(take) calls `take` with, and knows what they need. Called twice.
  template <class Placed, bool kBuilt, class ForEach>
  static Status Keep(const ForEach& for_each, GroupsOf<Placed, kBuilt>* groups, size_t* workspace);
};

template <class Placed, bool kBuilt, class ForEach>
Status Segment::Keep(const ForEach& for_each, GroupsOf<Placed, kBuilt>* groups, size_t* workspace) {
  groups->reset();
  size_t count = 0;
  for_each([&](const Placed&) { ++count; });
  if (count == 0) return OkStatus();
  groups->reset(new (std::nothrow) FixedArray<Placed>);
  if (*groups == nullptr)
    return Fail(StatusCode::kOutOfMemory, "cannot allocate an XNNPACK segment's groups of nodes");
  SKIFF_RETURN_IF_ERROR((*groups)->Allocate(count));
  size_t at = 0;
  for_each([&](const Placed& placed) {
    if (placed.group.workspace_bytes() > *workspace) *workspace = placed.group.workspace_bytes();
    (**groups)[at++] = placed;
  });
  return OkStatus();
}

}  // namespace skiff::xnnpack
