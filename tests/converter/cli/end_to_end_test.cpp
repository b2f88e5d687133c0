// The sample model through every command of the real executable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "convert.h"
#include "emit/write_file.h"
#include "emit/write_model.h"
#include "files/npy.h"
#include "files/picture.h"
#include "files/tensor_files.h"
#include "graph/text.h"
#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::string kSample = SKIFF_SOURCE_DIR "/samples/characters";
const std::string kSource = kSample + "/characters.onnx";

class EndToEnd : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    convert_ = RunSkiff({"convert", kSource, "-o", Model(), "--image-size", "32x32", "--mean",
                         "127.5,127.5,127.5", "--scale", "0.00784313725", "--channels", "rgb", "--filter",
                         "linear", "--labels", kSample + "/labels.txt"});
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string Model() { return *folder_ / "characters.skiff"; }

  static std::string Succeed(const std::vector<std::string>& arguments) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_EQ(result.error, "");
    return result.output;
  }

  static TempFolder* folder_;
  static RunResult convert_;
};
TempFolder* EndToEnd::folder_ = nullptr;
RunResult EndToEnd::convert_;

TEST_F(EndToEnd, ConvertSummarises) {
  EXPECT_EQ(convert_.exit_code, 0) << convert_.error;
  EXPECT_EQ(convert_.error, "");
  for (const char* part : {"weights", "29 in the source", "xnnpack", "arena", "lower bound", "import",
                           "optimise", "partition", "plan memory", "write"}) {
    EXPECT_THAT(convert_.output, HasSubstr(part));
  }
  EXPECT_EQ(folder_->List().count("characters.skiff"), 1u);
}

TEST_F(EndToEnd, EveryPictureGetsItsLabel) {
  int pictures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSample + "/images")) {
    const std::string label = entry.path().filename().string().substr(0, 1);
    for (const char* backend : {"xnnpack", "reference"}) {
      const std::string output = Succeed(
          {"run", Model(), "--input", "image=" + entry.path().string(), "--top", "1", "--backend", backend});
      EXPECT_THAT(output, HasSubstr("  1. " + label + "  (score "));
      EXPECT_THAT(output, HasSubstr(std::string("(") + backend));
    }
    ++pictures;
  }
  EXPECT_EQ(pictures, 6);
}

TEST_F(EndToEnd, RunShowsWhatAPictureBecame) {
  const std::string picture = "7_cantarell-bold_32x32";
  const std::string seen = *folder_ / "seen";
  Succeed({"run", Model(), "--input", kSample + "/images/" + picture + ".png", "--dump-input", seen});
  const TensorData got = ReadNpy(seen + "/image.npy");
  const TensorData expected = ReadNpy(kSample + "/reference/" + picture + "/input_image.npy");
  ASSERT_EQ(got.shape(), expected.shape());
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.size_bytes()), 0);
  // Of the model's own size, so it looks as it is.
  EXPECT_EQ(DecodePicture(ReadFile(seen + "/image.png"), "seen").samples,
            DecodePicture(ReadFile(kSample + "/images/" + picture + ".png"), "picture").samples);
}

/// The pictures of a batch `a`, of which the first would be called as the input `a_0`.
TEST_F(EndToEnd, RunShowsEachPictureInAFileOfItsOwn) {
  ImageSettings settings;
  settings.width = settings.height = 2;
  settings.mean = {0, 0, 0};
  settings.scale = {1, 1, 1};
  ConvertOptions options;
  options.image = settings;
  const Graph graph = ParseGraph(R"(graph g {
    input a: f32[2, 2, 2, 3]
    input a_0: f32[1, 2, 2, 3]
    y = Add(a, a_0)
    output y
  })");
  const std::string model = *folder_ / "pictures.skiff";
  WriteFileAtomically(model, ConvertGraph(graph, options)->file);
  std::vector<std::string> inputs;
  for (const auto& [name, batch] : {std::pair("a", 2), std::pair("a_0", 1)}) {
    std::vector<float> samples(static_cast<size_t>(batch) * 12, batch == 1 ? 30.0f : 10.0f);
    std::fill(samples.begin() + 12 * (batch - 1), samples.end(), batch == 1 ? 30.0f : 20.0f);
    const std::string file = *folder_ / (std::string(name) + ".npy");
    WriteNpy(file, TensorData(DType::kF32, Shape{batch, 2, 2, 3}, samples.data()).view());
    inputs.insert(inputs.end(), {"--input", std::string(name) + "=" + file});
  }
  const std::string seen = *folder_ / "pictures";
  std::vector<std::string> arguments{"run", model, "--dump-input", seen};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  Succeed(arguments);
  const std::pair<const char*, int> expected[] = {{"a_0_2", 10}, {"a_1", 20}, {"a_0", 30}};
  for (const auto& [name, sample] : expected)
    EXPECT_THAT(DecodePicture(ReadFile(seen + "/" + name + ".png"), name).samples, ::testing::Each(sample));
}

