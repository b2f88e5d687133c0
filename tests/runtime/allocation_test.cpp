// After the first run with a shape, Run() allocates nothing. Counted in malloc itself, so that C code (the
// thread pool, XNNPACK) is counted too.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>

#include "tests/support/tiny_models.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

void Count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  Count();
  return __libc_realloc(memory, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  Count();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? 12 : 0;
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

TEST(Allocations, TheCounterCounts) {
  allocations = 0;
  counting = true;
  void* volatile memory = malloc(100);
  counting = false;
  free(memory);
  EXPECT_EQ(allocations.load(), 1);
}

}  // namespace
}  // namespace skiff::testing
