// Sizes of open dimensions: as options, as edges to test at, and as what random inputs may hold.
#include "run/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/convert_options.h"
#include "cli/inspect.h"
#include "cli/parse_sizes.h"
#include "graph/error.h"
#include "graph/text.h"
#include "parity/sweep.h"
#include "run/random_inputs.h"
#include "shape_contract.h"

namespace skiff::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;
using Sizes = std::vector<int64_t>;

std::string WhyNot(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

OpenedModel Convert(const std::string& text) { return OpenedModel(ConvertGraph(ParseGraph(text))->file); }

TEST(NamedSizes, SeveralInOneOptionAndCommasInNames) {
  NamedSizes sizes;
  ParseSizes("--at", "seq=7,batch=2", sizes);
  ParseSizes("--at", "max(h,w)=3", sizes);
  EXPECT_EQ(sizes, (NamedSizes{{"seq", 7}, {"batch", 2}, {"max(h,w)", 3}}));
}

/// Thousands would hide what the line says.
TEST(Hints, NameSomeOfManyDimensions) {
  Graph graph;
  SourceOutline outline;
  outline.operators["If"] = 1;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = fmt::format("n{}", i);
    graph.AddInput("x" + name, DType::kF32, {Dim::OfSymbol(graph.AddSymbol(name))});
    outline.inputs.push_back({"x" + name, "f32", true, {name, name}});
  }
  const std::string open = OpenDimsHint(graph);
  EXPECT_THAT(
      open, AllOf(HasSubstr("; --dim 'n0=1..MAX' --dim"), HasSubstr("'n19=1..MAX' and 980 more would let")));
  EXPECT_THAT(BranchHints(outline, {}, false),
              ElementsAre(AllOf(HasSubstr("with --dim 'n0=N' --dim 'n1=N'"),
                                ::testing::EndsWith("'n19=N' and 980 more"))));
}

TEST(Buckets, AreTheCrossProductOfTheDimensions) {
  ConvertArguments arguments;
  arguments.buckets = {"batch=1,4", "seq=16,17..64"};
  const auto buckets = ToConvertOptions(arguments).buckets;
  using Bucket = std::map<std::string, DimRange>;
  EXPECT_THAT(buckets, UnorderedElementsAre(
                           Bucket{{"batch", 1}, {"seq", 16}}, Bucket{{"batch", 1}, {"seq", {17, 64}}},
                           Bucket{{"batch", 4}, {"seq", 16}}, Bucket{{"batch", 4}, {"seq", {17, 64}}}));
  arguments.buckets = {
      "a=1..99,2..99,3..99,4..99,5..99,6..99,7..99,8..99,9..99,10..99,11..99,12..99,13..99,"
      "14..99,15..99,16..99,17..99"};
  arguments.buckets.push_back("b" + arguments.buckets[0].substr(1));
  EXPECT_THROW(ToConvertOptions(arguments), CLI::ValidationError) << "289 plans";
}

/// A dimension may be empty, and then a bucket may be for that alone.
TEST(Buckets, MayBeOfNothing) {
  ConvertArguments arguments;
  arguments.dims = {"n=0..9"};
  arguments.buckets = {"n=0,0..4"};
  const ConvertOptions options = ToConvertOptions(arguments);
  ASSERT_EQ(options.buckets.size(), 2u);
  EXPECT_EQ(options.buckets[0].at("n"), DimRange(0));
  const std::string net = "graph g { symbol n: 1..\n input x: f32[n, 2] y = Neg(x) output y }";
  Graph graph = ParseGraph(net);
  FixShapes(graph, options);
  OpenedModel opened(ConvertGraph(std::move(graph), options)->file);
  EXPECT_EQ(opened.model().plan_count(0), 3);
  for (const char* dim : {"n=0..0", "n=0..7,multiple=8"}) {
    arguments.dims = {dim};
    EXPECT_THROW(ToConvertOptions(arguments), CLI::ValidationError) << dim << " is nothing but empty";
  }
}