/// A written file that the system does not let the tool open again is no defect of the tool.
TEST_F(EndToEnd, NoDescriptorsToCheckAFileWith) {
  bool checked = false;
  for (int descriptors = 4; descriptors < 20; ++descriptors) {
    const std::string command = fmt::format("ulimit -n {}; exec '{}' convert '{}' -o '{}'", descriptors,
                                            SKIFF_TOOL, kSource, *folder_ / "limited.skiff");
    const RunResult result = RunProgram("/bin/sh", {"-c", command});
    EXPECT_THAT(result.error, Not(HasSubstr("report it"))) << descriptors;
    checked |= result.error.find("cannot be checked: ") != std::string::npos;
  }
  EXPECT_TRUE(checked);
}

TEST_F(EndToEnd, PicturesHaveTheInputsOwnSizeWhereNoneIsSaid) {
  const std::string stated = *folder_ / "stated.skiff";
  const std::string own = *folder_ / "own.skiff";
  Succeed({"convert", kSource, "-o", stated, "--image-size", "32x32", "--std", "0.5"});
  Succeed({"convert", kSource, "-o", own, "--std", "0.5"});
  EXPECT_EQ(ReadWhole(own), ReadWhole(stated));
}

TEST_F(EndToEnd, NormalisationAsTorchvisionStatesIt) {
  const std::string model = *folder_ / "torchvision.skiff";
  const std::string output =
      Succeed({"convert", kSource, "-o", model, "--image-size", "32x32", "--fit", "crop", "--resize", "40",
               "--mean", "0.5", "--std", "0.5", "--labels", kSample + "/labels.txt"});
  EXPECT_THAT(output, HasSubstr("--mean and --std are of samples of 0..1, as torchvision states them"));
  EXPECT_THAT(output,
              HasSubstr("pictures as 32x32 rgb nchw, crop of 40, bilinear, mean [127.5, 127.5, 127.5]"));
  const Json image =
      Json::parse(Succeed({"inspect", model, "--json"}))["signatures"][0]["inputs"][0]["image"];
  EXPECT_EQ(image["fit"], "crop");
  EXPECT_EQ(image["filter"], "bilinear");
  EXPECT_EQ(image["resize"], 40);
}

TEST_F(EndToEnd, RunWritesWhatTheTrainingFrameworkComputed) {
  for (const auto& entry : std::filesystem::directory_iterator(kSample + "/reference")) {
    const std::string results = *folder_ / ("results_" + entry.path().filename().string());
    Succeed({"run", Model(), "--input", (entry.path() / "input_image.npy").string(), "--output", results});
    const std::vector<double> got = ReadNpy(results + "/logits.npy").ToDoubles();
    const std::vector<double> expected = ReadNpy((entry.path() / "output_logits.npy").string()).ToDoubles();
    EXPECT_THAT(got, ::testing::Pointwise(::testing::DoubleNear(1e-4), expected));
  }
}

/// Results of an earlier run are there to be replaced, wherever they lie.
TEST_F(EndToEnd, OutputsMayLieBesideInputs) {
  const std::string model = *folder_ / "good.skiff";
  const std::string source = folder_->Write("good.onnx", Serialized(ProductModel()));
  const std::vector<uint8_t> npy = FormatNpy(TensorData(DType::kF32, {1, 4}).view());
  folder_->Write("beside/x.npy", {npy.begin(), npy.end()});
  const std::string beside = *folder_ / "beside";
  for (int time = 0; time < 2; ++time) {
    Succeed({"convert", source, "-o", model});
    Succeed({"run", model, "--inputs", beside, "-o", beside});
    Succeed({"bench", model, "--runs", "2", "--inputs", beside, "-o", beside, "--trace", beside + "/t.json"});
    Succeed({"parity", source, model, "--input", beside + "/x.npy", "-o", beside});
    Succeed({"size-list", model, "-o", beside + "/list.cmake"});
    Succeed({"quantize", source, "-o", beside + "/i8.skiff", "--calibrate", beside, "--samples", "1"});
  }
}

