// After the first run with a shape, Run() allocates nothing. Counted in malloc itself, so that C code (the
// thread pool, XNNPACK) is counted too.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/state_nets.h"
#include "tests/support/tiny_models.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
std::atomic<int64_t> held_bytes{0};
std::atomic<int64_t> most_held_bytes{0};  // Of one thread's doing.

void* Counted(void* memory) {
  if (!counting.load(std::memory_order_relaxed)) return memory;
  allocations.fetch_add(1);
  const int64_t held = held_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  if (held > most_held_bytes) most_held_bytes = held;
  return memory;
}

void CountFreed(void* memory) {
  if (counting.load(std::memory_order_relaxed))
    held_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
}

}  // namespace

// The C library's own names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(size_t size) { return Counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return Counted(__libc_calloc(count, size)); }
void* realloc(void* memory, size_t size) {
  CountFreed(memory);
  return Counted(__libc_realloc(memory, size));
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = Counted(__libc_memalign(alignment, size));
  return *memory == nullptr ? 12 : 0;
}
void free(void* memory) {
  CountFreed(memory);
  __libc_free(memory);
}
}

namespace skiff::testing {
namespace {

class Allocations : public ::testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(Allocations, NoneAfterTheFirstRun) {
  OpenedModel opened(kSmallNet);
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.threads = std::get<1>(GetParam());
  options.thread_small_work = true;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData image = RandomTensor(DType::kF32, Shape{1, 16, 16, 3}, 7);
  ASSERT_TRUE((*session)->SetInput(0, image.view()).ok());
  ASSERT_TRUE((*session)->Run().ok());

  allocations = 0;
  counting = true;
  Status status;
  for (int i = 0; i < 10 && status.ok(); ++i) {
    status = (*session)->SetInput(0, image.view());
    if (status.ok()) status = (*session)->Run();
    if (status.ok()) status = (*session)->Output(0).status();
  }
  counting = false;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(allocations.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, Allocations,
                         ::testing::Combine(::testing::Values(Backend::kPlanned, Backend::kReference),
                                            ::testing::Values(1, 2)));

constexpr const char* kRelaxed = "symbol batch: 1..4\n symbol size: 8..24\n";
constexpr const char* kUnbounded = "symbol batch: 1..\n symbol size: 8..\n";
constexpr const char* kOpenNet = R"(
  input image: f32[batch, size, size, 3]
  const w1: f32[8, 3, 3, 3] = seed 1
  const w2: f32[8, 1, 1, 8] = seed 2
  const zero: i64[1] = [0]
  const rest: i64[1] = [-1]
  stem = Conv2d(image, w1, _) {strides=[2, 2], pads=[1, 1, 1, 1], min=0}
  left = Conv2d(stem, w2, _)
  sum = Add(stem, left)
  pooled = MaxPool2d(sum) {kernel=[2, 2], strides=[2, 2]}
  turned = Transpose(pooled) {perm=[0, 3, 1, 2]}
  shape = Shape(turned)
  first = Gather(shape, zero) {axis=0}
  target = Concat(first, rest) {axis=0}
  flat = Reshape(turned, target)
  scores = Softmax(flat) {axis=-1}
  output scores = scores
}
)";

class OpenAllocations : public ::testing::TestWithParam<std::tuple<Backend, const char*>> {};

/// Each of the shapes that a Session keeps, in turn; with the inputs' bytes changing, too.
TEST_P(OpenAllocations, NoneForTheShapesThatAreKept) {
  OpenedModel opened(std::string("graph open {\n") + std::get<1>(GetParam()) + kOpenNet);
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.threads = 1;
  options.kept_shapes = 3;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData images[] = {RandomTensor(DType::kF32, Shape{1, 8, 8, 3}, 7),
                               RandomTensor(DType::kF32, Shape{4, 24, 24, 3}, 8),
                               RandomTensor(DType::kF32, Shape{2, 17, 17, 3}, 9)};
  const auto run_all = [&] {
    Status status;
    for (const TensorData& image : images) {
      if (status.ok()) status = (*session)->SetInput(0, image.view());
      if (status.ok()) status = (*session)->Run();
      if (status.ok()) status = (*session)->Output(0).status();
    }
    return status;
  };
  ASSERT_TRUE(run_all().ok());
  allocations = 0;
  counting = true;
  Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) status = run_all();
  counting = false;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(allocations.load(), 0);
}

/// Those pictures whose largest element is above 0 go on.
constexpr const char* kCounted = R"(graph counted {
  input x: f32[4, 6, 6, 3]
  const zero: f32[] = 0
  const all: i64[1] = [-1]
  const w: f32[8, 3, 3, 3] = seed 1
  largest = ReduceMax(x) {axes=[1, 2, 3], keep_dims=false}
  mask = Greater(largest, zero)
  ones = Cast(mask) {to=i64}
  count = ReduceSum(ones) {axes=[0], keep_dims=false}
  places = NonZero(mask, count)
  rows = Reshape(places, all)
  taken = Gather(x, rows)
  a = Conv2d(taken, w, _) {pads=[1, 1, 1, 1], min=0}
  y = ReduceMean(a) {axes=[1, 2], keep_dims=false}
  output y
}
)";

class CountedAllocations : public ::testing::TestWithParam<Backend> {};

