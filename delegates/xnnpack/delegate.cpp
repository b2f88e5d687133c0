#include "delegates/xnnpack/delegate.h"

#include "delegates/support.h"
#include "delegates/thread_pool.h"
#include "delegates/xnnpack/memory.h"
#include "delegates/xnnpack/segment.h"
#include "delegates/xnnpack/weights/packed_weights_file.h"

namespace skiff {
namespace xnnpack {
namespace {

class Session final : public DelegateSession {
 public:
  /// Runs on `shared_pool` where there is one, else on its own.
  Session(PackedWeights& weights, void* shared_pool, ThreadPool own_pool, bool thread_small_work)
      : own_pool_(std::move(own_pool)),
        environment_{&weights,
                     static_cast<pthreadpool_t>(shared_pool != nullptr ? shared_pool : own_pool_.get()),
                     &SelectKernels()},
        thread_small_work_(thread_small_work) {}

  Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& view) override {
    std::unique_ptr<Segment> segment(new (std::nothrow)
                                         Segment(view, environment_, thread_small_work_, &ran_));
    if (!segment) return Fail(StatusCode::kOutOfMemory, "cannot allocate an XNNPACK segment");
    SKIFF_RETURN_IF_ERROR(segment->Prepare());
    return std::unique_ptr<PreparedSegment>(std::move(segment));
  }

  /// Workers of the pool spin for milliseconds after the last piece of work, unless that asked them to yield.
  void Idle() override {
    if (!ran_) return;
    ran_ = false;
    pthreadpool_parallelize_1d(
        environment_.pool, [](void*, size_t) {}, nullptr, pthreadpool_get_threads_count(environment_.pool),
        PTHREADPOOL_FLAG_YIELD_WORKERS);
  }

 private:
  const ThreadPool own_pool_;
  const Environment environment_;
  const bool thread_small_work_;
  bool ran_ = false;
};

class State final : public ModelState {
 public:
  explicit State(const ModelStateOptions& options) : file_(options) { file_.Load(weights_); }

  Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions& options) override {
    ThreadPool own_pool;
    if (options.thread_pool == nullptr && options.threads > 1) {
      SKIFF_ASSIGN_OR_RETURN(own_pool, CreateThreadPool(options.threads));
    }
    std::unique_ptr<DelegateSession> session(new (std::nothrow) Session(
        weights_, options.thread_pool, std::move(own_pool), options.thread_small_work));
    if (!session) return Fail(StatusCode::kOutOfMemory, "cannot allocate an XNNPACK session");
    return session;
  }

  PackedBytes packed_bytes() const override { return weights_.bytes(); }
  Status SaveCache() override { return file_.Save(weights_); }

 private:
  PackedWeightsFile file_;  // Outlives what was adopted from it.
  PackedWeights weights_;
};

class Implementation final : public Delegate {
 public:
  DelegateKind kind() const override { return DelegateKind::kXnnpack; }
  bool Supports(const NodeTypes& node) const override { return XnnpackSupports(node); }
  bool Has(const OpDef& op) const override { return FindLowering(op.code) != nullptr; }
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions& options) const override {
    SKIFF_RETURN_IF_ERROR(Initialize());
    std::unique_ptr<ModelState> state(new (std::nothrow) State(options));
    if (!state) return Fail(StatusCode::kOutOfMemory, "cannot allocate the XNNPACK state");
    return state;
  }
};

constexpr Implementation kDelegate;

}  // namespace
}  // namespace xnnpack

const Delegate& XnnpackDelegate() { return xnnpack::kDelegate; }

}  // namespace skiff
