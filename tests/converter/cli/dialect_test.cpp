// What is the same in all commands: help, names that were nearly right, sizes and files of inputs, terminals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "files/npy.h"
#include "files/tensor_files.h"
#include "skiff/version.h"
#include "tests/converter/cli/onnx_models.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/converter/files/write_archive.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

const std::string kCharacters = SKIFF_SOURCE_DIR "/samples/characters";

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    longest = std::max(longest, line.size());
  }
  return longest;
}

class Dialect : public ::testing::Test {
 protected:
  Dialect() {
    Succeed({"convert", source_, "-o", bounded_, "--dim", "batch=2..8"});
    Succeed({"convert", source_, "-o", unbounded_});
  }

  static RunResult Try(const std::string& program, const Arguments& arguments) {
    RunResult result = RunProgram(program, arguments);
    EXPECT_EQ(result.exit_code, 0) << program << ": " << result.error << result.output;
    return result;
  }
  static std::string Succeed(const Arguments& arguments) { return Try(SKIFF_TOOL, arguments).output; }
  static std::string Fail(const Arguments& arguments, int exit_code = 1) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.error << result.output;
    return result.error;
  }
  std::string Npy(const std::string& name, const Shape& shape) const {
    const std::vector<uint8_t> bytes = FormatNpy(TensorData(DType::kF32, shape).view());
    return folder_.Write(name, {bytes.begin(), bytes.end()});
  }

  const TempFolder folder_;
  const std::string source_ = folder_.Write("open.onnx", Serialized(OpenProductModel()));
  const std::string bounded_ = folder_ / "bounded.skiff";
  const std::string unbounded_ = folder_ / "unbounded.skiff";
};

const Arguments kCommands = {"convert", "quantize", "run",    "bench",     "parity",
                             "buckets", "inspect",  "report", "size-list",
#ifdef SKIFF_WITH_SIGNATURES
                             "sign",    "verify"
#endif
};

TEST_F(Dialect, HelpIsThereInEveryWayAndFits) {
  const std::string tool = Succeed({"help"});
  EXPECT_EQ(tool, Succeed({"--help"}));
  EXPECT_LE(LongestLine(tool), 100u);
  for (const std::string& command : kCommands) {
    EXPECT_THAT(tool, HasSubstr("\n  " + command + " "));
    const std::string help = Succeed({"help", command});
    EXPECT_EQ(help, Succeed({command, "--help"}));
    EXPECT_THAT(help, AllOf(HasSubstr("skiff " + command), HasSubstr("--help")));
    EXPECT_LE(LongestLine(help), 100u) << command;
    EXPECT_THAT(help, AllOf(Not(HasSubstr("FILE:FILE")), Not(HasSubstr("DIR:DIR"))));
    RunOptions narrow;
    narrow.terminal = 60;
    narrow.environment = {{"TERM", "xterm"}, {"COLUMNS", ""}};
    const std::string wrapped = RunSkiff({command, "--help"}, narrow).output;
    EXPECT_GT(std::count(wrapped.begin(), wrapped.end(), '\n'), std::count(help.begin(), help.end(), '\n'));
    std::istringstream lines(wrapped);
    for (std::string line; std::getline(lines, line);) {
      // Names of options and examples are not broken.
      const bool text = line.find("--") == std::string::npos && !line.starts_with("  skiff");
      EXPECT_TRUE(!text || line.size() <= 61u) << command << ": " << line;
    }
  }
  EXPECT_THAT(Fail({"help", "pariti"}, 2), HasSubstr("did you mean 'parity'?"));
}

