// skiff quantize from the outside: what it reads, what it writes, and how it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/quantize_page.h"
#include "files/npy.h"
#include "graph/graph.h"
#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

const std::string kCharacters = SKIFF_SOURCE_DIR "/samples/characters";
const std::string kNet = kCharacters + "/characters.onnx";
const Arguments kImages = {"--image-size", "32x32",         "--mean",   "127.5,127.5,127.5",
                           "--scale",      "0.00784313725", "--filter", "linear"};

class QuantizeTool : public ::testing::Test {
 protected:
  static RunResult Try(Arguments arguments, const Arguments& more = {}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunSkiff(arguments);
  }
  static RunResult Succeed(const Arguments& arguments, const Arguments& more = {}) {
    RunResult result = Try(arguments, more);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result;
  }
  static std::string Fail(const Arguments& arguments, int exit_code = 1) {
    const RunResult result = Try(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.error << result.output;
    return result.error;
  }
  Json Report(const Arguments& arguments, const Arguments& more = {}) {
    Arguments all = {"quantize", kNet, "-o", out_, "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Json::parse(Succeed(all, more).output);
  }
  static std::string CallsOf(const std::string& file) {
    const Json inspected = Json::parse(Succeed({"inspect", file, "--json"}).output);
    return inspected["metadata"]["quantize:calls"];
  }

  const TempFolder folder_;
  const std::string out_ = folder_ / "out.skiff";
  const std::string two_ = folder_.Write("two.onnx", Serialized(TwoInputModel()));
  const std::string product_ = folder_.Write("product.onnx", Serialized(ProductModel()));
};

TEST_F(QuantizeTool, CalibratesWithPicturesAndStillNamesThem) {
  const Json report =
      Report({"--calibrate", kCharacters + "/images", "--labels", kCharacters + "/labels.txt"}, kImages);
  EXPECT_LT(report["bytes"], report["bytes_before"].get<int>() / 3);
  EXPECT_LT(report["error"], 0.1);
  EXPECT_EQ(CallsOf(out_), "6");
  for (const std::string name :
       {"7_cantarell-bold_32x32", "A_roboto-regular_64x64", "K_firacode-medium_48x48"}) {
    const Json run =
        Json::parse(Succeed({"run", out_, "--input", fmt::format("{}/images/{}.png", kCharacters, name),
                             "--top", "1", "--json"})
                        .output);
    EXPECT_EQ(run["outputs"][0]["top"][0]["label"], name.substr(0, 1));
  }
}

TEST_F(QuantizeTool, ParityHasABudgetAndAnExitCodeOfItsOwn) {
  Report({"--calibrate", kCharacters + "/images"}, kImages);
  const Arguments parity = {"parity", kNet, out_, "--inputs",
                            kCharacters + "/reference/A_roboto-regular_64x64"};
  Succeed(parity, {"--max-error", "0.1"});
  EXPECT_EQ(Try(parity, {"--max-error", "0.0001"}).exit_code, 4);
  const RunResult plain = Try(parity);
  EXPECT_EQ(plain.exit_code, 3);
  EXPECT_THAT(plain.error, AllOf(HasSubstr("was quantised (i8)"), HasSubstr("--max-error")));
  EXPECT_EQ(Try(parity, {"--max-error", "0.1", "--rtol", "1"}).exit_code, 2);
}

TEST_F(QuantizeTool, TakesFoldersOfTensorsInEveryForm) {
  const auto calls = [&](const std::string& folder) {
    Succeed({"quantize", product_, "-o", out_, "--calibrate", folder});
    return CallsOf(out_);
  };
  TempFolder each;
  TempFolder rows;
  const auto write = [](const TempFolder& to, const std::string& name, const Shape& shape) {
    const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, shape).view());
    to.Write(name, {bytes.begin(), bytes.end()});
  };
  for (int i = 0; i < 12; ++i) write(each, "input_" + std::to_string(i) + ".npy", {1, 4});
  write(each, "output_0.npy", {1, 3});
  EXPECT_EQ(calls(each.path()), "12");
  write(rows, "x.npy", {5, 4});
  EXPECT_EQ(calls(rows.path()), "5");
  EXPECT_EQ(calls("random:3"), "3");
  Succeed({"quantize", product_, "-o", out_, "--calibrate", each.path(), "--samples", "4"});
  EXPECT_EQ(CallsOf(out_), "4");
}

TEST_F(QuantizeTool, RefusesFilesForANetWithoutInputs) {
  const std::string folder = (folder_ / "calls") + "/";
  std::filesystem::create_directory(folder);
  const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, Shape{1, 4}).view());
  folder_.Write("calls/x.npy", {bytes.begin(), bytes.end()});
  onnx::ModelProto model = ProductModel();
  onnx::TensorProto* x = model.mutable_graph()->add_initializer();
  x->set_name("x");
  x->set_data_type(onnx::TensorProto::FLOAT);
  x->add_dims(1);
  x->add_dims(4);
  for (int i = 0; i < 4; ++i) x->add_float_data(1);
  model.mutable_graph()->clear_input();
  const std::string closed = folder_.Write("closed.onnx", Serialized(model));
  EXPECT_THAT(Fail({"quantize", closed, "-o", out_, "--calibrate", folder}),
              AllOf(HasSubstr("--calibrate"), HasSubstr("no inputs"), HasSubstr("random:N")));
}

