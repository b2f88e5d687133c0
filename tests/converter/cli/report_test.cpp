// `skiff report`: its data, and that the page holds them and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/models/models_list.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kCharacters = SKIFF_SOURCE_DIR "/samples/characters/characters.onnx";
const std::string kDataBegin = "<script type=\"application/json\" id=\"data\">";
constexpr size_t kLargestPage = 2'000'000;

class Report : public ::testing::Test {
 protected:
  static RunResult Run(const std::vector<std::string>& arguments) {
    RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result;
  }
  std::string Converted(const std::string& source, const std::vector<std::string>& options = {}) {
    std::string model = folder_ / ("model" + std::to_string(models_++) + ".skiff");
    std::vector<std::string> arguments{"convert", source, "-o", model};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Run(arguments);
    return model;
  }
  static Json Data(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    arguments.insert(arguments.end(), {"--json", "--runs", "2"});
    return Json::parse(Run(arguments).output);
  }
  /// What the page shows.
  static Json DataOf(const std::string& page) {
    const size_t begin = page.find(kDataBegin) + kDataBegin.size();
    return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }

  const TempFolder folder_;
  int models_ = 0;
};

/// Bytes or nodes, from the first to one behind the last.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

Range BytesOf(const Json& place) {
  const auto offset = place["offset"].get<uint64_t>();
  return {offset, offset + place["bytes"].get<uint64_t>()};
}

Range NodesOf(const Json& place) {
  return {place["first"].get<uint64_t>(), place["last"].get<uint64_t>() + 1};
}

/// A node writes its result where it has just read an operand for the last time.
bool IsInPlace(const Json& before, const Json& after) {
  return before["last"] == after["first"] && before["offset"] == after["offset"];
}

/// Tensors that have bytes in common while a node runs, though none is a part of the other.
std::vector<std::string> Collisions(const Json& graph) {
  std::vector<std::string> found;
  const Json& tensors = graph["tensors"];
  const auto root = [&](size_t i) { return tensors[i].value("view_of", static_cast<int64_t>(i)); };
  for (size_t a = 0; a < tensors.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (!tensors[a].contains("place") || !tensors[b].contains("place") || root(a) == root(b)) continue;
      const Json& p = tensors[a]["place"];
      const Json& q = tensors[b]["place"];
      if (!BytesOf(p).Meets(BytesOf(q)) || !NodesOf(p).Meets(NodesOf(q))) continue;
      if (!IsInPlace(p, q) && !IsInPlace(q, p)) found.push_back(tensors[a].dump() + tensors[b].dump());
    }
  }
  return found;
}

