// Products by Strassen's way: the kernels against sums in double, the bits of any division of the work, and
// what keeps rows and outputs of different sizes apart.
#include "delegates/xnnpack/lower/strassen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "delegates/xnnpack/delegate.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/memory.h"
#include "node_harness.h"
#include "ops/op_codes.h"
#include "skiff/thread_pool.h"

namespace skiff::xnnpack {
namespace {

/// Those that this CPU can run.
std::vector<const Kernels*> KernelsWithProducts() {
  EXPECT_TRUE(Initialize().ok());
  std::vector<const Kernels*> found;
  for (const Kernels* kernels = &SelectKernels(); kernels != nullptr; kernels = kernels->narrower) {
    if (kernels->strassen.products != nullptr) found.push_back(kernels);
  }
  return found;
}

/// Rows that lie apart, packed weights, and the outputs.
class Product {
 public:
  Product(const Kernels& kernels, size_t rows, size_t inputs, size_t outputs)
      : kernels_(kernels), rows_(rows), random_(static_cast<uint32_t>(rows * 7 + inputs * 3 + outputs)) {
    args_.run = inputs;
    args_.outputs = outputs;
    args_.x_stride = inputs + 3;
    args_.y_stride = outputs + 5;
    args_.pair_elements = 2 * inputs + 16;
    args_.min = -std::numeric_limits<float>::infinity();
    args_.max = std::numeric_limits<float>::infinity();
    x_.resize(rows * args_.x_stride);
    weights_.resize(DenseGroupElements(args_, kernels));
    for (float& value : x_) value = numbers_(random_);
    for (float& value : weights_) value = numbers_(random_);
    sums_.resize(DivideUp(rows, 2) * args_.pair_elements);
    made_.resize(2 * inputs * kernels.dense_outputs);
    of_like_size_.resize(DivideUp(panels(), 2));
  }

  void ScaleRow(size_t row, float factor) {
    for (size_t k = 0; k < args_.run; ++k) x_[row * args_.x_stride + k] *= factor;
  }
  void ScaleOutput(size_t output, float factor) {
    for (size_t k = 0; k < args_.run; ++k) weights_[PlaceOf(output, 1 + k)] *= factor;
  }
  void SetInput(size_t row, size_t input, float value) { x_[row * args_.x_stride + input] = value; }
  void Clamp(float min, float max) {
    args_.min = min;
    args_.max = max;
  }

  /// In pieces of so many rows and panels, both even. Elements between the rows of the result stay 0.
  std::vector<float> Run(size_t rows_at_once, size_t panels_at_once) {
    std::vector<float> y(rows_ * args_.y_stride);
    args_.x = x_.data();
    args_.y = y.data();
    args_.weights = weights_.data();
    args_.sums = sums_.data();
    args_.of_like_size = of_like_size_.data();
    kernels_.strassen.weights(args_, of_like_size_.data());
    for (size_t row = 0; row < rows_; row += rows_at_once) {
      const size_t end_row = std::min(row + rows_at_once, rows_);
      kernels_.strassen.inputs(args_, row, end_row);
      for (size_t panel = 0; panel < panels(); panel += panels_at_once)
        kernels_.strassen.products(args_, row, end_row, panel, std::min(panel + panels_at_once, panels()),
                                   made_.data());
    }
    return y;
  }
  std::vector<float> Run() { return Run(rows_ + rows_ % 2, panels() + panels() % 2); }

  /// The direct way, so many panels at a time.
  std::vector<float> RunDirectly(size_t panels_at_once) {
    std::vector<float> y(rows_ * args_.y_stride);
    args_.x = x_.data();
    args_.y = y.data();
    args_.weights = weights_.data();
    for (size_t panel = 0; panel < panels(); panel += panels_at_once)
      kernels_.dense(args_, 0, rows_, panel, std::min(panel + panels_at_once, panels()));
    return y;
  }
  bool WritesBetweenRows(const std::vector<float>& y) const {
    for (size_t i = 0; i < y.size(); ++i) {
      if (i % args_.y_stride >= args_.outputs && y[i] != 0) return true;
    }
    return false;
  }

  /// How far outputs are from the exact sums, in 2^-24 of the sums of their own absolute terms.
  double LargestError(const std::vector<float>& y) const {
    double largest = 0;
    for (size_t row = 0; row < rows_; ++row) {
      for (size_t output = 0; output < args_.outputs; ++output) {
        const float got = y[row * args_.y_stride + output];
        double exact = weights_[PlaceOf(output, 0)];
        for (size_t k = 0; k < args_.run; ++k)
          exact += static_cast<double>(x_[row * args_.x_stride + k]) * weights_[PlaceOf(output, 1 + k)];
        exact = std::clamp(exact, static_cast<double>(args_.min), static_cast<double>(args_.max));
        if (std::isnan(exact)) {
          EXPECT_TRUE(std::isnan(got)) << row << ", " << output;
          continue;
        }
        if (std::isinf(exact)) {
          EXPECT_EQ(got, exact) << row << ", " << output;
          continue;
        }
        const double error = std::fabs(got - exact) / AbsoluteTerms(row, output) * 0x1p24;
        largest = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
      }
    }
    return largest;
  }

