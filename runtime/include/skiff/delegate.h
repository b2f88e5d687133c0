/// What a backend implements. A Delegate says which nodes it can run, keeps state per Model (packed weights),
/// per Session (thread pool) and per segment (prepared operators), and runs segments. All delegates read the
/// same nodes; CPU delegates share one arena that holds every tensor of a plan at an offset chosen by the
/// converter.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "skiff/span.h"
#include "skiff/tensor.h"

namespace skiff {

class WideConstant;
struct OpDef;
struct AttrStorage;
struct PlanData;

/// The number that a delegate brings, by which a file says who runs a node: never change one that files have.
/// Those below kOfApplications are given out by Skiff, the others are an application's to give; it sees to it
/// that its delegates have different ones. kControl is the runtime itself, which runs the nodes with bodies
/// and the scatters that update a variable where it lies.
enum class DelegateKind : uint8_t {
  kReference = 0,
  kXnnpack = 1,
  kVulkan = 2,
  kControl = 3,
  kOfApplications = 128
};
/// For messages. A delegate knows its own name (DelegateSupport::name); of others than Skiff's the number
/// says no more than "application".
const char* DelegateKindName(DelegateKind kind);

/// What a plan is made for; numbers are file format. kCpu: the CPU, and delegates that work in its memory.
enum class Target : uint8_t { kCpu = 0, kVulkan = 1 };
const char* TargetName(Target target);  ///< "cpu", "vulkan".

/// What a constant is known by: within one Model, equal ones mean equal content. (ModelStateOptions::content
/// tells Models apart.)
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const ContentHash&) const = default;
};

/// A tensor of a plan. `view.shape` holds the extents of the current shape. `view.data` is set for constants
/// from the beginning (64-byte aligned, at least 16 readable bytes behind them), and for other tensors from
/// Bind() on.
struct PlanTensor {
  const char* name = "";
  TensorView view;
  bool constant = false;
  /// A view of a graph input: its elements are there before anybody computes them, in memory that is only
  /// read.
  bool in_input = false;
  ContentHash hash;  ///< Of constants.
  /// Of constants that the file has in fewer bits; null: the elements are always there. Whoever is asked to
  /// prepare a segment finds them, unless DelegateSession::PinsConstants().
  WideConstant* wide = nullptr;
};

/// A node of a plan; inputs and outputs index the plan's tensors, -1 is an absent input.
struct PlanNode {
  const OpDef* op = nullptr;
  const AttrStorage* attrs = nullptr;
  const char* name = "";
  Span<const int32_t> inputs;
  Span<const int32_t> outputs;
  Span<const PlanData> bodies = {};  ///< The plans of what If and While run; empty for other operators.
};

/// What a support predicate sees: types and extents of one node, constants marked. Data may be null
/// everywhere.
struct NodeTypes {
  const OpDef* op = nullptr;
  const AttrStorage* attrs = nullptr;
  Span<const PlanTensor* const> inputs;  ///< Null for an absent input.
  Span<const PlanTensor* const> outputs;
};

/// What a delegate can do, as pure functions of a node's types: the same answers on the host, which
/// partitions and plans memory by them without linking the delegate, and on the device. Lives as long as the
/// process.
class DelegateSupport {
 public:
  virtual DelegateKind kind() const = 0;
  virtual const char* name() const = 0;
  /// Whose plans it takes part in. In other plans than those for the CPU, the delegates of the CPU get what
  /// is left.
  virtual Target target() const { return Target::kCpu; }
  /// Extents are not looked at where they may change at run time: what the delegate then refuses at its
  /// extents (or on its device) runs with the reference kernel.
  virtual bool Supports(const NodeTypes& node) const = 0;
  /// It reads input `index` in place when that is a view with gaps between its rows (TensorView::row_stride).
  /// A strided tensor elsewhere is still computed right, by the reference kernel.
  virtual bool TakesStridedInput(const NodeTypes&, size_t) const { return false; }
  /// It writes outputs in place when they are views with gaps between their rows.
  virtual bool WritesStridedOutput(const NodeTypes&) const { return false; }

 protected:
  ~DelegateSupport() = default;
};

/// Worker threads that several Sessions share; the delegate that made them is the only one that can use them.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  virtual DelegateKind delegate() const = 0;
  virtual int threads() const = 0;  ///< With the one that calls Session::Run().
};

/// Nodes [begin, end) of a plan, for one delegate. Everything outlives the prepared segment.
struct SegmentView {
  Span<const PlanTensor>
      tensors;                 ///< All tensors of the plan; extents change in place between Reshape() calls.
  Span<const PlanNode> nodes;  ///< All nodes of the plan.
  uint32_t begin = 0;
  uint32_t end = 0;
  Span<const int32_t> outputs =
      {};  ///< Tensors of the plan that its caller reads, beside those that no node does.
};

