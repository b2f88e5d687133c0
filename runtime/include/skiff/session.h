/// One thread's use of a Model: inputs in, Run, outputs out. Everything that Run needs is prepared at
/// creation.
#pragma once

#include <memory>

#include "skiff/variables.h"

namespace skiff {

enum class Backend : uint8_t {
  kPlanned = 0,    ///< Each segment by the delegate that the converter chose.
  kReference = 1,  ///< Every node by its reference kernel: slow, and the truth.
};

/// A file cannot ask for more than this, and four times its own bytes, unless the application allows it.
inline constexpr uint64_t kDefaultMemoryLimit = uint64_t{4} << 30;
/// Nor for more steps of its loops in one run, all together.
inline constexpr uint64_t kDefaultLoopLimit = uint64_t{1} << 24;

/// More than any device has cores: beyond this it is a mistake.
inline constexpr int kMaxThreads = 256;

struct SessionOptions {
  const char* signature = nullptr;  ///< Null: the first one of the file.
  Target target = Target::kCpu;
  /// Where the target's device is absent, refuses the model or runs out of memory, the cpu plan runs instead;
  /// Session::target() tells. Off: that is an error.
  bool fall_back = true;
  Backend backend = Backend::kPlanned;
  int threads = 0;  ///< At most kMaxThreads; 0: min(4, cores in the affinity mask).
  /// Threads that Sessions share (skiff/thread_pool.h), which outlive the Session. `threads` is then ignored.
  /// Null: the Session has its own.
  ThreadPool* thread_pool = nullptr;
  /// Bytes; 0: see kDefaultMemoryLimit. Creation, or the first run of a shape, fails when the variables,
  /// the arena or what the delegates add would pass it. UINT64_MAX: none.
  uint64_t memory_limit = 0;
  uint64_t loop_limit =
      0;                ///< Steps of While nodes in one Run(); 0: see kDefaultLoopLimit. UINT64_MAX: none.
  int kept_shapes = 2;  ///< Shapes that stay prepared: a call with one of the last ones costs nothing extra.
  /// Convolutions and products add the products of their definition. Off, convolutions of 3 x 3 may be
  /// computed by Winograd's minimal filtering, and large products by Strassen's way: both are faster, need
  /// more memory, and round more (docs/numerics.md); infinities spread to neighbours by Winograd's. A Session
  /// with a memory limit computes them exactly, too. Winograd's way of integers, which is exact, loses
  /// its larger tiles alone, for their memory.
  bool exact = false;
  bool profile = false;             ///< Take the time of every node.
  bool keep_intermediates = false;  ///< No two tensors share memory, so that Tap() can read all of them.
  Variables* variables = nullptr;   ///< Of the same Model, to share its state; null: the Session has its own.
  /// Threads also share work that is over before they are awake: for tests of what they share.
  bool thread_small_work = false;
  bool poison = false;  ///< Debugging aid: before each run, all memory but the inputs' is filled with NaN.
};

/// Bytes that a Session holds, by purpose.
struct MemoryUsage {
  uint64_t arena = 0;           ///< Activations: what the file promised.
  uint64_t workspace = 0;       ///< Indirection buffers, scratch, prepared steps of the delegates.
  uint64_t packed_weights = 0;  ///< In memory of the process; shared by all Sessions of the Model.
  uint64_t mapped_weights = 0;  ///< The file's weights, paged in on demand and shared by all processes.
  uint64_t variables = 0;       ///< State, where the Session has its own.
  uint64_t inputs = 0;          ///< Buffers of the inputs, where they do not lie in the arena.
  uint64_t mapped_packed_weights = 0;  ///< In the cache file: mapped as well, and shared by all processes.
  /// Weights that the file has in fewer bits, and that kernels read in full: in memory of the process, shared
  /// by all Sessions of the Model. Those that were packed are given back.
  uint64_t widened_weights = 0;
};

/// One node as it will run.
struct NodeInfo {
  const char* name = "";
  const char* op = "";
  DelegateKind delegate = DelegateKind::kReference;  ///< That runs it.
  const char* delegate_name = "";
  bool shape_program = false;  ///< Runs once per new shape, not per run.
  /// The plan asked for a faster delegate, which refused on this device. Of an If or While: something inside.
  bool fell_back = false;
  uint64_t last_ns = 0;        ///< Duration in the last profiled run.
  uint64_t last_begin_ns = 0;  ///< Since the beginning of that run.
  uint64_t bytes = 0;          ///< Read and written, constants included.
  uint64_t multiply_adds = 0;  ///< Of convolutions and matrix products; 0 for others.
};

class Session {
 public:
  /// `model` must outlive the Session. kUnsupported: the file has no plan for the target (the message prints
  /// the convert line), or a plan needs an operator that this build lacks. kInvalidArgument: unknown
  /// signature. kOutOfMemory: the arena cannot be allocated, or memory_limit would be passed.
  static Result<std::unique_ptr<Session>> Create(Model& model, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  SignatureInfo signature() const;
  /// -1 when there is none of that name.
  int FindInput(const char* name) const;
  int FindOutput(const char* name) const;

  /// Copies `tensor` into the input. Its dtype and shape must be the input's, else the message names what
  /// differs: kNoMatchingBucket for extents outside of the input's, kInvalidArgument for the rest.
  /// The value stays until it is set again: runs do not disturb it. During a Run(), in another thread or from
  /// the kernel of a custom operator, this and the next three are kInvalidArgument: it reads the inputs.
  Status SetInput(int index, const ConstTensorView& tensor);
  Status SetInput(const char* name, const ConstTensorView& tensor);
  /// Lets the input live in the caller's memory: no copy. The caller keeps it alive and unmoved until it is
  /// bound or set again, aligns it to the element's size, and promises that 16 bytes behind it are readable.
  /// Runs only read it: it may lie in memory that is write-protected. What Output() shows of this Session
  /// must not be bound to it: the next run writes there.
  Status BindInput(int index, const ConstTensorView& tensor);
  /// The input's own buffer, to be written in place. kInvalidArgument where a dimension is open.
  Result<TensorView> InputBuffer(int index);
  /// The same for an input of this shape.
  Result<TensorView> InputBuffer(int index, const Shape& shape);

  /// Computes the outputs. After the first run it allocates nothing, opens nothing, and logs nothing on
  /// success. kNoMatchingBucket: no plan of the file serves the inputs' extents together. kUnsupported: loops
  /// passed SessionOptions::loop_limit. kInvalidArgument names an input that was never set, or says that
  /// another thread's Run() is in progress. kCancelled: see Cancel().
  Status Run();
  /// From any thread: a Run() in progress ends with kCancelled at the next node. A later Run() starts anew.
  void Cancel();

  /// A view of an output, valid until the next Run() or the Session's end. kInvalidArgument where the last
  /// Run() failed, or there was none.
  Result<TensorView> Output(int index) const;
  Result<TensorView> Output(const char* name) const;
  /// An intermediate tensor by the plan's or the source graph's name; needs keep_intermediates. Valid until
  /// the next SetInput(), BindInput(), InputBuffer() or Run(). kInvalidArgument where Output() says so, too.
  /// `source_perm`, where given, receives the permutation by which the view's axes are the source tensor's:
  /// view = Transpose(source, perm).
  Result<TensorView> Tap(const char* name, struct Ints* source_perm = nullptr) const;

  /// The state that this Session reads and leaves: its own, or SessionOptions::variables.
  Variables& variables();

  MemoryUsage memory_usage() const;
  /// What the Session runs on: SessionOptions::target, or kCpu where it fell back.
  Target target() const;
  /// What came of SessionOptions::threads; a shared pool has as many as it was made with.
  int threads() const;
  int node_count() const;
  /// Its texts are empty where there is no such node.
  NodeInfo node(int index) const;
  /// The nodes inside of If and While nodes: of each body, then of the bodies in it. Their times are part of
  /// the outer node's.
  int inner_node_count() const;
  NodeInfo inner_node(int index) const;

 private:
  struct Internals;
  explicit Session(std::unique_ptr<Internals> internals);
  std::unique_ptr<Internals> internals_;
};

}  // namespace skiff
