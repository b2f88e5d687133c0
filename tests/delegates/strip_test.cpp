// Nodes that run over some lines of a picture before the next ones are begun: the same bits as one node after
// the other, with windows, pads and sizes of all kinds, and wherever the tensors lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <random>

#include "delegates/xnnpack/delegate.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/lower/follow.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "ops/op_codes.h"
#include "skiff/delegate.h"

namespace skiff::testing {
namespace {

bool HasStrips() { return xnnpack::kHasOwnKernels && xnnpack::SelectKernels().dense != nullptr; }

/// A node's square windows.
struct Windows {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t pad = 0;
};

/// Nodes one behind the other, each with memory of its own for what it makes.
class Chain {
 public:
  explicit Chain(uint32_t seed) : random_(seed) {}

  int32_t Input(const Shape& shape) { return Add(shape, /*constant=*/false); }
  int32_t Convolution(int32_t x, int64_t outputs, const Windows& windows, int64_t groups = 1) {
    const int64_t channels = shape(x)[3];
    const int32_t weights = Add({outputs, windows.size, windows.size, channels / groups}, true);
    const int32_t bias = Add({outputs}, true);
    AttrStorage& attrs = Attrs(OpCode::kConv2d);
    auto& of = attrs.as<Conv2dAttrs>();
    SetWindows(windows, &of);
    of.groups = groups;
    of.min = -0.5f;
    return Node(OpCode::kConv2d, {x, weights, bias}, Outputs(x, windows, outputs));
  }
  int32_t Depthwise(int32_t x, const Windows& windows) {
    return Convolution(x, shape(x)[3], windows, shape(x)[3]);
  }
  int32_t MaxPool(int32_t x, const Windows& windows) {
    auto& of = Attrs(OpCode::kMaxPool2d).as<Pool2dAttrs>();
    SetWindows(windows, &of);
    of.kernel = {windows.size, windows.size};
    return Node(OpCode::kMaxPool2d, {x}, Outputs(x, windows, shape(x)[3]));
  }
  int32_t Dense(int32_t x, int64_t outputs) {
    Shape result = shape(x);
    const int64_t inputs = result.last();
    result[result.rank() - 1] = outputs;
    Attrs(OpCode::kFullyConnected);
    const int32_t weights = Add({outputs, inputs}, true);
    return Node(OpCode::kFullyConnected, {x, weights}, result);
  }
  int32_t Silu(int32_t x) {
    Attrs(OpCode::kSilu);
    return Node(OpCode::kSilu, {x}, shape(x));
  }
  int32_t Sum(int32_t x, int32_t other) {
    Attrs(OpCode::kAdd);
    return Node(OpCode::kAdd, {x, other}, shape(x));
  }

  void Scale(int32_t tensor, float factor) {
    for (float& value : values_[Slot(tensor)]) value *= factor;
  }
  /// Of a Dense() that returned this.
  static int32_t WeightsOf(int32_t dense) { return dense - 1; }

  /// A tensor lies `elements` behind the first one of another.
  void Place(int32_t tensor, int32_t over, int64_t elements = 0) {
    tensors_[Slot(tensor)].view.data = tensors_[Slot(over)].view.as<float>() + elements;
  }
  /// As the memory planner may: some results lie over tensors that are not needed any more when they are
  /// made.
  void PlaceOverDeadOnes(int32_t input) {
    std::vector<int32_t> dead;
    int32_t live = input;
    for (const int32_t result : outputs_) {
      const int32_t over = dead.empty() ? -1 : dead[random_() % dead.size()];
      if (over >= 0 && random_() % 2 == 0) {
        const int64_t spare = shape(over).elements() - shape(result).elements();
        const TensorView before = tensors_[Slot(result)].view;
        if (spare >= 0) Place(result, over, random_() % 2 == 0 ? 0 : spare / 16 * 16);
        if (xnnpack::Overlap(tensors_[Slot(result)].view, tensors_[Slot(live)].view))
          tensors_[Slot(result)].view = before;
      }
      dead.push_back(live);
      live = result;
    }
  }
  const Shape& shape(int32_t tensor) const { return tensors_[Slot(tensor)].view.shape; }
  size_t nodes() const { return nodes_.size(); }
  bool IsElementwise(size_t node) const { return nodes_[node].op->Is(kUnary); }