/// Receives the time of each node while profiling is on.
class NodeTimer {
 public:
  virtual void Record(uint32_t node, uint64_t begin_ns, uint64_t end_ns) = 0;

 protected:
  ~NodeTimer() = default;
};

struct RunContext {
  NodeTimer* timer = nullptr;                    ///< Null: do not read the clock.
  const std::atomic<bool>* cancelled = nullptr;  ///< Polled between nodes; true ends the run with kCancelled.
  uint64_t* loop_steps_left = nullptr;           ///< Of this run. Null: any number.
};

/// Operators made ready. Used by one thread at a time.
class PreparedSegment {
 public:
  virtual ~PreparedSegment() = default;
  /// The extents (and the values of shape inputs) in the SegmentView's tensors are new; computes what depends
  /// on them. May allocate. Called at least once before Bind().
  virtual Status Reshape() = 0;
  /// The addresses in the SegmentView's tensors are new. Allocates nothing.
  virtual Status Bind() = 0;
  /// Runs all nodes in order. Allocates nothing, opens nothing, logs nothing on success.
  virtual Status Run(const RunContext& context) = 0;
  /// True where the delegate could not run this node here (a missing CPU feature, for example), so that the
  /// reference kernel does.
  virtual bool FellBack(uint32_t node) const = 0;
  /// Bytes of indirection buffers, workspaces and scratch that this segment holds beside the arena.
  virtual uint64_t workspace_bytes() const = 0;
};

/// A delegate's part of one Session: its threads.
class DelegateSession {
 public:
  virtual ~DelegateSession() = default;
  virtual Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& segment) = 0;
  /// It sees to it by itself that constants are there while it reads them (core/wide_constant.h), because it
  /// makes copies of its own. Otherwise those of a segment are there before Prepare(), for good.
  virtual bool PinsConstants() const { return false; }
  /// After the last segment of a run: workers stop spinning and sleep.
  virtual void Idle() = 0;
};

struct DelegateSessionOptions {
  int threads = 1;
  ThreadPool* thread_pool = nullptr;  ///< Outlives the Session. Null, or of another delegate: make threads.
  bool keep_intermediates = false;    ///< All tensors have host memory of their own and shall be found there.
  bool profile = false;               ///< Runs may come with a NodeTimer.
  bool thread_small_work = false;     ///< SessionOptions::thread_small_work.
  bool poison = false;                ///< SessionOptions::poison, of memory of its own.
  bool exact = false;                 ///< SessionOptions::exact.
  /// What a segment may hold beside the arena; what all of them hold together is checked by the Session.
  uint64_t memory_limit = UINT64_MAX;
};

/// Bytes of packed weights.
struct PackedBytes {
  uint64_t heap = 0;
  uint64_t mapped = 0;  ///< In a cache file: paged in on demand, given back under memory pressure.
};

/// A delegate's part of one Model: what all its Sessions share. Thread-safe.
class ModelState {
 public:
  virtual ~ModelState() = default;
  virtual Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions& options) = 0;
  /// Held at this moment.
  virtual PackedBytes packed_bytes() const = 0;
  /// Writes what was made since it was last written to the cache folder, where there is one.
  virtual Status SaveCache() { return OkStatus(); }
};

/// What a delegate is told about the Model that a state is for. The strings outlive the state.
struct ModelStateOptions {
  const char* cache_folder = nullptr;  ///< ModelOptions::cache_folder.
  /// Over the hashes that the file states for its weights: a name, which another file may have as well.
  uint64_t weights_id = 0;
  /// The whole file: what may be believed about weights is what follows from it.
  Span<const uint8_t> content;
  /// Of that file (platform::FileIdentity); zeros for a model in memory.
  uint64_t file_identity[4] = {};
};

/// A backend. Stateless, thread-safe, lives as long as the process.
class Delegate {
 public:
  virtual const DelegateSupport& support() const = 0;
  DelegateKind kind() const { return support().kind(); }
  /// This build has code for the operator (SKIFF_OPERATORS may leave it out), whatever the types.
  virtual bool Has(const OpDef& op) const = 0;
  virtual Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions& options) const = 0;
  /// Threads for SessionOptions::thread_pool; null where it needs none.
  virtual Result<std::unique_ptr<ThreadPool>> CreateThreadPool(int) const {
    return std::unique_ptr<ThreadPool>();
  }

 protected:
  ~Delegate() = default;
};

/// The delegate that runs everything with the reference kernels. Part of the runtime.
const Delegate& ReferenceDelegate();

}  // namespace skiff
