// Expressions over Symbols that would grow with each operation.
#include "graph/dim.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/known_values.h"
#include "graph/text.h"

namespace skiff {
namespace {

Dim AtLeastOne(SymbolId id) {
  Symbol symbol;
  symbol.min = 1;
  symbol.max = 8;
  return Dim::OfSymbol(id, symbol);
}

TEST(Dim, ProductsOfManySumsStayShort) {
  Dim product(1);
  for (SymbolId id = 0; id < 40; ++id) product = product * (AtLeastOne(id) + Dim(1));
  EXPECT_LT(product.key().size(), size_t{1} << 24);
  EXPECT_TRUE(product == product);
  EXPECT_GT(product.weight(), 256u);
  EXPECT_GE(product.bounds().min, 1);
}

TEST(Dim, OperandsWithinOperandsAreBoundedOnce) {
  Dim nested = AtLeastOne(0);
  for (SymbolId id = 1; id < 60; ++id)
    nested =
        MaxExtent(FloorDivide(nested + AtLeastOne(id), Dim(2)), AtLeastOne(id)) + FloorDivide(nested, Dim(3));
  EXPECT_GE(nested.bounds().min, 1);
}

TEST(Dim, SumsOfManyQuotientsAreBounded) {
  Dim sum;
  for (SymbolId id = 0; id < 120; ++id) {
    sum = sum + FloorDivide(AtLeastOne(id), Dim(2));
    EXPECT_LE(sum.bounds().max, 4 * (id + 1));
  }
  EXPECT_GE(sum.bounds().min, 0);
}

TEST(Dim, ALongSumLessItselfIsNothing) {
  Dim sum(7);
  for (SymbolId id = 0; id < 60; ++id) sum = sum + AtLeastOne(id);
  EXPECT_TRUE(sum - sum == Dim(0));
}

/// Each value that has such an extent has a copy.
TEST(Dim, SumsOfThousandsAreShort) {
  Dim sum;
  for (SymbolId id = 0; id < 4000; ++id) sum = sum + AtLeastOne(id);
  EXPECT_LE(sum.key().size(), size_t{1} << 15);
  EXPECT_GE(sum.bounds().min, 4000);
  EXPECT_TRUE(sum - sum == Dim(0));
}

/// As of a Slice's step.
TEST(Dim, QuotientsOfTheLargestIntegerDoNotOverflow) {
  const Dim largest(std::numeric_limits<int64_t>::max());
  const Bounds ceiling = CeilDivide(AtLeastOne(0), largest).bounds();
  EXPECT_EQ(ceiling.min, 1);
  EXPECT_EQ(ceiling.max, 1);
  EXPECT_GE(FloorDivide(AtLeastOne(0) + largest, Dim(1 << 20)).bounds().max, 1);
}

TEST(Dim, QuotientsOfTheMostNegativeIntegerDoNotOverflow) {
  const Dim lowest(1 - std::numeric_limits<int64_t>::max());
  EXPECT_EQ(FloorDivide(AtLeastOne(0) + lowest, Dim(1'000'000)).bounds().min, -9'223'372'036'855);
}

/// Coefficients that have reached the ends of 64 bits stand for all beyond.
TEST(Dim, TheMostNegativeCoefficientHasBoundsAndAText) {
  const Dim lowest(std::numeric_limits<int64_t>::min());
  const Dim sum = FloorDivide(AtLeastOne(0), Dim(2)) * lowest + AtLeastOne(1);
  EXPECT_LT(sum.bounds().min, 0);
  EXPECT_EQ((AtLeastOne(0) * lowest).Text([](SymbolId) { return "n"; }), "-9223372036854775808*n");
}

TEST(Dim, AQuotientCancelsAgainstTheRest) {
  const Dim n = AtLeastOne(0);
  EXPECT_GE((n - FloorDivide(n, Dim(2))).bounds().min, 0);
}

TEST(Dim, AMultipleOfASumIsDividedByIt) {
  const Dim rows = AtLeastOne(0) * (AtLeastOne(1) + Dim(2)) * (FloorDivide(AtLeastOne(2), Dim(3)) + Dim(1));
  EXPECT_TRUE(FloorDivide(rows * Dim(64), rows * Dim(4)) == Dim(16));
  EXPECT_FALSE(FloorDivide(rows * Dim(6), rows * Dim(4)).constant());
}

Graph ChainOfAdds() {
  return ParseGraph(R"(graph g {
    input x: f32[1]
    const one: f32[] = 1
    const size: i64[1] = [1000]
    a: f32[1000] = Expand(one, size)
    b: f32[1000] = Add(a, one)
    c: f32[1000] = Add(b, one)
    d: f32[1000] = Add(c, c)
    output d
    output x
  })");
}

TEST(KnownValues, AreComputedFromABudgetOfBytes) {
  const Graph graph = ChainOfAdds();
  const ValueId d = graph.FindValue("d");
  KnownValueBudget left{5 * 4000, int64_t{1} << 30};
  const std::optional<TensorData> known = FindKnownValue(graph, d, 1000, left);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->as<float>()[999], 6.0f);
  EXPECT_EQ(left.bytes, 4000);
  EXPECT_FALSE(FindKnownValue(graph, d, 1000, left).has_value());
  EXPECT_EQ(left.bytes, 0) << "what was computed on the way counts, although it did not suffice";
}

/// A product of 2^30 multiply-adds behind few bytes.
TEST(KnownValues, AreComputedFromABudgetOfSteps) {
  const Graph graph = ParseGraph(R"(graph g {
    const one: f32[] = 1
    const size: i64[2] = [1024, 1024]
    a: f32[1024, 1024] = Expand(one, size)
    b: f32[1024, 1024] = MatMul(a, a)
    output b
  })");
  KnownValueBudget left{int64_t{1} << 30, int64_t{1} << 29};
  EXPECT_FALSE(FindKnownValue(graph, graph.FindValue("b"), 1 << 20, left).has_value());
  left.steps = int64_t{1} << 32;
  EXPECT_TRUE(FindKnownValue(graph, graph.FindValue("b"), 1 << 20, left).has_value());
  EXPECT_LT(left.steps, (int64_t{1} << 32) - (int64_t{1} << 30));
}

/// Thousands of nodes that read the end of one chain; each would go through all of it again.
TEST(KnownValues, LookingForThemHasABudget) {
  std::string text = "graph g {\n  input x: f32[4]\n";
  std::string last = "x";
  for (int i = 0; i < 1000; ++i) {
    const std::string next = fmt::format("v{}", i);
    text += fmt::format("  {}: f32[4] = Neg({})\n", next, last);
    last = next;
  }
  const Graph graph = ParseGraph(text + "  output " + last + "\n}");
  const ValueId end = graph.FindValue(last);
  EXPECT_FALSE(FindKnownValue(graph, end).has_value());
  const int64_t once = kMostKnownValueSteps - graph.known_value_steps;
  EXPECT_GT(once, 1000);
  for (int i = 0; i < 10000; ++i) FindKnownValue(graph, end);
  EXPECT_GE(graph.known_value_steps, 0);
  EXPECT_LT(graph.known_value_steps, once);
  // Who asks of many keeps what was found.
  graph.known_value_steps = kMostKnownValueSteps;
  KnownValues known(graph);
  for (int i = 0; i < 10000; ++i) EXPECT_FALSE(known.Find(end).has_value());
}

}  // namespace
}  // namespace skiff