TEST_F(EndToEnd, OneThingIsNoSeveral) {
  const std::string model = *folder_ / "one.skiff";
  const std::string source = folder_->Write("one.onnx", Serialized(ProductModel()));
  EXPECT_THAT(
      Succeed({"convert", source, "-o", model}),
      AllOf(HasSubstr(" in 1 segment)"), HasSubstr("(the arena of plan 0 is at its lower bound of ")));
  EXPECT_THAT(Succeed({"inspect", source}), HasSubstr(", 1 node, "));
  EXPECT_THAT(Succeed({"inspect", model}), HasSubstr(" in 1 segment, no layout transposes"));
  EXPECT_THAT(Succeed({"bench", model, "--threads", "1", "--runs", "1", "--top", "0"}),
              AllOf(HasSubstr("1 thread\n"), HasSubstr(" over 1 run\n"), HasSubstr("... and 1 more node (")));
  EXPECT_THAT(Succeed({"parity", source, model, "--layers", "--backend", "xnnpack"}),
              AllOf(HasSubstr("1 compared with eager\n"), HasSubstr("; 1 layer comparison\n")));
}

/// A picture in, scores of four classes out, all of them integers: class c has the mean of channel c, and the
/// last one all of them.
class QuantizedEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    ConvertOptions options;
    options.image.emplace();
    options.image->width = options.image->height = 2;
    options.image->mean = {0, 0, 0};
    options.image->scale = {1, 1, 1};
    options.labels = {"red", "green", "blue", "any"};
    WriteFileAtomically(model_, ConvertGraph(ParseGraph(R"(graph g {
      input image: u8[1, 2, 2, 3] {scale=1}
      const w: i8[4, 3] {scale=[0.5, 0.25, 0.125, 0.25], axis=0} = [2, 0, 0, 0, 4, 0, 0, 0, 8, 1, 1, 1]
      const flat: i64[2] = [1, 3]
      mean: u8[1, 1, 1, 3] {scale=1} = ReduceMean(image) {axes=[1, 2]}
      row = Reshape(mean, flat)
      scores: i8[1, 4] {scale=2, zero_point=-128} = FullyConnected(row, w, _)
      output scores
    })"),
                                             options)
                                    ->file);
  }
  /// Red is 10 or 12, green 200 to 201, blue 3.
  static std::vector<uint8_t> Pixels() { return {10, 200, 3, 12, 200, 3, 10, 201, 3, 12, 201, 3}; }

  const TempFolder folder_;
  const std::string model_ = folder_ / "quantized.skiff";
};

TEST_F(QuantizedEndToEnd, RealNumbersAndIntegersGiveTheSame) {
  const std::vector<uint8_t> pixels = Pixels();
  const TensorData integers(DType::kU8, {1, 2, 2, 3}, pixels.data());
  const std::vector<float> floats(pixels.begin(), pixels.end());
  const TensorData reals(DType::kF32, {1, 2, 2, 3}, floats.data());
  WriteNpy(folder_ / "integers.npy", integers.view());
  WriteNpy(folder_ / "reals.npy", reals.view());
  const auto run = [&](const std::string& file) {
    return RunSkiff(
        {"run", model_, "--input", folder_ / file, "--output", folder_ / ("of_" + file), "--top", "2"});
  };
  const RunResult of_integers = run("integers.npy");
  EXPECT_EQ(of_integers.exit_code, 0) << of_integers.error;
  EXPECT_EQ(of_integers.error, "");
  // 200.5 was rounded to the even 200. The scores are 11, 200, 3 and 53.5; in steps of 2: 5.5, 100, 1.5
  // and 26.75.
  EXPECT_THAT(of_integers.output,
              AllOf(HasSubstr("output 'scores': i8 [1, 4] {scale=2, zero_point=-128}, min 4, max 200"),
                    HasSubstr("first values: 12 200 4 54"), HasSubstr("  1. green  (score 200, class 1)"),
                    HasSubstr("  2. any  (score 54, class 3)")));
  const TensorData scores = ReadNpy(folder_ / "of_integers.npy/scores.npy");
  EXPECT_EQ(scores.dtype(), DType::kI8);
  EXPECT_EQ(scores.ToInts(), (std::vector<int64_t>{-122, -28, -126, -101}));

  const RunResult of_reals = run("reals.npy");
  EXPECT_EQ(of_reals.exit_code, 0) << of_reals.error;
  EXPECT_THAT(of_reals.error, HasSubstr("reals.npy: its f32 were quantised for input 'image'"));
  EXPECT_EQ(ReadNpy(folder_ / "of_reals.npy/scores.npy").ToInts(), scores.ToInts());
}

