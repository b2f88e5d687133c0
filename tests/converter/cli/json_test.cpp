// What --json prints is what docs/json.md says.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/json.h"
#include "files/npy.h"
#include "tests/converter/cli/json_page.h"
#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

const std::string kPage = SKIFF_SOURCE_DIR "/docs/json.md";
const std::string kCharacters = SKIFF_SOURCE_DIR "/samples/characters";
const std::string kCases = SKIFF_SOURCE_DIR "/tests/converter/import/tflite/";
const std::string kBranches = kCases + "cases/if_true_f32/model.tflite";
const std::string kCodec = kCases + "signature_cases/codec/model.tflite";

class JsonOutput : public ::testing::Test {
 protected:
  JsonOutput() {
    Run({"convert", source_, "-o", bounded_, "--dim", "batch=2..8", "--bucket", "batch=2,8"});
    Run({"convert", kCharacters + "/characters.onnx", "-o", characters_, "--image-size", "32x32", "--std",
         "127.5", "--mean", "127.5", "--labels", kCharacters + "/labels.txt"});
    Run({"convert", kCodec, "-o", codec_});
    Run({"convert", kBranches, "-o", branches_});
    const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, {2, 3}).view());
    folder_.Write("y.npy", {bytes.begin(), bytes.end()});
  }

  static std::string Run(const std::vector<std::string>& arguments, int exit_code = 0) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.error;
    return result.output;
  }

  const TempFolder folder_;
  const std::string source_ = folder_.Write("open.onnx", Serialized(OpenProductModel()));
  const std::string bounded_ = folder_ / "bounded.skiff";
  const std::string characters_ = folder_ / "characters.skiff";
  const std::string codec_ = folder_ / "codec.skiff";
  const std::string branches_ = folder_ / "branches.skiff";
};

TEST_F(JsonOutput, IsWhatThePageSays) {
  const std::string rankless = folder_.Write(
      "rankless.onnx", Serialized(ProductModel(), [](auto& model) {
        model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
      }));
  const std::string lstm = kCases + "cases/lstm_i8/model.tflite";
  const std::string picture = kCharacters + "/images/7_cantarell-bold_32x32.png";
  struct Row {
    std::vector<std::string> arguments;
    int exit_code = 0;
  };
  const Row rows[] = {
      {{"run", characters_, "--input", picture, "--top", "3", "--output", folder_ / "out"}},
      {{"run", bounded_, "--inputs", "random:1", "--top", "2"}},
      {{"bench", bounded_, "--runs", "3", "--warmup", "1"}},
      {{"bench", codec_, "--runs", "2", "--signature", "through"}},
      {{"parity", source_, bounded_, "--layers"}},
      {{"parity", source_, bounded_, "--sweep"}},
      {{"parity", source_, bounded_, "--at", "batch=2", "--steps", "2"}, 0},
      {{"parity", source_, bounded_, "--expect", folder_.path(), "--inputs", "random:1", "--dim", "batch=2"},
       3},
      {{"parity", kCodec, codec_}},
      {{"parity", kCodec, codec_, "--steps", "2"}},
      {{"buckets", source_, "--uniform", "batch=1..16", "--max-plans", "2"}},
      {{"report", bounded_, source_, "--runs", "2"}},
      {{"report", codec_, "--runs", "2", "--backends", "xnnpack,reference", "--signature", "through"}},
      {{"report", characters_, kCharacters + "/characters.onnx", "--runs", "2", "--against", characters_}},
      {{"report", branches_, kBranches, "--runs", "2"}},
      {{"inspect", source_}},
      {{"inspect", rankless}},
      {{"inspect", kCodec}},
      {{"inspect", bounded_}},
      {{"inspect", characters_}},
      {{"inspect", codec_}},
      {{"convert", source_, "-o", folder_ / "again.skiff"}},
      {{"convert", kCodec, "-o", folder_ / "again.skiff", "--dim", "x#0=1..4"}},
      {{"quantize", source_, "-o", folder_ / "codes.skiff", "--calibrate", "random:2", "--report",
        folder_ / "report.html", "--max-error", "1e-6"}},
      {{"quantize", source_, "-o", folder_ / "codes.skiff", "--calibrate", "random:2", "--keep", "product"}},
  };
  const JsonPage page(kPage);
  EXPECT_GT(page.fields(), 200u);
  for (const Row& row : rows) {
    std::vector<std::string> arguments = row.arguments;
    arguments.emplace_back("--json");
    const std::string output = Run(arguments, row.exit_code);
    EXPECT_THAT(page.Check(arguments[0], Json::parse(output)), IsEmpty())
        << fmt::format("{}", fmt::join(arguments, " "));
  }
}

TEST(PrintJson, EscapesWhatSteersATerminal) {
  const std::string name = "a\x1b[m \x7f \u0080\u009b31m\u00a0\u00e9 \xc2";
  ::testing::internal::CaptureStdout();
  cli::PrintJson({{"name", name}});
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(text, "{\n  \"name\": \"a\\u001b[m \\u007f \\u0080\\u009b31m\u00a0\u00e9 \ufffd\"\n}\n");
  EXPECT_EQ(Json::parse(text)["name"], "a\x1b[m \x7f \u0080\u009b31m\u00a0\u00e9 \ufffd");
}

