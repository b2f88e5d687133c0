// Convolutions, transposed ones and pools of random geometry, of f32 and of codes: windows larger than the
// picture, pads beyond both of its ends, strides beyond the window, dilations, groups, few and many channels.
// The tables of the conformance tests have what somebody thought of.
//
// SKIFF_RANDOM_WINDOWS=N draws N of each kind; those of a smaller N are among them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "conformance_cases.h"
#include "conformance_codes.h"
#include "delegates/xnnpack/delegate.h"
#include "ops/build_ops.h"
#include "ops/op_codes.h"
#include "skiff/thread_pool.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

constexpr int kDefaultCount = 60;
/// Draws of which the shape rules, or XNNPACK and we, take too few would test nothing: for each that is
/// taken.
constexpr int kMostRefused = 20;
constexpr int kMostFallenBack = 1;

int Count() {
  const char* wanted = std::getenv("SKIFF_RANDOM_WINDOWS");
  return wanted == nullptr ? kDefaultCount : std::atoi(wanted);
}

std::unique_ptr<ModelState> NewState(const Delegate& delegate) {
  return std::move(delegate.CreateModelState({}).value());
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Rarely() { return Between(0, 3) == 0; }
  int64_t Channels() { return Rarely() ? Between(33, 70) : Between(1, 32); }
  int64_t Extent() { return Rarely() ? Between(13, 40) : Between(1, 12); }
  Ints Pair(int64_t low, int64_t high) { return Ints{Between(low, high), Between(low, high)}; }
  Ints Pads(const Ints& windows) {
    Ints pads{0, 0, 0, 0};
    for (int i = 0; i < 4; ++i)
      pads[i] = Rarely() ? Between(0, windows[i % 2] + 2) : Between(0, windows[i % 2] / 2);
    return pads;
  }

 private:
  std::mt19937 random_;
};

/// The windows' extents with their gaps.
Ints WindowsOf(const Ints& kernel, const Ints& dilations) {
  return {(kernel[0] - 1) * dilations[0] + 1, (kernel[1] - 1) * dilations[1] + 1};
}

/// What is drawn from.
struct Kind {
  OpCode op;
  bool codes;  ///< Quantised operands.
  bool product() const { return op == OpCode::kConv2d || op == OpCode::kConvTranspose2d; }
};

/// `terms` products make an element of the result.
Codes DrawCodes(Draw& draw, int64_t terms) {
  constexpr Bias kBiases[] = {Bias::kAbsent, Bias::kExact, Bias::kOtherScale, Bias::kLarge, Bias::kF32};
  const bool is_signed = draw.Between(0, 2) > 0;
  return {.dtype = is_signed ? DType::kI8 : DType::kU8,
          .per_channel = is_signed && !draw.Rarely(),
          .bias = kBiases[draw.Rarely() ? draw.Between(0, 4) : 1],
          // From results that mostly saturate to such of few codes.
          .y_scale = static_cast<float>(draw.Between(1, 20)) * 0.005f * std::sqrt(static_cast<float>(terms)),
          .dead = draw.Rarely(),
          .weights_zero_point = static_cast<int>(draw.Rarely() ? 128 : draw.Between(0, 255))};
}

Case Product(const Kind& kind, Draw& draw) {
  CaseList list;
  const bool depthwise = draw.Between(0, 2) == 0;
  const int64_t groups = depthwise ? draw.Channels() : draw.Rarely() ? draw.Between(2, 5) : 1;
  const int64_t inputs = depthwise ? 1 : groups > 1 ? draw.Between(1, 9) : draw.Channels();
  const int64_t outputs = depthwise    ? (draw.Rarely() ? 2 : 1)
                          : groups > 1 ? draw.Between(1, 9)
                                       : draw.Channels();
  const Ints kernel = draw.Rarely() ? draw.Pair(4, 8) : draw.Pair(1, 3);
  const Shape x{draw.Between(1, 3), draw.Extent(), draw.Extent(), groups * inputs};
  const Shape weights{groups * outputs, kernel[0], kernel[1], inputs};
  Case made =
      kind.codes
          ? AddProduct(list, kind.op, "drawn", x, weights, 0, DrawCodes(draw, kernel[0] * kernel[1] * inputs))
          : list.Add(kind.op, "drawn", {F32(x), Weights(weights), Weights({groups * outputs})});
  const auto set = [&](auto& attrs) {
    attrs.groups = groups;
    attrs.strides = draw.Rarely() ? draw.Pair(1, 6) : draw.Pair(1, 2);
    attrs.dilations = draw.Rarely() ? draw.Pair(1, 3) : Ints{1, 1};
    attrs.pads = draw.Pads(WindowsOf(kernel, attrs.dilations));
    if (draw.Rarely()) attrs.min = 0;
  };
  if (kind.op == OpCode::kConvTranspose2d) {
    set(made.As<ConvTranspose2dAttrs>());
  } else {
    set(made.As<Conv2dAttrs>());
  }
  return made;
}

