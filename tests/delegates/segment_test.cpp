// What a prepared segment promises beside numbers: fallbacks, copies that do not happen, cancellation,
// threads, memory.
#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "core/error_capture.h"
#include "delegates/xnnpack/delegate.h"
#include "delegates/xnnpack/support.h"
#include "delegates/xnnpack/thread_pool.h"
#include "node_harness.h"
#include "ops/op_codes.h"
#include "skiff/delegates.h"
#include "skiff/thread_pool.h"

namespace skiff::testing {
namespace {

std::unique_ptr<ModelState> NewState() {
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  EXPECT_TRUE(state.ok());
  return std::move(*state);
}

Argument F32(std::initializer_list<int64_t> shape, bool constant = false) {
  Argument argument;
  argument.shape = Shape(shape);
  argument.constant = constant;
  return argument;
}

Case MakeCase(OpCode op, std::initializer_list<Argument> inputs) {
  Case made;
  made.op = op;
  made.name = FindOp(op)->name;
  InitAttrs(op, made.attrs);
  made.inputs = inputs;
  return made;
}

Case Convolution() {
  return MakeCase(OpCode::kConv2d, {F32({1, 12, 12, 16}), F32({32, 3, 3, 16}, true), F32({32}, true)});
}

/// A chain of unary nodes over one pair of buffers.
class Chain {
 public:
  explicit Chain(size_t nodes, std::initializer_list<OpCode> ops, int64_t elements)
      : buffers_(2, std::vector<float>(static_cast<size_t>(elements) + 16, 0.5f)) {
    for (auto& buffer : buffers_) {
      PlanTensor tensor;
      tensor.view = TensorView(buffer.data(), DType::kF32, {elements});
      tensors_.push_back(tensor);
    }
    for (OpCode op : ops) {
      attrs_.emplace_back();
      InitAttrs(op, attrs_.back());
    }
    size_t which = 0;
    for (size_t i = 0; i < nodes; ++i) {
      const OpCode op = ops.begin()[which];
      nodes_.push_back(
          {FindOp(op), &attrs_[which], "node", {&indices_[i % 2], 1}, {&indices_[(i + 1) % 2], 1}, {}});
      which = (which + 1) % ops.size();
    }
  }
  SegmentView view() const {
    return {{tensors_.data(), tensors_.size()},
            {nodes_.data(), nodes_.size()},
            0,
            static_cast<uint32_t>(nodes_.size())};
  }

