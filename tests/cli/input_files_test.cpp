#include "cli/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cli/npy.h"
#include "cli/random_inputs.h"
#include "cli/tensor_files.h"
#include "convert.h"
#include "graph/error.h"
#include "graph/text.h"
#include "tests/cli/temp_folder.h"

namespace skiff::cli {
namespace {

using ::skiff::testing::TempFolder;

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

TEST(FileNames, AreSafeOnEveryFileSystem) {
  EXPECT_EQ(FileNameOf("/a/b:c d"), "_a_b_c_d");
  EXPECT_EQ(FileNameOf(".."), "_..");
  EXPECT_EQ(FileNameOf(""), "_");
  EXPECT_EQ(FileNameOf("logits_0.x-y"), "logits_0.x-y");
  EXPECT_EQ(FileNameOf(std::string(300, 'a')).size(), 100u);
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

}  // namespace
}  // namespace skiff::cli
