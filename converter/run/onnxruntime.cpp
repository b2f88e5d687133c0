#include "run/onnxruntime.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kNotFound = 127;
constexpr int kMissing = 90;  ///< A package is not installed.
constexpr int kRefused = 91;  ///< onnxruntime said no; its words are on standard error.

/// Reads call.json, {"model", "inputs": {name: file}, "numbers": {name: number}}; writes outputs.json, {name:
/// file}.
constexpr const char* kScript = R"python(
import sys
sys.path = [folder for folder in sys.path if folder]  # Not the current one: a model's may hold modules of any name.
import json, os
folder = sys.argv[1]
try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(90)
with open(os.path.join(folder, "call.json")) as file:
    call = json.load(file)
try:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(call["model"], options, providers=["CPUExecutionProvider"])
    feeds = {name: numpy.load(os.path.join(folder, file)) for name, file in call["inputs"].items()}
    types = {"tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(float)": "float32",
             "tensor(double)": "float64", "tensor(bool)": "bool"}
    for port in session.get_inputs():
        if "seq(" in port.type:  # Of an optional one, 0 tensors are none.
            count = int(call["numbers"][port.name])
            feeds[port.name] = [feeds.pop("%s.%d" % (port.name, i)) for i in range(count)]
            if port.type.startswith("optional(") and count == 0:
                feeds[port.name] = None
        elif port.type.startswith("optional("):
            feeds.setdefault(port.name, None)
        elif port.name in call["numbers"]:
            feeds[port.name] = numpy.full([1] * len(port.shape), call["numbers"][port.name], types[port.type])
    names = [port.name for port in session.get_outputs()]
    results = session.run(names, feeds)
except Exception as error:
    print(error, file=sys.stderr)
    sys.exit(91)
files = {}
tensors = []
for name, result in zip(names, results):
    if isinstance(result, list):  # A sequence, of which each tensor is an output here.
        tensors += [("%s.%d" % (name, i), part) for i, part in enumerate(result)]
    else:
        tensors.append((name, result))
for index, (name, result) in enumerate(tensors):
    if isinstance(result, numpy.ndarray) and result.dtype != object:
        files[name] = "output_%d.npy" % index
        numpy.save(os.path.join(folder, files[name]), numpy.ascontiguousarray(result).reshape(result.shape))
with open(os.path.join(folder, "outputs.json"), "w") as file:
    json.dump(files, file)
)python";

/// Gone with everything in it when the object is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "skiff-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      Throw(StatusCode::kIo, "cannot make a temporary folder {}: {}", pattern, std::strerror(errno));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) Throw(StatusCode::kIo, "{}: cannot be written", path);
}

/// The exit status of python3, whose output goes to `log`.
int RunPython(const std::string& folder, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::string arguments[] = {"python3", "-c", kScript, folder};
  char* const argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(),
                        nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "python3", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return kNotFound;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kNotFound;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

NamedTensors RunOnnxruntime(const std::string& source, const NamedTensors& inputs,
                            const std::map<std::string, double>& numbers) {
  const TemporaryFolder folder;
  Json call = {{"model", fs::absolute(source).string()}, {"inputs", Json::object()}, {"numbers", numbers}};
  for (const auto& [name, tensor] : inputs) {
    const std::string file = fmt::format("input_{}.npy", call["inputs"].size());
    WriteNpy(folder / file, tensor.view());
    call["inputs"][name] = file;
  }
  WriteText(folder / "call.json", call.dump());
  const std::string log = folder / "log";
  const int status = RunPython(folder.path(), log);
  if (status == kNotFound)
    Throw(StatusCode::kUnsupported,
          "--expect onnxruntime: there is no python3 on the search path; it runs onnxruntime");
  const std::string said = ReadFile(log);
  if (status == kMissing) {
    Throw(StatusCode::kUnsupported,
          "--expect onnxruntime: python3 lacks it ({}); 'python3 -m pip install onnxruntime numpy' in an "
          "active virtual environment installs it",
          said.substr(0, said.find('\n')));
  }
  if (status != 0)
    Throw(StatusCode::kInvalidArgument, "--expect onnxruntime: {}: {}", source,
          status == kRefused ? said : fmt::format("python3 ended with {}: {}", status, said));
  NamedTensors outputs;
  const auto files = Json::parse(ReadFile(folder / "outputs.json")).get<std::map<std::string, std::string>>();
  for (const auto& [name, file] : files) outputs[name] = ReadNpy(folder / file);
  return outputs;
}

}  // namespace skiff
