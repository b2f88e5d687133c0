// Models whose dimensions are open, through every command of the real executable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

/// y[batch, 3] = x[batch, 4] * w, for a batch of 2 to 8 (bounded) or of any size.
class OpenModel : public ::testing::Test {
 protected:
  OpenModel() {
    convert_ = Succeed({"convert", source_, "-o", bounded_, "--dim", "batch=2..8"});
    Succeed({"convert", source_, "-o", unbounded_});
  }

  std::string Succeed(const std::vector<std::string>& arguments) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error << result.output;
    return result.output;
  }
  Json SucceedJson(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    return Json::parse(Succeed(arguments));
  }
  std::string Npy(const std::string& name, int64_t batch) {
    const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, {batch, 4}).view());
    return folder_.Write(name, {bytes.begin(), bytes.end()});
  }
  /// The sizes of each case in a report of several.
  static std::vector<int64_t> Batches(const Json& report) {
    std::vector<int64_t> batches;
    for (const Json& one : report["cases"]) batches.push_back(one["sizes"]["batch"].get<int64_t>());
    return batches;
  }

  const TempFolder folder_;
  const std::string source_ = folder_.Write("open.onnx", Serialized(OpenProductModel()));
  const std::string bounded_ = folder_ / "bounded.skiff";
  const std::string unbounded_ = folder_ / "unbounded.skiff";
  std::string convert_;
};

TEST_F(OpenModel, ConvertSaysTheContractAndThePlans) {
  EXPECT_THAT(convert_, AllOf(HasSubstr("batch 2..8"), HasSubstr("relaxed"), HasSubstr("arena bytes"),
                              HasSubstr("shape program")));
  const RunResult open = RunSkiff({"convert", source_, "-o", folder_ / "again.skiff"});
  EXPECT_THAT(open.output, AllOf(HasSubstr("batch 1.."), HasSubstr("unbounded"), HasSubstr("at run time")));
  EXPECT_THAT(open.error, HasSubstr("--dim 'batch=1..MAX'"));
}

TEST_F(OpenModel, InspectNamesOpenDimensions) {
  EXPECT_THAT(Succeed({"inspect", source_}),
              AllOf(HasSubstr("f32 [batch, 4]"), HasSubstr("--dim 'batch=1..MAX'")));
  EXPECT_EQ(SucceedJson({"inspect", source_})["open_dimensions"], Json({"batch"}));
  EXPECT_THAT(Succeed({"inspect", bounded_, "--nodes"}),
              AllOf(HasSubstr("dimension 'batch': 2..8"), HasSubstr("input 'x' f32 [batch, 4]"),
                    HasSubstr("output 'y' f32 [batch, 3]"), HasSubstr("relaxed")));
  const Json bounded = SucceedJson({"inspect", bounded_});
  EXPECT_EQ(bounded["symbols"], Json::parse(R"([{"name": "batch", "min": 2, "max": 8, "multiple": 1}])"));
  const Json& plan = bounded["signatures"][0]["plans"][0];
  EXPECT_EQ(plan["kind"], "relaxed");
  EXPECT_EQ(plan["ranges"], Json::parse(R"({"batch": {"min": 2, "max": 8}})"));
  EXPECT_EQ(bounded["signatures"][0]["inputs"][0]["shape"], Json::parse(R"(["batch", 4])"));
  const Json unbounded = SucceedJson({"inspect", unbounded_});
  EXPECT_TRUE(unbounded["symbols"][0]["max"].is_null());
  EXPECT_EQ(unbounded["signatures"][0]["plans"][0]["kind"], "unbounded");
}

TEST_F(OpenModel, RunTakesAnyShapeInTheContract) {
  for (const int64_t batch : {2, 5, 8}) {
    EXPECT_THAT(Succeed({"run", bounded_, "--input", Npy("x.npy", batch)}),
                HasSubstr(fmt::format("'y': f32 [{}, 3]", batch)));
  }
  const std::string raw = folder_.Write("x.bin", std::string(5 * 4 * sizeof(float), '\0'));
  EXPECT_THAT(Succeed({"run", unbounded_, "--input", raw, "--dim", "batch=5"}), HasSubstr("'y': f32 [5, 3]"));
}

