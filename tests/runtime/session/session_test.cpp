#include "skiff/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "tests/support/read_only.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Session> MakeSession(Model& model, const SessionOptions& options = {}) {
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  EXPECT_TRUE(session.ok());
  return std::move(session.value());
}

class SmallNet : public ::testing::Test {
 protected:
  OpenedModel opened_{kSmallNet};
  const Graph source_ = ParseGraph(kSmallNet);
  const TensorData image_ = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 7);
  const TensorData expected_ = Evaluate(source_, {{"image", image_}}).at("scores");
};

TEST_F(SmallNet, EveryBackendAgreesWithEager) {
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    for (const bool keep : {false, true}) {
      SessionOptions options;
      options.backend = backend;
      options.keep_intermediates = keep;
      const auto session = MakeSession(*opened_.model, options);
      for (int run = 0; run < 3; ++run) {
        const TensorData scores = RunSession(*session, {{"image", image_}}).at("scores");
        const Difference difference = Compare(scores, expected_);
        EXPECT_LE(difference.difference, 2e-6 * difference.largest) << "keep " << keep << ", run " << run;
      }
    }
  }
}

TEST_F(SmallNet, InputsKeepTheirValueBetweenRuns) {
  const auto session = MakeSession(*opened_.model);
  const auto first = RunSession(*session, {{"image", image_}});
  const auto second = RunSession(*session, {});
  EXPECT_EQ(Compare(first.at("scores"), second.at("scores")).difference, 0);
}

/// A view would be free, but the output must not change when the caller prepares the next input.
TEST(Outputs, StayWhenAnInputChanges) {
  for (const char* line :
       {"const shape: i64[1] = [4]\n  y: f32[4] = Reshape(x, shape)", "y: f32[2, 2] = Identity(x)"}) {
    const OpenedModel opened("graph g {\n  input x: f32[2, 2]\n  " + std::string(line) +
                             "\n  output y = y\n  output same = x\n}\n");
    const auto session = MakeSession(*opened.model);
    const Result<TensorView> x = session->InputBuffer(0);
    ASSERT_TRUE(x.ok());
    float* values = x.value().as<float>();
    for (int i = 0; i < 4; ++i) values[i] = static_cast<float>(i + 1);
    ASSERT_TRUE(session->Run().ok());
    for (int i = 0; i < 4; ++i) values[i] = -1;
    for (int output = 0; output < 2; ++output) {
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(session->Output(output).value().as<float>()[i], static_cast<float>(i + 1));
    }
  }
}

/// What an application has as constants needs no cast, and is not written to, bound or copied.
TEST_F(SmallNet, InputsMayBeConstant) {
  const ReadOnlyCopy copy(image_);
  const auto* pixels = copy.view().as<float>();
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    const auto session = MakeSession(*opened_.model, options);
    const ConstTensorView image(pixels, DType::kF32, image_.shape());
    EXPECT_EQ(image.as<float>(), pixels);
    EXPECT_EQ(image.bytes(), static_cast<int64_t>(image_.size_bytes()));
    EXPECT_TRUE(image.dense());
    ASSERT_TRUE(session->BindInput(0, image).ok());
    for (int run = 0; run < 2; ++run)
      EXPECT_LE(Compare(RunSession(*session, {}).at("scores"), expected_).difference, 1e-5);
    ASSERT_TRUE(session->SetInput("image", {pixels, DType::kF32, {1, 16, 16, 3}}).ok());
    EXPECT_LE(Compare(RunSession(*session, {}).at("scores"), expected_).difference, 1e-5);
  }
}

/// Parts of an input that lie in it, with gaps between their rows and without, and one that does not.
TEST(BoundInputs, AreOnlyReadWhereTensorsLieInThem) {
  const std::string text = R"(graph g {
    input x: f32[2, 4, 6]
    const begin: i64[1] = [1]
    const end: i64[1] = [2]
    const axis: i64[1] = [0]
    const step: i64[1] = [1]
    const shape: i64[2] = [4, 6]
    left, right = Split(x, _) {axis=2, parts=2}
    row = Slice(x, begin, end, axis, step)
    flat = Reshape(row, shape)
    a = Exp(left)
    b = Tan(right)
    c = Tan(flat)
    output a output b output c
  })";
  const OpenedModel opened(text);
  const TensorData x = RandomTensor(DType::kF32, {2, 4, 6}, 7);
  const auto expected = Evaluate(ParseGraph(text), {{"x", x}});
  const ReadOnlyCopy copy(x);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    const auto session = MakeSession(*opened.model, options);
    ASSERT_TRUE(session->BindInput(0, copy.view()).ok());
    for (int run = 0; run < 2; ++run) {
      for (const auto& [name, output] : RunSession(*session, {}))
        EXPECT_LE(Compare(output, expected.at(name)).difference, 1e-5) << name;
    }
  }
}