  /// The last tensor after a run of all nodes, in segments of `at_once` nodes. ran_alone[i]: node i took
  /// time.
  std::vector<float> Run(DelegateSession& session, size_t at_once, Span<const int32_t> outputs = {},
                         std::vector<bool>* ran_alone = nullptr) {
    struct Timer final : NodeTimer {
      std::vector<bool> alone;
      void Record(uint32_t node, uint64_t begin, uint64_t end) override { alone[node] = begin != end; }
    } timer;
    timer.alone.resize(nodes_.size());
    for (size_t i = 0; i < memory_.size(); ++i) {
      // What nodes have made before shall not be found again.
      if (!given_[i])
        std::fill(memory_[i].begin(), memory_[i].end(), std::numeric_limits<float>::quiet_NaN());
    }
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i]) std::copy(values_[i].begin(), values_[i].end(), tensors_[i].view.as<float>());
    }
    for (size_t first = 0; first < nodes_.size(); first += at_once) {
      const size_t end = std::min(first + at_once, nodes_.size());
      Result<std::unique_ptr<PreparedSegment>> prepared = session.Prepare({{tensors_.data(), tensors_.size()},
                                                                           {nodes_.data(), nodes_.size()},
                                                                           static_cast<uint32_t>(first),
                                                                           static_cast<uint32_t>(end),
                                                                           outputs});
      EXPECT_TRUE(prepared.ok());
      EXPECT_TRUE((*prepared)->Reshape().ok());
      EXPECT_TRUE((*prepared)->Bind().ok());
      EXPECT_TRUE((*prepared)->Run({&timer}).ok());
    }
    if (ran_alone != nullptr) *ran_alone = timer.alone;
    const TensorView& last = tensors_.back().view;
    return {last.as<float>(), last.as<float>() + last.shape.elements()};
  }

 private:
  static size_t Slot(int32_t tensor) { return static_cast<size_t>(tensor); }

  template <class A>
  static void SetWindows(const Windows& windows, A* attrs) {
    attrs->strides = {windows.stride, windows.stride};
    attrs->pads = {windows.pad, windows.pad, windows.pad, windows.pad};
  }
  Shape Outputs(int32_t x, const Windows& windows, int64_t channels) const {
    Shape result = shape(x);
    for (int axis = 1; axis < 3; ++axis)
      result[axis] = (result[axis] + 2 * windows.pad - windows.size) / windows.stride + 1;
    result[3] = channels;
    return result;
  }
  AttrStorage& Attrs(OpCode op) {
    attrs_.emplace_back();
    InitAttrs(op, attrs_.back());
    return attrs_.back();
  }
  int32_t Add(const Shape& shape, bool constant, bool given = true) {
    constexpr size_t kTail = 16;
    const auto elements = static_cast<size_t>(shape.elements());
    memory_.emplace_back(elements + kTail);
    values_.emplace_back();
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (size_t i = 0; given && i < elements; ++i) values_.back().push_back(numbers(random_));
    given_.push_back(given);
    PlanTensor tensor;
    tensor.view = TensorView(memory_.back().data(), DType::kF32, shape);
    tensor.constant = constant;
    tensor.hash = {memory_.size(), random_()};
    if (given) std::copy(values_.back().begin(), values_.back().end(), memory_.back().data());
    tensors_.push_back(tensor);
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  int32_t Node(OpCode op, const std::vector<int32_t>& inputs, const Shape& result) {
    inputs_.push_back(inputs);
    outputs_.push_back(Add(result, /*constant=*/false, /*given=*/false));
    nodes_.push_back({FindOp(op),
                      &attrs_.back(),
                      "node",
                      {inputs_.back().data(), inputs_.back().size()},
                      {&outputs_.back(), 1},
                      {}});
    return outputs_.back();
  }

  std::mt19937 random_;
  std::deque<std::vector<float>> memory_;
  std::vector<std::vector<float>> values_;
  std::vector<bool> given_;  ///< By whoever runs it.
  std::vector<PlanTensor> tensors_;
  std::deque<AttrStorage> attrs_;
  std::deque<std::vector<int32_t>> inputs_;
  std::deque<int32_t> outputs_;
  std::vector<PlanNode> nodes_;
};

using Flags = std::vector<bool>;

/// Where there are strips, these nodes take time of their own.
void ExpectAlone(const Flags& alone, const Flags& expected) {
  if (HasStrips()) {
    EXPECT_EQ(alone, expected);
  }
}

class StripTest : public ::testing::Test {
 protected:
  StripTest() : state_(std::move(BuiltinXnnpackDelegate().CreateModelState({}).value())) {}