TEST_F(QuantizeTool, NamesWhatItWasGivenToCalibrateWith) {
  TempFolder none;
  const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, Shape{0, 4}).view());
  none.Write("x.npy", {bytes.begin(), bytes.end()});
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", none.path()}),
              AllOf(HasSubstr("x.npy"), HasSubstr("no rows")));
  for (const std::string range : {"5..1", "5..5", "0..", "x"})
    EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", "random:2:" + range}),
                AllOf(HasSubstr("--calibrate random:2:" + range), HasSubstr("random:N:LOW..HIGH")));
}

TEST_F(QuantizeTool, TakesNoFileForACandidate) {
  const std::string mine = folder_.Write("out.skiff.candidate.skiff", "mine");
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", "random:2", "--score", "echo 1 {}"}),
              AllOf(HasSubstr("--score"), HasSubstr(mine)));
  EXPECT_EQ(ReadWhole(mine), "mine");
}

TEST_F(QuantizeTool, NumbersAreWhole) {
  for (const std::string number : {"0.5", "1e3", "0", "010", "0x10"})
    EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", "random:2", "--max-bytes", number}, 2),
                AllOf(HasSubstr("--max-bytes"), HasSubstr("whole number"), HasSubstr(number)));
}

TEST_F(QuantizeTool, SaysThatRandomInputsAreNone) {
  EXPECT_THAT(Succeed({"quantize", product_, "-o", out_, "--calibrate", "random:4"}).error,
              HasSubstr("calibrated with random inputs"));
}