TEST_F(SmallNet, ABoundInputMayEndAtAnUnreadablePage) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = image_.size_bytes() + 16;  // What BindInput asks for, and not one byte more.
  const size_t pages = (bytes + page - 1) / page;
  auto* memory = static_cast<char*>(
      mmap(nullptr, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + pages * page, page, PROT_NONE), 0);
  char* bound = memory + pages * page - bytes;
  std::memcpy(bound, image_.data(), image_.size_bytes());

  const auto session = MakeSession(*opened_.model);
  ASSERT_TRUE(session->BindInput(0, TensorView(bound, DType::kF32, image_.shape())).ok());
  const TensorData scores = RunSession(*session, {}).at("scores");
  EXPECT_LE(Compare(scores, expected_).difference, 1e-5);

  // And a copied input may end there exactly.
  char* exact = memory + pages * page - image_.size_bytes();
  std::memmove(exact, bound, image_.size_bytes());
  ASSERT_TRUE(session->SetInput(0, TensorView(exact, DType::kF32, image_.shape())).ok());
  EXPECT_LE(Compare(RunSession(*session, {}).at("scores"), expected_).difference, 1e-5);
  munmap(memory, (pages + 1) * page);
}

TEST_F(SmallNet, TapReadsIntermediatesBySourceName) {
  SessionOptions options;
  options.keep_intermediates = true;
  const auto session = MakeSession(*opened_.model, options);
  EXPECT_EQ(session->Tap("sum").status().code(), StatusCode::kInvalidArgument) << "before a run";
  RunSession(*session, {{"image", image_}});
  std::map<std::string, TensorData> eager;
  EvaluateOptions observe;
  observe.observe = [&](ValueId id, const TensorData& data) { eager[source_.value(id).name] = data; };
  Evaluate(source_, {{"image", image_}}, observe);
  const Result<TensorView> sum = session->Tap("sum");
  ASSERT_TRUE(sum.ok());
  EXPECT_TRUE(sum.value().shape == eager.at("sum").shape());

  ErrorCapture capture;
  EXPECT_EQ(session->Tap("nothing").status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("'nothing'"));
  EXPECT_FALSE(MakeSession(*opened_.model)->Tap("sum").ok());
}

TEST_F(SmallNet, MisuseIsNamed) {
  const auto session = MakeSession(*opened_.model);
  ErrorCapture capture;
  EXPECT_EQ(session->Run().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("input 'image' was never set"));

  float pixel = 0;
  EXPECT_EQ(session->SetInput("picture", image_.view()).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("'picture'"));
  EXPECT_EQ(session->SetInput(nullptr, image_.view()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session->FindOutput(nullptr), -1);
  EXPECT_EQ(session->SetInput(0, TensorView(&pixel, DType::kF32, Shape{1})).code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("[1, 16, 16, 3], got [1]"));
  EXPECT_EQ(session->SetInput(0, TensorView(&pixel, DType::kF32, Shape{1, 8, 16, 3})).code(),
            StatusCode::kNoMatchingBucket);
  EXPECT_EQ(session->SetInput(0, TensorView(&pixel, DType::kI8, image_.shape())).code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("must be f32, got i8"));
  EXPECT_FALSE(session->Output(5).ok());
  EXPECT_FALSE(session->Output("nothing").ok());

  SessionOptions options;
  options.signature = "other";
  EXPECT_EQ(Session::Create(*opened_.model, options).status().code(), StatusCode::kInvalidArgument);
  options = {};
  options.target = Target::kVulkan;
  EXPECT_EQ(Session::Create(*opened_.model, options).status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(capture.message(), HasSubstr("--target vulkan"));
  options = {};
  options.memory_limit = 1000;
  EXPECT_EQ(Session::Create(*opened_.model, options).status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("memory limit is 1000"));
  // The Session still works.
  EXPECT_LE(Compare(RunSession(*session, {{"image", image_}}).at("scores"), expected_).difference, 1e-5);
}

/// A file of some hundred bytes asks for a hundred gigabytes.
TEST(DefaultMemoryLimit, RefusesWhatNoNetNeeds) {
  const OpenedModel opened(R"(graph greedy {
  input x: f32[1]
  const extents: i64[2] = [100000, 250000]
  large = Expand(x, extents)
  y = Exp(large)
  z = ReduceSum(y)
  output z = z
})");
  ErrorCapture capture;
  EXPECT_EQ(Session::Create(*opened.model).status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(),
              ::testing::AllOf(HasSubstr("the arena needs 1"), HasSubstr("SessionOptions::memory_limit")));
}

/// Variables and arena fit the limit one by one, not together.
TEST(MemoryLimit, IsThatOfAllTogether) {
  Graph graph = ParseGraph(R"(graph large {
  input x: f32[64, 64]
  input s: f32[64, 1024]
  y = MatMul(x, s)
  t = Neg(s)
  output y = y
  output t = t
})");
  graph.MakeVariable(1, 1, {"s", TensorData(DType::kF32, Shape{64, 1024})});
  const OpenedModel opened(std::move(graph));
  const uint64_t arena = opened.model->plan(0, 0).arena_bytes;
  const uint64_t variables = 64 * 1024 * sizeof(float);
  SessionOptions options;
  options.memory_limit = arena + variables / 2;
  ErrorCapture capture;
  EXPECT_EQ(Session::Create(*opened.model, options).status().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("the arena needs"));
}