 private:
  std::vector<std::vector<float>> buffers_;
  std::vector<PlanTensor> tensors_;
  std::deque<AttrStorage> attrs_;
  std::vector<PlanNode> nodes_;
  const int32_t indices_[2] = {0, 1};
};

std::unique_ptr<PreparedSegment> Ready(DelegateSession& session, const SegmentView& view) {
  Result<std::unique_ptr<PreparedSegment>> prepared = session.Prepare(view);
  EXPECT_TRUE(prepared.ok());
  EXPECT_TRUE((*prepared)->Reshape().ok());
  EXPECT_TRUE((*prepared)->Bind().ok());
  return std::move(*prepared);
}

std::unique_ptr<DelegateSession> NewSession(ModelState& state, int threads, ThreadPool* pool = nullptr) {
  Result<std::unique_ptr<DelegateSession>> session =
      state.CreateSession({threads, pool, false, false, /*thread_small_work=*/true});
  EXPECT_TRUE(session.ok());
  return std::move(*session);
}

TEST(Segment, UnsupportedNodesRunOnTheReferenceKernel) {
  const auto state = NewState();
  const auto session = NewSession(*state, 1);
  const Chain chain(3, {OpCode::kAbs, OpCode::kAtan}, 10);
  const auto segment = Ready(*session, chain.view());
  EXPECT_FALSE(segment->FellBack(0));
  EXPECT_TRUE(segment->FellBack(1));
  EXPECT_FALSE(segment->FellBack(2));
  EXPECT_TRUE(segment->Run({}).ok());
}

/// While another user holds the pool: what needs none does not wait for it.
TEST(Segment, LittleWorkLeavesThePoolAlone) {
  const std::unique_ptr<xnnpack::Pool> pool = std::move(xnnpack::CreatePool(2).value());
  const auto state = NewState();
  Result<std::unique_ptr<DelegateSession>> created = state->CreateSession({2, pool.get()});
  ASSERT_TRUE(created.ok());
  const auto session = std::move(*created);
  const Chain chain(4, {OpCode::kAbs}, 10);
  const auto segment = Ready(*session, chain.view());
  struct Holder {
    std::atomic<bool> holds{false};
    std::atomic<bool> release{false};
    std::atomic<bool> in_time{false};
  } holder;
  std::thread other([&] {
    const auto hold = [](void* context, size_t) {
      auto& self = *static_cast<Holder*>(context);
      self.holds = true;
      for (int i = 0; i < 10000 && !self.release; ++i) usleep(1000);
      self.in_time = self.release.load();
    };
    pthreadpool_parallelize_1d(pool->get(), hold, &holder, 2, 0);  // One would run without the pool.
  });
  while (!holder.holds) usleep(100);
  EXPECT_TRUE(segment->Run({}).ok());
  session->Idle();
  holder.release = true;
  other.join();
  EXPECT_TRUE(holder.in_time);
}

TEST(Segment, CancelsBetweenNodes) {
  const auto state = NewState();
  const auto session = NewSession(*state, 1);
  const Chain chain(4, {OpCode::kAbs}, 10);
  const auto segment = Ready(*session, chain.view());
  struct CancelAfterOne final : NodeTimer {
    std::atomic<bool> cancelled{false};
    int recorded = 0;
    void Record(uint32_t, uint64_t, uint64_t) override {
      ++recorded;
      cancelled = true;
    }
  } timer;
  const RunContext context{&timer, &timer.cancelled};
  EXPECT_EQ(segment->Run(context).code(), StatusCode::kCancelled);
  EXPECT_EQ(timer.recorded, 1);
}

TEST(Segment, SessionsShareOneCopyOfPackedWeights) {
  const auto state = NewState();
  Node first(Convolution());
  const uint64_t once = first.Run(*state, {}).packed_bytes;
  EXPECT_GE(once, 32u * 9 * 16 * sizeof(float));
  EXPECT_EQ(first.Run(*state, {2, nullptr}).packed_bytes, once);
  Case other = Convolution();
  other.name += "_other";
  Node other_weights(other);
  EXPECT_EQ(other_weights.Run(*state, {}).packed_bytes, 2 * once);
}

TEST(Segment, ManySessionsPackAtTheSameTime) {
  const auto state = NewState();
  Node alone(Convolution());
  const auto expected = alone.Run(*NewState(), {});
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Node node(Convolution());
      const auto got = node.Run(*state, {});
      equal += got.outputs == expected.outputs;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 4);
  EXPECT_EQ(state->packed_bytes().heap, expected.packed_bytes);
}

TEST(Segment, IndirectionBuffersCountAsWorkspace) {
  const auto state = NewState();
  // XNNPACK runs those with three outputs of each channel on all CPUs.
  Case depthwise =
      MakeCase(OpCode::kConv2d, {F32({1, 12, 12, 16}), F32({48, 3, 3, 1}, true), F32({48}, true)});
  depthwise.As<Conv2dAttrs>().groups = 16;
  Node node(depthwise);
  // One pointer for each tap of each output pixel.
  EXPECT_GE(node.Run(*state, {}).workspace_bytes, 10u * 10 * 9 * sizeof(void*));
}

/// A pool of 200 bytes in a file has an indirection buffer of 29 MB (half of it where pointers have four
/// bytes). What was refused is not taken first.
TEST(Segment, XnnpackTakesNoMoreThanTheMemoryLimit) {
  const auto state = NewState();
  // Pools of floats run on kernels of our own on x86-64.
  Argument codes = F32({1, 256, 256, 1});
  const Quantization quantization;
  codes.dtype = DType::kI8;
  codes.quantization = &quantization;
  Case pool = MakeCase(OpCode::kMaxPool2d, {codes});
  pool.quantized_output = DType::kI8;
  pool.output_quantization = &quantization;
  pool.As<Pool2dAttrs>().kernel = {8, 8};
  pool.As<Pool2dAttrs>().dilations = {2, 2};
  const Node node(pool);
  for (const auto& [limit, fits] : {std::pair{uint64_t{8} << 20, false}, {uint64_t{64} << 20, true}}) {
    DelegateSessionOptions options;
    options.memory_limit = limit;
    const std::unique_ptr<DelegateSession> session = std::move(state->CreateSession(options).value());
    const auto prepared = std::move(session->Prepare(node.segment()).value());
    const ErrorCapture capture;
    const Status status = prepared->Reshape();
    EXPECT_EQ(status.code(), fits ? StatusCode::kOk : StatusCode::kOutOfMemory);
    EXPECT_LE(prepared->workspace_bytes(), limit);
    const bool says_so =
        std::string(capture.message()).find("SessionOptions::memory_limit") != std::string::npos;
    EXPECT_EQ(says_so, !fits) << capture.message();
  }
}

TEST(Segment, UsesAnInjectedPool) {
  std::unique_ptr<ThreadPool> pool = std::move(CreateThreadPool(2).value());
  {
    const auto state = NewState();
    const auto session = NewSession(*state, 1, pool.get());
    const Chain chain(2, {OpCode::kAbs}, 100000);
    const auto segment = Ready(*session, chain.view());
    EXPECT_TRUE(segment->Run({}).ok());
    session->Idle();
  }
  pool.reset();
}

TEST(Segment, LeavesThePoolOfAnotherDelegateAlone) {
  struct Foreign final : ThreadPool {
    DelegateKind delegate() const override { return DelegateKind::kOfApplications; }
    int threads() const override { return 2; }
  } pool;
  const auto state = NewState();
  const auto session = NewSession(*state, 2, &pool);
  const Chain chain(2, {OpCode::kAbs}, 100000);
  EXPECT_TRUE(Ready(*session, chain.view())->Run({}).ok());
}

/// Where the pieces of a Concat were computed in place, nothing is written: the memory is read-only here.
TEST(Segment, ConcatSkipsWhatIsInPlace) {
  auto* whole = static_cast<float*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(whole, MAP_FAILED);
  std::vector<PlanTensor> tensors(3);
  tensors[0].view = TensorView(whole, DType::kF32, {2, 2});
  tensors[0].view.row_stride = 5;
  tensors[1].view = TensorView(whole + 2, DType::kF32, {2, 3});
  tensors[1].view.row_stride = 5;
  tensors[2].view = TensorView(whole, DType::kF32, {2, 5});
  AttrStorage attrs;
  InitAttrs(OpCode::kConcat, attrs);
  attrs.as<AxisAttrs>().axis = 1;
  const int32_t inputs[] = {0, 1};
  const int32_t outputs[] = {2};
  const PlanNode node{FindOp(OpCode::kConcat), &attrs, "concat", {inputs, 2}, {outputs, 1}, {}};
  const auto state = NewState();
  const auto session = NewSession(*state, 1);
  const auto segment = Ready(*session, {{tensors.data(), 3}, {&node, 1}, 0, 1});
  EXPECT_TRUE(segment->Run({}).ok());
  EXPECT_FALSE(segment->FellBack(0));
  munmap(whole, 4096);
}

TEST(Segment, EmptyTensorsAreNoWork) {
  const auto state = NewState();
  Node node(MakeCase(OpCode::kAdd, {F32({0, 4}), F32({4})}));
  EXPECT_TRUE(node.Run(*state, {}).outputs[0].empty());
  Case sum = MakeCase(OpCode::kReduceSum, {F32({3, 0})});
  sum.As<ReduceAttrs>().axes = {1};
  Node reduce(sum);
  EXPECT_EQ(reduce.Run(*state, {}).outputs[0], std::vector<double>(3, 0.0));
}

/// The extents of one prepared segment change back and forth; each time it computes what a fresh one does.
TEST(Segment, FollowsNewExtents) {
  Case pool = MakeCase(OpCode::kMaxPool2d, {F32({1, 8, 8, 6})});
  pool.As<Pool2dAttrs>().kernel = {3, 3};
  pool.As<Pool2dAttrs>().strides = {2, 2};
  pool.As<Pool2dAttrs>().auto_pad = AutoPad::kSameUpper;
  Case average = pool;
  average.op = OpCode::kAveragePool2d;
  Case convolution = MakeCase(OpCode::kConv2d, {F32({1, 8, 8, 6}), F32({5, 3, 3, 6}, true), F32({5}, true)});
  convolution.As<Conv2dAttrs>().auto_pad = AutoPad::kSameUpper;
  convolution.As<Conv2dAttrs>().strides = {2, 2};
  Case depthwise = MakeCase(OpCode::kConv2d, {F32({1, 8, 8, 6}), F32({6, 3, 3, 1}, true), F32({6}, true)});
  depthwise.As<Conv2dAttrs>().groups = 6;
  Case sum = MakeCase(OpCode::kReduceMean, {F32({1, 8, 8, 6})});
  sum.As<ReduceAttrs>().axes = {1, 2};
  const Case cases[] = {pool,
                        average,
                        convolution,
                        depthwise,
                        sum,
                        MakeCase(OpCode::kSigmoid, {F32({1, 8, 8, 6})}),
                        MakeCase(OpCode::kAdd, {F32({1, 8, 8, 6}), F32({6})})};
  for (const Case& description : cases) {
    SCOPED_TRACE(FindOp(description.op)->name);
    const auto state = NewState();
    const auto session = NewSession(*state, 1);
    Node changing(description);
    Result<std::unique_ptr<PreparedSegment>> prepared = session->Prepare(changing.segment());
    ASSERT_TRUE(prepared.ok());
    for (const auto& [height, width] : {std::pair{8, 8}, {5, 9}, {16, 3}, {8, 8}}) {
      Case now = description;
      now.inputs[0].shape[1] = height;
      now.inputs[0].shape[2] = width;
      Node fresh(now);
      const auto expected = fresh.Run(*state, {});
      const auto got = changing.RunAt(fresh, **prepared);
      EXPECT_FALSE(got.fell_back);
      EXPECT_EQ(got.damage, "");
      EXPECT_EQ(got.outputs, expected.outputs) << height << "x" << width;
    }
  }
}

/// Kernels of ours take vectors of channels, of which the next picture may have fewer.
TEST(Segment, PoolsAsManyChannelsAsThereAre) {
  Case pool = MakeCase(OpCode::kMaxPool2d, {F32({1, 6, 6, 64})});
  pool.As<Pool2dAttrs>().kernel = {3, 3};
  pool.As<Pool2dAttrs>().strides = {1, 1};
  const auto state = NewState();
  const auto session = NewSession(*state, 1);
  Node changing(pool);
  Result<std::unique_ptr<PreparedSegment>> prepared = session->Prepare(changing.segment());
  ASSERT_TRUE(prepared.ok());
  for (const int64_t channels : {64, 3, 1, 5, 64}) {
    Case now = pool;
    now.inputs[0].shape[3] = channels;
    Node fresh(now);
    const auto expected = fresh.Run(*state, {});
    const auto got = changing.RunAt(fresh, **prepared);
    EXPECT_EQ(got.damage, "");
    EXPECT_EQ(got.outputs, expected.outputs) << channels;
  }
}

/// Pictures of three planes have a kernel of their own, whose tiles are shared among threads.
TEST(Segment, TurnsPlanesIntoPixels) {
  constexpr int64_t kPixels = int64_t{101} * 90;
  for (const DType dtype : {DType::kF32, DType::kU8}) {
    Argument picture = F32({2, 3, 101, 90});
    picture.dtype = dtype;
    Case transpose = MakeCase(OpCode::kTranspose, {picture});
    transpose.As<TransposeAttrs>().perm = {0, 2, 3, 1};
    Node node(transpose);
    const std::vector<double> planes = ElementsOf(node.input(0));
    std::vector<double> pixels;
    for (int64_t i = 0; i < 2 * 3 * kPixels; ++i) {
      const int64_t plane = i / (3 * kPixels) * 3 + i % 3;
      pixels.push_back(planes[static_cast<size_t>(plane * kPixels + i / 3 % kPixels)]);
    }
    const auto state = NewState();
    EXPECT_EQ(node.Run(*state, {}).outputs[0], pixels);
    EXPECT_EQ(node.Run(*state, {2, nullptr}).outputs[0], pixels);
  }
}

/// So do bytes in two groups of channels.
TEST(Segment, ShufflesBytesInTwoGroups) {
  constexpr size_t kRows = 400;
  constexpr size_t kChannels = 58;
  Argument bytes = F32({kRows, kChannels});
  bytes.dtype = DType::kU8;
  Case shuffle = MakeCase(OpCode::kChannelShuffle, {bytes});
  shuffle.As<GroupsAttrs>().groups = 2;
  Node node(shuffle);
  const std::vector<double> before = ElementsOf(node.input(0));
  std::vector<double> after;
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < kChannels; ++i)
      after.push_back(before[row * kChannels + i % 2 * (kChannels / 2) + i / 2]);
  }
  const auto state = NewState();
  EXPECT_EQ(node.Run(*state, {}).outputs[0], after);
  EXPECT_EQ(node.Run(*state, {2, nullptr}).outputs[0], after);
}