TEST_F(QuantizedEndToEnd, APictureBecomesIntegers) {
  const std::string picture = kSample + "/images/A_roboto-regular_64x64.png";
  const RunResult result = RunSkiff({"run", model_, "--input", picture, "--top", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.output, HasSubstr("  1. "));
}

#ifdef SKIFF_RUN
TEST_F(QuantizedEndToEnd, TheDeviceProgramQuantisesToo) {
  const std::vector<uint8_t> pixels = Pixels();
  const std::vector<float> floats(pixels.begin(), pixels.end());
  WriteNpy(folder_ / "reals.npy", TensorData(DType::kF32, {1, 2, 2, 3}, floats.data()).view());
  const RunResult result = RunProgram(
      SKIFF_RUN, {model_, "--input", "image=" + (folder_ / "reals.npy"), "--output", folder_ / "made"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.error, HasSubstr("reals.npy: f32, quantised"));
  EXPECT_THAT(result.output, HasSubstr("scale 2, zero point -128"));
  EXPECT_EQ(ReadNpy(folder_ / "made/scores.npy").ToInts(), (std::vector<int64_t>{-122, -28, -126, -101}));
  const RunResult pattern = RunProgram(SKIFF_RUN, {model_});
  EXPECT_EQ(pattern.exit_code, 0) << pattern.error;
}
#endif

TEST_F(EndToEnd, ParityHoldsLayerByLayer) {
  const std::string output = Succeed({"parity", kSource, Model(), "--layers"});
  EXPECT_THAT(output, AllOf(HasSubstr("PARITY OK: 2 output comparisons"), HasSubstr("layers on xnnpack"),
                            HasSubstr("layers on reference"), HasSubstr("fused away"),
                            HasSubstr("/13/HardSwish_output_0")));
}

TEST_F(EndToEnd, ParityHoldsAgainstTheTrainingFramework) {
  for (const auto& entry : std::filesystem::directory_iterator(kSample + "/reference")) {
    const Json report =
        Json::parse(Succeed({"parity", kSource, "--expect", entry.path().string(), "--json"}));
    EXPECT_TRUE(report["ok"].get<bool>());
    EXPECT_EQ(report["eager_against_expected"].size(), 1u);
    EXPECT_EQ(report["backends"].size(), 2u);
    EXPECT_EQ(report["backends"][0]["against_expected"][0]["name"], "logits");
  }
}

TEST_F(EndToEnd, ParityFailureIsExitCode3) {
  const RunResult exact = RunSkiff(
      {"parity", kSource, Model(), "--rtol", "0", "--atol", "0", "--layers", "--backend", "xnnpack"});
  EXPECT_EQ(exact.exit_code, 3);
  EXPECT_EQ(exact.error, "");
  EXPECT_THAT(exact.output,
              AllOf(HasSubstr("\nPARITY FAILED: output 'logits' of xnnpack differs from eager: "),
                    HasSubstr("the first layer that differs is '")));
}

TEST_F(EndToEnd, ParityOfOtherWeightsFails) {
  const std::string good = folder_->Write("good.onnx", Serialized(ProductModel()));
  const std::string other = folder_->Write("other.onnx", Serialized(ProductModel(), [](onnx::ModelProto& m) {
                                             m.mutable_graph()->mutable_initializer(0)->set_float_data(5, 9);
                                           }));
  Succeed({"convert", other, "-o", *folder_ / "other.skiff"});
  const RunResult result = RunSkiff({"parity", good, *folder_ / "other.skiff"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output,
              HasSubstr("PARITY FAILED: output 'y' of xnnpack differs from eager: 1 of 3 elements"));
}

TEST_F(EndToEnd, ParityTakesOpenDimensionsFromTheInputs) {
  const std::string open = folder_->Write("open.onnx", Serialized(OpenProductModel()));
  const std::vector<uint8_t> npy = FormatNpy(TensorData(DType::kF32, {5, 4}).view());
  folder_->Write("case/input_0.npy", {npy.begin(), npy.end()});
  EXPECT_THAT(Succeed({"parity", open, "--inputs", *folder_ / "case"}), HasSubstr("f32 [5, 3]"));
}

/// Names in models are whatever their makers liked.
TEST_F(EndToEnd, NamesOfModelsAreOnlyNames) {
  const std::string bad = folder_->Write("bad.onnx", Serialized(ProductModel(), [](onnx::ModelProto& model) {
                                           model.mutable_graph()->mutable_node(0)->set_name("p\xff");
                                         }));
  Succeed({"convert", bad, "-o", *folder_ / "bad.skiff"});
  Succeed({"bench", *folder_ / "bad.skiff", "--runs", "2", "--trace", *folder_ / "bad.json"});
  EXPECT_THAT(ReadWhole(*folder_ / "bad.json"), HasSubstr("p\xef\xbf\xbd")) << "the mark of no character";

  const std::string sly = folder_->Write(
      "sly.onnx", Serialized(ProductModel(), [](onnx::ModelProto& model) {
        onnx::GraphProto& graph = *model.mutable_graph();
        graph.set_name("\x1b[2J");
        for (onnx::ValueInfoProto* value : {graph.mutable_input(0), graph.mutable_output(0)})
          value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(
              "a; b #");
      }));
  const std::string shown = Succeed({"inspect", sly});
  EXPECT_THAT(shown, HasSubstr("graph '\\x1b[2J'"));
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
  EXPECT_THAT(Succeed({"buckets", sly, "--uniform", "a; b #=1..4"}), HasSubstr(" --dim 'a; b #=1..4'"));
  const std::string dumped =
      RunSkiff({"convert", sly, "-o", *folder_ / "sly.skiff", "--dump-after", "all"}).error;
  EXPECT_THAT(dumped, HasSubstr("# after canonicalize"));
  EXPECT_EQ(dumped.find('\x1b'), std::string::npos);
}

TEST_F(EndToEnd, BenchReportsAsJsonAndTrace) {
  const std::string trace_path = *folder_ / "trace.json";
  const Json report = Json::parse(Succeed(
      {"bench", Model(), "--runs", "5", "--warmup", "1", "--threads", "1", "--json", "--trace", trace_path}));
  for (const char* key :
       {"median_ns", "min_ns", "p90_ns", "load_ns", "session_ns", "first_run_ns", "file_bytes"})
    EXPECT_GT(report[key].get<double>(), 0) << key;
  EXPECT_LE(report["min_ns"].get<double>(), report["median_ns"].get<double>());
  EXPECT_LE(report["median_ns"].get<double>(), report["p90_ns"].get<double>());
  EXPECT_GT(report["memory"]["arena"].get<uint64_t>(), 0u);
  EXPECT_EQ(report["threads"], 1);
  const size_t nodes = report["nodes"].size();
  EXPECT_GT(nodes, 10u);
  size_t in_totals = 0;
  for (const Json& total : report["by_operator"]) in_totals += total["nodes"].get<size_t>();
  EXPECT_EQ(in_totals, nodes);
  double of_nodes = 0;
  for (const Json& node : report["nodes"])
    of_nodes += node["shape_program"].get<bool>() ? 0 : node["median_ns"].get<double>();
  EXPECT_GE(of_nodes + report["between_nodes_ns"].get<double>(),
            0.99 * report["profiled_run_ns"].get<double>());
  EXPECT_GE(report["noise"]["spread"].get<double>(), 0);
  EXPECT_TRUE(report["noise"]["noisy"].is_boolean());

  const Json trace = Json::parse(ReadWhole(trace_path));
  size_t complete = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["dur"].get<double>(), 0);
    EXPECT_GE(event["ts"].get<double>(), 0);
    ++complete;
  }
  EXPECT_EQ(complete, 5 * (nodes + 1));
}

TEST_F(EndToEnd, InspectDrawsGraphs) {
  for (const std::string& path : {kSource, Model()}) {
    const std::string dot = Succeed({"inspect", path, "--dot"});
    EXPECT_THAT(dot, AllOf(StartsWith("digraph skiff {"), HasSubstr("Conv2d"), HasSubstr(" -> "),
                           HasSubstr("f32 [1, 36]"), HasSubstr("image"), HasSubstr("constant f32")));
    EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
    // Each arrow is between boxes that stand before it.
    std::istringstream lines(dot);
    std::set<std::string> boxes;
    size_t arrows = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string from;
      std::string what;
      std::string to;
      words >> from >> what >> to;
      if (what.starts_with("[label")) boxes.insert(from);
      if (what != "->") continue;
      EXPECT_TRUE(boxes.contains(from) && boxes.contains(to)) << line;
      ++arrows;
    }
    EXPECT_GT(arrows, 10u);
  }
  EXPECT_THAT(Succeed({"inspect", Model(), "--dot"}), HasSubstr("xnnpack"));
}

