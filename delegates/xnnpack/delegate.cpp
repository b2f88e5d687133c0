#include "delegates/xnnpack/delegate.h"

#include "delegates/support.h"
#include "delegates/xnnpack/memory.h"
#include "delegates/xnnpack/packed_weights_file.h"
#include "delegates/xnnpack/segment.h"

namespace skiff {
namespace xnnpack {
namespace {

class Session final : public DelegateSession {
 public:
  Session(PackedWeights& weights, pthreadpool_t pool, bool owns_pool, bool thread_small_work)
      : environment_{&weights, pool, &SelectKernels()},
        owned_pool_(owns_pool ? pool : nullptr),
        thread_small_work_(thread_small_work) {}
  ~Session() override {
    if (owned_pool_ != nullptr) pthreadpool_destroy(owned_pool_);
  }

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
  const Environment environment_;
  const pthreadpool_t owned_pool_;
  const bool thread_small_work_;
  bool ran_ = false;
};

class State final : public ModelState {
 public:
  explicit State(const ModelStateOptions& options) : file_(options) { file_.Load(weights_); }

  Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions& options) override {
    auto* pool = static_cast<pthreadpool_t>(options.thread_pool);
    const bool make_pool = pool == nullptr && options.threads > 1;
    if (make_pool) {
      pool = pthreadpool_create(static_cast<size_t>(options.threads));
      if (pool == nullptr)
        return Fail(StatusCode::kOutOfMemory, "cannot start a pool of %d threads", options.threads);
    }
    std::unique_ptr<DelegateSession> session(
        new (std::nothrow) Session(weights_, pool, make_pool, options.thread_small_work));
    if (!session) {
      if (make_pool) pthreadpool_destroy(pool);
      return Fail(StatusCode::kOutOfMemory, "cannot allocate an XNNPACK session");
    }
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