/// What people read without a terminal, in logs and pipes. Commands to be copied are not broken, nor are
/// words.
TEST_F(Dialect, ReportsFit) {
  const std::string model = folder_ / "characters.skiff";
  const std::string net = kCharacters + "/characters.onnx";
  const std::string pictures = kCharacters + "/images";
  const std::string photo = pictures + "/7_cantarell-bold_32x32.png";
  const Arguments image = {"--image-size", "32x32",
                           "--std",        "0.229,0.224,0.225",
                           "--mean",       "0.485,0.456,0.406",
                           "--labels",     kCharacters + "/labels.txt"};
  Arguments convert = {"convert", net, "-o", model, "--explain"};
  convert.insert(convert.end(), image.begin(), image.end());
  Arguments quantize = {"quantize", net, "-o", folder_ / "codes.skiff", "--calibrate", pictures};
  quantize.insert(quantize.end(), image.begin(), image.end());
  const Arguments reports[] = {
      convert,
      quantize,
      {"convert", source_, "-o", folder_ / "again.skiff", "--bucket", "batch=1..4,5..8"},
      {"convert", "--list-passes"},
      {"inspect", net},
      {"inspect", source_},
      {"inspect", model},
      {"inspect", model, "--nodes"},
      {"inspect", folder_ / "codes.skiff", "--nodes"},
      {"run", model, "--input", photo, "--top", "3"},
      {"bench", model, "--runs", "2", "--warmup", "0"},
      {"bench", bounded_, "--runs", "2", "--warmup", "0"},
      {"parity", net, model, "--layers"},
      {"parity", source_, bounded_, "--sweep", "--layers"},
      {"buckets", source_, "--uniform", "batch=1..16"},
      {"size-list", model}};
  for (const Arguments& report : reports) {
    std::istringstream lines(Succeed(report));
    for (std::string line; std::getline(lines, line);) {
      const bool word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(line.size() <= 100 || word || line.starts_with("skiff ")) << report[0] << ": " << line;
    }
  }
}

TEST_F(Dialect, Version) {
  for (const char* option : {"-v", "--version"}) {
    EXPECT_EQ(Succeed({option}), "skiff " SKIFF_VERSION "\n");
    EXPECT_EQ(Try(SKIFF_RUN, {option}).output, "skiff-run " SKIFF_VERSION "\n");
  }
}

TEST_F(Dialect, NamesThatWereNearlyRight) {
  const std::string out = folder_ / "out.skiff";
  struct Row {
    Arguments arguments;
    int exit_code;
    const char* meant;
  };
  const Row rows[] = {
      {{"covnert"}, 2, "did you mean 'convert'?"},
      {{"--versoin"}, 2, "did you mean '--version'?"},
      {{"run", bounded_, "--treads", "1"}, 2, "did you mean '--threads'?"},
      {{"run", bounded_, "--inptu=x"}, 2, "did you mean '--input'?"},
      {{"convert", source_, "-o", out, "--dim", "bacth=2"}, 1, "did you mean 'batch'?"},
      {{"convert", source_, "-o", out, "--shape", "X=2x4"}, 1, "did you mean 'x'?"},
      {{"bench", bounded_, "--dim", "Batch=2"}, 1, "did you mean 'batch'?"},
      {{"bench", bounded_, "--shape", "X=2x4"}, 1, "did you mean 'x'?"},
      {{"bench", bounded_, "--signature", "mian"}, 1, "did you mean 'main'?"},
      {{"parity", source_, bounded_, "--at", "batc=2"}, 1, "did you mean 'batch'?"},
      {{"parity", source_, bounded_, "--input-range", "X=0..1"}, 1, "did you mean 'x'?"},
      {{"run", bounded_, "--input", "X=a.npy"}, 1, "did you mean 'x'?"},
      {{"parity", source_, bounded_, "--expect", "onnxruntim"}, 1, "did you mean 'onnxruntime'?"},
  };
  for (const Row& row : rows) EXPECT_THAT(Fail(row.arguments, row.exit_code), HasSubstr(row.meant));
  EXPECT_THAT(Fail({"zzz"}, 2), Not(HasSubstr("did you mean")));
  EXPECT_EQ(
      Fail({"run", bounded_, "--treads", "1"}, 2),
      "skiff: error: not expected: '--treads', '1' (did you mean '--threads'?); see 'skiff run --help'\n");
  EXPECT_THAT(Fail({"help", "pariti"}, 2), HasSubstr("see 'skiff --help'"));
  EXPECT_THAT(Fail({"run", bounded_, "--input", "x="}), HasSubstr("the name of a file is missing"));
}

TEST_F(Dialect, ARangeIsNotForAnInputThatIsGiven) {
  const std::string x = "x=" + Npy("x.npy", {3, 4});
  for (const char* command : {"run", "bench"}) {
    EXPECT_THAT(Fail({command, bounded_, "--inputs", "random:1", "--input", x, "--input-range", "x=0..1"}, 1),
                AllOf(HasSubstr("--input-range x"), HasSubstr("--input gives 'x'")))
        << command;
  }
  EXPECT_THAT(Fail({"parity", source_, bounded_, "--input", x, "--input-range", "x=0..1"}, 1),
              HasSubstr("--input gives 'x'"));
}