/// Of each count that is kept, whatever the elements are.
TEST_P(CountedAllocations, NoneForCountsThatAreKept) {
  OpenedModel opened(kCounted);
  SessionOptions options;
  options.backend = GetParam();
  options.threads = 1;
  options.kept_shapes = 3;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  std::vector<TensorData> inputs;
  for (const int pictures : {2, 4, 0, 2, 4}) {  // Each time others.
    TensorData x = RandomTensor(DType::kF32, Shape{4, 6, 6, 3}, static_cast<uint32_t>(inputs.size()));
    auto* elements = static_cast<float*>(x.mutable_data());
    for (int i = 0; i < 4 * 108; ++i) {
      const int picture = (i / 108 + static_cast<int>(inputs.size())) % 4;
      elements[i] = picture < pictures ? std::abs(elements[i]) + 0.1f : -1.0f;
    }
    inputs.push_back(std::move(x));
  }
  Status status;
  const auto run = [&](const TensorData& input) {
    if (status.ok()) status = (*session)->SetInput(0, input.view());
    if (status.ok()) status = (*session)->Run();
    return status.ok() ? (*session)->Output(0)->shape[0] : -1;
  };
  for (const TensorData& input : inputs) run(input);
  allocations = 0;
  counting = true;
  int64_t rows[5];
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (size_t i = 0; i < 5; ++i) rows[i] = run(inputs[i]);
  }
  counting = false;
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(allocations.load(), 0);
  EXPECT_EQ(std::vector<int64_t>(rows, rows + 5), (std::vector<int64_t>{2, 4, 0, 2, 4}));
}

INSTANTIATE_TEST_SUITE_P(Backends, CountedAllocations,
                         ::testing::Values(Backend::kPlanned, Backend::kReference));

class StateAllocations : public ::testing::TestWithParam<Backend> {};

/// A token after the other into caches that lie where they were.
TEST_P(StateAllocations, NoneForAToken) {
  OpenedModel opened(WithStates(kCacheNet, kCachePairs));
  SessionOptions options;
  options.backend = GetParam();
  options.threads = 1;
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData row = RandomTensor(DType::kF32, Shape{1, 2, 1, 4}, 7);
  int64_t at = 0;
  int64_t late = 0;
  const auto run = [&] {
    Status status = (*session)->SetInput(0, TensorView(&at, DType::kI64, Shape{1}));
    if (status.ok()) status = (*session)->SetInput(1, row.view());
    if (status.ok()) status = (*session)->SetInput(2, TensorView(&late, DType::kI64, Shape{1}));
    return status.ok() ? (*session)->Run() : status;
  };
  ASSERT_TRUE(run().ok());
  allocations = 0;
  counting = true;
  Status status;
  for (int token = 0; token < 40 && status.ok(); ++token) {
    at = token % 8;
    status = run();
  }
  counting = false;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(allocations.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, StateAllocations,
                         ::testing::Values(Backend::kPlanned, Backend::kReference));

/// Counts down, with a convolution and a choice in each iteration.
constexpr const char* kLoop = R"(graph loop {
  symbol n: 1..4
  input image: f32[n, 8, 8, 4]
  const w: f32[4, 3, 3, 4] = seed 1
  const begin: i64[] = 5
  left, last = While(begin, image, w) condition {
    input left input image input w
    const zero: i64[] = 0
    go = Greater(left, zero)
    output go
  } body {
    input left input image input w
    const one: i64[] = 1
    const three: i64[] = 3
    next = Sub(left, one)
    big = Greater(left, three)
    a = If(big, image, w) then {
      input image input w
      a = Conv2d(image, w, _) {pads=[1, 1, 1, 1], min=0}
      output a
    } else {
      input image input w
      a = Tanh(image)
      output a
    }
    output next
    output a
  }
  output last
}
)";

class LoopAllocations : public ::testing::TestWithParam<Backend> {};

TEST_P(LoopAllocations, NoneInALoop) {
  OpenedModel opened(kLoop);
  SessionOptions options;
  options.backend = GetParam();
  Result<std::unique_ptr<Session>> session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  const TensorData image = RandomTensor(DType::kF32, Shape{2, 8, 8, 4}, 7);
  ASSERT_TRUE((*session)->SetInput(0, image.view()).ok());
  ASSERT_TRUE((*session)->Run().ok());
  allocations = 0;
  counting = true;
  Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) status = (*session)->Run();
  counting = false;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(allocations.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, OpenAllocations,
                         ::testing::Combine(::testing::Values(Backend::kPlanned, Backend::kReference),
                                            ::testing::Values(kRelaxed, kUnbounded)));

INSTANTIATE_TEST_SUITE_P(Backends, LoopAllocations,
                         ::testing::Values(Backend::kPlanned, Backend::kReference));

TEST(Allocations, TheCounterCounts) {
  allocations = 0;
  counting = true;
  void* volatile memory = malloc(100);
  counting = false;
  free(memory);
  EXPECT_EQ(allocations.load(), 1);
}

/// Bodies take turns at what is as large as a node has operands: a file may name one thousands of times.
TEST(OpeningAModel, TakesLittleForTheOperandsOfBodies) {
  constexpr int kNodes = 20;
  constexpr int kPieces = 1000;
  std::string pieces = "x";
  for (int i = 1; i < kPieces; ++i) pieces += ", x";
  std::string text = "graph g { input x: f32[1] input c: bool[] ";
  for (int i = 0; i < kNodes; ++i) {
    const std::string y = "y" + std::to_string(i);
    const std::string body = " { input x w = Concat(" + pieces + ") {axis=0} output w } ";
    text += y + " = If(c, x) then" + body + "else" + body + "output " + y + " ";
  }
  const OpenedModel opened(text + "}");
  held_bytes = most_held_bytes = 0;
  counting = true;
  const bool opens = Model::Open(opened.bytes.span()).ok();
  counting = false;
  EXPECT_TRUE(opens);
  const size_t operands = size_t{2} * kNodes * kPieces;
  EXPECT_LT(most_held_bytes.load(), static_cast<int64_t>(4 * opened.bytes.span().size() + operands * 32));
}

}  // namespace
}  // namespace skiff::testing
