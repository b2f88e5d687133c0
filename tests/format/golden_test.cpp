// Files of every version stay readable: one file of each is kept, with what it said and what it computed when
// it was written.
#include <gtest/gtest.h>

#include <fstream>

#include "core/error_capture.h"
#include "format/container.h"
#include "format/model_data.h"
#include "skiff/delegates.h"
#include "tests/format/golden_record.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

const std::string kFolder = SKIFF_SOURCE_DIR "/tests/format/golden";

class GoldenFile : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    const std::string path = GoldenPath(kFolder, GetParam(), "skiff");
    std::ifstream text(GoldenPath(kFolder, GetParam(), "json"));
    ASSERT_TRUE(text && std::ifstream(path))
        << "there is no golden file of format version " << GetParam()
        << "; write it, and commit what it makes:\n"
        << "  build/release/tests/format/write_golden tests/format/golden";
    record_ = nlohmann::json::parse(text);
    ErrorCapture capture;
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    auto opened = Model::Open(path.c_str(), options);
    ASSERT_TRUE(opened.ok()) << capture.message();
    model_ = std::move(opened.value());
  }

  std::unique_ptr<Model> model_;
  nlohmann::json record_;
};

TEST_P(GoldenFile, SaysWhatItSaid) {
  EXPECT_EQ(model_->data().format_version, GetParam());
  EXPECT_EQ(FirstDifference(record_.at("model"), Describe(*model_)), "");
}

TEST_P(GoldenFile, ComputesWhatItComputed) {
  ASSERT_FALSE(record_.at("calls").empty());
  for (const Backend backend : {Backend::kPlanned, Backend::kReference}) {
    ErrorCapture capture;
    auto variables = Variables::Create(*model_);
    ASSERT_TRUE(variables.ok()) << capture.message();
    std::map<std::string, std::unique_ptr<Session>> sessions;
    for (size_t i = 0; i < record_.at("calls").size(); ++i) {
      const GoldenCall call = CallFromJson(record_.at("calls")[i]);
      SessionOptions options;
      options.signature = call.signature.c_str();
      options.backend = backend;
      options.variables = variables.value().get();
      std::unique_ptr<Session>& session = sessions[call.signature];
      if (!session) {
        auto created = Session::Create(*model_, options);
        ASSERT_TRUE(created.ok()) << capture.message();
        session = std::move(created.value());
      }
      const auto got = RunSession(*session, call.inputs);
      ASSERT_EQ(got.size(), call.outputs.size());
      for (const auto& [name, expected] : call.outputs) {
        // The bound for whole nets: kernels of later versions may round otherwise.
        const Difference difference = Compare(got.at(name), expected);
        EXPECT_LE(difference.difference, 2e-5 * difference.largest)
            << "call " << i << ", " << call.signature << " " << name << ", reference "
            << (backend == Backend::kReference);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, GoldenFile, ::testing::Range(1u, format::kFormatVersion + 1),
                         [](const auto& info) { return "Format" + std::to_string(info.param); });

TEST(GoldenRecord, TellsTheFirstDifference) {
  const nlohmann::json then = {{"a", {1, 2}}, {"b", {{"c", "x"}}}};
  nlohmann::json now = then;
  now["b"]["more"] = 1;
  EXPECT_EQ(FirstDifference(then, now), "");
  now["b"]["c"] = "y";
  EXPECT_EQ(FirstDifference(then, now), "/b/c was \"x\" and is \"y\"");
  now["a"].push_back(3);
  EXPECT_EQ(FirstDifference(then, now), "/a was [1,2] and is [1,2,3]");
  now.erase("a");
  EXPECT_EQ(FirstDifference(then, now), "/a is gone");
}

}  // namespace
}  // namespace skiff::testing