TEST_F(EndToEnd, BenchPrintsTables) {
  const std::string output = Succeed({"bench", Model(), "--runs", "2", "--backend", "reference"});
  EXPECT_THAT(output,
              AllOf(HasSubstr("median"), HasSubstr("p90"), HasSubstr("first run"), HasSubstr("memory:"),
                    HasSubstr("GFLOP/s"), HasSubstr("by operator"), HasSubstr("by delegate"),
                    HasSubstr("Conv2d"), HasSubstr("noise:"), HasSubstr("between nodes")));
}

TEST_F(EndToEnd, BenchTunesTheGpuForLaterRuns) {
  const std::string model = *folder_ / "gpu.skiff";
  const std::string cache = *folder_ / "cache";
  std::filesystem::create_directory(cache);
  ASSERT_EQ(RunSkiff({"convert", kSource, "-o", model, "--target", "vulkan"}).exit_code, 0);
  const auto bench = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bench",   model, "--runs",    "2",     "--json",
                                          "--cache", cache, "--backend", "vulkan"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return Json::parse(result.output);
  };
  const Json before = bench({});
  EXPECT_FALSE(before.contains("tuning"));
  if (before["backend"] != "vulkan") GTEST_SKIP() << "there is no Vulkan device here";
  const Json tuned = bench({"--tune"});
  EXPECT_GT(tuned["tuning"]["median_by_rule_ns"].get<double>(), 0);
  ASSERT_GE(tuned["tuning"]["shaders"].size(), 5u);
  for (const Json& shader : tuned["tuning"]["shaders"]) {
    EXPECT_GT(shader["group"].get<int>(), 0);
    EXPECT_LE(shader["ns"].get<double>(), shader["ns_by_rule"].get<double>());
  }
  EXPECT_EQ(bench({})["tuning"]["shaders"], tuned["tuning"]["shaders"]) << "a later run reads the file";
}

