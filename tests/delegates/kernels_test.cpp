// Each instruction set's kernels against the formula in double.
#include "delegates/xnnpack/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "core/half.h"
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
  const bool has_amx = best == &kAmxKernels;
  const bool has_vnni = has_amx || best == &kAvx512VnniKernels;
  if (has_vnni || best == &kAvx512Kernels) usable.push_back(&kAvx512Kernels);
  if (has_amx) usable.push_back(&kAvx512VnniKernels);
  if (has_vnni || best == &kAvxVnniKernels) usable.push_back(best);
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
    {"abs", UnaryKernel::kAbs, -3, 3, [](double x) { return std::fabs(x); }, 0, 0},
    {"ceil", UnaryKernel::kCeil, -5, 5, [](double x) { return std::ceil(x); }, 0, 0},
    {"clamp", UnaryKernel::kClamp, -3, 3, [](double x) { return std::fmin(std::fmax(x, -1), 2); }, 0, 0},
    {"elu", UnaryKernel::kElu, -90, 5, [](double x) { return x > 0 ? x : 0.2f * std::expm1(x); }, 3, 0},
    {"elu near zero", UnaryKernel::kElu, -1e-3, 1e-3,
     [](double x) { return x > 0 ? x : 0.2f * std::expm1(x); }, 3, 0},
    {"erf", UnaryKernel::kErf, -5, 5, [](double x) { return std::erf(x); }, 3, 0},
    {"erf near zero", UnaryKernel::kErf, -1e-3, 1e-3, [](double x) { return std::erf(x); }, 3, 0},
    {"cos", UnaryKernel::kCos, -1e4, 1e4, [](double x) { return std::cos(x); }, 1, 0},
    {"sin", UnaryKernel::kSin, -1e4, 1e4, [](double x) { return std::sin(x); }, 1, 0},
    {"softplus", UnaryKernel::kSoftplus, -60, 60, [](double x) { return std::log1p(std::exp(x)); }, 4, 0},
    {"gelu", UnaryKernel::kGelu, -6, 6, [](double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }, 0, 4},
    {"exp", UnaryKernel::kExp, -87, 88, [](double x) { return std::exp(x); }, 2, 0},
    {"gelu tanh", UnaryKernel::kGeluTanh, -6, 6,
     [](double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); },
     0, 4},
    {"floor", UnaryKernel::kFloor, -5, 5, [](double x) { return std::floor(x); }, 0, 0},
    {"hard sigmoid", UnaryKernel::kHardSigmoid, 1, 4,
     [](double x) { return std::fmin(std::fmax(0.2f * x + 0.5, 0), 1); }, 2, 0},
    {"hard swish", UnaryKernel::kHardSwish, -4, 4,
     [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }, 2, 4},
    {"leaky relu", UnaryKernel::kLeakyRelu, -3, 3, [](double x) { return x < 0 ? 0.2f * x : x; }, 0.5, 0},
    {"log", UnaryKernel::kLog, 1e-6, 4, [](double x) { return std::log(x); }, 3, 0},
    {"log near one", UnaryKernel::kLog, 0.98, 1.02, [](double x) { return std::log(x); }, 3, 0},
    {"log of large", UnaryKernel::kLog, 1, 1e30, [](double x) { return std::log(x); }, 3, 0},
    {"neg", UnaryKernel::kNeg, -3, 3, [](double x) { return -x; }, 0, 0},
    {"reciprocal", UnaryKernel::kReciprocal, 0.1, 10, [](double x) { return 1 / x; }, 0.5, 0},
    {"round", UnaryKernel::kRound, -5, 5, [](double x) { return std::nearbyint(x); }, 0, 0},
    {"sigmoid", UnaryKernel::kSigmoid, -30, 30, [](double x) { return 1 / (1 + std::exp(-x)); }, 3, 0},
    {"sign", UnaryKernel::kSign, -1, 1, [](double x) { return x < 0 ? -1.0 : 1.0; }, 0, 0},
    {"silu", UnaryKernel::kSilu, -20, 20, [](double x) { return x / (1 + std::exp(-x)); }, 4, 0},
    {"sqrt", UnaryKernel::kSqrt, 0, 1000, [](double x) { return std::sqrt(x); }, 0.5, 0},
    {"tanh", UnaryKernel::kTanh, -10, 10, [](double x) { return std::tanh(x); }, 3, 0},
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