Case Pool(const Kind& kind, Draw& draw) {
  CaseList list;
  const bool maximum = kind.op == OpCode::kMaxPool2d;
  const Shape x{draw.Between(1, 3), draw.Extent(), draw.Extent(), draw.Channels()};
  Case made = list.Add(kind.op, "drawn", {F32(x)});
  if (kind.codes) {
    const auto type = [&] { return draw.Rarely() ? DType::kU8 : DType::kI8; };
    const Quantization* quantization = Quantized(0.05f, 30);
    made.inputs = {CodesOf(type(), x, quantization)};
    // A maximum is one of the codes; where its type or scale is another, the reference has to run it.
    const bool same = maximum || !draw.Rarely();
    made.quantized_output = same ? made.inputs[0].dtype : type();
    made.output_quantization = same ? quantization : Quantized(0.04f, 70);
  }
  auto& attrs = made.As<Pool2dAttrs>();
  attrs.kernel = draw.Rarely() ? draw.Pair(4, 13) : draw.Pair(1, 3);
  attrs.strides = draw.Rarely() ? draw.Pair(1, 5) : draw.Pair(1, 2);
  if (maximum && !draw.Rarely()) {
    // Pixels that no window sees make XNNPACK refuse.
    for (int i = 0; i < 2; ++i) attrs.strides[i] = std::min(attrs.strides[i], attrs.kernel[i]);
  }
  if (maximum && draw.Rarely()) attrs.dilations = draw.Pair(1, 3);
  const Ints windows = WindowsOf(attrs.kernel, attrs.dilations);
  attrs.pads = draw.Pads(windows);
  // A window that lies in the padding alone has no value that kernels would agree on.
  for (int i = 0; i < 4; ++i) attrs.pads[i] = std::min(attrs.pads[i], windows[i % 2] - 1);
  attrs.ceil_mode = draw.Rarely();
  attrs.count_include_pad = !maximum && draw.Rarely();
  return made;
}

Case DrawCase(const Kind& kind, uint32_t seed) {
  Draw draw(seed);
  Case made = kind.product() ? Product(kind, draw) : Pool(kind, draw);
  made.name = "drawn " + std::to_string(seed);
  return made;
}

/// Null where the shape rule refuses what was drawn.
std::unique_ptr<Node> TryNode(const Case& description) {
  try {
    return std::make_unique<Node>(description);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

class RandomWindows : public ::testing::TestWithParam<Kind> {};

TEST_P(RandomWindows, MatchTheReference) {
  const auto reference_state = NewState(ReferenceDelegate());
  const auto fast_state = NewState(BuiltinXnnpackDelegate());
  const std::unique_ptr<ThreadPool> pool = std::move(CreateThreadPool(2).value());
  int taken = 0;
  int refused = 0;
  int fell_back = 0;
  for (uint32_t seed = 0; taken < Count(); ++seed) {
    const Case description = DrawCase(GetParam(), seed);
    const std::unique_ptr<Node> node = TryNode(description);
    if (!node) {
      ASSERT_LT(++refused, kMostRefused * (taken + 1));
      continue;
    }
    ++taken;
    SCOPED_TRACE(description.name + ": " + Describe(description));
    const Node::Outcome expected = node->Run(*reference_state, {});
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), pool.get()}) {
      const Node::Outcome got = node->Run(*fast_state, {.thread_pool = threads, .thread_small_work = true});
      ASSERT_EQ(Compare(*node, got, expected, *reference_state, DelegateKind::kXnnpack, /*exact=*/false), "");
      fell_back += got.fell_back && threads == nullptr ? 1 : 0;
    }
  }
  EXPECT_LE(fell_back, kMostFallenBack * (taken - fell_back));
}

/// One prepared node at one size after the other, as in a Session of an open shape.
TEST_P(RandomWindows, FollowTheShape) {
  const auto reference_state = NewState(ReferenceDelegate());
  const auto fast_state = NewState(BuiltinXnnpackDelegate());
  const auto session = std::move(fast_state->CreateSession({}).value());
  int taken = 0;
  int compared = 0;
  for (uint32_t seed = 0; taken < Count() / 3; ++seed) {
    const Case description = DrawCase(GetParam(), seed);
    const std::unique_ptr<Node> node = TryNode(description);
    if (!node) continue;
    ++taken;
    SCOPED_TRACE(description.name + ": " + Describe(description));
    Result<std::unique_ptr<PreparedSegment>> prepared = session->Prepare(node->segment());
    ASSERT_TRUE(prepared.ok());
    Draw draw(seed);
    for (int i = 0; i < 4; ++i) {
      Case now = description;
      Shape& shape = now.inputs[0].shape;
      for (const int axis : {0, 1, 2}) shape[axis] = axis == 0 ? draw.Between(1, 3) : draw.Extent();
      if (!GetParam().product()) shape[3] = draw.Channels();
      const std::unique_ptr<Node> fresh = TryNode(now);
      if (!fresh) continue;
      SCOPED_TRACE(Describe(now));
      const Node::Outcome expected = fresh->Run(*reference_state, {});
      const Node::Outcome got = node->RunAt(*fresh, **prepared);
      ASSERT_EQ(Compare(*fresh, got, expected, *reference_state, DelegateKind::kXnnpack, /*exact=*/false),
                "");
      ++compared;
    }
  }
  EXPECT_GE(compared, taken);
}

constexpr Kind kKinds[] = {
    {OpCode::kConv2d, false},         {OpCode::kConv2d, true},        {OpCode::kConvTranspose2d, false},
    {OpCode::kConvTranspose2d, true}, {OpCode::kMaxPool2d, false},    {OpCode::kMaxPool2d, true},
    {OpCode::kAveragePool2d, false},  {OpCode::kAveragePool2d, true},
};

INSTANTIATE_TEST_SUITE_P(All, RandomWindows, ::testing::ValuesIn(kKinds),
                         [](const ::testing::TestParamInfo<Kind>& info) {
                           return std::string(FindOp(info.param.op)->name) +
                                  (info.param.codes ? "OfCodes" : "");
                         });

}  // namespace
}  // namespace skiff::testing