  std::unique_ptr<DelegateSession> NewSession(int threads, bool keep_intermediates = false,
                                              bool exact = false) {
    DelegateSessionOptions options;
    options.exact = exact;
    options.threads = threads;
    options.thread_small_work = true;
    options.keep_intermediates = keep_intermediates;
    return std::move(state_->CreateSession(options).value());
  }

  std::unique_ptr<ModelState> state_;
};

/// As in MobileNetV2: 1 x 1, 3 x 3, 1 x 1, and the input added again.
struct Bottleneck {
  explicit Bottleneck(int64_t extent = 56) : chain(1) {
    x = chain.Input({1, extent, extent, 24});
    wide = chain.Silu(chain.Convolution(x, 144, {}));
    deep = chain.Depthwise(wide, {3, 1, 1});
    narrow = chain.Convolution(deep, 24, {});
    sum = chain.Sum(narrow, x);
  }
  Chain chain;
  int32_t x, wide, deep, narrow, sum;
};

TEST_F(StripTest, RunsNodesTogether) {
  Bottleneck net;
  const auto session = NewSession(1);
  const std::vector<float> one_by_one = net.chain.Run(*session, 1);
  Flags alone;
  EXPECT_EQ(net.chain.Run(*session, net.chain.nodes(), {}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false, false, false});
}

TEST_F(StripTest, SharesWorkAmongThreads) {
  Bottleneck net;
  const std::vector<float> one_by_one = net.chain.Run(*NewSession(1), 1);
  for (const int threads : {2, 3, 4}) EXPECT_EQ(net.chain.Run(*NewSession(threads), 5), one_by_one);
}

/// As the memory planner likes to place what comes last.
TEST_F(StripTest, WritesOverItsInput) {
  constexpr int64_t kLines = 24 * 56;
  const Bottleneck names;
  const struct {
    int32_t narrow;
    int64_t narrow_behind;
    int32_t sum;
    int64_t sum_behind;
  } kPlaces[] = {
      {names.wide, 0, names.wide, 0},
      {names.wide, 0, names.x, 0},
      {names.wide, 5 * kLines, names.wide, 5 * kLines},
      {names.wide, 250 * kLines, names.x, 0},
  };
  for (const int threads : {1, 2}) {
    const auto session = NewSession(threads);
    Bottleneck apart;
    const std::vector<float> one_by_one = apart.chain.Run(*session, 1);
    for (const auto& places : kPlaces) {
      SCOPED_TRACE(&places - kPlaces);
      Bottleneck net;
      net.chain.Place(net.narrow, places.narrow, places.narrow_behind);
      net.chain.Place(net.sum, places.sum, places.sum_behind);
      Flags alone;
      EXPECT_EQ(net.chain.Run(*session, 5, {}, &alone), one_by_one);
      ExpectAlone(alone, {true, false, false, false, false});
    }
  }
}

/// The only result with room for a copy of the input lies over a part of it, because only the first node
/// reads it.
TEST_F(StripTest, CopiesItsInputElsewhereOrNotAtAll) {
  constexpr int64_t kPixels = int64_t{56} * 56;
  struct Net {
    Net() : chain(3) {
      memory = chain.Input({1, 56, 56, 320});
      x = chain.Input({1, 56, 56, 200});
      wide = chain.Convolution(chain.Convolution(x, 120, {}), 240, {});
      narrow = chain.Convolution(wide, 24, {});
    }
    Chain chain;
    int32_t memory, x, wide, narrow;
  };
  for (const int threads : {1, 2}) {
    const auto session = NewSession(threads);
    Net apart;
    const std::vector<float> one_by_one = apart.chain.Run(*session, 1);
    for (const int64_t behind : {24 * kPixels, 24 * kPixels + 16, 80 * kPixels}) {
      SCOPED_TRACE(behind);
      Net net;
      net.chain.Place(net.x, net.memory);
      net.chain.Place(net.wide, net.memory, behind);
      net.chain.Place(net.narrow, net.memory);
      EXPECT_EQ(net.chain.Run(*session, net.chain.nodes()), one_by_one);
    }
  }
}

TEST_F(StripTest, LeavesWhatOthersRead) {
  Bottleneck net;
  const std::vector<float> one_by_one = net.chain.Run(*NewSession(1), 1);
  const Flags all_alone = {true, false, true, true, false};
  Flags alone;
  EXPECT_EQ(net.chain.Run(*NewSession(1, /*keep_intermediates=*/true), 5, {}, &alone), one_by_one);
  ExpectAlone(alone, all_alone);
  const int32_t read[] = {net.wide, net.deep};
  EXPECT_EQ(net.chain.Run(*NewSession(1), 5, {read, 2}, &alone), one_by_one);
  ExpectAlone(alone, all_alone);
}

