// Keeps a Session alive and runs it on request, so that another program can alternate with it: "run N" on
// standard input answers N durations in nanoseconds on one line, "save FOLDER" writes the outputs as .npy
// files.
#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>

#include "core/platform.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "tests/bench/subject.h"

namespace skiff::bench {
namespace {

std::string TimeRuns(Session& session, int runs) {
  std::string line;
  for (int i = 0; i < runs; ++i) {
    const uint64_t begin = platform::NowNanoseconds();
    Must([&] { return session.Run(); });
    line += fmt::format("{} ", platform::NowNanoseconds() - begin);
  }
  return line;
}

std::string SaveOutputs(const Session& session, const std::string& folder) {
  for (const auto& [name, tensor] : Outputs(session)) {
    WriteNpy(fmt::format("{}/{}.npy", folder, FileNameOf(name)), tensor.view());
  }
  return "saved";
}

int Serve(Session& session) {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    std::string argument;
    words >> command >> argument;
    if (command == "run") {
      std::cout << TimeRuns(session, std::stoi(argument)) << std::endl;
    } else if (command == "save") {
      std::cout << SaveOutputs(session, argument) << std::endl;
    } else {
      Throw(StatusCode::kInvalidArgument, "expected 'run N' or 'save FOLDER', got '{}'", line);
    }
  }
  return 0;
}

int Run(int argc, char** argv) {
  std::string model;
  std::string inputs = "random:1";
  int threads = 1;
  cli::ConvertArguments convert;
  CLI::App app("Runs a model on request", "run_server");
  app.add_option("model", model, "The model")->required()->type_name("MODEL.onnx");
  app.add_option("--inputs", inputs, "A folder of .npy files, or random:SEED (default random:1)");
  app.add_option("--threads", threads, "Threads (default 1)")->check(CLI::Range(1, 64));
  cli::AddPlanOptions(app, convert);
  return RunProgram(argc, argv, app, [&] {
    Subject subject(ConvertFile(model, cli::ToConvertOptions(convert))->file, inputs);
    return Serve(*subject.NewSession(threads));
  });
}

}  // namespace
}  // namespace skiff::bench

int main(int argc, char** argv) { return skiff::bench::Run(argc, argv); }
