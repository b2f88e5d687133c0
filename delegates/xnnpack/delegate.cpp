#include "delegates/xnnpack/delegate.h"

#include "delegates/xnnpack/memory.h"
#include "delegates/xnnpack/segment.h"
#include "delegates/xnnpack/support.h"
#include "delegates/xnnpack/thread_pool.h"
#include "delegates/xnnpack/weights/packed_weights_file.h"

namespace skiff {
namespace xnnpack {
namespace {

class Session final : public DelegateSession {
 public:
  /// Runs on `shared_pool` where there is one, else on its own, else on the calling thread.
  Session(PackedWeights& weights, const Pool* shared_pool, std::unique_ptr<Pool> own_pool,
          const DelegateSessionOptions& options)
      : own_pool_(std::move(own_pool)),
        environment_{&weights, HandleOf(shared_pool != nullptr ? shared_pool : own_pool_.get()),
                     &SelectKernels(), options.exact},
        options_(options) {}

  Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& view) override {
    std::unique_ptr<Segment> segment(new (std::nothrow) Segment(view, environment_, options_));
    if (!segment) return Fail(StatusCode::kOutOfMemory, "cannot allocate an XNNPACK segment");
    SKIFF_RETURN_IF_ERROR(segment->Prepare());
    return std::unique_ptr<PreparedSegment>(std::move(segment));
  }

  bool PinsConstants() const override { return true; }
  void Idle() override {}  // Workers sleep by themselves (workers.h).

 private:
  static pthreadpool_t HandleOf(const Pool* pool) { return pool == nullptr ? nullptr : pool->get(); }

  const std::unique_ptr<Pool> own_pool_;
  const Environment environment_;
  const DelegateSessionOptions options_;
};

class State final : public ModelState {
 public:
  explicit State(const ModelStateOptions& options) : file_(options), weights_(options.content.size()) {
    file_.Load(weights_);
  }

  Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions& options) override {
    const bool shares =
        options.thread_pool != nullptr && options.thread_pool->delegate() == DelegateKind::kXnnpack;
    const Pool* shared_pool = shares ? static_cast<const Pool*>(options.thread_pool) : nullptr;
    std::unique_ptr<Pool> own_pool;
    if (!shares && options.threads > 1) {
      SKIFF_ASSIGN_OR_RETURN(own_pool, CreatePool(options.threads));
    }
    std::unique_ptr<DelegateSession> session(
        new (std::nothrow) Session(weights_, shared_pool, std::move(own_pool), options));
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
  const DelegateSupport& support() const override { return XnnpackSupport(); }
  bool Has(const OpDef& op) const override { return HasLowering(op.code); }
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions& options) const override {
    SKIFF_RETURN_IF_ERROR(Initialize());
    std::unique_ptr<ModelState> state(new (std::nothrow) State(options));
    if (!state) return Fail(StatusCode::kOutOfMemory, "cannot allocate the XNNPACK state");
    return state;
  }
  Result<std::unique_ptr<ThreadPool>> CreateThreadPool(int threads) const override {
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool, CreatePool(threads));
    return std::unique_ptr<ThreadPool>(std::move(pool));
  }
};

constexpr Implementation kDelegate;

}  // namespace
}  // namespace xnnpack

const Delegate& BuiltinXnnpackDelegate() { return xnnpack::kDelegate; }

}  // namespace skiff