/// What fits into the cache is not worth it.
TEST_F(StripTest, LeavesSmallPictures) {
  Bottleneck net(20);
  Flags alone;
  net.chain.Run(*NewSession(1), 5, {}, &alone);
  ExpectAlone(alone, {true, false, true, true, false});
}

TEST_F(StripTest, RunsRowsOfAnyRank) {
  Chain chain(2);
  chain.Dense(chain.Silu(chain.Dense(chain.Input({5, 300, 48}), 192)), 48);
  const std::vector<float> one_by_one = chain.Run(*NewSession(1), 1);
  Flags alone;
  EXPECT_EQ(chain.Run(*NewSession(1), 3, {}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false});
  EXPECT_EQ(chain.Run(*NewSession(2), 3), one_by_one);
}

/// Elementwise nodes take subnormal numbers for zero; products that have none behind them do not. Exact ones:
/// Strassen's way has no lines.
TEST_F(StripTest, KeepsSubnormalNumbers) {
  Chain chain(4);
  const int32_t x = chain.Input({5, 300, 48});
  const int32_t small = chain.Dense(x, 192);
  const int32_t large = chain.Dense(small, 192);
  chain.Silu(chain.Dense(large, 48));
  chain.Scale(x, 1e-39f);
  chain.Scale(chain.WeightsOf(large), 1e38f);
  const int32_t read[] = {small, large};
  Flags alone;
  const std::vector<float> one_by_one = chain.Run(*NewSession(1, false, true), 4, {read, 2}, &alone);
  ExpectAlone(alone, {true, true, true, false});
  // Elsewhere products are XNNPACK's, which may flush.
  if (HasStrips()) {
    EXPECT_NE(*std::max_element(one_by_one.begin(), one_by_one.end()), 0);
  }
  for (const int threads : {1, 2})
    EXPECT_EQ(chain.Run(*NewSession(threads, false, true), 4, {}, &alone), one_by_one);
  ExpectAlone(alone, {true, false, false, false});
}

/// A stem and what is behind it, of pictures and windows that are drawn.
TEST_F(StripTest, DrawnChains) {
  constexpr uint32_t kDraws = 80;
  size_t links = 0;  // Which are no followers, and ran with the node before.
  for (uint32_t seed = 0; seed < kDraws; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto between = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const auto windows = [&](int64_t largest) {
      const int64_t size = 3 + 2 * between(0, (largest - 3) / 2);
      return Windows{size, between(1, 2), between(0, 3) == 0 ? between(0, size + 3) : size / 2};
    };
    Chain chain(seed);
    const int64_t pictures = between(1, 3);
    int32_t at =
        chain.Input({pictures, between(9, 70), between(60, 200), between(0, 2) == 0 ? 3 : between(16, 40)});
    if (chain.shape(at)[3] == 3 || between(0, 3) == 0) at = chain.Convolution(at, between(16, 48), {3, 2, 1});
    for (int64_t left = between(2, 5); left > 0; --left) {
      const int64_t kind = between(0, 5);
      if (chain.shape(at)[1] < 9 || chain.shape(at)[2] < 9) break;
      if (kind < 2) at = chain.Convolution(at, between(2, 4) * 32 + between(0, 9), {});
      if (kind == 2) at = chain.Depthwise(at, windows(7));
      if (kind == 3) at = chain.MaxPool(at, {3, 2, between(0, 1)});
      if (kind == 4) at = chain.Convolution(chain.Convolution(at, 64, {}), 64, {3, between(1, 2), 1}, 8);
      if (kind == 5) at = chain.Silu(at);
    }
    const std::vector<float> one_by_one = chain.Run(*NewSession(1), 1);
    const int32_t input = 0;
    if (between(0, 1) == 0) {
      chain.PlaceOverDeadOnes(input);
    } else if (chain.nodes() > 1 && chain.shape(at).elements() <= chain.shape(input).elements()) {
      chain.Place(at, input);
    }
    Flags alone;
    EXPECT_EQ(chain.Run(*NewSession(1), chain.nodes(), {}, &alone), one_by_one);
    for (size_t i = 0; i < alone.size(); ++i) links += !alone[i] && !chain.IsElementwise(i) ? 1 : 0;
    EXPECT_EQ(chain.Run(*NewSession(static_cast<int>(between(2, 3))), chain.nodes()), one_by_one);
  }
  EXPECT_GE(links, HasStrips() ? kDraws / 3 : 0);
}

}  // namespace
}  // namespace skiff::testing