TEST_F(OpenModel, BenchSaysTheSizesAndWhatANewShapeCosts) {
  EXPECT_THAT(
      Succeed({"bench", bounded_, "--runs", "2"}),
      AllOf(HasSubstr("sizes:   batch=8\n"), HasSubstr("reshape: "), HasSubstr("from batch=7 takes")));
  const Json report = SucceedJson({"bench", bounded_, "--runs", "2", "--dim", "batch=2"});
  EXPECT_EQ(report["sizes"], (Json{{"batch", 2}}));
  EXPECT_EQ(report["reshape"]["from"], "batch=3");
  EXPECT_GT(report["reshape"]["first_run_ns"].get<double>(), 0);
  EXPECT_GT(report["memory"]["inputs"].get<uint64_t>(), 0u);
}

TEST_F(OpenModel, ParityComparesAtTheSizesAskedFor) {
  const std::string text =
      Succeed({"parity", source_, bounded_, "--at", "batch=3", "--at", "batch=8", "--layers"});
  EXPECT_THAT(text, AllOf(HasSubstr("batch=3"), HasSubstr("batch=8"), HasSubstr("1 ok"),
                          HasSubstr("PARITY OK: 2 sizes on 2 backends")));
  EXPECT_EQ(Batches(SucceedJson({"parity", source_, bounded_, "--at", "batch=3"})),
            (std::vector<int64_t>{3}));
  EXPECT_THAT(Succeed({"parity", source_, unbounded_}), HasSubstr("f32 [7, 3]")) << "the default";
}

TEST_F(OpenModel, ASweepVisitsTheEdgesOfThePlan) {
  const Json bounded = SucceedJson({"parity", source_, bounded_, "--sweep"});
  EXPECT_EQ(Batches(bounded), (std::vector<int64_t>{2, 3, 5, 7, 8}));
  for (const Json& one : bounded["cases"]) {
    EXPECT_EQ(one["kind"], "relaxed");
    EXPECT_EQ(one["backends"].size(), 2u);
    EXPECT_TRUE(one["ok"].get<bool>());
  }
  EXPECT_EQ(Batches(SucceedJson({"parity", source_, unbounded_, "--sweep", "--backend", "reference"})),
            (std::vector<int64_t>{1, 2, 7, 33, 64}));
  EXPECT_EQ(Batches(SucceedJson({"parity", source_, "--dim", "batch=0..9,multiple=3", "--sweep"})),
            (std::vector<int64_t>{0, 3, 6, 9}))
      << "the sizes of a conversion here and now, 0 because it is allowed";
}

TEST_F(OpenModel, ASweepVisitsEveryBucket) {
  const std::string model = folder_ / "buckets.skiff";
  EXPECT_THAT(
      Succeed({"convert", source_, "-o", model, "--dim", "batch=1..9", "--bucket", "batch=4,6..8"}),
      AllOf(HasSubstr("batch 4 "), HasSubstr("batch 6..8"), HasSubstr("batch 1..9"), HasSubstr("exact")));
  const Json report = SucceedJson({"parity", source_, model, "--sweep"});
  std::map<int64_t, std::string> kinds;
  for (const Json& one : report["cases"])
    kinds[one["sizes"]["batch"].get<int64_t>()] =
        fmt::format("{} {}", one["plan"].get<int>(), one["kind"].get<std::string>());
  EXPECT_THAT(kinds,
              ::testing::IsSupersetOf(std::map<int64_t, std::string>{
                  {1, "0 relaxed"}, {4, "1 exact"}, {6, "2 relaxed"}, {8, "2 relaxed"}, {9, "0 relaxed"}}));
}

TEST_F(OpenModel, ASweepFailsAsAWholeWhenOneSizeFails) {
  const std::string other =
      folder_.Write("other.onnx", Serialized(OpenProductModel(), [](onnx::ModelProto& m) {
                      m.mutable_graph()->mutable_initializer(0)->set_float_data(5, 9);
                    }));
  const RunResult result = RunSkiff({"parity", other, bounded_, "--sweep", "--backend", "xnnpack"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("FAILED"),
                    HasSubstr("PARITY FAILED at 5 of 5 sizes, first at batch=2: output 'y' of xnnpack")));
  EXPECT_FALSE(Json::parse(RunSkiff({"parity", other, bounded_, "--at", "batch=4", "--json"}).output)["ok"]
                   .get<bool>());
}