/// Far from zero they are x and 0, without a rest that grows with x.
TEST(Kernels, GeluIsExactFarFromZero) {
  for (const Kernels* kernels : UsableKernels()) {
    for (const UnaryKernel kernel : {UnaryKernel::kGelu, UnaryKernel::kGeluTanh}) {
      std::vector<float> x = {15, 100, 1e9f, 1e30f};
      for (size_t i = 0; i < 4; ++i) x.push_back(-x[i]);
      x.push_back(NAN);
      std::vector<float> y(x.size());
      kernels->unary[static_cast<size_t>(kernel)](x.size(), x.data(), y.data(), KernelParams());
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(y[i], x[i]) << kernels->name;
        EXPECT_NEAR(y[4 + i], 0, 1e-30) << kernels->name << ": Gelu(" << x[4 + i] << ")";
      }
      EXPECT_TRUE(std::isnan(y[8])) << kernels->name;
    }
  }
}

/// Infinity is a bound of the table's powers, and what is left of a vector is filled up.
TEST(Kernels, SigmoidsOfAnyNumberAndLength) {
  struct Value {
    float x, sigmoid, silu;
  };
  constexpr Value kValues[] = {
      {-INFINITY, 0, NAN}, {-1e30f, 0, 0}, {-100, 0, 0},      {-88.74f, 0, 0},
      {0, 0.5f, 0},        {100, 1, 100},  {1e30f, 1, 1e30f}, {INFINITY, 1, INFINITY},
      {NAN, NAN, NAN}};
  const auto same = [](float a, float b) { return std::isnan(b) ? std::isnan(a) : a == b; };
  for (const Kernels* kernels : UsableKernels()) {
    for (size_t length = 1; length <= 40; ++length) {
      std::vector<float> x(length);
      std::vector<float> y(length + 1, 7);
      for (const UnaryKernel kernel : {UnaryKernel::kSigmoid, UnaryKernel::kSilu}) {
        for (size_t i = 0; i < length; ++i) x[i] = kValues[(i + length) % std::size(kValues)].x;
        kernels->unary[static_cast<size_t>(kernel)](length, x.data(), y.data(), KernelParams());
        for (size_t i = 0; i < length; ++i) {
          const Value& value = kValues[(i + length) % std::size(kValues)];
          const float expected = kernel == UnaryKernel::kSigmoid ? value.sigmoid : value.silu;
          EXPECT_TRUE(same(y[i], expected)) << kernels->name << ": " << x[i] << " gives " << y[i];
        }
        EXPECT_EQ(y[length], 7) << "written behind the row";
      }
    }
  }
}

