// Expressions over Symbols that would grow with each operation.
#include "graph/dim.h"

#include <gtest/gtest.h>

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
  int64_t bytes_left = 5 * 4000;
  const std::optional<TensorData> known = FindKnownValue(graph, d, 1000, bytes_left);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->as<float>()[999], 6.0f);
  EXPECT_EQ(bytes_left, 4000);
  EXPECT_FALSE(FindKnownValue(graph, d, 1000, bytes_left).has_value());
  EXPECT_EQ(bytes_left, 0) << "what was computed on the way counts, although it did not suffice";
}

}  // namespace
}  // namespace skiff
