/// The segments of a plan made ready over a ShapedPlan: of a Session's plan, or of a body.
#pragma once

#include <atomic>
#include <memory>

#include "plan/shaped_plan.h"
#include "skiff/delegate.h"
#include "skiff/session.h"

namespace skiff {

/// Makes a delegate's part of the Session at the first call.
class DelegateSessions {
 public:
  virtual Result<DelegateSession*> Get(DelegateKind kind) = 0;
  /// Bytes that the Session may take beside what it has.
  virtual uint64_t MemoryLeft() const = 0;
  /// kOutOfMemory where the Session may not take so many bytes for `what` beside what it has.
  virtual Status CheckGrowth(uint64_t bytes, const char* what) const = 0;
  /// Set when the run in progress shall end.
  virtual const std::atomic<bool>& Cancelled() const = 0;

 protected:
  ~DelegateSessions() = default;
};

class PreparedPlan {
 public:
  /// For `shaped`, which has its plan, and stays where it is as `options` does as long as this is used.
  /// Forgets what was before.
  Status Adopt(ShapedPlan& shaped, const SessionOptions& options, DelegateSessions& sessions);
  /// After each ShapedPlan::Shape().
  Status Reshape();
  /// After each ShapedPlan::Locate(). Allocates nothing.
  Status Bind();
  /// Runs the segments in order. Allocates nothing. Where one fails, variables that were written in their
  /// place are as before.
  Status Run(const RunContext& context);

  uint64_t workspace_bytes() const;
  bool SomethingFellBack() const;
  /// All about a node of the plan but its times.
  NodeInfo Describe(uint32_t node) const;
  /// The nodes of the bodies in it, bodies in bodies included.
  int inner_node_count() const;
  /// Describes number `*index` of these, or takes their count off it and returns false.
  bool FindInner(int* index, NodeInfo* info) const;

 private:
  const PreparedPlan* BodyOf(size_t segment, size_t body) const;
  Status ShareOut(Backend backend);
  bool WritesState(const SegmentData& segment) const;
  void RestoreStates(size_t segments_done);
  void PinConstants(const SegmentData& segment);
  Result<std::unique_ptr<PreparedSegment>> PrepareSegment(const SegmentData& segment);

  ShapedPlan* shaped_ = nullptr;
  const SessionOptions* options_ = nullptr;
  DelegateSessions* sessions_ = nullptr;
  FixedArray<SegmentData> segments_;
  FixedArray<std::unique_ptr<PreparedSegment>> prepared_;
};

}  // namespace skiff