void CheckArena(const Json& graph) {
  EXPECT_THAT(Collisions(graph), IsEmpty());
  const auto arena = graph["arena_bytes"].get<uint64_t>();
  EXPECT_GT(arena, 0u);
  for (const Json& tensor : graph["tensors"]) {
    if (!tensor.contains("place")) continue;
    EXPECT_LE(tensor["place"]["offset"].get<uint64_t>() + tensor["place"]["bytes"].get<uint64_t>(), arena)
        << tensor["name"];
    EXPECT_LE(tensor["place"]["first"], tensor["place"]["last"]);
    EXPECT_FALSE(tensor["constant"]);
  }
  ASSERT_EQ(graph["live_bytes"].size(), graph["nodes"].size());
  for (size_t node = 0; node < graph["nodes"].size(); ++node) {
    std::vector<Range> live;
    for (const Json& tensor : graph["tensors"]) {
      if (!tensor.contains("place")) continue;
      const Range nodes = NodesOf(tensor["place"]);
      if (nodes.begin <= node && node < nodes.end) live.push_back(BytesOf(tensor["place"]));
    }
    std::sort(live.begin(), live.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    uint64_t bytes = 0;
    uint64_t end = 0;
    for (const Range& range : live) {
      bytes += std::max(range.end, end) - std::max(range.begin, end);
      end = std::max(range.end, end);
    }
    if (graph["nodes"][node]["shape_program"]) bytes = 0;
    EXPECT_EQ(graph["live_bytes"][node].get<uint64_t>(), bytes) << node;
  }
}

TEST_F(Report, TellsWhatRanAndWhatItWas) {
  const Json data = Data({Converted(kCharacters), kCharacters});
  ASSERT_EQ(data["sides"].size(), 1u);
  const Json& side = data["sides"][0];
  CheckArena(side["graph"]);
  EXPECT_TRUE(side["parity"]["ok"]);
  EXPECT_FALSE(side["parity"]["backends"][0]["layers"].empty());
  // Every node was measured, and stands for something.
  const Json& nodes = side["graph"]["nodes"];
  std::vector<size_t> sources(nodes.size());
  for (const Json& source : side["sources"]) {
    for (const Json& node : source["nodes"]) ++sources[node.get<size_t>()];
    if (source["operator"] == "BatchNormalization") {
      EXPECT_THAT(source["notes"].dump(), HasSubstr("folded into the weights of"));
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    // What the product before it computes has no time of its own.
    const bool follows = i > 0 && nodes[i]["multiply_adds"] == 0 && nodes[i]["median_ns"] == 0;
    EXPECT_TRUE(follows || nodes[i]["median_ns"] > 0) << nodes[i];
    EXPECT_EQ(nodes[i]["delegate"], "xnnpack");
    EXPECT_GE(sources[i], 1u) << nodes[i]["name"];
  }
}

TEST_F(Report, OpenShapesHaveTheSizesOfTheCall) {
  const std::string source = folder_.Write("open.onnx", Serialized(OpenPictureModel()));
  for (const std::vector<std::string>& bounds :
       {std::vector<std::string>{}, {"--dim", "height=1..64", "--dim", "width=1..64"}}) {
    const std::string model = Converted(source, bounds);
    const Json data = Data({model, source, "--dim", "height=5", "--dim", "width=7"});
    const Json& side = data["sides"][0];
    EXPECT_EQ(side["sizes"], (Json{{"height", 5}, {"width", 7}}));
    const Json& graph = side["graph"];
    const auto output = graph["outputs"][0].get<size_t>();
    EXPECT_EQ(graph["tensors"][output]["shape"], (Json{1, 3, 5, 7}));
    EXPECT_EQ(graph["tensors"][output]["bytes"], 4 * 3 * 5 * 7);
    CheckArena(graph);
    EXPECT_FALSE(side["sources"].empty());
  }
}

/// What a Stage returns lies in its own memory.
TEST_F(Report, ResultsOfTheLaterPartOfARunHaveNoPlaceInTheArena) {
  const std::string source = folder_.Write("counted.onnx", Serialized(ProductModel(), [](auto& model) {
                                             AddNode(model, "NonZero", "find", {"y"}, {"places"});
                                             AddNode(model, "Transpose", "turn", {"places"}, {"rows"});
                                             AddNode(model, "GatherND", "pick", {"y", "rows"}, {"picked"});
                                             AddNode(model, "Relu", "end", {"picked"}, {"z"});
                                             auto* output = model.mutable_graph()->mutable_output(0);
                                             output->set_name("z");
                                             output->mutable_type()->mutable_tensor_type()->clear_shape();
                                           }));
  const Json data = Data({Converted(source), source});
  const Json& graph = data["sides"][0]["graph"];
  CheckArena(graph);
  EXPECT_FALSE(graph["tensors"][graph["outputs"][0].get<size_t>()].contains("place"));
}

/// ONNX asks for no names of nodes, nor for different ones.
TEST_F(Report, NodesOfOneNameAreToldApart) {
  const std::string source = folder_.Write("same.onnx", Serialized(ProductModel(), [](auto& model) {
                                             AddNode(model, "Sigmoid", "same", {"y"}, {"a"});
                                             AddNode(model, "Softmax", "same", {"a"}, {"b"});
                                             AddNode(model, "Sigmoid", "same", {"b"}, {"z"});
                                             model.mutable_graph()->mutable_output(0)->set_name("z");
                                           }));
  const Json data = Data({Converted(source), source});
  const Json& side = data["sides"][0];
  const Json& nodes = side["graph"]["nodes"];
  ASSERT_EQ(nodes.size(), 4u);
  for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(side["sources"][i]["nodes"], (Json{i})) << i;
}

TEST_F(Report, SidesAreFilesAndBackends) {
  const std::string source = folder_.Write("open.onnx", Serialized(OpenProductModel()));
  const std::string open = Converted(source);
  const std::string fixed = Converted(source, {"--dim", "batch=3"});
  const auto labels = [](const Json& data) {
    std::vector<std::string> all;
    for (const Json& side : data["sides"]) all.push_back(side["label"]);
    return all;
  };
  EXPECT_THAT(labels(Data({open, "--backends", "xnnpack,reference"})), ElementsAre("xnnpack", "reference"));
  // The size of the first is the second's where it takes it, and else its own.
  Json data = Data({open, "--against", fixed, "--dim", "batch=3"});
  EXPECT_THAT(labels(data), ElementsAre("model0.skiff", "model1.skiff"));
  EXPECT_EQ(
      data["sides"][0]["graph"]["tensors"][data["sides"][0]["graph"]["outputs"][0].get<size_t>()]["shape"],
      (Json{3, 3}));
  data = Data({fixed, source, "--against", open, "--backends", "reference,xnnpack"});
  EXPECT_THAT(labels(data), ElementsAre("model1.skiff, reference", "model1.skiff, xnnpack",
                                        "model0.skiff, reference", "model0.skiff, xnnpack"));
  for (const Json& side : data["sides"]) EXPECT_TRUE(side["parity"]["ok"]);
  EXPECT_EQ(data["sides"][0]["parity"]["backends"][0]["backend"], "reference");
}

TEST_F(Report, StrippedFilesHaveNoSources) {
  const std::string source = folder_.Write("product.onnx", Serialized(ProductModel()));
  const std::string model = Converted(source, {"--strip"});
  const RunResult result = Run({"report", model, source, "--json", "--runs", "2"});
  EXPECT_THAT(result.error, HasSubstr("was stripped of the source's names"));
  const Json side = Json::parse(result.output)["sides"][0];
  EXPECT_TRUE(side["sources"].empty());
  EXPECT_TRUE(side["parity"]["ok"]);
}

TEST_F(Report, PageHoldsTheDataAndNoOtherFile) {
  const std::string page_path = folder_ / "report.html";
  const std::string model = Converted(kCharacters);
  const RunResult result = Run({"report", model, kCharacters, "-o", page_path, "--runs", "2"});
  EXPECT_THAT(result.output, HasSubstr("report.html"));
  const std::string page = ReadWhole(page_path);
  EXPECT_LT(page.size(), kLargestPage);
  EXPECT_THAT(page, HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* text : {"/*DATA*/", "/*STYLE*/", "/*SCRIPT*/", "src=", "@import", "url(http"})
    EXPECT_THAT(page, Not(HasSubstr(text)));
  EXPECT_EQ(DataOf(page)["sides"][0]["file"]["file"], model);
}

/// Names are the file's, and could be anything.
TEST_F(Report, NamesAreNoMarkup) {
  const std::string hostile = "</script><script>alert(1)</script><!--\xff\xe2\x80\xa8";
  const std::string source = folder_.Write("hostile.onnx", Serialized(ProductModel(), [&](auto& model) {
                                             model.mutable_graph()->mutable_node(0)->set_name(hostile);
                                           }));
  const std::string page_path = folder_ / "report.html";
  Run({"report", Converted(source), source, "-o", page_path, "--runs", "2"});
  const std::string page = ReadWhole(page_path);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  const Json data = DataOf(page);
  EXPECT_THAT(data["sides"][0]["graph"]["nodes"].dump(), HasSubstr("</script><script>alert(1)</script><!--"));
}

TEST_F(Report, ExistingPagesAreReplacedWholeOrNotAtAll) {
  const std::string page = folder_.Write("report.html", "what was there");
  const std::string model = Converted(folder_.Write("product.onnx", Serialized(ProductModel())));
  RunOptions full_disk;
  full_disk.file_size_limit = 1000;
  const RunResult failed = RunSkiff({"report", model, "-o", page, "--runs", "2"}, full_disk);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.error, HasSubstr("report.html"));
  EXPECT_EQ(ReadWhole(page), "what was there");
  Run({"report", model, "-o", page, "--runs", "2"});
  EXPECT_THAT(ReadWhole(page), HasSubstr("<!DOCTYPE html>"));
}

TEST_F(Report, MobileNetFitsIntoTwoMegabytes) {
  const auto source = ModelsFolder() / "mobilenet_v2_backbone_fp32_onnx" / "mobilenetv2_backbone_fp32.onnx";
  if (!std::filesystem::is_regular_file(source)) GTEST_SKIP() << source << " is not here";
  const std::string page_path = folder_ / "report.html";
  Run({"report", Converted(source), source, "-o", page_path, "--runs", "2"});
  const std::string page = ReadWhole(page_path);
  EXPECT_LT(page.size(), kLargestPage);
  const Json data = DataOf(page);
  const Json& side = data["sides"][0];
  EXPECT_TRUE(side["parity"]["ok"]);
  EXPECT_EQ(side["sources"].size(), 140u);
  CheckArena(side["graph"]);
}

}  // namespace
}  // namespace skiff::testing
