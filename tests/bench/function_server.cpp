// Keeps traced Functions alive and calls them on request, so that another program can alternate with it:
// "run WORKLOAD N" on standard input answers the nanoseconds of N calls together, "result WORKLOAD" the first
// elements of a result.
#include <algorithm>
#include <cstdlib>

#include <iostream>
#include <map>
#include <sstream>

#include "core/platform.h"
#include "graph/error.h"
#include "samples/eager_and_graph/workloads.h"
#include "trace/function.h"

namespace skiff::bench {
namespace {

using eager::Function;
using eager::Tensor;

struct Workload {
  std::function<Tensor(const Tensor&)> call;
  std::vector<Tensor> inputs;  ///< Taken in turn.
};

/// A function as a user has it: options at their defaults, but for the threads.
Workload Traced(std::function<Tensor(const Tensor&)> code, std::vector<Tensor> inputs, int threads) {
  return {Function<Tensor(const Tensor&)>(std::move(code), {.threads = threads}), std::move(inputs)};
}

std::map<std::string, Workload> Workloads(int threads) {
  const Tensor digits = sample::Uniform({60, 28, 28}, 3);
  std::vector<Tensor> rows;
  // 7 i mod 10 + 1: all sizes, never the same twice in a row.
  for (int64_t i = 0; i < 10; ++i) rows.push_back(sample::Uniform({7 * i % 10 + 1, 20}, 11));
  return {{"power_while", Traced(sample::PowerByLoop, {sample::PowerBase()}, threads)},
          {"power_unrolled", Traced(sample::PowerUnrolled, {sample::PowerBase()}, threads)},
          {"shallow", Traced(sample::DenseNet(784, {10, 20, 30}), {digits}, threads)},
          {"deep", Traced(sample::DenseNet(784, {1000, 2000, 3000}), {digits}, threads)},
          {"cnn", Traced(sample::PictureNet(), {sample::NoisePicture(300, 400)}, threads)},
          {"rows", Traced(sample::RowsNet(), rows, threads)}};
}

std::string ResultOf(const Workload& workload) {
  const Tensor result = workload.call(workload.inputs[0]);
  std::string line;
  for (int64_t i = 0; i < std::min<int64_t>(result.elements(), 32); ++i) {
    line += result.dtype() == DType::kI32 ? fmt::format("{} ", result.as<int32_t>()[i])
                                          : fmt::format("{:.9g} ", result.as<float>()[i]);
  }
  return line;
}

uint64_t TimeOf(const Workload& workload, size_t calls) {
  const uint64_t begin = platform::NowNanoseconds();
  for (size_t i = 0; i < calls; ++i) workload.call(workload.inputs[i % workload.inputs.size()]);
  return platform::NowNanoseconds() - begin;
}

int Serve(int threads) {
  const std::map<std::string, Workload> workloads = Workloads(threads);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, name;
    size_t calls = 0;
    words >> command >> name >> calls;
    const auto workload = workloads.find(name);
    if (workload == workloads.end() || (command != "run" && command != "result"))
      Throw(StatusCode::kInvalidArgument, "expected 'run WORKLOAD N' or 'result WORKLOAD', got '{}'", line);
    if (command == "run") {
      std::cout << TimeOf(workload->second, calls) << std::endl;
    } else {
      std::cout << ResultOf(workload->second) << std::endl;
    }
  }
  return 0;
}

}  // namespace
}  // namespace skiff::bench

int main(int argc, char** argv) {
  try {
    return skiff::bench::Serve(argc > 1 ? std::atoi(argv[1]) : 1);
  } catch (const skiff::Error& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