TEST(Segment, WorkersSleepWhileIdle) {
  const auto state = NewState();
  const auto session = NewSession(*state, 4);
  const Chain chain(4, {OpCode::kAbs}, 200000);
  const auto segment = Ready(*session, chain.view());
  const auto cpu_time = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(segment->Run({}).ok());
    session->Idle();
  }
  const auto before = cpu_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(cpu_time() - before, std::chrono::milliseconds(20));
}

TEST(Registry, HoldsTheXnnpackDelegateFirst) {
  ASSERT_GE(BuiltinDelegates().size(), 1u);
  EXPECT_EQ(BuiltinDelegates()[0]->kind(), DelegateKind::kXnnpack);
  for (const Delegate* delegate : BuiltinDelegates())
    EXPECT_NE(delegate->kind(), DelegateKind::kReference) << "every runtime has it already";
}

TEST(Support, RefusesWhatNoLoweringCanDo) {
  Case conv = Convolution();
  conv.As<Conv2dAttrs>().min = 1;
  conv.As<Conv2dAttrs>().max = 1;
  EXPECT_FALSE(XnnpackSupport().Supports(Node(conv).types())) << "an empty clamp";
  Case huge = Convolution();
  huge.As<Conv2dAttrs>().pads = {1 << 20, 0, 0, 0};
  EXPECT_FALSE(XnnpackSupport().Supports(Node(huge).types())) << "absurd pads";
  Argument sizes = F32({2}, /*constant=*/true);
  sizes.dtype = DType::kI64;
  sizes.values = {2, 2};
  Case antialiased = MakeCase(OpCode::kResize2d, {F32({1, 4, 4, 1}), sizes});
  antialiased.As<ResizeAttrs>().mode = ResizeMode::kLinear;
  antialiased.As<ResizeAttrs>().antialias = true;
  EXPECT_FALSE(XnnpackSupport().Supports(Node(antialiased).types())) << "weights of no kernel";
}

}  // namespace
}  // namespace skiff::testing
