#include "cli/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "cli/calibration_inputs.h"
#include "cli/output_files.h"
#include "convert.h"
#include "files/npy.h"
#include "files/tensor_files.h"
#include "graph/distinct_names.h"
#include "graph/error.h"
#include "graph/quantization.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "run/random_inputs.h"
#include "tests/support/temp_folder.h"

namespace skiff::cli {
namespace {

using ::skiff::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

PortInfo Port(const char* name, DType dtype, const Shape& shape) {
  PortInfo port;
  port.name = name;
  port.dtype = dtype;
  port.shape = shape;
  return port;
}

void WriteInts(const TempFolder& folder, const std::string& name, const std::vector<int64_t>& values) {
  WriteNpy(folder / name, TensorData::OfInts(values).view());
}

TEST(InputFolder, FindsFilesByNameThenByNumber) {
  const TempFolder folder;
  WriteInts(folder, "input_a_b.npy", {1});
  WriteInts(folder, "c.npy", {2});
  WriteInts(folder, "input_2.npy", {3});
  const PortInfo ports[] = {Port("a/b", DType::kI64, {1}), Port("c", DType::kI64, {1}),
                            Port("d", DType::kI64, {1})};
  const NamedTensors inputs = ReadInputFolder(folder.path(), {ports, 3});
  EXPECT_EQ(inputs.at("a/b").ToInts(), (std::vector<int64_t>{1}));
  EXPECT_EQ(inputs.at("c").ToInts(), (std::vector<int64_t>{2}));
  EXPECT_EQ(inputs.at("d").ToInts(), (std::vector<int64_t>{3}));
}

/// PyTorch calls tensors by numbers: input_1 is the second input, not the one that is called 1.
TEST(InputFolder, ANumberIsAPlaceBeforeItIsAName) {
  const TempFolder folder;
  WriteInts(folder, "input_0.npy", {10});
  WriteInts(folder, "input_1.npy", {11});
  WriteInts(folder, "7.npy", {12});
  const PortInfo ports[] = {Port("1", DType::kI64, {1}), Port("0", DType::kI64, {1}),
                            Port("7", DType::kI64, {1})};
  const NamedTensors inputs = ReadInputFolder(folder.path(), {ports, 3});
  EXPECT_EQ(inputs.at("1").ToInts(), (std::vector<int64_t>{10}));
  EXPECT_EQ(inputs.at("0").ToInts(), (std::vector<int64_t>{11}));
  EXPECT_EQ(inputs.at("7").ToInts(), (std::vector<int64_t>{12}));
}

TEST(OutputFolder, LeavesOutWhatIsNotThereButNotAll) {
  const TempFolder folder;
  const PortInfo ports[] = {Port("a", DType::kI64, {1}), Port("b", DType::kI64, {1})};
  EXPECT_THROW(ReadOutputFolder(folder.path(), {ports, 2}), Error);
  WriteInts(folder, "output_1.npy", {4});
  const NamedTensors outputs = ReadOutputFolder(folder.path(), {ports, 2});
  EXPECT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs.at("b").ToInts(), (std::vector<int64_t>{4}));
}

TEST(InputArguments, NamesMayContainEqualsSigns) {
  const TempFolder folder;
  WriteInts(folder, "x=1.npy", {5});
  const PortInfo ports[] = {Port("p=q", DType::kI64, {1})};
  EXPECT_EQ(ReadInputArguments({"p=q=" + (folder / "x=1.npy")}, {ports, 1}).at("p=q").ToInts(),
            (std::vector<int64_t>{5}));
  EXPECT_EQ(ReadInputArguments({folder / "x=1.npy"}, {ports, 1}).at("p=q").ToInts(),
            (std::vector<int64_t>{5}));
}

TEST(InputArguments, RawFilesHoldElementsAsTheyAre) {
  const TempFolder folder;
  const std::string file = folder.Write("x.bin", std::string("\1\0\xff\xff", 4));
  const PortInfo ports[] = {Port("x", DType::kI16, {2})};
  EXPECT_EQ(ReadInputArguments({file}, {ports, 1}).at("x").ToInts(), (std::vector<int64_t>{1, -1}));
}

class QuantizedFiles : public ::testing::Test {
 protected:
  /// For an input or output u8[3], real = 0.5 * (q - 100).
  PortInfo port() const {
    PortInfo port = Port("x", DType::kU8, {3});
    port.quantization = quantization_.get();
    return port;
  }
  std::string WhyNot(const std::string& file) const {
    try {
      const PortInfo ports[] = {port()};
      ReadInputArguments({file}, {ports, 1});
    } catch (const Error& error) {
      return error.what();
    }
    return "read";
  }

