// The ONNX backend test suites through the importer, the passes, the file and a Session, on every backend.
#include <gtest/gtest.h>

#include <ostream>

#include "core/error_capture.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "skiff/delegates.h"
#include "tests/converter/import/onnx/cases.h"
#include "tests/support/tiny_models.h"

namespace skiff {

/// For GoogleTest's messages.
void PrintTo(const OnnxCase& test, std::ostream* out) { *out << test.folder; }

namespace {

std::vector<OnnxCase> PassingCases() {
  std::vector<OnnxCase> cases = AllOnnxCases();
  std::erase_if(cases, [](const OnnxCase& test) {
    const OnnxCaseStatus::Kind kind = StatusOf(test).kind;
    return kind == OnnxCaseStatus::kUnsupported || kind == OnnxCaseStatus::kDiffers;
  });
  return cases;
}

class OnnxPlan : public ::testing::TestWithParam<OnnxCase> {};

TEST_P(OnnxPlan, MatchesOnEveryBackend) {
  OnnxCaseData data = LoadOnnxCase(GetParam());
  const auto converted = ConvertGraph(data.graph);
  const skiff::testing::AlignedBytes file(converted->file);
  ErrorCapture capture;
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  auto model = Model::Open(file.span(), options);
  ASSERT_TRUE(model.ok()) << capture.message();
  const bool rounded = StatusOf(GetParam()).kind == OnnxCaseStatus::kRounded;
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions session_options;
    session_options.backend = backend;
    session_options.threads = 1;
    auto session = Session::Create(**model, session_options);
    ASSERT_TRUE(session.ok()) << capture.message();
    for (const OnnxCaseData::Set& set : data.sets) {
      const std::map<std::string, TensorData> outputs = skiff::testing::RunSession(**session, set.inputs);
      for (const auto& [name, expected] : set.outputs) {
        const char* where = backend == Backend::kReference ? "reference: " : "xnnpack: ";
        EXPECT_EQ(CompareWithExpected(outputs.at(name), expected, rounded), "") << where << name;
      }
    }
  }
}

std::string CaseName(const ::testing::TestParamInfo<OnnxCase>& info) {
  std::string name = info.param.suite + "_" + info.param.name;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Onnx, OnnxPlan, ::testing::ValuesIn(PassingCases()), CaseName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxPlan);

}  // namespace
}  // namespace skiff
