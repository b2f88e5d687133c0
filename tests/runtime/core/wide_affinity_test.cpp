// Machines with more cores than a plain cpu_set_t holds: the kernel refuses sets that are shorter than its
// own.
#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <string.h>

#include "core/platform.h"

namespace {

size_t kernel_bytes = 0;  ///< Of the set that the kernel has; 0: the real one is asked.
int kernel_cores = 0;

}  // namespace

extern "C" {
int __real_sched_getaffinity(pid_t process, size_t size, cpu_set_t* set);
int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t* set) {
  if (kernel_bytes == 0) return __real_sched_getaffinity(process, size, set);
  if (size < kernel_bytes) {
    errno = EINVAL;
    return -1;
  }
  memset(set, 0, size);
  for (int i = 0; i < kernel_cores; ++i) CPU_SET_S(static_cast<size_t>(i) * 16, size, set);
  return 0;
}
}

namespace skiff {
namespace {

TEST(WideAffinity, EveryCoreIsCounted) {
  EXPECT_GE(platform::UsableCores(), 1);
  kernel_cores = 100;
  for (const size_t cores : {1024, 2048, 8192, 1 << 20}) {
    kernel_bytes = cores / 8;
    EXPECT_EQ(platform::UsableCores(), static_cast<int>(std::min<size_t>(100, cores / 16))) << cores;
  }
  kernel_bytes = size_t{1} << 30;
  EXPECT_EQ(platform::UsableCores(), 1) << "where it cannot be found out";
  kernel_bytes = 0;
}

}  // namespace
}  // namespace skiff
