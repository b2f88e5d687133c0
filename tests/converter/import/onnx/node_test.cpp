// The ONNX backend test suites through the importer and the eager interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "tests/converter/import/onnx/cases.h"

namespace skiff {

/// For GoogleTest's messages.
void PrintTo(const OnnxCase& test, std::ostream* out) { *out << test.folder; }

namespace {

class OnnxSuite : public testing::TestWithParam<OnnxCase> {};

std::string FirstDifference(const OnnxCaseData& data, bool rounded) {
  for (const OnnxCaseData::Set& set : data.sets) {
    const std::map<std::string, TensorData> outputs = Evaluate(data.graph, set.inputs);
    for (const auto& [name, expected] : set.outputs) {
      const std::string difference = CompareWithExpected(outputs.at(name), expected, rounded);
      if (!difference.empty()) return name + ": " + difference;
    }
  }
  return "";
}

TEST_P(OnnxSuite, MatchesTheExpectedOutputs) {
  const OnnxCaseStatus status = StatusOf(GetParam());
  try {
    const OnnxCaseData data = LoadOnnxCase(GetParam());
    ASSERT_NE(status.kind, OnnxCaseStatus::kUnsupported)
        << "imports although it is listed as out of scope (" << status.reason << "): take it off the list";
    ASSERT_FALSE(data.sets.empty());
    EXPECT_TRUE(!data.frozen || WhyFrozen(GetParam()) != nullptr) << "inputs are frozen, which is not listed";
    const std::string difference = FirstDifference(data, status.kind == OnnxCaseStatus::kRounded);
    if (status.kind == OnnxCaseStatus::kDiffers) {
      EXPECT_NE(difference, "") << "matches although it is listed as different (" << status.reason << ")";
    } else {
      EXPECT_EQ(difference, "");
    }
  } catch (const Error& error) {
    ASSERT_EQ(status.kind, OnnxCaseStatus::kUnsupported) << error.what();
    EXPECT_EQ(error.code(), StatusCode::kUnsupported) << error.what();
  }
}

std::string CaseName(const testing::TestParamInfo<OnnxCase>& info) {
  std::string name = info.param.suite + "_" + info.param.name;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Onnx, OnnxSuite, testing::ValuesIn(AllOnnxCases()), CaseName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxSuite);

bool HasSuite(const std::vector<OnnxCase>& cases, const std::string& suite) {
  return std::any_of(cases.begin(), cases.end(), [&](const OnnxCase& test) { return test.suite == suite; });
}

TEST(OnnxSuiteList, NewerCasesArePresent) {
  if (!HasSuite(AllOnnxCases(), "node-1.20")) GTEST_SKIP() << "run platforms/onnx_node_cases once";
}

TEST(OnnxSuiteList, EveryExceptionIsNeeded) {
  const std::vector<OnnxCase> cases = AllOnnxCases();
  if (!HasSuite(cases, "node")) GTEST_SKIP() << "libonnx-testdata is not installed";
  EXPECT_EQ(UnusedExceptions(cases), std::vector<std::string>{});
}

}  // namespace
}  // namespace skiff