/// The same options in every command, and in the program for devices.
TEST_F(Dialect, OneCallInFourWays) {
  const std::string raw = folder_.Write("x.bin", std::string(3 * 4 * sizeof(float), '\0'));
  const std::string npy = Npy("x.npy", {3, 4});
  const std::string out = folder_ / "out";
  struct Program {
    std::string path;
    Arguments begin;
    std::string written;
  };
  const Program programs[] = {{SKIFF_TOOL, {"run", bounded_}, "/y.npy"},
                              {SKIFF_TOOL, {"bench", bounded_, "--runs", "1", "--warmup", "0"}, "/y.npy"},
                              {SKIFF_TOOL, {"parity", source_, bounded_}, "/eager/y.npy"},
                              {SKIFF_RUN, {bounded_}, "/y.npy"}};
  const Arguments calls[] = {{"--input", "x=" + raw, "--dim", "batch=3"},
                             {"--input", raw, "--shape", "x=3x4"},
                             {"-i", npy},
                             {"--input", "x=" + npy, "--dim", "batch=3"}};
  for (const Program& program : programs) {
    for (const Arguments& call : calls) {
      std::filesystem::remove_all(out);
      Arguments arguments = program.begin;
      arguments.insert(arguments.end(), call.begin(), call.end());
      arguments.insert(arguments.end(), {"--output", out, "--threads", "1", "--cache", folder_.path()});
      if (program.path == SKIFF_RUN || program.begin[0] != "parity")
        arguments.insert(arguments.end(), {"--signature", "main", "--backend", "reference"});
      Try(program.path, arguments);
      EXPECT_EQ(ReadNpy(out + program.written).shape(), (Shape{3, 3})) << program.written;
    }
  }
}

/// It says what to do, and not everything that it can do.
TEST_F(Dialect, TheDeviceProgramNamesWhatIsWrong) {
  struct Row {
    Arguments options;
    int exit_code;
    const char* message;
  };
  const Row rows[] = {
      {{"--inptu", "x"},
       2,
       "skiff-run: error: unknown option '--inptu' (did you mean '--input'?); see 'skiff-run --help'\n"},
      {{"--treads=1"},
       2,
       "skiff-run: error: unknown option '--treads' (did you mean '--threads'?); see 'skiff-run --help'\n"},
      {{"--zzz", "1"}, 2, "skiff-run: error: unknown option '--zzz'; see 'skiff-run --help'\n"},
      {{"--input", "X=a.npy"}, 1, "skiff-run: error: the model has no 'X'; it has 'x' (did you mean 'x'?)\n"},
      {{"--expect", "Y=a.npy", "--dim", "batch=2"},
       1,
       "note: inputs of a fixed pattern, because no --input names a file\n"
       "skiff-run: error: the model has no 'Y'; it has 'y' (did you mean 'y'?)\n"},
      {{"--dim", "bacth=2"},
       1,
       "skiff-run: error: --dim bacth=2: the model has no such open dimension; it has: 'batch' (did you mean "
       "'batch'?)\n"},
      {{"--threads", "0"},
       2,
       "skiff-run: error: --threads '0': expected a number from 1; see 'skiff-run --help'\n"},
      {{"--backend", "gpu"},
       2,
       "skiff-run: error: --backend 'gpu': expected xnnpack, vulkan or reference; see 'skiff-run --help'\n"},
      {{"--input", "x=a.npz"}, 1, "skiff-run: error: a.npz: No such file or directory\n"},
      {{"--top", "-1"}, 2, "skiff-run: error: --top '-1': expected a number from 0 to 1000; see"},
      {{"--input", "cat.jpg"}, 1, "skiff-run: error: cat.jpg: is read by 'skiff run' alone; "},
  };
  for (const Row& row : rows) {
    Arguments arguments = {bounded_};
    arguments.insert(arguments.end(), row.options.begin(), row.options.end());
    const RunResult result = RunProgram(SKIFF_RUN, arguments);
    EXPECT_EQ(result.exit_code, row.exit_code) << result.error;
    EXPECT_THAT(result.error, StartsWith(row.message));
  }
}

std::string NpyOf(const std::vector<float>& values) {
  const TensorData tensor(DType::kF32, Shape{1, 4}, values.data());
  const std::vector<uint8_t> bytes = FormatNpy(tensor.view());
  return {bytes.begin(), bytes.end()};
}

