// A source that passes its state through the caller: an input is what the run before put out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/state_nets.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

/// total_out = total + x, and y = 2 * total_out.
constexpr const char* kSums = R"(graph sums {
  input x: f32[2]
  input total: f32[2]
  input batches: f32[n]
  total_out = Add(total, x)
  y = Add(total_out, total_out)
  batches_next = Neg(batches)
  output y = y
  output total_out = total_out
  output batches_next = batches_next
})";

class StateTest : public ::testing::Test {
 protected:
  std::string Refused(const std::vector<std::string>& states) {
    std::vector<std::string> arguments = {"convert", source_, "-o", model_};
    for (const std::string& state : states) arguments.insert(arguments.end(), {"--state", state});
    const RunResult result = RunSkiff(arguments);
    EXPECT_NE(result.exit_code, 0);
    return result.error;
  }
  std::string Converted() {
    const RunResult result = RunSkiff({"convert", source_, "-o", model_, "--state", "total=total_out"});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.error;
  }

  const TempFolder folder_;
  const std::string source_ = folder_.Write("sums.txt", kSums);
  const std::string model_ = folder_ / "sums.skiff";
};

TEST_F(StateTest, TheSessionKeepsItAndCallersSeeNeither) {
  Converted();
  const RunResult inspected = RunSkiff({"inspect", model_, "--json"});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.error;
  const Json file = Json::parse(inspected.output);
  EXPECT_EQ(file["metadata"]["state:total"], "total_out");
  EXPECT_EQ(file["variables"][0]["name"], "total");
  EXPECT_THAT(file["signatures"][0]["inputs"].dump(), ::testing::Not(HasSubstr("\"total\"")));
  EXPECT_THAT(file["signatures"][0]["outputs"].dump(), ::testing::Not(HasSubstr("\"total_out\"")));
}

TEST_F(StateTest, ParityKnowsItFromTheFile) {
  Converted();
  const RunResult once = RunSkiff({"parity", source_, model_});
  EXPECT_EQ(once.exit_code, 0) << once.error << once.output;
  EXPECT_THAT(once.output, HasSubstr("variable total_out"));
  const RunResult runs = RunSkiff({"parity", source_, model_, "--steps", "3", "--json"});
  ASSERT_EQ(runs.exit_code, 0) << runs.error << runs.output;
  const Json cases = Json::parse(runs.output)["cases"];
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[2]["run"], 3);
}

TEST_F(StateTest, OptionsUnlikeTheFilesAreRefusedWithBoth) {
  Converted();
  EXPECT_EQ(RunSkiff({"parity", source_, model_, "--state", "total=total_out"}).exit_code, 0);
  const RunResult other = RunSkiff({"parity", source_, model_, "--state", "total=y"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.error, AllOf(HasSubstr("--state total=y: "),
                                 HasSubstr("sums.skiff was converted with --state total=total_out")));
}

/// Files with caches that are updated where they lie are of a newer format; --copy-state makes others. Both
/// compute what eager mode does, run by run and layer by layer.
TEST_F(StateTest, CachesAreUpdatedWhereTheyLieOrCopied) {
  const std::string source = folder_.Write("cache.txt", kCacheNet);
  for (const bool copied : {false, true}) {
    std::vector<std::string> convert = {"convert", source, "-o", model_};
    for (const StatePair& pair : kCachePairs)
      convert.insert(convert.end(), {"--state", pair.input + "=" + pair.output});
    if (copied) convert.emplace_back("--copy-state");
    const RunResult converted = RunSkiff(convert);
    ASSERT_EQ(converted.exit_code, 0) << converted.error;
    const Json file = Json::parse(RunSkiff({"inspect", model_, "--json"}).output);
    EXPECT_EQ(file["format_version"].get<int>() >= 4, !copied);
    for (const char* way : {"--steps=5", "--layers"}) {
      const RunResult parity =
          RunSkiff({"parity", source, model_, way, "--input-range", "at=0..7", "--input-range", "late=0..3"});
      EXPECT_EQ(parity.exit_code, 0) << way << parity.error << parity.output;
    }
  }
}

TEST_F(StateTest, LikelyOnesAreHintedAt) {
  const RunResult inspected = RunSkiff({"inspect", source_});
  EXPECT_THAT(inspected.error,
              AllOf(HasSubstr("--state 'total=total_out'"), HasSubstr("'batches=batches_next'")));
  EXPECT_THAT(Converted(), ::testing::Not(HasSubstr("'total=total_out'")));
}

TEST_F(StateTest, WhatCannotBeOneIsRefusedByName) {
  EXPECT_THAT(Refused({"totals=total_out"}), AllOf(HasSubstr("no input 'totals'"), HasSubstr("'total'")));
  EXPECT_THAT(Refused({"total=sum"}), AllOf(HasSubstr("no output 'sum'"), HasSubstr("'total_out'")));
  EXPECT_THAT(Refused({"batches=batches_next"}), AllOf(HasSubstr("one shape"), HasSubstr("--dim")));
  EXPECT_THAT(Refused({"total=batches_next"}), HasSubstr("the output of one run must do as the input"));
  EXPECT_THAT(Refused({"total=total_out", "x=total_out"}), HasSubstr("each output once"));
  EXPECT_THAT(Refused({"total"}), HasSubstr("INPUT=OUTPUT"));
}

TEST_F(StateTest, StepsNeedRandomInputsOfOneSize) {
  Converted();
  const RunResult swept = RunSkiff({"parity", source_, model_, "--steps", "2", "--sweep"});
  EXPECT_NE(swept.exit_code, 0);
  EXPECT_THAT(swept.error, HasSubstr("one size"));
}

}  // namespace
}  // namespace skiff::testing
