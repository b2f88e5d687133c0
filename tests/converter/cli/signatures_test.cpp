// Files with several signatures through the commands of the real executable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "files/tensor_files.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kCases = SKIFF_SOURCE_DIR "/tests/converter/import/tflite/signature_cases/";
const std::string kTotal = kCases + "total/model.tflite";
const std::string kCodec = kCases + "codec/model.tflite";
const std::string kOneSignature =
    SKIFF_SOURCE_DIR "/tests/converter/import/tflite/cases/signature_f32/model.tflite";

class Signatures : public ::testing::Test {
 protected:
  static std::string Succeed(const std::vector<std::string>& arguments) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.output;
  }
  static std::string Fail(const std::vector<std::string>& arguments, int exit_code = 1) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    EXPECT_EQ(result.output, "");
    return result.error;
  }
  std::string Converted(const std::string& source, std::vector<std::string> options = {}) const {
    std::string model = folder_ / "model.skiff";
    options.insert(options.begin(), {"convert", source, "-o", model});
    Succeed(options);
    return model;
  }
  static size_t Count(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  const TempFolder folder_;
};

TEST_F(Signatures, ConvertReportsWhosePlanItIs) {
  const std::string output =
      Succeed({"convert", kCodec, "-o", folder_ / "codec.skiff", "--dim", "x#0=1..4", "--bucket", "x#0=2"});
  EXPECT_THAT(output, AllOf(HasSubstr("signature 'encode'"), HasSubstr("signature 'through'"),
                            HasSubstr("signature  plan"), HasSubstr("encode        1"),
                            HasSubstr("through       0"), HasSubstr("of plan 0 of 'through'")));
  EXPECT_EQ(Count(output, "x#0 1..4"), 4u);  // Of two signatures: the contract, and the first plan.
  const std::string one = Succeed({"convert", kCodec, "-o", folder_ / "one.skiff", "--signature", "through"});
  EXPECT_THAT(one, AllOf(Not(HasSubstr("signature")), HasSubstr("the arena of plan 0 is")));
}

TEST_F(Signatures, UnknownNamesListThoseThatThereAre) {
  EXPECT_THAT(
      Fail({"convert", kTotal, "-o", folder_ / "x.skiff", "--signature", "step"}),
      AllOf(HasSubstr("--signature step"), HasSubstr("'add'"), HasSubstr("'get'"), HasSubstr("'reset'")));
  const std::string model = Converted(kTotal);
  for (const std::string command : {"run", "bench"})
    EXPECT_THAT(Fail({command, model, "--signature", "step"}),
                AllOf(HasSubstr("--signature step"), HasSubstr("'get'")));
  EXPECT_THAT(Fail({"parity", kTotal, model, "--signature", "step"}), HasSubstr("'reset'"));
  EXPECT_THAT(Fail({"parity", kTotal, "--signature", "step"}), HasSubstr("'reset'"));
}

TEST_F(Signatures, RunAndBenchTakeOne) {
  const std::string model = Converted(kTotal);
  const std::string call = kCases + "total/0_add";
  const std::string results = folder_ / "results";
  EXPECT_THAT(Succeed({"run", model, "--signature", "add", "--input", call + "/input_x.npy", "-o", results}),
              HasSubstr("output 'sum'"));
  EXPECT_EQ(ReadNpy(results + "/sum.npy").ToDoubles(), ReadNpy(call + "/output_sum.npy").ToDoubles());
  EXPECT_THAT(Succeed({"run", model, "--signature", "get"}), HasSubstr("first values: 1 2 3"));
  const Json bench = Json::parse(Succeed({"bench", model, "--signature", "reset", "--runs", "1", "--json"}));
  EXPECT_EQ(bench.at("signature"), "reset");
}

TEST_F(Signatures, ParityChecksEach) {
  const std::string model = Converted(kTotal);
  const std::string output = Succeed({"parity", kTotal, model});
  for (const char* name : {"add", "get", "reset"})
    EXPECT_THAT(output, HasSubstr(std::string("signature '") + name + "': PARITY OK: 4 output"));
  EXPECT_THAT(output, HasSubstr("variable total"));
  const std::string one = Succeed({"parity", kTotal, model, "--signature", "get"});
  EXPECT_EQ(Count(one, "PARITY OK"), 1u);
  EXPECT_THAT(one, Not(HasSubstr("signature")));
  const Json json = Json::parse(Succeed({"parity", kTotal, "--json"}));
  EXPECT_TRUE(json.at("ok"));
  EXPECT_EQ(json.at("signatures").size(), 3u);
}