#ifdef SKIFF_RUN
/// The program for devices prints what the tool prints, and what it measures.
TEST_F(JsonOutput, TheDeviceProgramPrintsTheSame) {
  const JsonPage page(kPage);
  const std::string picture = kCharacters + "/reference/A_roboto-regular_64x64/input_image.npy";
  const auto run = [](const std::string& program, std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const RunResult result = RunProgram(program, arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return Json::parse(result.output);
  };
  struct Row {
    std::string model;
    std::vector<std::string> options;
  };
  const std::string rows = folder_.Write("rows.bin", std::string(3 * 4 * sizeof(float), '\0'));
  const std::string codes = folder_ / "codes.skiff";
  Run({"convert", kCases + "cases/add_i8/model.tflite", "-o", codes});
  const Row calls[] = {
      {characters_, {"--input", picture, "--output", folder_ / "out", "--threads", "1"}},
      {characters_, {"--input", picture, "--top", "2", "--backend", "reference", "--threads", "1"}},
      {bounded_, {"--input", rows, "--dim", "batch=3", "--top", "1", "--threads", "1"}}};
  for (const Row& call : calls) {
    std::vector<std::string> arguments = {call.model};
    arguments.insert(arguments.end(), call.options.begin(), call.options.end());
    const Json device = run(SKIFF_RUN, arguments);
    EXPECT_THAT(page.Check("run", device), IsEmpty()) << device;
    arguments.insert(arguments.begin(), "run");
    const Json tool = run(SKIFF_TOOL, arguments);
    for (const auto& [key, value] : tool.items()) {
      if (key == "first_run_ns") continue;
      EXPECT_EQ(device[key], value) << key;
    }
  }
  EXPECT_THAT(page.Check("run", run(SKIFF_RUN, {codes})), IsEmpty());
  const Json bench =
      run(SKIFF_RUN, {characters_, "--input=" + picture, "--bench=3", "--expect",
                      "logits=" + kCharacters + "/reference/A_roboto-regular_64x64/output_logits.npy"});
  EXPECT_THAT(page.Check("run", bench), IsEmpty());
  EXPECT_EQ(bench["runs"], 3);
  EXPECT_EQ(bench["expected"][0]["ok"], true);
}

/// What the file says is what JSON says, also where that is no text.
TEST_F(JsonOutput, NamesOfTheDeviceProgramAreEscaped) {
  const std::string source = folder_.Write("odd.onnx", Serialized(ProductModel(), [](auto& model) {
                                             const std::string name = "a\"b\\c\n\u00e4\U0001f600";
                                             model.mutable_graph()->mutable_output(0)->set_name(name);
                                             model.mutable_graph()->mutable_node(0)->set_output(0, name);
                                           }));
  const std::string model = folder_ / "odd.skiff";
  Run({"convert", source, "-o", model});
  const RunResult result = RunProgram(SKIFF_RUN, {model, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(Json::parse(result.output)["outputs"][0]["name"], "a\"b\\c\n\u00e4\U0001f600");
}
#endif

/// The check itself: a field too many, one too few, one of another type.
TEST_F(JsonOutput, DifferencesAreSeen) {
  const JsonPage page(kPage);
  Json report = Json::parse(Run({"buckets", source_, "--uniform", "batch=1..4", "--json"}));
  ASSERT_THAT(page.Check("buckets", report), IsEmpty());
  report["buckets"][0]["colour"] = "red";
  EXPECT_THAT(page.Check("buckets", report), ElementsAre(HasSubstr("buckets[].colour is not in the page")));
  report["buckets"][0].erase("colour");
  report["buckets"][0].erase("calls");
  EXPECT_THAT(page.Check("buckets", report), ElementsAre(HasSubstr("buckets[].calls lacks")));
  report["buckets"][0]["calls"] = "many";
  EXPECT_THAT(page.Check("buckets", report), ElementsAre(HasSubstr("calls is no number")));
}

TEST_F(JsonOutput, ValuesAreThoseOfTheText) {
  const std::string picture = kCharacters + "/images/7_cantarell-bold_32x32.png";
  const Json run = Json::parse(Run({"run", characters_, "--input", picture, "--top", "1", "--json"}));
  EXPECT_EQ(run["outputs"][0]["top"][0]["label"], "7");
  const Json open = Json::parse(Run({"run", bounded_, "--inputs", "random:1", "--dim", "batch=5", "--json"}));
  EXPECT_EQ(open["sizes"]["batch"], 5);
  EXPECT_EQ(open["outputs"][0]["shape"], (Json{5, 3}));
  const Json bench = Json::parse(Run({"bench", bounded_, "--runs", "2", "--json"}));
  const Json inspected = Json::parse(Run({"inspect", bounded_, "--json"}));
  EXPECT_EQ(bench["nodes"].size(), inspected["signatures"][0]["plans"][0]["nodes"].size());
  const Json converted = Json::parse(Run({"convert", source_, "-o", folder_ / "x.skiff", "--json"}));
  EXPECT_THAT(converted["hints"][0].get<std::string>(), HasSubstr("--dim 'batch=1..MAX'"));
}

}  // namespace
}  // namespace skiff::testing