TEST_F(Dialect, TheDeviceProgramReadsArchives) {
  const std::string model = folder_ / "fixed.skiff";
  Succeed({"convert", source_, "-o", model, "--dim", "batch=1"});
  const auto outputs = [&](const std::string& program, Arguments arguments) {
    arguments.insert(arguments.end(), {model, "--output", folder_ / "out"});
    Try(program, arguments);
    return ReadNpy(folder_ / "out/y.npy").ToDoubles();
  };
  const std::map<std::string, std::string> two = {
      {"x.npy", NpyOf({1, 2, 3, 4})}, {"z.npy", NpyOf({0, 0, 0, 0})}, {"note.txt", "hi"}};
  const std::string both = WriteArchive(folder_, "both.npz", two);
  const std::string one = WriteArchive(folder_, "one.npz", {{"other.npy", NpyOf({1, 2, 3, 4})}});
  const std::vector<double> expected = outputs(SKIFF_TOOL, {"run", "--input", both});
  EXPECT_THAT(expected, Not(::testing::Each(0)));
  for (const Arguments& input : {Arguments{"-i", both}, {"-i", "x=" + both}, {"-i", "x=" + one}})
    EXPECT_EQ(outputs(SKIFF_RUN, input), expected) << input[1];
  EXPECT_THAT(RunProgram(SKIFF_RUN, {model, "-i", both}).error,
              HasSubstr("both.npz: the array 'z' is not used: the inputs are 'x'"));

  const auto why_not = [&](const std::string& archive) {
    const RunResult result = RunProgram(SKIFF_RUN, {model, "-i", "x=" + archive});
    EXPECT_EQ(result.exit_code, 1) << result.error;
    return result.error;
  };
  const std::map<std::string, std::string> others = {{"a.npy", NpyOf({1, 2, 3, 4})}, {"b.npy", "no array"}};
  EXPECT_THAT(why_not(WriteArchive(folder_, "others.npz", others)),
              HasSubstr("no array 'x'; it has 'a' 'b'"));
  EXPECT_THAT(why_not(WriteArchive(folder_, "packed.npz", two, Z_DEFLATED)),
              AllOf(HasSubstr("compressed"), HasSubstr("numpy.savez()")));
  EXPECT_THAT(why_not(WriteArchive(folder_, "empty.npz", {{"note.txt", "hi"}})), HasSubstr("it has none"));
  EXPECT_THAT(why_not(WriteArchive(folder_, "bad.npz", {{"x.npy", "nothing"}})),
              HasSubstr("bad.npz, array 'x': not a usable .npy file"));
  EXPECT_THAT(why_not(folder_.Write("none.npz", "hello")), HasSubstr("not a usable .npz file"));
  // Every byte that is another one, and every end that is too early, is an answer and no crash.
  const std::string good = ReadWhole(one);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string other = good;
    other[i] = static_cast<char>(other[i] ^ 0x55);
    EXPECT_LE(RunProgram(SKIFF_RUN, {model, "-i", "x=" + folder_.Write("other.npz", other)}).exit_code, 1)
        << i;
    why_not(folder_.Write("short.npz", good.substr(0, i)));
  }
}

/// Outputs that lie beside the inputs are no proof where nobody looks at them.
TEST_F(Dialect, OutputsBesideTheInputsAreNamed) {
  const std::string folder = folder_ / "call";
  std::filesystem::create_directory(folder);
  Npy("call/input_x.npy", {2, 4});
  const Arguments arguments = {"parity", source_, bounded_, "--inputs", folder};
  EXPECT_EQ(RunSkiff(arguments).error, "");
  Npy("call/output_y.npy", {2, 3});
  EXPECT_EQ(RunSkiff(arguments).error,
            "hint: '" + folder + "' holds outputs, too; --expect '" + folder + "' compares with them\n");
  EXPECT_THAT(Succeed({"parity", source_, bounded_, "--expect", folder}), HasSubstr("eager / expected"));
}