/// The plan would serve no call, and be as large as others.
TEST(Buckets, HaveASizeThatTheDimensionCanHave) {
  const auto refusal = [](const DimRange& bucket) {
    ConvertOptions options;
    options.dims["n"] = DimRange(8, 64, 8);
    options.buckets = {{{"n", bucket}}};
    const std::string net = "graph g { symbol n: 1..\n input x: f32[n] y = Neg(x) output y }";
    Graph graph = ParseGraph(net);
    FixShapes(graph, options);
    return WhyNot([&] { ConvertGraph(std::move(graph), options); });
  };
  EXPECT_THAT(refusal({9, 15}),
              HasSubstr("--bucket n=9..15: dimension 'n' cannot be 9..15, no multiple of 8"));
  EXPECT_THAT(refusal(9), HasSubstr("--bucket n=9: dimension 'n' cannot be 9, no multiple of 8"));
  EXPECT_EQ(refusal({9, 16}), "");
  EXPECT_EQ(refusal(16), "");
}

struct Edges {
  int64_t min;
  int64_t max;
  int64_t multiple;
  Sizes expected;
};
constexpr int64_t kNoEnd = SymbolInfo::kUnbounded;

TEST(EdgeSizes, AreThoseWherePlansBreak) {
  const Edges rows[] = {{1, 512, 1, {1, 2, 257, 511, 512}},
                        {0, 100, 1, {0, 1, 51, 99, 100}},
                        {5, 5, 1, {5}},
                        {1, 2, 1, {1, 2}},
                        {8, 64, 8, {8, 16, 32, 56, 64}},
                        {10, 50, 8, {16, 24, 32, 40, 48}},
                        {1, kNoEnd, 1, {1, 2, 7, 33, 64}},
                        {0, kNoEnd, 1, {0, 1, 7, 33, 64}},
                        {4, kNoEnd, 4, {4, 8, 32, 64}},
                        {100, kNoEnd, 1, {100, 101}},
                        {5, 7, 8, {}}};
  for (const Edges& row : rows) {
    EXPECT_EQ(EdgeSizes(row.min, row.max, row.multiple), row.expected)
        << row.min << " to " << row.max << " by " << row.multiple;
  }
}

TEST(SweepSizes, OneSymbolAtItsEdgesWhileTheOthersAreInsideAndAllAtTheEnds) {
  OpenedModel opened = Convert(R"(graph g {
    symbol n: 1..9
    symbol m: 4..8 multiple 2
    input x: f32[n, m]
    y = Neg(x)
    output y = y
  })");
  const std::vector<Sizes> all = SweepSizes(opened.model());
  EXPECT_THAT(all, IsSupersetOf({Sizes{1, 4}, Sizes{1, 6}, Sizes{2, 6}, Sizes{5, 6}, Sizes{8, 6}, Sizes{9, 6},
                                 Sizes{5, 4}, Sizes{5, 8}, Sizes{9, 8}}));
  EXPECT_EQ(all.size(), 9u) << "each once";
}

TEST(SweepSizes, AFixedModelHasOneCase) {
  OpenedModel opened = Convert("graph g { input x: f32[2]  y = Neg(x)  output y = y }");
  EXPECT_THAT(SweepSizes(opened.model()), ElementsAre(Sizes{}));
}

/// The indexed extent is open: 2 at the smallest, however many rows the largest has.
TEST(RandomInputs, IndicesStayBelowAnExtentThatIsOpen) {
  for (const char* node : {"Gather(x, i) {axis=0}", "GatherElements(x, i) {axis=0}", "GatherND(x, i)",
                           "ScatterElements(x, i, u) {axis=0}", "ScatterND(x, i, v)"}) {
    OpenedModel opened = Convert(fmt::format(R"(graph g {{
      symbol n: 2..50
      input rows: f32[n, 1]
      input i: i64[40, 1]
      input u: f32[40, 1]
      input v: f32[40, 1]
      x = Neg(rows)
      y = {}
      output y = y
      w = Add(u, v)
      output w = w
    }})",
                                             node));
    for (const int64_t n : {2, 50}) {
      const Sizes indices = RandomInputs(opened.model(), Sizes{n}, 1).at("i").ToInts();
      EXPECT_THAT(indices, Each(::testing::Lt(n))) << node;
      EXPECT_THAT(indices, Contains(::testing::Ge(n == 2 ? 1 : 8))) << node << ": all of the range is used";
    }
  }
}