/// Masked scores are exactly 0, and a NaN is seen. Up to 7 units of 2^-24: 3.4 of the exponential, and of the
/// additions of up to 70 terms, the division and the product what rounding leaves.
TEST(Kernels, SoftmaxOfAllLengths) {
  for (const Kernels* kernels : UsableKernels()) {
    if (kernels->softmax == nullptr) continue;
    for (size_t length = 1; length <= 70; ++length) {
      std::vector<float> x(length);
      std::vector<float> y(length + 1, 7);
      for (size_t i = 0; i < length; ++i) x[i] = 100 + std::sin(static_cast<float>(i)) * 5;
      if (length > 3) x[1] = -INFINITY;
      if (length > 4) x[length - 1] = -1e9f;
      double sum = 0;
      for (const float value : x) sum += std::exp(static_cast<double>(value) - 100);
      kernels->softmax(length, x.data(), y.data());
      for (size_t i = 0; i < length; ++i) {
        const double expected = std::exp(static_cast<double>(x[i]) - 100) / sum;
        EXPECT_NEAR(y[i], expected, 4e-7 * expected) << kernels->name << ", " << i << " of " << length;
      }
      EXPECT_EQ(y[length], 7) << "written behind the row";
      x[length / 2] = NAN;
      kernels->softmax(length, x.data(), y.data());
      for (size_t i = 0; i < length; ++i) EXPECT_TRUE(std::isnan(y[i])) << kernels->name;
    }
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

TEST(Kernels, LayerNormOfAllLengths) {
  constexpr double kMostError = 1e-5;  // Of outputs up to 13, whose last place is 1e-6.
  for (const Kernels* kernels : UsableKernels()) {
    for (size_t n = 1; n <= 400; n += n < 140 ? 1 : 61) {
      std::mt19937 random(static_cast<uint32_t>(n));
      std::uniform_real_distribution<float> distribution(-2, 3);
      std::vector<float> x(n), scale(n), bias(n), y(n + 1, 7);
      for (std::vector<float>* values : {&x, &scale, &bias}) {
        for (float& value : *values) value = distribution(random);
      }
      double sum = 0;
      for (const float value : x) sum += value;
      const double mean = sum / static_cast<double>(n);
      double squares = 0;
      for (const float value : x) squares += (value - mean) * (value - mean);
      const double deviation = std::sqrt(squares / static_cast<double>(n) + 1e-3f);
      kernels->layer_norm(n, x.data(), scale.data(), bias.data(), 1e-3f, y.data());
      for (size_t i = 0; i < n; ++i)
        ASSERT_NEAR(y[i], (x[i] - mean) / deviation * scale[i] + bias[i], kMostError)
            << kernels->name << ", " << i << " of " << n;
      ASSERT_EQ(y[n], 7) << kernels->name << ", " << n;
    }
  }
}

TEST(Kernels, ReduceRowsInTheirOrder) {
  for (const Kernels* kernels : UsableKernels()) {
    const ReduceRowsFn sum = kernels->reduce_rows[static_cast<size_t>(ReduceKernel::kSum)];
    const ReduceRowsFn highest = kernels->reduce_rows[static_cast<size_t>(ReduceKernel::kMax)];
    for (const size_t n : {1, 3, 7, 8, 9, 31, 32, 40, 47, 96, 127, 128, 129, 136, 300}) {
      for (const size_t count : {1, 2, 5, 70}) {
        const size_t stride = n + 3;
        std::mt19937 random(static_cast<uint32_t>(n * 100 + count));
        std::uniform_real_distribution<float> distribution(-1, 1);
        std::vector<float> x(stride * count), y(n + 1, 7);
        for (float& value : x) value = distribution(random);
        for (const ReduceRowsFn reduce : {sum, highest}) {
          if (reduce == nullptr) continue;
          reduce(count, stride, n, x.data(), y.data());
          for (size_t i = 0; i < n; ++i) {
            float expected = x[i];
            for (size_t row = 1; row < count; ++row) {
              const float value = x[row * stride + i];
              expected = reduce == sum ? expected + value : std::max(expected, value);
            }
            ASSERT_EQ(y[i], expected) << kernels->name << ", column " << i << " of " << n << ", " << count;
          }
          ASSERT_EQ(y[n], 7) << kernels->name << ", " << n;
        }
      }
    }
  }
}

/// Every f16 widens exactly, and every f32 narrows as the runtime's own conversion does.
TEST(Kernels, ConvertHalves) {
  for (const Kernels* kernels : UsableKernels()) {
    SCOPED_TRACE(kernels->name);
    const ConvertFn widen = kernels->widen;
    const ConvertFn narrow = kernels->narrow;
    std::vector<uint16_t> halves(65536);
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
    std::vector<float> floats(halves.size());
    widen(halves.size(), halves.data(), floats.data());
    size_t wrong = 0;
    for (size_t i = 0; i < halves.size(); ++i) {
      const float expected = HalfToFloat(halves[i]);
      wrong += std::isnan(expected) ? !std::isnan(floats[i]) : floats[i] != expected;
    }
    EXPECT_EQ(wrong, 0u);
    // Each f16 and its neighbours half a step away, where rounding decides.
    for (const float factor :
         {1.0f, 1.0f + 0x1p-11f, 1.0f - 0x1p-12f, 1.0f + 0x1.8p-11f, 1.0f + 0x1.000002p-11f}) {
      std::vector<float> near(floats);
      for (float& value : near) value *= factor;
      std::vector<uint16_t> back(halves.size());
      narrow(near.size(), near.data(), back.data());
      wrong = 0;
      for (size_t i = 0; i < near.size(); ++i) {
        wrong += std::isnan(near[i]) ? !std::isnan(HalfToFloat(back[i])) : back[i] != FloatToHalf(near[i]);
      }
      EXPECT_EQ(wrong, 0u) << factor;
    }
  }
}

/// Bytes between rows are left as they are, also behind the last row.
/// What lies half way between two codes, and the floats beside it.
TEST(Kernels, QuantizeNearHalfWay) {
  std::mt19937 random(1);
  for (const Kernels* kernels : UsableKernels()) {
    for (const float scale : {0.1f, 1.0f / 3, 0.0078125f, 1e-30f, 1e-36f, 3e-39f, 7e37f, 0.013f}) {
      std::vector<float> x = {0, -0.0f, INFINITY, -INFINITY, NAN, 3e38f, 1e-45f};
      for (int code = -140; code < 140; ++code) {
        const auto half = static_cast<float>((code + 0.5) * static_cast<double>(scale));
        for (const float value : {half, std::nextafter(half, INFINITY), std::nextafter(half, -INFINITY)})
          x.push_back(value);
      }
      std::shuffle(x.begin(), x.end(), random);
      std::vector<int8_t> y(x.size());
      const CodeParams params{static_cast<double>(scale), -131, 124, 3};
      kernels->codes.quantize[0](x.size(), x.data(), y.data(), params);
      for (size_t i = 0; i < x.size(); ++i) {
        const double steps = std::isnan(x[i]) ? 0 : static_cast<double>(x[i]) / static_cast<double>(scale);
        const double nearest = std::nearbyint(std::clamp(steps, params.low, params.high));
        ASSERT_EQ(int{y[i]}, static_cast<int>(nearest) + 3)
            << kernels->name << ": " << x[i] << " / " << scale;
      }
    }
  }
}

/// A NaN in each place in turn, and what lies beyond the picture's edges does not count.
TEST(Kernels, MaxPoolKeepsNanOfItsWindows) {
  constexpr size_t kWidth = 7;
  for (const Kernels* kernels : UsableKernels()) {
    for (size_t i = 0; i < 4 && kernels->pools.channels != 0; ++i) {
      const size_t size = 2 + i / 2;
      const size_t stride = 1 + i % 2;
      const size_t channels = kernels->pools.channels + 3;
      PoolArgs args;
      args.channels = args.x_stride = args.y_stride = channels;
      args.height = args.width = kWidth;
      args.output_height = args.output_width = (kWidth + 1 - size) / stride + 1;
      args.top = args.left = 1;
      args.SetDenseLines();
      std::vector<float> y(args.output_height * args.output_width * channels);
      args.y = y.data();
      for (size_t place = 0; place < kWidth * kWidth; ++place) {
        std::vector<float> x(kWidth * kWidth * channels);
        for (size_t k = 0; k < x.size(); ++k) x[k] = -static_cast<float>(k * 37 % 101);
        x[place * channels + place % channels] = std::nanf("");
        args.x = x.data();
        kernels->pools.largest[size - 2][stride - 1](args, 0, args.output_height);
        for (size_t k = 0; k < y.size(); ++k) {
          float expected = -std::numeric_limits<float>::infinity();
          for (size_t tap = 0; tap < size * size; ++tap) {
            const size_t pixel = k / channels;
            const size_t row = pixel / args.output_width * stride + tap / size - 1;
            const size_t column = pixel % args.output_width * stride + tap % size - 1;
            if (row >= kWidth || column >= kWidth) continue;
            const float value = x[(row * kWidth + column) * channels + k % channels];
            if (value > expected || std::isnan(value)) expected = value;
          }
          ASSERT_TRUE(y[k] == expected || (std::isnan(y[k]) && std::isnan(expected)))
              << kernels->name << ", " << size << " x " << size << ", stride " << stride << ": " << y[k]
              << ", not " << expected;
        }
      }
    }
  }
}

TEST(Kernels, StackLinesOfAllLengths) {
  for (const Kernels* kernels : UsableKernels()) {
    if (kernels->codes.stack_lines == nullptr) continue;
    for (size_t n = 1; n < 200; ++n) {
      std::vector<uint8_t> bytes(4 * n);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 89 % 251);
      const uint8_t* const lines[] = {bytes.data(), nullptr, bytes.data() + 2 * n, bytes.data() + 3 * n};
      std::vector<int32_t> words(n + 1, -1);
      kernels->codes.stack_lines(n, lines, /*sign=*/0x80, /*pad=*/5, words.data());
      for (size_t i = 0; i < n; ++i) {
        const auto byte = [&](size_t line) {
          return static_cast<uint32_t>(lines[line][i] ^ 0x80) << (8 * line);
        };
        ASSERT_EQ(static_cast<uint32_t>(words[i]), byte(0) | 5u << 8 | byte(2) | byte(3))
            << kernels->name << ": " << i << " of " << n;
      }
      EXPECT_EQ(words[n], -1);
    }
  }
}

TEST(Kernels, CopyRowsOfAllLengths) {
  constexpr size_t kRowsCopied = 3;
  constexpr int64_t kGap = 5;
  for (size_t bytes = 0; bytes <= 1100; bytes += bytes < 200 ? 1 : 37) {
    const auto x_stride = static_cast<int64_t>(bytes) + kGap;
    std::vector<char> x(kRowsCopied * static_cast<size_t>(x_stride));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<char>(i % 251 + 1);
    struct Stretch {
      int64_t first, stride;
    };
    for (const Stretch& from : {Stretch{0, x_stride}, {0, 0}, {2 * x_stride, -x_stride}}) {
      const size_t y_stride = bytes + kGap;
      std::vector<char> y(kRowsCopied * y_stride);
      std::vector<char> expected(y);
      for (size_t row = 0; row < kRowsCopied; ++row) {
        const auto first = x.begin() + from.first + static_cast<int64_t>(row) * from.stride;
        std::copy(first, first + static_cast<int64_t>(bytes),
                  expected.begin() + static_cast<int64_t>(row * y_stride));
      }
      CopyRows(kRowsCopied, bytes, x.data() + from.first, from.stride, y.data(),
               static_cast<int64_t>(y_stride));
      EXPECT_EQ(y, expected) << bytes << " bytes, stride " << from.stride;
    }
  }
}

}  // namespace
}  // namespace skiff::xnnpack
