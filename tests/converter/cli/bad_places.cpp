// What a command writes never takes the place of what it reads, of its other outputs, or of what is no file.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "files/npy.h"
#include "tests/converter/cli/bad_input.h"
#include "tests/converter/cli/onnx_models.h"

namespace skiff::testing {
namespace {

using Arguments = std::vector<std::string>;
namespace fs = std::filesystem;

void MakePipe(const std::string& path) {
  if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("cannot make a pipe");
}

void MakeSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
  const int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool made = end >= 0 && bind(end, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(end);
  if (!made) throw std::runtime_error("cannot make a socket");
}

/// FOLDER/ at the beginning of a word, or behind a '=', is the test's folder, in which these lie:
/// good.onnx, a.candidate.skiff (a copy), good.skiff, in/x.npy (its input), in/y.npy and made/xnnpack/y.npy
/// (its outputs), made/eager/y.npy (another input), link.onnx and hard.onnx (good.onnx),
/// outside.onnx with its weights in weights.bin, labels.txt, pipe, socket, full/y.npy (a pipe),
/// astray (into a folder that is not there), dangling (y.npy, which is not there).
BadInput OfFolder(const std::string& name, const Arguments& words, const Arguments& message) {
  const auto prepare = [words](const TempFolder& folder) {
    GoodSkiff(folder);
    fs::create_directory(folder / "in");
    const std::vector<uint8_t> x = FormatNpy(TensorData(DType::kF32, {1, 4}).view());
    const std::vector<uint8_t> y = FormatNpy(TensorData(DType::kF32, {1, 3}).view());
    folder.Write("in/x.npy", {x.begin(), x.end()});
    folder.Write("in/y.npy", {y.begin(), y.end()});
    folder.Write("made/eager/y.npy", {x.begin(), x.end()});
    folder.Write("made/xnnpack/y.npy", {y.begin(), y.end()});
    fs::copy_file(folder / "good.onnx", folder / "a.candidate.skiff");
    fs::create_symlink("good.onnx", folder / "link.onnx");
    fs::create_symlink("nowhere/net.skiff", folder / "astray");
    fs::create_symlink("y.npy", folder / "dangling");
    fs::create_hard_link(folder / "good.onnx", folder / "hard.onnx");
    folder.Write("weights.bin", std::string(48, '\0'));
    folder.Write("outside.onnx", Serialized(ProductModel(), [](onnx::ModelProto& model) {
                   onnx::TensorProto* weights = model.mutable_graph()->mutable_initializer(0);
                   weights->clear_float_data();
                   weights->set_data_location(onnx::TensorProto::EXTERNAL);
                   onnx::StringStringEntryProto* entry = weights->add_external_data();
                   entry->set_key("location");
                   entry->set_value("weights.bin");
                 }));
    folder.Write("labels.txt", "one\ntwo\nthree\n");
    fs::create_directory(folder / "full");
    MakePipe(folder / "pipe");
    MakePipe(folder / "full/y.npy");
    MakeSocket(folder / "socket");
    Arguments arguments = words;
    for (std::string& word : arguments) {
      const size_t at = word.find("FOLDER");
      if (at != std::string::npos) word.replace(at, 6, folder.path());
    }
    return arguments;
  };
  return {name, prepare, message};
}

std::vector<BadInput> OverInputs() {
  return {
      OfFolder("ConvertOverItsSource", {"convert", "FOLDER/good.onnx", "-o", "FOLDER/good.onnx"},
               {"-o", "would overwrite the source", "good.onnx", "another name"}),
      OfFolder("ConvertOverItsSourceSpelledOtherwise",
               {"convert", "FOLDER/good.onnx", "-o", "FOLDER/in/../good.onnx"}, {"overwrite the source"}),
      OfFolder("ConvertOverALinkToItsSource", {"convert", "FOLDER/good.onnx", "-o", "FOLDER/link.onnx"},
               {"link.onnx: would overwrite the source", "good.onnx"}),
      OfFolder("ConvertOfALink", {"convert", "FOLDER/link.onnx", "-o", "FOLDER/good.onnx"},
               {"overwrite the source", "link.onnx"}),
      OfFolder("ConvertOverItsOtherName", {"convert", "FOLDER/good.onnx", "-o", "FOLDER/hard.onnx"},
               {"hard.onnx: would overwrite the source", "good.onnx"}),
      OfFolder("ConvertOverItsWeights", {"convert", "FOLDER/outside.onnx", "-o", "FOLDER/weights.bin"},
               {"overwrite weights of the source", "weights.bin"}),
      OfFolder("ConvertOverItsLabels",
               {"convert", "FOLDER/good.onnx", "-o", "FOLDER/labels.txt", "--labels", "FOLDER/labels.txt"},
               {"overwrite the file of --labels", "labels.txt"}),
      OfFolder("QuantizeOverItsCalibration",
               {"quantize", "FOLDER/good.onnx", "-o", "FOLDER/in/x.npy", "--calibrate", "FOLDER/in"},
               {"overwrite a file of --calibrate", "in/x.npy"}),
      OfFolder("QuantizeOverItsCalibrationBelow",
               {"quantize", "FOLDER/good.onnx", "-o", "FOLDER/in/x.npy", "--calibrate", "FOLDER"},
               {"overwrite a file of --calibrate", "in/x.npy"}),
      OfFolder("QuantizePageOverItsWeights",
               {"quantize", "FOLDER/outside.onnx", "-o", "FOLDER/new.skiff", "--calibrate", "random:1",
                "--report", "FOLDER/weights.bin"},
               {"--report", "overwrite weights of the source", "weights.bin"}),
      OfFolder("ScoreOverItsSource",
               {"quantize", "FOLDER/a.candidate.skiff", "-o", "FOLDER/a", "--calibrate", "random:1",
                "--score", "echo 1 {}"},
               {"--score", "overwrite the source", "a.candidate.skiff"}),
      OfFolder("ReportOverItsModel", {"report", "FOLDER/good.skiff", "-o", "FOLDER/good.skiff"},
               {"-o", "overwrite the model", "good.skiff"}),
      OfFolder("ReportOverItsSource",
               {"report", "FOLDER/good.skiff", "FOLDER/good.onnx", "-o", "FOLDER/hard.onnx"},
               {"-o", "overwrite the source", "good.onnx"}),
      OfFolder("ReportOverWeights",
               {"report", "FOLDER/good.skiff", "FOLDER/outside.onnx", "-o", "FOLDER/weights.bin"},
               {"-o", "overwrite weights of the source"}),
      OfFolder("ReportOverTheOtherModel",
               {"report", "FOLDER/good.skiff", "--against", "FOLDER/in/x.npy", "-o", "FOLDER/in/../in/x.npy"},
               {"-o", "overwrite the model of --against"}),
      OfFolder("ReportOverItsInput",
               {"report", "FOLDER/good.skiff", "--input", "x=FOLDER/in/x.npy", "-o", "FOLDER/in/x.npy"},
               {"-o", "overwrite the file of --input"}),
      OfFolder("TraceOverItsModel", {"bench", "FOLDER/good.skiff", "--trace", "FOLDER/good.skiff"},
               {"--trace", "overwrite the model", "good.skiff"}),
      OfFolder("TraceOverItsInputs",
               {"bench", "FOLDER/good.skiff", "--inputs", "FOLDER/in", "--trace", "FOLDER/in/x.npy"},
               {"--trace", "overwrite a file of --inputs", "in/x.npy"}),
      OfFolder(
          "BenchOverItsInput",
          {"bench", "FOLDER/good.skiff", "--input", "FOLDER/made/eager/y.npy", "-o", "FOLDER/made/eager"},
          {"-o", "its y.npy", "overwrite the file of --input", "another folder"}),
      OfFolder(
          "RunOverItsInput",
          {"run", "FOLDER/good.skiff", "--input", "x=FOLDER/made/eager/y.npy", "-o", "FOLDER/made/eager"},
          {"-o", "its y.npy", "overwrite the file of --input", "another folder"}),
      OfFolder("DumpOverItsInput",
               {"run", "FOLDER/good.skiff", "--input", "x=FOLDER/in/x.npy", "--dump-input", "FOLDER/in"},
               {"--dump-input", "its x.npy", "overwrite the file of --input", "another folder"}),
      OfFolder("DumpOverItsInputs",
               {"run", "FOLDER/good.skiff", "--inputs", "FOLDER/in", "--dump-input", "FOLDER/in"},
               {"--dump-input", "its x.npy", "overwrite a file of --inputs", "another folder"}),
      OfFolder("ParityOverItsInput",
               {"parity", "FOLDER/good.onnx", "--input", "FOLDER/made/eager/y.npy", "-o", "FOLDER/made"},
               {"-o", "its y.npy", "overwrite the file of --input", "another folder"}),
      OfFolder("ParityOverWhatItExpects",
               {"parity", "FOLDER/good.onnx", "--inputs", "random:1", "--expect", "FOLDER/made/xnnpack", "-o",
                "FOLDER/made"},
               {"-o", "its y.npy", "overwrite a file of --expect", "another folder"}),
      OfFolder("SizeListOverAModel", {"size-list", "FOLDER/good.skiff", "-o", "FOLDER/good.skiff"},
               {"-o", "overwrite the model", "good.skiff"}),
  };
}

std::vector<BadInput> OverOutputs() {
  return {
      OfFolder("PageOverItsModel",
               {"quantize", "FOLDER/good.onnx", "-o", "FOLDER/new", "--calibrate", "random:1", "--report",
                "FOLDER/in/../new"},
               {"--report", "would overwrite", "which -o writes", "another name"}),
      OfFolder("TraceIsItsOutput",
               {"bench", "FOLDER/good.skiff", "--trace", "FOLDER/in/y.npy", "-o", "FOLDER/in"},
               {"its y.npy would overwrite", "which --trace writes"}),
      OfFolder("TraceIsItsFolder",
               {"bench", "FOLDER/good.skiff", "--trace", "FOLDER/new", "-o", "FOLDER/in/../new"},
               {"a folder is to be where --trace writes a file", "choose another folder"}),
  };
}

std::vector<BadInput> OverNoFiles() {
  return {
      OfFolder("ConvertToAPipe", {"convert", "FOLDER/good.onnx", "-o", "FOLDER/pipe"},
               {"pipe: cannot be written", "it is a pipe", "path of a file"}),
      OfFolder("ConvertToASocket", {"convert", "FOLDER/good.onnx", "-o", "FOLDER/socket"},
               {"socket: cannot be written", "it is a socket", "path of a file"}),
      OfFolder("TraceToAPipe", {"bench", "FOLDER/good.skiff", "--trace", "FOLDER/pipe"}, {"it is a pipe"}),
      OfFolder("SizeListToASocket", {"size-list", "FOLDER/good.skiff", "-o", "FOLDER/socket"},
               {"it is a socket"}),
      OfFolder("RunToAPipeInAFolder",
               {"run", "FOLDER/good.skiff", "--input", "FOLDER/in/x.npy", "-o", "FOLDER/full"},
               {"full/y.npy: cannot be written", "it is a pipe"}),
  };
}

/// Known before the work, though nothing is there yet.
std::vector<BadInput> NoPlaces() {
  return {
      OfFolder("ConvertToANameThatIsTooLong",
               {"convert", "FOLDER/good.onnx", "-o", "FOLDER/" + std::string(250, 'n')},
               {"cannot be written", "its name is too long"}),
      OfFolder("ConvertToALinkIntoNoFolder", {"convert", "FOLDER/good.onnx", "-o", "FOLDER/astray"},
               {"astray: cannot be written", "no file can be made in the folder"}),
      OfFolder("TwoOutputsByWayOfALink",
               {"bench", "FOLDER/good.skiff", "--trace", "FOLDER/dangling", "-o", "FOLDER"},
               {"its y.npy would overwrite", "which --trace writes"}),
  };
}

}  // namespace

std::vector<BadInput> BadPlaces() {
  std::vector<BadInput> all;
  for (const std::vector<BadInput>& some : {OverInputs(), OverOutputs(), OverNoFiles(), NoPlaces()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace skiff::testing