TEST_F(QuantizeTool, WritesAReportThatStandsAlone) {
  const std::string page_file = folder_ / "report.html";
  const Json report = Report({"--calibrate", kCharacters + "/images", "--report", page_file}, kImages);
  const std::string page = ReadWhole(page_file);
  EXPECT_THAT(page, AllOf(HasSubstr("<!doctype html>"), HasSubstr("</html>"), HasSubstr("<svg")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http://")), Not(HasSubstr("https://")), Not(HasSubstr("<script"))));
  ASSERT_FALSE(report["layers"].empty());
  for (const Json& layer : report["layers"]) {
    EXPECT_THAT(page, HasSubstr(cli::EscapeHtml(layer["name"])));
    if (layer["format"] == "i8") {
      EXPECT_TRUE(layer.contains("error_alone") && layer.contains("signal_to_noise_db")) << layer;
    }
  }
}

TEST_F(QuantizeTool, SearchMeetsItsBudget) {
  const Json plain = Report({"--calibrate", kCharacters + "/images"}, kImages);
  const double budget = plain["error"].get<double>() * 0.7;
  const Json searched =
      Report({"--calibrate", kCharacters + "/images", "--max-error", std::to_string(budget)}, kImages);
  EXPECT_LE(searched["error"], budget);
  EXPECT_FALSE(searched["search"].empty());
  EXPECT_LT(searched["bytes"], searched["bytes_before"]);
}

TEST_F(QuantizeTool, KeepsTheBytesOfItsBudget) {
  const Arguments calls = {"--calibrate", kCharacters + "/images"};
  const Json plain = Report(calls, kImages);
  Arguments smaller = calls;
  const int bytes = plain["bytes"].get<int>() - 8000;
  smaller.insert(smaller.end(), {"--max-bytes", std::to_string(bytes)});
  const Json searched = Report(smaller, kImages);
  EXPECT_LE(searched["bytes"], bytes);
  EXPECT_EQ(std::filesystem::file_size(out_), searched["bytes"]);
  EXPECT_GT(searched["search"].back()["narrowed"], 0);
  smaller.back() = "1000";
  Arguments all = {"quantize", kNet, "-o", out_};
  all.insert(all.end(), smaller.begin(), smaller.end());
  const RunResult beyond = Try(all, kImages);
  EXPECT_EQ(beyond.exit_code, 4);
  EXPECT_THAT(beyond.error, HasSubstr("beyond --max-bytes 1,000"));
}

TEST_F(QuantizeTool, TakesTheScoreOfACommand) {
  const Arguments base = {"quantize", product_, "-o", out_, "--calibrate", "random:4"};
  const std::string score = "test -s {} && echo accuracy 0.9 of $(wc -c < {})";
  const RunResult scored = Succeed(base, {"--score", score, "--max-error", "1e9"});
  EXPECT_THAT(scored.output, HasSubstr("score:"));
  EXPECT_THAT(Succeed(base, {"--score", score}).output, HasSubstr("score:"));
  EXPECT_EQ(folder_.List(), (std::set<std::string>{"out.skiff", "product.onnx", "two.onnx"}));
  EXPECT_THAT(Try(base, {"--score", "false {}"}).error, HasSubstr("exit code 1"));
  EXPECT_THAT(Try(base, {"--score", "echo none {} | tr -d 0-9"}).error, HasSubstr("prints no number"));
  EXPECT_THAT(Try(base, {"--score", "echo info top1; true {}"}).error, HasSubstr("prints no number"));
  EXPECT_THAT(Try(base, {"--score", "echo nan; true {}", "--max-error", "0.01"}).error,
              HasSubstr("expected a finite score"));
  EXPECT_EQ(Try(base, {"--score", "echo 1"}).exit_code, 2);
}

TEST_F(QuantizeTool, TimesWhatItTries) {
  const RunResult timed =
      Succeed({"quantize", product_, "-o", out_, "--calibrate", "random:4", "--max-ms", "10000"});
  EXPECT_THAT(timed.output, HasSubstr("ms on this machine"));
  const RunResult beyond =
      Try({"quantize", product_, "-o", out_, "--calibrate", "random:4", "--max-ms", "0.0000001"});
  EXPECT_EQ(beyond.exit_code, 4);
  EXPECT_THAT(beyond.error, HasSubstr("beyond --max-ms"));
}

/// The same file, in one step.
TEST_F(QuantizeTool, IsAStepOfConvert) {
  const std::string other = folder_ / "other.skiff";
  Succeed({"quantize", kNet, "-o", out_, "--calibrate", kCharacters + "/images"}, kImages);
  Succeed({"convert", kNet, "-o", other, "--quantize", "i8", "--calibrate", kCharacters + "/images"},
          kImages);
  EXPECT_EQ(ReadWhole(out_), ReadWhole(other));
  EXPECT_THAT(Fail({"convert", kNet, "-o", other, "--calibrate", kCharacters + "/images"}, 2),
              HasSubstr("--quantize"));
  EXPECT_THAT(Fail({"convert", kNet, "-o", other, "--quantize", "i8"}), HasSubstr("--calibrate"));
}

TEST_F(QuantizeTool, SaysWhyNothingIsQuantised) {
  const float spoilt[] = {1, std::nanf(""), 2, std::numeric_limits<float>::infinity()};
  const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, {1, 4}, spoilt).view());
  for (const char* name : {"spoilt/a.npy", "spoilt/b.npy", "spoilt/c.npy"})
    folder_.Write(name, {bytes.begin(), bytes.end()});
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", folder_ / "spoilt"}),
              AllOf(HasSubstr("spoilt/a.npy: 2 of 4 elements of input 'x' are NaN or infinite, and some of 2 "
                              "other inputs"),
                    HasSubstr("error: no layer can be quantised"), HasSubstr("first in 'product'")));
  EXPECT_EQ(folder_.List().count("out.skiff"), 0u);
  const RunResult kept =
      Succeed({"quantize", product_, "-o", out_, "--calibrate", "random:2", "--keep", "product"});
  EXPECT_THAT(kept.error, HasSubstr("note: no layer was quantised: 'product' (kept)"));
  EXPECT_THAT(kept.output, HasSubstr("layers: none was quantised: 1 f32\n"));
}

TEST_F(QuantizeTool, RefusesWithAWayOut) {
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_}), HasSubstr("say --calibrate FOLDER"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", folder_ / "none"}),
              HasSubstr("there is no such folder"));
  const TempFolder empty;
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", empty.path()}),
              HasSubstr("holds no inputs"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", "random:x"}),
              HasSubstr("random:16:0..255"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrate", "random:2", "--keep", "produkt"}),
              HasSubstr("did you mean 'product'?"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", product_, "--calibrate", "random:2"}),
              HasSubstr("would overwrite the source"));
  EXPECT_THAT(Fail({"quantize", two_, "-o", out_, "--calibrate", "random:2"}),
              HasSubstr("nothing to quantise"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--format", "i7"}, 2), HasSubstr("--format"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--format", "f16", "--max-error", "0.1"}, 2),
              HasSubstr("--calibrate"));
  EXPECT_THAT(Fail({"quantize", product_, "-o", out_, "--calibrat", "x"}, 2),
              HasSubstr("did you mean '--calibrate'?"));
  EXPECT_EQ(folder_.List().count("out.skiff"), 0u);
}

TEST(QuantizePage, EscapesWhatNetsAreCalled) {
  QuantizeResult result;
  result.layers.emplace_back().name = "<b>&'\"";
  const std::string page = cli::QuantizePage("<i>", {{"<u>", "</u>"}}, result, "rms", "rms");
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp;&#39;&quot;"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<b>")), Not(HasSubstr("<i>")), Not(HasSubstr("<u>"))));
}

}  // namespace
}  // namespace skiff::testing
