// The proposal of buckets: what is read, and that the cheapest list wins.
#include "tune/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/error.h"
#include "graph/text.h"
#include "tests/support/temp_folder.h"

namespace skiff::cli {
namespace {

using ::testing::HasSubstr;

std::string ReadError(const std::string& csv) {
  const skiff::testing::TempFolder folder;
  try {
    ReadObservedShapes(folder.Write("shapes.csv", csv));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ObservedShapes, AreReadWithTheirCounts) {
  const skiff::testing::TempFolder folder;
  const ObservedShapes shapes = ReadObservedShapes(folder.Write("shapes.csv",
                                                                "\xEF\xBB\xBF"
                                                                "batch, seq,count\n1, 7,3\r\n2,9,1\n\n"));
  ASSERT_EQ(shapes.rows.size(), 2u);
  EXPECT_EQ(shapes.rows[0].sizes.at("seq"), 7);
  EXPECT_EQ(shapes.rows[0].count, 3);
  EXPECT_EQ(shapes.rows[1].sizes.at("batch"), 2);
}

TEST(ObservedShapes, ErrorsNameTheLine) {
  EXPECT_THAT(ReadError(""), HasSubstr("is empty"));
  EXPECT_THAT(ReadError("seq\n"), HasSubstr("no rows"));
  EXPECT_THAT(ReadError("seq\n7\n1,2\n"), HasSubstr("line 3: 2 values, the header has 1"));
  EXPECT_THAT(ReadError("seq\nseven\n"), HasSubstr("line 2: 'seven' is no size of 'seq'"));
  EXPECT_THAT(ReadError("seq\n-1\n"), HasSubstr("'-1' is no size"));
  EXPECT_THAT(ReadError("seq\n4\n0\n"), HasSubstr("line 3: '0' is no size of 'seq'; a whole number from 1"));
  EXPECT_THAT(ReadError("seq,count\n4,0\n"), HasSubstr("line 2: '0' is no number of calls"));
  EXPECT_THAT(ReadError("n,seq,n\n1,2,3\n"), HasSubstr("column 'n' is there twice"));
}

TEST(ObservedShapes, AreReadOfNoDevice) {
  try {
    ReadObservedShapes("/dev/zero");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/zero: is a device"));
  }
}

TEST(UniformShapes, AreTheProductOfTheRanges) {
  const ObservedShapes shapes = UniformShapes({{"a", DimRange(1, 2)}, {"b", DimRange(8, 24, 8)}});
  EXPECT_EQ(shapes.rows.size(), 6u);
  EXPECT_THROW(UniformShapes({{"a", DimRange(1, 1000)}, {"b", DimRange(1, 1000)}}), Error);
}

/// Only the multiples are walked, and they are counted before.
TEST(UniformShapes, OfHugeRanges) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const ObservedShapes two = UniformShapes({{"a", DimRange(1, kHuge, kHuge / 2)}});
  ASSERT_EQ(two.rows.size(), 2u);
  EXPECT_EQ(two.rows[0].sizes.at("a"), kHuge / 2);
  EXPECT_EQ(two.rows[1].sizes.at("a"), kHuge);
  EXPECT_EQ(UniformShapes({{"a", DimRange(1, 100000)}}).rows.size(), 100000u);
  EXPECT_THROW(UniformShapes({{"a", DimRange(1, 100001)}}), Error);
  EXPECT_THROW(UniformShapes({{"a", DimRange(1, kHuge)}, {"b", DimRange(1, kHuge)}}), Error);
  EXPECT_THROW(UniformShapes({{"a", DimRange(9, 15, 8)}}), Error) << "no multiple in it";
  EXPECT_THROW(UniformShapes({{"a", DimRange(0, 3)}}), Error);
}

Graph OpenGraph() {
  return ParseGraph(R"(graph g {
    symbol n: 1..
    input x: f32[n, 64]
    const w: f32[64, 64] = seed 1
    a = FullyConnected(x, w, _)
    b = Tanh(a)
    y = FullyConnected(b, w, _)
    output y = y
  })");
}

/// Rows may come from a program, which read no file.
TEST(ProposeBuckets, RefusesRowsThatSayNothing) {
  const auto refused = [](const std::vector<ObservedShapes::Row>& rows) -> std::string {
    ObservedShapes shapes;
    shapes.rows = rows;
    try {
      ProposeBuckets(OpenGraph(), shapes, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused({}), HasSubstr("there are no shapes"));
  EXPECT_THAT(refused({{{{"n", 4}}, 1}, {{}, 1}}), HasSubstr("say nothing about the model's dimension 'n'"));
  EXPECT_THAT(refused({{{{"n", 0}}, 1}}), HasSubstr("a size 0 of 'n'"));
  EXPECT_THAT(refused({{{{"n", 4}}, 0}}), HasSubstr("0 calls; a positive number"));
}

/// Nearly all calls are small: a plan for them touches a hundredth of the memory.
TEST(ProposeBuckets, SplitsWhereItPays) {
  ObservedShapes shapes;
  shapes.rows = {{{{"n", 4}}, 90}, {{{"n", 5}}, 9}, {{{"n", 500}}, 1}};
  const BucketProposal proposal = ProposeBuckets(OpenGraph(), shapes, {});
  ASSERT_GE(proposal.buckets.size(), 2u);
  EXPECT_EQ(proposal.symbol, "n");
  EXPECT_LE(proposal.buckets[0].largest, 5);
  EXPECT_EQ(proposal.buckets.back().largest, 500);
  EXPECT_LT(proposal.cost, proposal.cost_of_one);
  double calls = 0;
  for (size_t i = 0; i < proposal.buckets.size(); ++i) {
    calls += proposal.buckets[i].calls;
    EXPECT_GT(proposal.buckets[i].smallest, i == 0 ? 0 : proposal.buckets[i - 1].largest);
  }
  EXPECT_NEAR(calls, 1, 1e-9);
}

TEST(ProposeBuckets, OneIsBestWhereSizesAreAlike) {
  ObservedShapes shapes;
  shapes.rows = {{{{"n", 100}}, 1}, {{{"n", 101}}, 1}};
  BucketOptions options;
  options.threads = 1;
  EXPECT_EQ(ProposeBuckets(OpenGraph(), shapes, options).buckets.size(), 1u);
}

/// They are counted once, and not for each bucket that is tried.
TEST(ProposeBuckets, OfVeryManySizes) {
  ObservedShapes shapes;
  for (int64_t size = 1; size <= 90000; ++size) shapes.rows.push_back({{{"n", size}}, 1});
  BucketOptions options;
  options.threads = 1;
  const BucketProposal proposal = ProposeBuckets(
      ParseGraph("graph g { symbol n: 1.. input x: f32[n] y = Abs(x) output y = y }"), shapes, options);
  EXPECT_EQ(proposal.buckets.front().smallest, 1);
  EXPECT_EQ(proposal.buckets.back().largest, 90000);
  for (const BucketCost& bucket : proposal.buckets)
    EXPECT_NEAR(bucket.calls, static_cast<double>(bucket.largest - bucket.smallest + 1) / 90000, 1e-9);
}

TEST(ProposeBuckets, KeepsMultiples) {
  BucketOptions options;
  options.threads = 1;
  const BucketProposal proposal =
      ProposeBuckets(OpenGraph(), UniformShapes({{"n", DimRange(3, 20, 4)}}), options);
  const DimRange& range = proposal.contract.at("n");
  EXPECT_EQ(range.min, 4);
  EXPECT_EQ(range.max, 20);
  EXPECT_EQ(range.multiple, 4);
}

TEST(ProposeBuckets, NeedsAnOpenDimension) {
  try {
    ProposeBuckets(ParseGraph("graph g { input x: f32[2] y = Abs(x) output y }"), {{{{}, 1}}, {}}, {});
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the model has no open dimension"));
  }
}

TEST(ProposeBuckets, NamesWhatDoesNotFitTheModel) {
  ObservedShapes shapes;
  shapes.rows = {{{{"m", 4}}, 1}};
  EXPECT_THROW(ProposeBuckets(OpenGraph(), shapes, {}), Error);
  shapes.rows = {{{}, 1}};
  EXPECT_THROW(ProposeBuckets(OpenGraph(), shapes, {}), Error);
}

}  // namespace
}  // namespace skiff::cli