TEST_F(EndToEnd, InspectShowsBothKinds) {
  const std::string text = Succeed({"inspect", Model(), "--nodes"});
  EXPECT_THAT(text, AllOf(HasSubstr("input 'image' f32 [1, 3, 32, 32], pictures as 32x32 rgb nchw, stretch, "
                                    "linear,\n    mean [127.5, 127.5, 127.5], scale ["),
                          HasSubstr("36 labels"), HasSubstr("layout transpose\n"), HasSubstr(" Conv2d "),
                          HasSubstr("{strides=[2, 2],")));
  const Json model = Json::parse(Succeed({"inspect", Model(), "--json"}));
  EXPECT_EQ(model["format"], "skiff");
  const Json& plan = model["signatures"][0]["plans"][0];
  EXPECT_EQ(plan["delegates"]["xnnpack"], plan["nodes"].size());
  EXPECT_EQ(model["signatures"][0]["inputs"][0]["image"]["width"], 32);

  EXPECT_THAT(Succeed({"inspect", kSource}), AllOf(HasSubstr("29 nodes"), HasSubstr("BatchNormalization"),
                                                   HasSubstr("output 'logits' f32 [1, 36]")));
  const Json source = Json::parse(Succeed({"inspect", kSource, "--json"}));
  EXPECT_EQ(source["operators"]["Conv"], 8);
}

TEST_F(EndToEnd, ConvertAgainReplacesTheFileAndExplains) {
  const std::string output = *folder_ / "again.skiff";
  folder_->Write("again.skiff", "old");
  const std::string text = Succeed(
      {"convert", kSource, "-o", output, "--explain", "--no-xnnpack", "--disable-pass", "fold-batch-norm"});
  EXPECT_THAT(text, AllOf(HasSubstr("/13/HardSwish (HardSwish):"), HasSubstr("reference")));
  EXPECT_THAT(ReadWhole(output), StartsWith("SKIFF\r\n"));
  EXPECT_THAT(Succeed({"parity", kSource, output}), HasSubstr("PARITY OK"));
}