  const TempFolder folder_;
  const QuantizationPtr quantization_ = PerTensor(0.5f, 100);
};

TEST_F(QuantizedFiles, RealNumbersAreQuantisedAndTheUserHearsOfIt) {
  WriteNpy(folder_ / "x.npy", TensorData::OfFloats({0.25f, -0.75f, 1e9f}).view());
  const PortInfo ports[] = {port()};
  ::testing::internal::CaptureStderr();
  const TensorData tensor = ReadInputArguments({folder_ / "x.npy"}, {ports, 1}).at("x");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("x.npy: its f32 were quantised for input 'x' (u8 [3] {scale=0.5, zero_point=100})"));
  EXPECT_EQ(tensor.dtype(), DType::kU8);
  EXPECT_EQ(tensor.ToInts(), (std::vector<int64_t>{100, 98, 255}));
  EXPECT_EQ(ReadInputFolder(folder_.path(), {ports, 1}).at("x").ToInts(), tensor.ToInts());
}

TEST_F(QuantizedFiles, IntegersStayWhatTheyAre) {
  const uint8_t codes[] = {0, 100, 255};
  WriteNpy(folder_ / "x.npy", TensorData(DType::kU8, {3}, codes).view());
  const PortInfo ports[] = {port()};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ReadInputArguments({folder_ / "x.npy"}, {ports, 1}).at("x").ToInts(),
            (std::vector<int64_t>{0, 100, 255}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  const TensorData output = ReadOutputFolder(folder_.path(), {ports, 1}).at("x");
  EXPECT_EQ(output.ToDoubles(), (std::vector<double>{-50, 0, 77.5}));
}

TEST_F(QuantizedFiles, OtherTypesAreRefusedWithBothRemedies) {
  WriteNpy(folder_ / "x.npy", TensorData::OfInts({1, 2, 3}).view());
  EXPECT_THAT(WhyNot(folder_ / "x.npy"),
              AllOf(HasSubstr("array.astype('uint8') if these are its integers"), HasSubstr("'float32'")));
  WriteNpy(folder_ / "x.npy", TensorData::OfFloats({1, 2}).view());
  EXPECT_THAT(WhyNot(folder_ / "x.npy"), HasSubstr("the model is for no other size of axis 0"));
}

TEST(FileNames, AreSafeOnEveryFileSystem) {
  EXPECT_EQ(FileNameOf("/a/b:c d"), "_a_b_c_d");
  EXPECT_EQ(FileNameOf(".."), "_..");
  EXPECT_EQ(FileNameOf(""), "_");
  EXPECT_EQ(FileNameOf("logits_0.x-y"), "logits_0.x-y");
  EXPECT_EQ(FileNameOf(std::string(300, 'a')).size(), 100u);
}

TEST(FileNames, AreNumberedWhereTheyWouldBeOne) {
  EXPECT_THAT(
      DistinctFileNames({"a/b", "a:b", "a_b", "a_b_2"}),
      ElementsAre(Pair("a/b", "a_b"), Pair("a:b", "a_b_2"), Pair("a_b", "a_b_3"), Pair("a_b_2", "a_b_2_2")));
  DistinctNames distinct;
  const std::string name(100, 'n');  // As long as a file name of a tensor is; numbers stand behind it.
  for (const std::string& wanted : {name, name + "_2", name + "_10"})
    EXPECT_EQ(distinct.Take(wanted), wanted);
  EXPECT_EQ(distinct.Take(name), name + "_3");
  // Each number is looked at once: else this would take minutes.
  std::set<std::string> names;
  for (int i = 0; i < 50'000; ++i) names.insert(fmt::format("{}{}", std::string(100, 'x'), i));
  const std::map<std::string, std::string> files = DistinctFileNames(names);
  EXPECT_EQ(files.rbegin()->second, std::string(100, 'x') + "_50000");
}

TEST(RandomInputs, StayInTheDomainOfTheirUse) {
  const Graph graph = ParseGraph(R"(graph g {
    input ids: i64[200]
    input x: f32[64]
    const table: f32[3, 4] = seed 1
    rows = Gather(table, ids) {axis=0}
    y = Abs(x)
    output rows = rows
    output y = y
  })");
  OpenedModel opened(ConvertGraph(graph)->file);
  const NamedTensors inputs = RandomInputs(opened.model(), 3);
  for (const int64_t id : inputs.at("ids").ToInts()) EXPECT_TRUE(id >= 0 && id < 3) << id;
  for (const double value : inputs.at("x").ToDoubles()) EXPECT_TRUE(value >= -1 && value < 1) << value;
}

/// Through as many casts as there are: each is looked at once.
TEST(RandomInputs, FollowLongChains) {
  Graph graph = ParseGraph("graph g { input ids: i64[2] const table: f32[3, 2] = seed 1 }");
  ValueId ids = graph.inputs()[0].value;
  for (int i = 0; i < 3000; ++i)
    ids =
        graph.Emit(OpCode::kCast, {ids}, CastAttrs{static_cast<int64_t>(i % 2 ? DType::kI64 : DType::kI32)});
  graph.AddOutput("rows", graph.Emit(OpCode::kGather, {graph.FindValue("table"), ids}, AxisAttrs{0}));
  OpenedModel opened(ConvertGraph(std::move(graph))->file);
  const NamedTensors inputs = RandomInputs(opened.model(), 3);
  for (const int64_t id : inputs.at("ids").ToInts()) EXPECT_TRUE(id >= 0 && id < 3) << id;
}

TEST(RandomInputs, PicturesAreWhatTheSettingsMakeOfSamples) {
  ImageSettings settings;
  settings.width = 5;
  settings.height = 4;
  settings.mean = {8, 16, 32};
  settings.scale = {0.5f, 0.25f, 1};
  ConvertOptions options;
  options.image = settings;
  for (const bool nhwc : {true, false}) {
    const char* const shape = nhwc ? "1, 4, 5, 3" : "1, 3, 4, 5";
    OpenedModel opened(ConvertGraph(ParseGraph(fmt::format(
                                        "graph g {{ input x: f32[{}]  y = Abs(x)  output y = y }}", shape)),
                                    options)
                           ->file);
    const std::vector<double> values = RandomInputs(opened.model(), 3).at("x").ToDoubles();
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = nhwc ? i % 3 : i / 20;
      const double sample = values[i] / static_cast<double>(settings.scale[channel]) +
                            static_cast<double>(settings.mean[channel]);
      EXPECT_TRUE(sample >= 0 && sample <= 255 && sample == std::floor(sample)) << i << ": " << sample;
    }
    for (const double value : RandomInputs(opened.model(), 3, RandomRange{2, 3}).at("x").ToDoubles())
      EXPECT_TRUE(value >= 2 && value < 3) << value;
  }
}