 private:
  size_t panels() const { return DensePanelCount(args_, kernels_); }
  size_t PlaceOf(size_t output, size_t row) const {
    const size_t panel = std::min(output / kernels_.dense_outputs, panels() - 1);
    const size_t first = panel * kernels_.dense_outputs;
    const size_t width =
        panel + 1 < panels() ? kernels_.dense_outputs : DenseColumns(args_, kernels_) - first;
    return first * (1 + args_.run) + row * width + output - first;
  }
  double AbsoluteTerms(size_t row, size_t output) const {
    double terms = std::fabs(weights_[PlaceOf(output, 0)]);
    for (size_t k = 0; k < args_.run; ++k)
      terms +=
          std::fabs(static_cast<double>(x_[row * args_.x_stride + k]) * weights_[PlaceOf(output, 1 + k)]);
    return terms;
  }

  const Kernels& kernels_;
  const size_t rows_;
  std::mt19937 random_;
  std::uniform_real_distribution<float> numbers_{-1, 1};
  StrassenArgs args_;
  std::vector<float> x_, weights_, sums_, made_;
  std::vector<uint8_t> of_like_size_;
};

/// As docs/numerics.md says: twice the bound of products (7 is the most here), and 16 times that beside
/// others that are so much larger (39 is).
constexpr double kAmongEqual = 16;
constexpr double kBesideLarger = 256;

/// What Strassen's way leaves: tiles of all heights, over one panel or several, the last one full or not.
TEST(Strassen, DirectProductsOfAllShapes) {
  constexpr double kMostError = 6;  // Less than 4 was met.
  for (const Kernels* kernels : KernelsWithProducts()) {
    for (const size_t rows : {1, 2, 6, 7, 15, 31}) {
      for (const size_t inputs : {1, 17, 450}) {
        const size_t step = inputs < 400 ? 3 : 17;
        for (size_t outputs = 1; outputs <= 4 * kernels->dense_outputs + 3; outputs += step) {
          SCOPED_TRACE(::testing::Message()
                       << kernels->name << ": " << rows << " x " << inputs << " x " << outputs);
          Product product(*kernels, rows, inputs, outputs);
          const std::vector<float> y = product.RunDirectly(1);
          ASSERT_LT(product.LargestError(y), kMostError);
          ASSERT_FALSE(product.WritesBetweenRows(y));
          ASSERT_EQ(product.RunDirectly(3), y);
          product.Clamp(-0.5f, 0.5f);
          ASSERT_LT(product.LargestError(product.RunDirectly(100)), kMostError);
        }
      }
    }
  }
}

TEST(Strassen, ProductsOfAllShapes) {
  for (const Kernels* kernels : KernelsWithProducts()) {
    const size_t panel = kernels->dense_outputs;
    for (const size_t rows : {1, 2, 3, 5, 12, 13, 16, 17, 26, 49, 70}) {
      for (const size_t inputs : {2 * panel, 2 * panel + 2, 4 * panel + 6, size_t{160}}) {
        for (const size_t outputs :
             {panel, 2 * panel, 2 * panel + 1, 5 * panel / 2, 3 * panel, 4 * panel - 1, 4 * panel + 3}) {
          SCOPED_TRACE(::testing::Message()
                       << kernels->name << ": " << rows << " x " << inputs << " x " << outputs);
          Product product(*kernels, rows, inputs, outputs);
          const std::vector<float> y = product.Run();
          EXPECT_LT(product.LargestError(y), kAmongEqual);
          EXPECT_FALSE(product.WritesBetweenRows(y));
          EXPECT_EQ(product.Run(4, 2), y);
          EXPECT_EQ(product.Run(14, 2), y);
          product.Clamp(-1, 1.5f);
          EXPECT_LT(product.LargestError(product.Run()), kAmongEqual);
        }
      }
    }
  }
}

/// Every sum is as exact as that of its own row and output: those whose sizes differ are not added.
TEST(Strassen, LeavesRowsAndOutputsOfOtherSizesApart) {
  for (const Kernels* kernels : KernelsWithProducts()) {
    const size_t panel = kernels->dense_outputs;
    for (const float factor : {1e-20f, 1e-3f, 1.0f / 20, 1.0f / 10, 10.0f, 20.0f, 1e3f, 1e20f, 0.0f}) {
      SCOPED_TRACE(::testing::Message() << kernels->name << ": " << factor);
      Product rows(*kernels, 41, 96, 4 * panel);
      for (const size_t row : {1, 2, 12, 21, 22, 40}) rows.ScaleRow(row, factor);
      EXPECT_LT(rows.LargestError(rows.Run()), kBesideLarger);
      EXPECT_EQ(rows.Run(8, 2), rows.Run());
      Product outputs(*kernels, 40, 96, 6 * panel);
      for (const size_t output : {size_t{3}, 4 * panel + 1, 5 * panel + 1})
        outputs.ScaleOutput(output, factor);
      EXPECT_LT(outputs.LargestError(outputs.Run()), kBesideLarger);
    }
  }
}

TEST(Strassen, NanAndInfinitiesReachTheirRowsAndOutputsAlone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  for (const Kernels* kernels : KernelsWithProducts()) {
    for (const float special : {std::nanf(""), kInfinity, -kInfinity, kMost}) {
      SCOPED_TRACE(::testing::Message() << kernels->name << ": " << special);
      Product outputs(*kernels, 31, 96, 4 * kernels->dense_outputs);
      outputs.ScaleOutput(7, special == kMost ? kMost / 128 : special);  // 96 terms are still finite.
      EXPECT_LT(outputs.LargestError(outputs.Run()), kBesideLarger);
      for (const size_t row : {0, 7, 30}) {
        for (const size_t input : {0, 46, 94, 95}) {
          Product product(*kernels, 31, 96, 4 * kernels->dense_outputs);
          product.SetInput(row, input, special);
          EXPECT_LT(product.LargestError(product.Run()), kBesideLarger);
        }
      }
    }
  }
}

/// Of inputs and weights whose products of sums would be infinite.
TEST(Strassen, LargeNumbersDoNotOverflow) {
  for (const Kernels* kernels : KernelsWithProducts()) {
    Product product(*kernels, 12, 64, 2 * kernels->dense_outputs);
    for (size_t row = 0; row < 12; ++row) product.ScaleRow(row, 0x1p60f);
    for (size_t output = 0; output < 2 * kernels->dense_outputs; ++output)
      product.ScaleOutput(output, 0x1p64f);
    EXPECT_LT(product.LargestError(product.Run()), kAmongEqual) << kernels->name;
  }
}

/// Nodes, with one thread and with more than there are blocks: the same bits; and exact ones, whose way is
/// the direct one.
TEST(Strassen, NodesOfAnyThreads) {
  const std::vector<const Kernels*> kernels = KernelsWithProducts();
  if (kernels.empty()) GTEST_SKIP() << "no such kernels for this CPU";
  Result<std::unique_ptr<ModelState>> state = BuiltinXnnpackDelegate().CreateModelState({});
  ASSERT_TRUE(state.ok());
  for (const int64_t rows : {49, 130, 700}) {
    skiff::testing::Case description;
    description.name = "rows_" + std::to_string(rows);
    description.op = OpCode::kFullyConnected;
    InitAttrs(description.op, description.attrs);
    const int64_t inputs = 194;
    const int64_t outputs = 330;
    description.inputs.resize(3);
    description.inputs[0].shape = {rows, inputs};
    description.inputs[1].shape = {outputs, inputs};
    description.inputs[2].shape = {outputs};
    description.inputs[1].constant = description.inputs[2].constant = true;
    DenseShape shape;
    shape.run = static_cast<size_t>(inputs);
    shape.outputs = static_cast<size_t>(outputs);
    if (kernels[0]->narrower != nullptr && !WideVectorsAreTwoHalves()) {
      EXPECT_FALSE(StrassenProduct::IsFaster(shape, static_cast<size_t>(rows), *kernels[0]));
      GTEST_SKIP() << "the direct way is as fast on this CPU; the run of a lower tier has both";
    }
    EXPECT_TRUE(StrassenProduct::IsFaster(shape, static_cast<size_t>(rows), *kernels[0]));
    skiff::testing::Node node(description);
    const auto outcome = node.Run(**state, {});
    EXPECT_EQ(outcome.damage, "");
    for (const int threads : {2, 3, 5}) {
      const auto shared = node.Run(**state, {.threads = threads, .thread_small_work = true});
      EXPECT_TRUE(SameElements(shared, outcome)) << rows << " rows, " << threads << " threads";
    }
    const auto exact = node.Run(**state, {.exact = true});
    EXPECT_FALSE(SameElements(exact, outcome));
    EXPECT_LT(exact.workspace_bytes, outcome.workspace_bytes);
  }
}

}  // namespace
}  // namespace skiff::xnnpack