TEST_F(EndToEnd, ConvertKeepsALink) {
  const std::string target = folder_->Write("target.skiff", "old");
  std::filesystem::create_symlink("target.skiff", *folder_ / "link.skiff");
  Succeed({"convert", kSource, "-o", *folder_ / "link.skiff"});
  EXPECT_TRUE(std::filesystem::is_symlink(*folder_ / "link.skiff"));
  EXPECT_THAT(ReadWhole(target), StartsWith("SKIFF\r\n"));
}

TEST_F(EndToEnd, ConvertKeepsLinksToWhatIsNotThereYet) {
  std::filesystem::create_symlink("second.skiff", *folder_ / "first.skiff");
  std::filesystem::create_symlink(*folder_ / "third.skiff", *folder_ / "second.skiff");
  Succeed({"convert", kSource, "-o", *folder_ / "first.skiff"});
  EXPECT_TRUE(std::filesystem::is_symlink(*folder_ / "first.skiff"));
  EXPECT_TRUE(std::filesystem::is_symlink(*folder_ / "second.skiff"));
  EXPECT_FALSE(std::filesystem::is_symlink(*folder_ / "third.skiff"));
  EXPECT_THAT(ReadWhole(*folder_ / "third.skiff"), StartsWith("SKIFF\r\n"));
  const std::string circle = *folder_ / "circle.skiff";
  std::filesystem::create_symlink("circle.skiff", circle);
  const RunResult result = RunSkiff({"convert", kSource, "-o", circle});
  std::filesystem::remove(circle);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("circle.skiff: cannot be written: it is a link that leads nowhere"));
}

TEST_F(EndToEnd, HelpAndVersionSucceed) {
  EXPECT_THAT(Succeed({"--version"}), StartsWith("skiff "));
  EXPECT_THAT(Succeed({"--help"}), HasSubstr("Exit codes"));
  for (const char* command : {"convert", "run", "bench", "parity", "inspect"})
    EXPECT_THAT(Succeed({command, "--help"}), HasSubstr(std::string("  skiff ") + command));
  EXPECT_THAT(Succeed({"convert", "--list-passes"}), HasSubstr("fold-constants"));
}

#ifdef SKIFF_RUN

/// The elements of a small .npy file, as a raw file.
std::string Raw(const TempFolder& folder, const std::string& npy, const std::string& name) {
  const TensorData tensor = ReadNpy(npy);
  return folder.Write(name, {tensor.as<char>(), tensor.size_bytes()});
}

TEST_F(EndToEnd, DeviceProgramComparesRawFiles) {
  const std::string reference = kSample + "/reference/A_roboto-regular_64x64";
  const std::string input = "image=" + Raw(*folder_, reference + "/input_image.npy", "image.bin");
  const std::string expected = Raw(*folder_, reference + "/output_logits.npy", "logits.bin");
  const RunResult good = RunProgram(
      SKIFF_RUN, {Model(), "--input", input, "--expect", "logits=" + expected, "--output", folder_->path()});
  EXPECT_EQ(good.exit_code, 0) << good.error;
  EXPECT_THAT(good.output, AllOf(HasSubstr("MATCH: 'logits'"), HasSubstr("memory: arena")));
  EXPECT_EQ(ReadWhole(Raw(*folder_, *folder_ / "logits.npy", "0.bin")).size(), 36 * sizeof(float));

  const RunResult other = RunProgram(SKIFF_RUN, {Model(), "--expect", "logits=" + expected});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.output, HasSubstr("MISMATCH: 'logits'"));
}

/// An id is right or wrong, also where no double tells it from the next.
TEST_F(EndToEnd, DeviceProgramComparesIntegersAsTheyAre) {
  const std::string source =
      folder_->Write("ids.txt", "graph g { input x: i64[2]  y = Add(x, x)  output y = y }");
  Succeed({"convert", source, "-o", *folder_ / "ids.skiff"});
  const int64_t large = int64_t{1} << 60;
  WriteNpy(*folder_ / "x.npy", TensorData::OfInts({2, large / 2}).view());
  const auto run = [&](int64_t small, int64_t more) {
    WriteNpy(*folder_ / "y.npy", TensorData::OfInts({small, large + more}).view());
    return RunProgram(SKIFF_RUN, {*folder_ / "ids.skiff", "--input", "x=" + (*folder_ / "x.npy"), "--expect",
                                  "y=" + (*folder_ / "y.npy")})
        .exit_code;
  };
  EXPECT_EQ(run(4, 0), 0);
  EXPECT_EQ(run(5, 0), 3);
  EXPECT_EQ(run(4, 1), 3);
}