/// The bytes of such inputs would wrap around to few.
TEST(RandomInputs, SizesThatNoTensorHasAreRefused) {
  OpenedModel largest =
      Convert("graph g { symbol n: 1..4611686018427387904\n input x: f32[n] y = Neg(x) output y }");
  EXPECT_THAT(WhyNot([&] { RandomInputs(largest.model(), 1); }),
              HasSubstr("input 'x' would be f32 [4611686018427387904], which has more"));
  OpenedModel open = Convert("graph g { symbol n: 1..\n input x: f32[n, 4] y = Neg(x) output y }");
  EXPECT_THAT(WhyNot([&] { RandomInputs(open.model(), Sizes{SymbolInfo::kUnbounded}, 1); }),
              HasSubstr("which has more than 2^46 bytes"));
  EXPECT_EQ(RandomInputs(open.model(), Sizes{3}, 1).at("x").elements(), 12);
}

TEST(RandomInputs, AreNotDrawnWhereNoSessionCouldHoldThem) {
  OpenedModel open = Convert("graph g { symbol n: 1..\n input x: f32[n] y = Neg(x) output y }");
  EXPECT_THAT(WhyNot([&] { RandomInputs(open.model(), Sizes{int64_t{1} << 40}, 1); }),
              AllOf(HasSubstr("take 4398046511104 bytes"), HasSubstr("smaller sizes")));
  OpenedModel exact = Convert("graph g { input x: f32[900000000] input z: f32[1] y = Add(x, z) output y }");
  EXPECT_THAT(WhyNot([&] { RandomInputs(exact.model(), 1); }),
              HasSubstr("take 3600000004 bytes, and a session that runs on them 7200"));
}

TEST(RandomInputs, WhatNoRuleSpeaksOfIsNamed) {
  OpenedModel opened = Convert(R"(graph g {
    input ids: i64[3]
    input mask: i64[3]
    input on: bool[3]
    input rows: i64[2]
    input x: f32[3]
    const table: f32[5, 2] = seed 1
    picked = Gather(table, ids)
    shaped = Reshape(picked, rows)
    masked = Cast(mask) {to=f32}
    chosen = Where(on, masked, x)
    output shaped = shaped
    output chosen = chosen
  })");
  EXPECT_THAT(InputsWithoutRule(opened.model(), {}), ElementsAre("mask"));
  EXPECT_THAT(InputsWithoutRule(opened.model(), {{"mask", {0, 1}}}), ElementsAre());
}

TEST(RandomInputs, ShapeInputsGetValuesThatTheirOperatorTakesOrAnError) {
  OpenedModel reshape = Convert(R"(graph g {
    input x: f32[2, 6]
    input target: i64[3]
    y = Reshape(x, target)
    output y = y
  })");
  EXPECT_THAT(RandomInputs(reshape.model(), 1).at("target").ToInts(), ElementsAre(-1, 1, 1));
  OpenedModel split = Convert(R"(graph g {
    input x: f32[2, 6]
    input axis: i64[1]
    const start: i64[1] = [0]
    const end: i64[1] = [1]
    y = Slice(x, start, end, axis)
    output y = y
  })");
  try {
    RandomInputs(split.model(), 1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("input 'axis' decide a shape"));
    EXPECT_THAT(error.what(), HasSubstr("--inputs DIR"));
  }
}

}  // namespace
}  // namespace skiff::cli
