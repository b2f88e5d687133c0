// The sample with an operator of its own through the tool: kept, loaded, converted, compared and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/tensor_files.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kNet = SKIFF_SOURCE_DIR "/samples/custom_operator/loudness.onnx";
const std::string kLibrary = SKIFF_SAMPLE_OPERATORS;

std::string Succeed(const std::vector<std::string>& arguments) {
  const RunResult result = RunSkiff(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  return result.output;
}

TEST(CustomOperators, AnUnknownOneIsListedWithBothWaysOut) {
  const TempFolder folder;
  const RunResult result = RunSkiff({"convert", kNet, "-o", folder / "net.skiff"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("operator FrameEnergy of acme opset 1"),
                                  HasSubstr("--custom 'acme::FrameEnergy'"), HasSubstr("--custom-library")));
}

TEST(CustomOperators, TheLibraryConvertsComparesAndRuns) {
  const TempFolder folder;
  const std::string model = folder / "net.skiff";
  Succeed({"convert", kNet, "-o", model, "--custom-library", kLibrary});
  EXPECT_THAT(Succeed({"parity", kNet, model, "--custom-library", kLibrary, "--sweep"}),
              HasSubstr("PARITY OK"));
  EXPECT_THAT(Succeed({"inspect", model, "--nodes"}), HasSubstr("Custom"));
  const TensorData signal = RandomTensor(DType::kF32, Shape({2, 1024}), 3);
  WriteNpy(folder / "signal.npy", signal.view());
  EXPECT_THAT(
      Succeed({"run", model, "--input", "signal=" + (folder / "signal.npy"), "--custom-library", kLibrary}),
      HasSubstr("f32 [2, 3]"));
  const RunResult missing = RunSkiff({"run", model, "--input", "signal=" + (folder / "signal.npy")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.error,
              AllOf(HasSubstr("not registered: 'acme::FrameEnergy'"), HasSubstr("--custom-library")));
}

TEST(CustomOperators, AnApplicationRunsWhatWasKeptByName) {
  const TempFolder folder;
  for (const char* batch : {"batch=1", "batch=1..4"}) {
    Succeed({"convert", kNet, "-o", folder / "net.skiff", "--custom", "acme::FrameEnergy", "--dim", batch});
    const RunResult result = RunProgram(SKIFF_CUSTOM_SAMPLE, {folder / "net.skiff"});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_THAT(result.output, AllOf(HasSubstr("level 0.001: silent 0.9"),
                                     HasSubstr("level 1.000: silent 0.0"), HasSubstr("loud 0.8")));
  }
}

TEST(CustomOperators, WhatIsNoLibraryOfOperatorsIsRefused) {
  const TempFolder folder;
  folder.Write("text.so", "no library");
  const RunResult text =
      RunSkiff({"convert", kNet, "-o", folder / "net.skiff", "--custom-library", folder / "text.so"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.error, AllOf(HasSubstr("text.so"), HasSubstr("cannot be loaded")));
  const RunResult absent =
      RunSkiff({"convert", kNet, "-o", folder / "net.skiff", "--custom-library", folder / "none.so"});
  EXPECT_EQ(absent.exit_code, 2);
}

}  // namespace
}  // namespace skiff::testing