TEST_F(EndToEnd, DeviceProgramReadsWhatItWrites) {
  const std::string reference = kSample + "/reference/A_roboto-regular_64x64";
  const std::string input = "image=" + reference + "/input_image.npy";
  const RunResult first = RunProgram(
      SKIFF_RUN, {Model(), "--input", input, "--expect", "logits=" + reference + "/output_logits.npy",
                  "--output", *folder_ / "made", "--bench", "3"});
  EXPECT_EQ(first.exit_code, 0) << first.error;
  double min = 0, median = 0, p90 = 0;
  const size_t bench = first.output.find("bench: 3 more");
  ASSERT_NE(bench, std::string::npos) << first.output;
  ASSERT_EQ(std::sscanf(first.output.c_str() + bench, "bench: 3 more, min %lf ms, median %lf ms, p90 %lf ms",
                        &min, &median, &p90),
            3);
  EXPECT_TRUE(0 < min && min <= median && median <= p90) << first.output;
  const RunResult again = RunProgram(SKIFF_RUN, {Model(), "--input", input, "--tolerance", "0", "--expect",
                                                 "logits=" + (*folder_ / "made/logits.npy")});
  EXPECT_EQ(again.exit_code, 0) << again.output << again.error;
  const RunResult shape =
      RunProgram(SKIFF_RUN, {Model(), "--input", "image=" + (*folder_ / "made/logits.npy")});
  EXPECT_EQ(shape.exit_code, 1);
  EXPECT_THAT(shape.error, HasSubstr("must have the shape [1, 3, 32, 32], got [1, 36]"));
  const RunResult text =
      RunProgram(SKIFF_RUN, {Model(), "--input", "image=" + folder_->Write("short.npy", "1234")});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.error, HasSubstr("short.npy: not a usable .npy file"));
}

TEST_F(EndToEnd, DeviceProgramRefusesBadInput) {
  EXPECT_EQ(RunProgram(SKIFF_RUN, {}).exit_code, 2);
  const RunResult help = RunProgram(SKIFF_RUN, {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("usage: skiff-run"));
  const RunResult folder = RunProgram(SKIFF_RUN, {Model(), "--output", *folder_ / "no/such"});
  EXPECT_EQ(folder.exit_code, 1);
  EXPECT_THAT(folder.error, HasSubstr("no/such: No such file or directory"));
  const RunResult signature = RunProgram(SKIFF_RUN, {Model(), "--signature", "other"});
  EXPECT_EQ(signature.exit_code, 1);
  EXPECT_THAT(signature.error, HasSubstr("no signature 'other'; its first is 'main'"));
  EXPECT_EQ(RunProgram(SKIFF_RUN, {Model(), "--input", "image"}).exit_code, 1) << "no such file";
  EXPECT_EQ(RunProgram(SKIFF_RUN, {kSource}).exit_code, 1);
  const RunResult size =
      RunProgram(SKIFF_RUN, {Model(), "--input", "image=" + folder_->Write("short.bin", "1234")});
  EXPECT_EQ(size.exit_code, 1);
  EXPECT_THAT(size.error, AllOf(HasSubstr("short.bin"),
                                HasSubstr("expected 12288 bytes (f32 [1, 3, 32, 32])"), HasSubstr("fewer")));
  const RunResult name =
      RunProgram(SKIFF_RUN, {Model(), "--input", "picture=" + folder_->Write("short.bin", "1234")});
  EXPECT_EQ(name.exit_code, 1);
  EXPECT_THAT(name.error, AllOf(HasSubstr("no 'picture'"), HasSubstr("'image'")));
}

TEST_F(EndToEnd, MinimalProgramPrintsTheOutput) {
  const RunResult result = RunProgram(SKIFF_MINIMAL, {Model()});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 36);
}

#endif

}  // namespace
}  // namespace skiff::testing