TEST_F(Dialect, SizesThatAreNotTheModels) {
  for (const Arguments& begin : {Arguments{"run", bounded_, "--inputs", "random:1"},
                                 Arguments{"bench", bounded_}, Arguments{"parity", source_, bounded_}}) {
    const auto with = [&](const Arguments& options) {
      Arguments all = begin;
      all.insert(all.end(), options.begin(), options.end());
      return all;
    };
    EXPECT_THAT(Fail(with({"--shape", "x=3x5"})), AllOf(HasSubstr("--shape x=3x5"), HasSubstr("[batch, 4]")));
    EXPECT_THAT(Fail(with({"--shape", "x=9x4"})), AllOf(HasSubstr("--shape x=9x4"), HasSubstr("2..8")));
    EXPECT_THAT(Fail(with({"--shape", "x=3x4", "--dim", "batch=4"})), HasSubstr("batch"));
    EXPECT_THAT(Fail(with({"--shape", "x=3xb"}), 2), HasSubstr("NAME=1x3x224x224"));
  }
}

TEST_F(Dialect, SizesThatNobodySaysAreChosenAndSaid) {
  const RunResult bench = RunSkiff({"bench", unbounded_, "--runs", "1"});
  EXPECT_EQ(bench.exit_code, 0) << bench.error;
  EXPECT_THAT(bench.error, StartsWith("note: batch=1, as no option says it; --dim 'batch=N' says otherwise"));
  EXPECT_THAT(bench.output, HasSubstr("sizes:   batch=1\n"));
  const RunResult parity = RunSkiff({"parity", source_, unbounded_});
  EXPECT_EQ(parity.exit_code, 0) << parity.error;
  EXPECT_THAT(parity.error, HasSubstr("note: batch=7, as no option says it"));
  EXPECT_EQ(RunSkiff({"parity", source_, unbounded_, "--dim", "batch=3"}).error, "");
  EXPECT_THAT(RunProgram(SKIFF_RUN, {bounded_}).output, HasSubstr("'y': f32 [2, 3]"));
  EXPECT_THAT(RunProgram(SKIFF_RUN, {bounded_}).error, HasSubstr("note: batch=2, as no option says it"));
}

