// Each instruction set's kernels against the formula in double.
#include "delegates/xnnpack/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "delegates/xnnpack/memory.h"

namespace skiff::xnnpack {
namespace {

/// Those that this CPU can run: the chosen one, and what it includes.
std::vector<const Kernels*> UsableKernels() {
  EXPECT_TRUE(Initialize().ok());
  std::vector<const Kernels*> usable = {&kBaselineKernels};
#if defined(__x86_64__)
  const Kernels* best = &SelectKernels();
  if (best != &kBaselineKernels) usable.push_back(&kAvx2Kernels);
  if (best == &kAvx512Kernels) usable.push_back(best);
#endif
  return usable;
}

struct Row {
  const char* name;
  UnaryKernel kernel;
  double low, high;
  std::function<double(double)> formula;
  double ulps;      ///< Of the result...
  double of_input;  ///< ...or this many eps of |x|, where the formula cancels.
};

const Row kRows[] = {
    {"clamp", UnaryKernel::kClamp, -3, 3, [](double x) { return std::fmin(std::fmax(x, -1), 2); }, 0, 0},
    {"erf", UnaryKernel::kErf, -5, 5, [](double x) { return std::erf(x); }, 3, 0},
    {"erf near zero", UnaryKernel::kErf, -1e-3, 1e-3, [](double x) { return std::erf(x); }, 3, 0},
    {"exp", UnaryKernel::kExp, -87, 88, [](double x) { return std::exp(x); }, 2, 0},
    {"gelu tanh", UnaryKernel::kGeluTanh, -6, 6,
     [](double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); },
     0, 4},
    {"hard sigmoid", UnaryKernel::kHardSigmoid, 1, 4,
     [](double x) { return std::fmin(std::fmax(0.2f * x + 0.5, 0), 1); }, 2, 0},
    {"log", UnaryKernel::kLog, 1e-6, 4, [](double x) { return std::log(x); }, 3, 0},
    {"log near one", UnaryKernel::kLog, 0.98, 1.02, [](double x) { return std::log(x); }, 3, 0},
    {"log of large", UnaryKernel::kLog, 1, 1e30, [](double x) { return std::log(x); }, 3, 0},
    {"reciprocal", UnaryKernel::kReciprocal, 0.1, 10, [](double x) { return 1 / x; }, 0.5, 0},
    {"sigmoid", UnaryKernel::kSigmoid, -30, 30, [](double x) { return 1 / (1 + std::exp(-x)); }, 3, 0},
    {"sign", UnaryKernel::kSign, -1, 1, [](double x) { return x < 0 ? -1.0 : 1.0; }, 0, 0},
    {"silu", UnaryKernel::kSilu, -20, 20, [](double x) { return x / (1 + std::exp(-x)); }, 4, 0},
    {"sqrt", UnaryKernel::kSqrt, 0, 1000, [](double x) { return std::sqrt(x); }, 0.5, 0},
};

TEST(Kernels, MatchTheirFormulas) {
  for (const Kernels* kernels : UsableKernels()) {
    for (const Row& row : kRows) {
      std::mt19937 random(7);
      std::uniform_real_distribution<float> distribution(static_cast<float>(row.low),
                                                         static_cast<float>(row.high));
      std::vector<float> x(20011);
      std::vector<float> y(x.size());
      for (float& value : x) value = distribution(random);
      KernelParams params;
      params.min = -1;
      params.max = 2;
      params.alpha = 0.2f;
      params.beta = 0.5f;
      kernels->unary[static_cast<size_t>(row.kernel)](x.size(), x.data(), y.data(), params);
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = row.formula(x[i]);
        const float magnitude = std::fabs(static_cast<float>(expected));
        const double ulp = std::nextafter(magnitude, INFINITY) - magnitude;
        const double allowed = row.ulps * ulp + row.of_input * 0x1p-24 * std::fabs(x[i]);
        const double excess = std::fabs(y[i] - expected) / (allowed + 1e-300);
        if (expected != y[i] && excess > worst) {
          worst = excess;
          at = i;
        }
      }
      EXPECT_LE(worst, 1) << row.name << " (" << kernels->name << ") at " << x[at] << ": expected "
                          << row.formula(x[at]) << ", got " << y[at];
    }
  }
}

TEST(Kernels, ClampLetsNanThrough) {
  for (const Kernels* kernels : UsableKernels()) {
    const float x[3] = {NAN, -9, 9};
    float y[3];
    KernelParams params;
    params.min = -1;
    params.max = 1;
    kernels->unary[static_cast<size_t>(UnaryKernel::kClamp)](3, x, y, params);
    EXPECT_TRUE(std::isnan(y[0])) << kernels->name;
    EXPECT_EQ(y[1], -1);
    EXPECT_EQ(y[2], 1);
  }
}

/// A large mean and a small spread: a one-pass variance would lose it.
TEST(Kernels, LayerNormKeepsASmallVariance) {
  for (const Kernels* kernels : UsableKernels()) {
    std::vector<float> x(1000);
    std::vector<float> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = 1000.0f + (i % 2 == 0 ? 0.25f : -0.25f);
    kernels->layer_norm(x.size(), x.data(), nullptr, nullptr, 0, y.data());
    EXPECT_NEAR(y[0], 1, 1e-5) << kernels->name;
    EXPECT_NEAR(y[1], -1, 1e-5) << kernels->name;
  }
}

}  // namespace
}  // namespace skiff::xnnpack
