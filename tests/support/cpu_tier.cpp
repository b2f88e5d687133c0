// Ends a test program, visibly and in success, where it shall run the kernels of a tier that this CPU does
// not have.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "delegates/xnnpack/cpu.h"

namespace skiff::xnnpack {
namespace {

class CpuTierEnvironment final : public testing::Environment {
 public:
  void SetUp() override {
    if (LimitCpu().code() != StatusCode::kUnsupported) return;
    std::puts("SKIPPED: this CPU does not have the tier");
    std::fflush(stdout);
    std::exit(EXIT_SUCCESS);
  }
};

const testing::Environment* const kEnvironment = testing::AddGlobalTestEnvironment(new CpuTierEnvironment);

}  // namespace
}  // namespace skiff::xnnpack