TEST_F(Signatures, ParityFailsWhereOneDoes) {
  // Sums of other orders differ by more.
  const RunResult result = RunSkiff({"parity", kCodec, "--atol", "1e-30", "--backend", "xnnpack"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("PARITY FAILED"));
  EXPECT_EQ(Count(result.output, "PARITY"), 3u);
}

TEST_F(Signatures, ParityOfFilesIsOfOneSignature) {
  const std::string call = kCases + "codec/0_encode";
  EXPECT_THAT(Fail({"parity", kCodec, "--inputs", call}),
              AllOf(HasSubstr("--signature"), HasSubstr("'encode'"), HasSubstr("'through'")));
  EXPECT_THAT(Succeed({"parity", kCodec, "--inputs", call, "--expect", call, "--signature", "encode"}),
              HasSubstr("f32 [3, 8]"));
}

TEST_F(Signatures, SweepsTakeTheSizesOfTheirOwn) {
  const std::string model = Converted(kCodec, {"--dim", "x#0=1..4"});
  const std::string output = Succeed({"parity", kCodec, model, "--sweep"});
  EXPECT_EQ(Count(output, "PARITY OK: 4 sizes"), 2u) << output;
  EXPECT_EQ(Count(output, "PARITY OK: 1 size "), 1u) << output;
  EXPECT_EQ(Count(Succeed({"parity", kCodec, model, "--at", "x#0=3"}), "x#0=3"), 4u);
  EXPECT_THAT(Fail({"parity", kCodec, model, "--at", "y#0=3"}), HasSubstr("no signature has"));
  EXPECT_THAT(Fail({"parity", kCodec, model, "--input-range", "y=0..1"}), HasSubstr("no signature has"));
  EXPECT_THAT(Succeed({"parity", kCodec, model, "--input-range", "gain=0..1"}), HasSubstr("PARITY OK"));
  EXPECT_THAT(Succeed({"bench", model, "--signature", "decode", "--dim", "x#0=3", "--runs", "1"}),
              AllOf(HasSubstr("of:      signature 'decode'"), HasSubstr("sizes:   x#0=3\n")));
}

TEST_F(Signatures, ParityFindsWhatASignatureWasMadeFrom) {
  // In the order of the model, which has some of them in another order.
  const std::string model = Converted(kTotal, {"--signature", "reset", "--signature", "add"});
  const std::string output = Succeed({"parity", kTotal, model});
  EXPECT_LT(output.find("'reset': PARITY OK"), output.find("'add': PARITY OK"));
  EXPECT_EQ(Count(output, "PARITY"), 2u);
  EXPECT_THAT(Fail({"parity", kCodec, model}),
              AllOf(HasSubstr("was not made from this source"), HasSubstr("'reset'"), HasSubstr("'encode'")));
  // The only signature of a file is called "main" in the model.
  const std::string main = Converted(kOneSignature);
  EXPECT_THAT(Succeed({"parity", kOneSignature, main, "--signature", "serving_default"}),
              HasSubstr("PARITY OK"));
}

TEST_F(Signatures, InspectListsThem) {
  const std::string source = Succeed({"inspect", kCodec});
  EXPECT_THAT(source, AllOf(HasSubstr("3 signatures"), HasSubstr("signature 'decode'"),
                            HasSubstr("  input 'x' f32 [x#0, 8]"), HasSubstr("  input 'gain' f32 [1]")));
  EXPECT_THAT(Succeed({"inspect", kTotal}), HasSubstr("  variable 'total"));
  const Json json = Json::parse(Succeed({"inspect", kCodec, "--json"}));
  ASSERT_EQ(json.at("signatures").size(), 3u);
  for (const Json& signature : json.at("signatures")) {
    if (signature.at("name") != "encode") continue;
    EXPECT_EQ(signature.at("inputs")[0].at("shape"), Json({"x#0", "16"}));
    EXPECT_EQ(signature.at("open_dimensions"), Json({"x#0"}));
  }
  const Json one = Json::parse(Succeed({"inspect", kOneSignature, "--json"}));
  EXPECT_EQ(one.at("signatures").size(), 1u);
  EXPECT_EQ(one.at("signatures")[0].at("name"), "serving_default");
  EXPECT_EQ(one.at("inputs"), one.at("signatures")[0].at("inputs"));

  const std::string model = Converted(kCodec, {"--dim", "x#0=1..4"});
  const std::string text = Succeed({"inspect", model});
  EXPECT_EQ(Count(text, "  dimension 'x#0': 1..4"), 2u);
  EXPECT_THAT(text, AllOf(HasSubstr("signature 'decode'\n  dimension"), HasSubstr("  input 'x' f32 [x#0, 8]"),
                          HasSubstr("signature 'through'\n  input 'picture'")));
  const Json skiff = Json::parse(Succeed({"inspect", model, "--json"}));
  for (const Json& signature : skiff.at("signatures"))
    EXPECT_EQ(signature.at("symbols").size(), signature.at("name") == "through" ? 0u : 1u);
}

TEST_F(Signatures, InspectShowsQuantisation) {
  const std::string quantised = SKIFF_SOURCE_DIR "/tests/converter/import/tflite/cases/add_i8/model.tflite";
  EXPECT_THAT(Succeed({"inspect", quantised}), HasSubstr("{scale="));
  const Json json = Json::parse(Succeed({"inspect", quantised, "--json"}));
  EXPECT_EQ(json.at("inputs")[0].at("quantization").at("scale").size(), 1u);
}

}  // namespace
}  // namespace skiff::testing