class InputRangesTest : public ::testing::Test {
 protected:
  NamedTensors Draw(const std::vector<std::string>& ranges, const std::string& source = "random:3") {
    return ReadInputSource(source, opened_.model(), SymbolSizes(opened_.model()), ParseInputRanges(ranges));
  }
  std::string WhyNot(const std::vector<std::string>& ranges, const std::string& source = "random:3") {
    try {
      Draw(ranges, source);
    } catch (const Error& error) {
      return error.what();
    }
    return "drawn";
  }

  OpenedModel opened_{ConvertGraph(ParseGraph(R"(graph g {
    input mask: i64[200]
    input small: u8[8]
    input real: f32[64]
    m = Cast(mask) {to=f32}
    s = Cast(small) {to=f32}
    y = Abs(real)
    output m = m
    output s = s
    output y = y
  })"))
                          ->file};
};

TEST_F(InputRangesTest, HoldForTheInputThatTheyName) {
  const NamedTensors inputs = Draw({"mask=0..1", "real=5..6.5"});
  const std::vector<int64_t> mask = inputs.at("mask").ToInts();
  EXPECT_EQ(std::set<int64_t>(mask.begin(), mask.end()), (std::set<int64_t>{0, 1}));
  for (const double value : inputs.at("real").ToDoubles()) EXPECT_TRUE(value >= 5 && value < 6.5) << value;
  const std::vector<int64_t> plain = Draw({}).at("mask").ToInts();
  EXPECT_GT(*std::max_element(plain.begin(), plain.end()), 1);
  const std::vector<int64_t> negative = Draw({"mask=-3..-3"}).at("mask").ToInts();
  EXPECT_EQ(std::set<int64_t>(negative.begin(), negative.end()), std::set<int64_t>{-3});
}

