/// A segment on the GPU: command buffers recorded at each new shape and replayed by each run. Nodes that the
/// device cannot run at their extents are run by their reference kernels, between command buffers.
#pragma once

#include "delegates/vulkan/pipelines/tuning.h"
#include "delegates/vulkan/program/commands.h"
#include "delegates/vulkan/program/weights.h"
#include "delegates/vulkan/segment/residency.h"
#include "eager/reference_node.h"

namespace skiff::vulkan {

/// Device memory of a Session's activations. Its segments run one after the other, so they share it; a
/// segment whose shape needs more makes a larger one, and those prepared before keep theirs.
struct Arena {
  Buffer device;
  Buffer upload;  ///< Nothing where the device's memory is mapped.
  Buffer download;
};

struct Environment {
  std::shared_ptr<Device> device;
  const VulkanOptions* options = nullptr;
  const char* cache_folder = nullptr;  ///< For compiled pipelines; null: none are kept.
  Weights* weights = nullptr;
  Tuning* tuning = nullptr;
  Pipelines* pipelines = nullptr;  ///< The device's; what is measured has its own.
  DelegateSessionOptions session;
  std::shared_ptr<Arena>* arena = nullptr;  ///< The Session's newest.
};

class Segment final : public PreparedSegment {
 public:
  Segment(const SegmentView& segment, const Environment& environment)
      : segment_(segment), environment_(environment) {}
  ~Segment() override;

  Status Prepare();
  Status Reshape() override;
  Status Bind() override;
  Status Run(const RunContext& context) override;
  bool FellBack(uint32_t node) const override;
  uint64_t workspace_bytes() const override;

  Span<const Dispatch> dispatches() const { return program_.dispatches; }
  /// Runs what is on the GPU with zeros for inputs, where the session options have profiling on. Not on a
  /// Segment that is bound.
  Status Time(NodeTimer& timer);

 private:
  struct ReferenceSlot {
    bool prepared = false;
    ReferenceNode node;
  };
  /// What one span runs.
  struct Recording {
    Commands commands;
    VkQueryPool queries = VK_NULL_HANDLE;
    uint32_t query_count = 0;
  };

  /// What the support predicate sees of a node.
  struct Described {
    FixedArray<const PlanTensor*> tensors;  ///< Inputs, then outputs.
    NodeTypes types;
  };

  Status Describe(const PlanNode& node, Described& described) const;
  bool f16() const { return environment_.options->precision != VulkanPrecision::kF32; }
  Status Lower();
  Status MakeTable();
  Status MakeReport();
  Status CheckLimit(uint64_t bytes) const;
  Status GrowArena();
  Status RecordAll();
  Status Record(const NodeSpan& span, Recording& recording);
  Status RecordDispatches(const NodeSpan& span, Recording& recording);
  Status RecordDispatch(const NodeSpan& span, const Dispatch& dispatch, Commands& commands);
  void RecordTransfers(const NodeSpan& span, bool up, VkCommandBuffer commands) const;
  Status PrepareQueries(const NodeSpan& span, Recording& recording);
  Status RunOnGpu(const NodeSpan& span, Recording& recording, const RunContext& context);
  Status RunOnHost(const NodeSpan& span, const RunContext& context);
  uint64_t ShareOfArena() const;
  void ClearReport(const NodeSpan& span) const;
  Status ReadReport(const NodeSpan& span) const;
  void Poison() const;
  void Upload(const NodeSpan& span) const;
  void Download(const NodeSpan& span) const;
  Status ReportTimes(const NodeSpan& span, const Recording& recording, uint64_t begin_ns, NodeTimer& timer);

  const SegmentView segment_;
  const Environment environment_;
  TensorUses uses_;
  FixedArray<Described> described_;  ///< By node of the segment.
  FixedArray<bool> on_gpu_;          ///< By node of the segment.
  FixedArray<bool> empty_;           ///< No output of the node has an element: nothing to do.
  FixedArray<ReferenceSlot> references_;
  Program program_;
  Residency residency_;
  Buffer table_;
  Buffer report_;  ///< A word per check, kTensorAlignment apart.
  std::shared_ptr<Arena> arena_;
  FixedArray<Recording> recordings_;  ///< By span.
  FixedArray<uint64_t> stamps_;
};

}  // namespace skiff::vulkan
