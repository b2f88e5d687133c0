// Forcing the tier of the CPU.
#include "delegates/xnnpack/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "core/error_capture.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/memory.h"

namespace skiff::xnnpack {
namespace {

/// The variable for the time of a test.
class Variable {
 public:
  explicit Variable(const char* value) : before_(std::getenv(kCpuVariable) ? std::getenv(kCpuVariable) : "") {
    setenv(kCpuVariable, value, /*overwrite=*/1);
  }
  ~Variable() { setenv(kCpuVariable, before_.c_str(), /*overwrite=*/1); }

 private:
  const std::string before_;
};

TEST(Cpu, AnUnknownTierIsRefused) {
  const Variable variable("sse9");
  EXPECT_EQ(LimitCpu().code(), StatusCode::kInvalidArgument);
}

#if defined(__x86_64__)

TEST(Cpu, OurOwnKernelsAreThoseOfTheTier) {
  const char* const tier = std::getenv(kCpuVariable);
  if (tier == nullptr || *tier == '\0') GTEST_SKIP() << "no tier is forced in this run";
  ASSERT_TRUE(Initialize().ok());
  const std::map<std::string, const Kernels*> kernels = {{"avx512vnni", &kAvx512VnniKernels},
                                                         {"avx512", &kAvx512Kernels},
                                                         {"avxvnni", &kAvxVnniKernels},
                                                         {"avx2", &kAvx2Kernels}};
  const auto found = kernels.find(tier);
  const Kernels* const expected = found == kernels.end() ? &kBaselineKernels : found->second;
  EXPECT_EQ(&SelectKernels(), expected) << SelectKernels().name;
}

TEST(Cpu, ATierAboveThisCpuIsRefusedByWhatIsLacking) {
  const char* const tier = std::getenv(kCpuVariable);
  if (tier == nullptr || std::strcmp(tier, "sse") != 0) GTEST_SKIP() << "this CPU may have the next tier";
  ASSERT_TRUE(Initialize().ok());
  const Variable above("avx");
  ErrorCapture capture;
  EXPECT_EQ(LimitCpu().code(), StatusCode::kUnsupported);
  EXPECT_NE(std::strstr(capture.message(), "this CPU lacks AVX"), nullptr) << capture.message();
}

TEST(Cpu, WhatWasTakenAwayDoesNotComeBack) {
  ASSERT_TRUE(Initialize().ok());
  {
    const Variable lowest("sse");
    const Kernels& before = SelectKernels();
    ASSERT_TRUE(Initialize().ok());  // The kernels that Sessions have stay what they were.
    EXPECT_EQ(&SelectKernels(), &before);
  }
}

#endif

}  // namespace
}  // namespace skiff::xnnpack