TEST_F(InputRangesTest, ErrorsNameTheOptionAndWhatIsAllowed) {
  EXPECT_THAT(WhyNot({"mask"}), HasSubstr("--input-range mask: expected NAME=LOW..HIGH"));
  EXPECT_THAT(WhyNot({"mask=1..0"}), HasSubstr("expected NAME=LOW..HIGH"));
  EXPECT_THAT(WhyNot({"mask=0..inf"}), HasSubstr("expected NAME=LOW..HIGH"));
  EXPECT_THAT(WhyNot({"mask=0..1", "mask=0..2"}), HasSubstr("'mask' already has a range"));
  EXPECT_THAT(WhyNot({"masks=0..1"}), HasSubstr("no input 'masks'; its inputs are 'mask', 'small', 'real'"));
  EXPECT_THAT(WhyNot({"small=0..256"}),
              HasSubstr("holds u8, so both ends must be whole numbers from 0 to 255"));
  EXPECT_THAT(WhyNot({"mask=0..0.5"}), HasSubstr("whole numbers"));
  EXPECT_THAT(WhyNot({"mask=0..1"}, "folder"), HasSubstr("is for random inputs"));
}

TEST(CalibrationCalls, AreSpreadOverTheRowsOfAllTensors) {
  const PortInfo ports[] = {Port("x", DType::kI64, Shape{1, 2})};
  const auto firsts = [&](const std::vector<TensorData>& tensors, size_t most) {
    std::vector<NamedTensors> given;
    for (const TensorData& tensor : tensors) given.push_back({{"x", tensor}});
    std::vector<int64_t> numbers;
    for (const NamedTensors& call : SplitCalls(given, {ports, 1}, most)) {
      EXPECT_EQ(call.at("x").shape(), (Shape{1, 2}));
      numbers.push_back(call.at("x").ToInts()[0]);
    }
    return numbers;
  };
  const int64_t elements[] = {0, 0, 1, 1, 2, 2, 3, 3};
  const TensorData four(DType::kI64, {4, 2}, elements);
  const TensorData one(DType::kI64, {1, 2}, elements + 4);
  EXPECT_THAT(firsts({four, one, four}, 100), ElementsAre(0, 1, 2, 3, 2, 0, 1, 2, 3));
  EXPECT_THAT(firsts({four, one, four}, 3), ElementsAre(0, 3, 1));
  EXPECT_THAT(firsts({TensorData(DType::kI64, {0, 2}), one}, 3), ElementsAre(2));
  EXPECT_THAT(firsts({}, 3), ElementsAre());
}