/// x[n, 4] + c[3, 1] broadcasts at n = 1 and n = 3 only.
TEST_F(OpenModel, SizesThatTheSourceRefusesAreListed) {
  const std::string source =
      folder_.Write("sum.onnx", Serialized(OpenProductModel(), [](onnx::ModelProto& m) {
                      onnx::TensorProto* c = m.mutable_graph()->add_initializer();
                      c->set_name("c");
                      c->set_data_type(onnx::TensorProto::FLOAT);
                      c->add_dims(3);
                      c->add_dims(1);
                      for (int i = 0; i < 3; ++i) c->add_float_data(1);
                      onnx::NodeProto* node = m.mutable_graph()->mutable_node(0);
                      node->set_op_type("Add");
                      node->set_input(1, "c");
                    }));
  EXPECT_THAT(Succeed({"parity", source, "--dim", "batch=1..4", "--sweep"}),
              AllOf(HasSubstr("refused by the source and the model"), HasSubstr("PARITY OK: 2 sizes"),
                    HasSubstr("more that the source itself refuses")));
  EXPECT_EQ(RunSkiff({"parity", source, "--dim", "batch=1..4", "--at", "batch=2"}).exit_code, 3)
      << "nothing was compared";
}

TEST_F(OpenModel, AFolderOfInputsDecidesTheSizes) {
  Npy("case/input_0.npy", 5);
  const std::string inputs = folder_ / "case";
  for (const std::vector<std::string>& of_which :
       {std::vector<std::string>{bounded_}, {"--dim", "batch=1..8"}, {}}) {
    std::vector<std::string> arguments = {"parity", source_, "--inputs", inputs};
    arguments.insert(arguments.end(), of_which.begin(), of_which.end());
    EXPECT_THAT(Succeed(arguments), HasSubstr("f32 [5, 3]"));
  }
}

#ifdef SKIFF_RUN

TEST_F(OpenModel, DeviceProgramTakesShapes) {
  const RunResult pattern = RunProgram(SKIFF_RUN, {bounded_, "--shape", "x=3x4"});
  EXPECT_EQ(pattern.exit_code, 0) << pattern.error;
  EXPECT_THAT(pattern.output, HasSubstr("'y': f32 [3, 3]"));
  const std::string raw = folder_.Write("x.bin", std::string(5 * 4 * sizeof(float), '\0'));
  EXPECT_THAT(RunProgram(SKIFF_RUN, {bounded_, "--shape", "x=5x4", "--input", "x=" + raw}).output,
              HasSubstr("'y': f32 [5, 3]"));
  const RunResult none = RunProgram(SKIFF_RUN, {bounded_, "--input", "x=" + raw});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.error, AllOf(HasSubstr("raw elements have no shape"), HasSubstr("--dim 'batch=N'")));
  EXPECT_EQ(RunProgram(SKIFF_RUN, {bounded_, "--shape", "x=9x4"}).exit_code, 1);
  EXPECT_EQ(RunProgram(SKIFF_RUN, {bounded_, "--shape", "z=3x4"}).exit_code, 1);
  for (const char* text : {"x=3xb", "x=", "3x4", "x=-3x4", "x=3x", "x=1x1x1x1x1x1x1x1x1"})
    EXPECT_EQ(RunProgram(SKIFF_RUN, {bounded_, "--shape", text}).exit_code, 2) << text;
}

#endif

TEST_F(OpenModel, InspectSaysOfLongFormulasWhatTheyDependOn) {
  onnx::ModelProto model = OpenPictureModel();
  const std::string result = model.graph().output(0).name();
  std::string from = result;
  for (const char* const to : {"a", "b", "c", "d"}) {
    onnx::NodeProto* pool = AddNode(model, "MaxPool", to, {from}, {to});
    for (const auto& [name, value] : {std::pair{"kernel_shape", 3}, {"strides", 2}}) {
      onnx::AttributeProto* attribute = pool->add_attribute();
      attribute->set_name(name);
      attribute->set_type(onnx::AttributeProto::INTS);
      attribute->add_ints(value);
      attribute->add_ints(value);
    }
    from = to;
  }
  model.mutable_graph()->clear_output();
  model.mutable_graph()->add_output()->set_name(from);
  const std::string source = folder_.Write("pools.onnx", Serialized(model));
  EXPECT_THAT(Succeed({"inspect", source}), AllOf(HasSubstr("output 'd' f32 [1, 3, f(height), f(width)]\n"),
                                                  HasSubstr("f(...): a size that")));
  EXPECT_THAT(Succeed({"inspect", source, "--json"}), HasSubstr("floor("));
  EXPECT_THAT(Succeed({"inspect", source_}), Not(HasSubstr("f(...)")));
}

}  // namespace
}  // namespace skiff::testing