/// Of a net that takes 3 rows only, though its file says that any number will do.
TEST_F(Dialect, SizesThatTheNetRefusesAreNotChosen) {
  const std::string source =
      folder_.Write("sum.onnx", Serialized(OpenProductModel(), [](onnx::ModelProto& model) {
                      model.mutable_graph()->mutable_node(0)->set_op_type("Reshape");
                      onnx::TensorProto* to = model.mutable_graph()->mutable_initializer(0);
                      to->set_data_type(onnx::TensorProto::INT64);
                      to->clear_dims();
                      to->add_dims(1);
                      to->clear_float_data();
                      to->clear_raw_data();
                      to->add_int64_data(12);
                      model.mutable_graph()->mutable_output(0)->mutable_type()->clear_tensor_type();
                    }));
  const std::string model = folder_ / "sum.skiff";
  EXPECT_THAT(RunSkiff({"convert", source, "-o", model}).error,
              AllOf(HasSubstr("sum.onnx: dimension 'batch' is open, but the net takes 3 alone"),
                    HasSubstr("--dim 'batch=3'")));
  for (const Arguments& arguments : {Arguments{"bench", model, "--runs", "1"}, {"parity", source, model}}) {
    const RunResult result = RunSkiff(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_THAT(result.error, HasSubstr("note: batch=3"));
  }
  // Of a range whose edges are not 3, and nothing between them that is tried.
  Succeed({"convert", source, "-o", model, "--dim", "batch=1..300"});
  EXPECT_THAT(Fail({"parity", source, model, "--sweep"}, 3), HasSubstr("hint: the net takes batch=3: "));
}

TEST_F(Dialect, ClassesWithoutLabelsAreNumbers) {
  const std::string input = Npy("x.npy", {1, 4});
  const std::string model = folder_ / "fixed.skiff";
  Succeed({"convert", source_, "-o", model, "--dim", "batch=1"});
  EXPECT_THAT(Succeed({"run", model, "--input", input}), Not(HasSubstr("class")));
  EXPECT_THAT(Succeed({"run", model, "--input", input, "--top", "2"}),
              AllOf(HasSubstr("  1. class 0  (score 0)\n"), HasSubstr("  2. class 1")));
  const Arguments two = {"run", bounded_, "--input", Npy("two.npy", {2, 4})};
  EXPECT_THAT(Succeed(two), Not(HasSubstr("class")));
  const auto with = [&](const Arguments& options) {
    Arguments all = two;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  };
  EXPECT_THAT(Succeed(with({"--top", "1"})),
              HasSubstr("  row 0:\n  1. class 0  (score 0)\n  row 1:\n  1. class 0  (score 0)\n"));
  EXPECT_EQ(RunSkiff({"run", bounded_, "--inputs", "random:1", "--dim", "batch=2", "--top", "1"}).error, "");
  EXPECT_EQ(nlohmann::json::parse(Succeed(with({"--top", "1", "--json"})))["outputs"][0]["top"][1]["row"], 1);
}

/// Pictures come by the batch, and what pooling leaves behind the classes has extents of 1.
TEST_F(Dialect, LabelsAreOfTheClassesAxis) {
  const std::string labels = folder_.Write("labels.txt", "ant\nbee\ncat\n");
  const std::string model = folder_ / "labelled.skiff";
  Succeed({"convert", source_, "-o", model, "--dim", "batch=1..8", "--labels", labels});
  EXPECT_THAT(Succeed({"run", model, "--input", Npy("two.npy", {2, 4})}),
              AllOf(HasSubstr("  row 1:\n"), HasSubstr("  3. cat  (score 0, class 2)\n")));
  const std::string pooled =
      folder_.Write("pooled.onnx", Serialized(PictureModel(), [](onnx::ModelProto& net) {
                      auto* node = net.mutable_graph()->mutable_node(0);
                      node->set_op_type("GlobalAveragePool");
                      node->mutable_input()->RemoveLast();
                      net.mutable_graph()->mutable_output(0)->mutable_type()->clear_tensor_type();
                    }));
  Succeed({"convert", pooled, "-o", model, "--labels", labels});
  EXPECT_THAT(Succeed({"run", model, "--input", Npy("picture.npy", {1, 3, 4, 4})}),
              HasSubstr("  3. cat  (score 0, class 2)\nfirst run"));
}

TEST_F(Dialect, InputsWithoutARankTakeTheirShapeFromAnOption) {
  const std::string source = folder_.Write(
      "rankless.onnx", Serialized(ProductModel(), [](auto& model) {
        model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
      }));
  const std::string model = folder_ / "rankless.skiff";
  EXPECT_THAT(Fail({"convert", source, "-o", model}),
              AllOf(HasSubstr("'x'"), HasSubstr("rank"), HasSubstr("--shape 'x=AxBx...'")));
  Succeed({"convert", source, "-o", model, "--shape", "x=5x4"});
  EXPECT_THAT(Succeed({"parity", source, model}), HasSubstr("f32 [5, 3]"));
  EXPECT_THAT(Succeed({"inspect", source}),
              AllOf(HasSubstr("input 'x' f32 of a rank that the file does not state"),
                    HasSubstr("cannot be converted as it is"), HasSubstr("MatMul")));
  EXPECT_THAT(Succeed({"inspect", source, "--shape", "x=5x4"}),
              AllOf(HasSubstr("input 'x' f32 [5, 4]"), HasSubstr("output 'y' f32 [5, 3]")));
}

TEST_F(Dialect, ParitySaysThatTheSourceComesFirst) {
  const std::string model = folder_ / "model.skiff";
  Succeed({"convert", source_, "-o", model});
  EXPECT_THAT(Fail({"parity", model, source_}, 2),
              HasSubstr("the source comes first: skiff parity " + source_ + " " + model));
}

/// Of an If whose branches differ the rank is not known before its condition is.
TEST_F(Dialect, InspectShowsWhatCanBeKnown) {
  onnx::ModelProto model = ProductModel();
  model.mutable_opset_import(0)->set_version(16);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::ValueInfoProto* rate = graph.add_input();
  rate->set_name("rate");
  rate->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  rate->mutable_type()->mutable_tensor_type()->mutable_shape();
  onnx::TensorProto* limit = graph.add_initializer();
  limit->set_name("limit");
  limit->set_data_type(onnx::TensorProto::INT64);
  limit->add_int64_data(16000);
  graph.mutable_node(0)->set_output(0, "product");
  AddNode(model, "Equal", "compare", {"rate", "limit"}, {"fast"});
  onnx::NodeProto* branch = AddNode(model, "If", "branch", {"fast"}, {"chosen"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto* node = attribute->mutable_g()->add_node();
    node->set_op_type(std::string(name) == "then_branch" ? "Identity" : "Shape");
    node->set_name("inner");
    node->add_input("product");
    node->add_output("out");
    attribute->mutable_g()->set_name(name);
    attribute->mutable_g()->add_output()->set_name("out");
  }
  AddNode(model, "Hardmax", "hardmax", {"chosen"}, {"y"});
  const std::string source = folder_.Write("branches.onnx", Serialized(model));
  const RunResult all = RunSkiff({"inspect", source});
  EXPECT_EQ(all.exit_code, 0) << all.error;
  EXPECT_THAT(all.output, AllOf(HasSubstr("input 'x' f32 [1, 4]"), HasSubstr("input 'rate' i64 []"),
                                HasSubstr("cannot be converted as it is"), HasSubstr("Hardmax")));
  EXPECT_THAT(all.error, HasSubstr("--set 'rate=NUMBER'"));
  EXPECT_THAT(Succeed({"inspect", source, "--set", "rate=16000"}),
              AllOf(HasSubstr("output 'y' f32 [1, 3]"), Not(HasSubstr("cannot be converted"))));
  EXPECT_THAT(Fail({"inspect", bounded_, "--set", "rate=1"}, 2), HasSubstr("are for sources"));
  EXPECT_THAT(Fail({"inspect", bounded_, "--signature", "main"}, 2), HasSubstr("are for sources"));
  const std::string fixed = folder_ / "fixed.skiff";
  Succeed({"convert", source, "-o", fixed, "--set", "rate=16000"});
  Succeed({"parity", source, fixed, "--set", "rate=1.6e4"});
  EXPECT_THAT(Fail({"parity", source, fixed, "--set", "rate=8000"}),
              AllOf(HasSubstr("--set rate=8000: "), HasSubstr("was converted with --set rate=16000;")));
}

/// What the tool for devices says where 'skiff run' says the like.
TEST_F(Dialect, TheProgramForDevicesNamesTheWayOut) {
  const auto fail = [](const Arguments& arguments, int exit_code = 1) {
    const RunResult result = RunProgram(SKIFF_RUN, arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.error << result.output;
    return result.error;
  };
  EXPECT_THAT(fail({bounded_, "--input", folder_.path()}), HasSubstr("is a folder, and a file was expected"));
  EXPECT_THAT(fail({bounded_, "--dim", "batch=-1"}, 2), HasSubstr("size that is not negative"));
  EXPECT_THAT(fail({bounded_, "--tolerance", "-1"}, 2), HasSubstr("expected a number of 0 or more"));
  EXPECT_THAT(fail({bounded_, "--bench", "99999999999"}, 2), HasSubstr("expected a smaller number"));
  const std::string picture = folder_ / "picture.skiff";
  Succeed({"convert", folder_.Write("picture.onnx", Serialized(PictureModel())), "-o", picture});
  EXPECT_THAT(fail({picture, "--input", Npy("nhwc.npy", {1, 4, 4, 3})}),
              AllOf(HasSubstr("must have the shape [1, 3, 4, 4], the file has [1, 4, 4, 3]"),
                    HasSubstr("array.transpose(0, 3, 1, 2)")));
  const std::string input = Npy("y.npy", {2, 4});
  const std::string before = ReadWhole(input);
  EXPECT_THAT(fail({bounded_, "--input", input, "--output", folder_.path()}),
              HasSubstr("y.npy: is a file that was read, and would be overwritten"));
  EXPECT_EQ(ReadWhole(input), before);
}

TEST_F(Dialect, TerminalsHaveColours) {
  RunOptions terminal;
  terminal.terminal = 120;
  terminal.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}};
  const Arguments parity = {"parity", source_, bounded_};
  EXPECT_THAT(RunSkiff(parity, terminal).output, HasSubstr("\x1b[32mPARITY OK\x1b[0m"));
  EXPECT_THAT(RunSkiff({"run", "none.skiff"}, terminal).output, HasSubstr("\x1b[31mskiff: error:\x1b[0m"));
  for (const auto& [name, value] : std::map<std::string, std::string>{{"NO_COLOR", "1"}, {"TERM", "dumb"}}) {
    RunOptions plain = terminal;
    plain.environment[name] = value;
    EXPECT_THAT(RunSkiff(parity, plain).output, AllOf(HasSubstr("PARITY OK"), Not(HasSubstr("\x1b[3"))))
        << name;
  }
  EXPECT_THAT(Succeed(parity), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace skiff::testing