/// Reading all of its bytes for each call takes a minute for a file of some hundred megabytes.
TEST(CalibrationCalls, AFileOfManyIsReadOnceForAllOfThem) {
  const TempFolder folder;
  OpenedModel opened{ConvertGraph(ParseGraph("graph g { input x: f32[1, 2] y = Abs(x) output y }"))->file};
  const ModelSignature signature = FindSignature(opened.model(), "");
  const auto write = [&](const char* name, float first) {
    const float elements[] = {first, 0, first + 1, 0, first + 2, 0};
    WriteNpy(folder / name, TensorData(DType::kF32, {3, 2}, elements).view());
  };
  write("a.npy", 1);
  write("b.npy", 5);
  int steps = 0;
  const std::vector<NamedTensors> calls =
      ReadCalibration(folder.path(), signature, SymbolSizes(signature), {}, 100, [&](const std::string&) {
        if (++steps == 2) write("a.npy", 100);
      });
  std::vector<double> firsts;
  for (const NamedTensors& call : calls) firsts.push_back(call.at("x").ToDoubles()[0]);
  EXPECT_THAT(firsts, ElementsAre(1, 2, 3, 5, 6, 7));
}

/// They are taken by number: a list of all would take gigabytes.
TEST(CalibrationCalls, OfVeryManyRowsWithoutElements) {
  const PortInfo ports[] = {Port("x", DType::kI8, Shape{1, 0})};
  const std::vector<NamedTensors> given = {{{"x", TensorData(DType::kI8, {1 << 28, 0})}}};
  EXPECT_EQ(SplitCalls(given, {ports, 1}, 3).size(), 3u);
}

/// An ONNX test set for names that tf2onnx and Keras give.
TEST(InputFolder, NumbersAreOfAllInputsWhereNamesAreNot) {
  const PortInfo ports[] = {Port("input_1", DType::kI64, {1}), Port("input_2", DType::kI64, {1})};
  const TempFolder numbered;
  WriteInts(numbered, "input_0.npy", {10});
  WriteInts(numbered, "input_1.npy", {11});
  const NamedTensors places = ReadInputFolder(numbered.path(), {ports, 2});
  EXPECT_EQ(places.at("input_1").ToInts(), (std::vector<int64_t>{10}));
  EXPECT_EQ(places.at("input_2").ToInts(), (std::vector<int64_t>{11}));
  const TempFolder named;
  WriteInts(named, "input_1.npy", {1});
  WriteInts(named, "input_2.npy", {2});
  const NamedTensors names = ReadInputFolder(named.path(), {ports, 2});
  EXPECT_EQ(names.at("input_1").ToInts(), (std::vector<int64_t>{1}));
  EXPECT_EQ(names.at("input_2").ToInts(), (std::vector<int64_t>{2}));
}

TEST(InputFolder, HoldsWhatIsWrittenOfNamesThatAreOneAsFiles) {
  const TempFolder folder;
  WriteTensors(folder.path(), {{"a/b", TensorData::OfInts({1})}, {"a:b", TensorData::OfInts({2})}});
  const PortInfo ports[] = {Port("a:b", DType::kI64, {1}), Port("a/b", DType::kI64, {1})};
  const NamedTensors inputs = ReadInputFolder(folder.path(), {ports, 2});
  EXPECT_EQ(inputs.at("a/b").ToInts(), (std::vector<int64_t>{1}));
  EXPECT_EQ(inputs.at("a:b").ToInts(), (std::vector<int64_t>{2}));
}

}  // namespace
}  // namespace skiff::cli