TEST_F(SmallNet, MemoryIsAccountedFor) {
  const auto session = MakeSession(*opened_.model);
  const MemoryUsage usage = session->memory_usage();
  EXPECT_EQ(usage.arena, opened_.model->plan(0, 0).arena_bytes);
  EXPECT_GT(usage.packed_weights, 0u);
  EXPECT_EQ(usage.mapped_weights, opened_.model->weights_bytes());
  const auto second = MakeSession(*opened_.model);
  EXPECT_EQ(second->memory_usage().packed_weights, usage.packed_weights) << "packed weights are shared";
}

/// Winograd's weights take more room than those of the definition: by that it is known which way a
/// convolution goes.
TEST(Exactness, IsAskedForOrFollowsFromAMemoryLimit) {
  const auto packed = [](const SessionOptions& options) {
    const OpenedModel opened(R"(graph convolution {
  input x: f32[1, 24, 24, 16]
  const w: f32[16, 3, 3, 16] = seed 1
  y: f32[1, 24, 24, 16] = Conv2d(x, w, _) {pads=[1, 1, 1, 1]}
  output y = y
})");
    return MakeSession(*opened.model, options)->memory_usage().packed_weights;
  };
  SessionOptions exact;
  exact.exact = true;
  SessionOptions limited;
  limited.memory_limit = 100'000'000;
  EXPECT_EQ(packed(limited), packed(exact));
#if defined(__x86_64__) && defined(SKIFF_WITH_XNNPACK)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    EXPECT_GT(packed({}), 2 * packed(exact)) << "Winograd is not the default here";
  }
#endif
}

/// Weights of codes in Winograd's tiles of 4 x 4, the default on many CPUs, have eight times the bytes of the
/// file's; in those of 2 x 2 they have less than four times, and at most twice by the definition.
TEST(MemoryLimit, TurnsLargeTilesOfCodesOff) {
  const OpenedModel opened(R"(graph convolution {
  input x: u8[1, 56, 56, 128] {scale=0.03, zero_point=3}
  const w: i8[128, 3, 3, 128] {scale=0.01, zero_point=0} = seed 1
  y: u8[1, 56, 56, 128] {scale=2, zero_point=120} = Conv2d(x, w, _) {pads=[1, 1, 1, 1]}
  output y = y
})");
  SessionOptions limited;
  limited.memory_limit = 100'000'000;
  constexpr uint64_t kWeights = 128 * 9 * 128;
  EXPECT_LT(MakeSession(*opened.model, limited)->memory_usage().packed_weights, 4 * kWeights);
}

TEST_F(SmallNet, ProfilesNameEveryNode) {
  SessionOptions options;
  options.profile = true;
  const auto session = MakeSession(*opened_.model, options);
  RunSession(*session, {{"image", image_}});
  uint64_t total = 0;
  for (int i = 0; i < session->node_count(); ++i) {
    EXPECT_STRNE(session->node(i).op, "");
    total += session->node(i).last_ns;
  }
  EXPECT_GT(total, 0u);
}

TEST_F(SmallNet, CancelIsForgottenByTheNextRun) {
  const auto session = MakeSession(*opened_.model);
  session->Cancel();
  EXPECT_LE(Compare(RunSession(*session, {{"image", image_}}).at("scores"), expected_).difference, 1e-5);
}

TEST(SessionViews, ConcatAndReshapeTakeNoMemory) {
  const OpenedModel opened(kSmallNet);
  const PlanDraft& draft = opened.converted->draft;
  EXPECT_LE(draft.arena_bytes, draft.arena_lower_bound * 105 / 100);
  int views = 0;
  for (const TensorPlacement& placement : draft.placements) views += placement.view_of >= 0 ? 1 : 0;
  EXPECT_GE(views, 2) << "the reshape, and at least one input of the concat";
}

}  // namespace
}  // namespace skiff::testing
