// --expect onnxruntime: a python3 of the test's own stands for the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "files/npy.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ExpectTest : public ::testing::Test {
 protected:
  ExpectTest() { setenv("PATH", (folder_ / "bin").c_str(), 1); }
  ~ExpectTest() override { setenv("PATH", path_.c_str(), 1); }

  /// Its third argument is the folder of the call.
  void WritePython(const std::string& commands) {
    std::filesystem::create_directory(folder_ / "bin");
    const std::string program = folder_.Write("bin/python3", "#!/bin/sh\nPATH=" + path_ + "\n" + commands);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  /// Doubled, or nearly so.
  void WriteAnswer(float factor) {
    const float x[] = {factor, factor};
    const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, {2}, x).view());
    folder_.Write("answer.npy", {bytes.begin(), bytes.end()});
    folder_.Write("outputs.json", R"({"y": "answer.npy"})");
    WritePython("grep -q '\"x\":\"input_0.npy\"' $3/call.json && test -s $3/input_0.npy || exit 91\n" +
                Copy());
  }
  std::string Copy() const {
    return "cp " + (folder_ / "answer.npy") + " " + (folder_ / "outputs.json") + " $3";
  }
  RunResult Parity() const { return RunSkiff({"parity", source_, "--expect", "onnxruntime"}); }

  const std::string path_ = std::getenv("PATH");
  const TempFolder folder_;
  const std::string source_ =
      folder_.Write("one.txt", "graph g { input x: f32[2]  z = Sub(x, x)  y = Cos(z)  output y = y }");
};

TEST_F(ExpectTest, WhatItComputesIsCompared) {
  WriteAnswer(1);
  const RunResult same = Parity();
  EXPECT_EQ(same.exit_code, 0) << same.error << same.output;
  EXPECT_THAT(same.output, HasSubstr("eager / expected"));
  WriteAnswer(1.001f);
  const RunResult other = Parity();
  EXPECT_EQ(other.exit_code, 3) << other.error << other.output;
}

TEST_F(ExpectTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(Parity().error, HasSubstr("no python3 on the search path"));
  WritePython("echo \"No module named 'onnxruntime'\" >&2; exit 90");
  EXPECT_THAT(Parity().error, AllOf(HasSubstr("No module named"), HasSubstr("pip install onnxruntime")));
}

TEST_F(ExpectTest, ItsOwnWordsAreShown) {
  WritePython("echo 'a model of opset 99' >&2; exit 91");
  EXPECT_THAT(Parity().error, AllOf(HasSubstr("one.txt"), HasSubstr("a model of opset 99")));
  WritePython("kill -9 $$");
  EXPECT_THAT(Parity().error, HasSubstr("137"));
}

/// A model's folder may hold files that are called as Python's modules.
TEST_F(ExpectTest, NoModuleOfTheCurrentFolderIsRun) {
  const std::string spoilt = "import os; open(os.path.join(os.path.dirname(__file__), 'ran'), 'w')\n";
  for (const char* name : {"onnxruntime.py", "numpy.py", "json.py"}) folder_.Write(name, spoilt);
  WritePython("cd " + folder_.path() + " && exec python3 \"$@\"");
  Parity();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

}  // namespace
}  // namespace skiff::testing
