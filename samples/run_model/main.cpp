// skiff-run: runs a model on a device, from files to files. Exit codes: 0 done, 1 bad input, model or
// file, 2 usage, 3 an output differs from what was expected.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include "arguments.h"
#include "files.h"
#include "inputs.h"
#include "report.h"
#include "skiff/delegates.h"

namespace {

constexpr int kDone = 0;
constexpr int kBadInput = 1;
constexpr int kUsage = 2;
constexpr int kMismatch = 3;

double Nanoseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - since).count();
}

bool TimedRun(skiff::Session& session, double* nanoseconds) {
  const auto begin = std::chrono::steady_clock::now();
  if (!session.Run().ok()) return false;
  *nanoseconds = Nanoseconds(begin);
  return true;
}

bool Bench(int runs, skiff::Session& session, BenchTimes* times) {
  const auto count = static_cast<size_t>(runs);
  const std::unique_ptr<double[]> took(new (std::nothrow) double[count]);
  if (!took) {
    std::fprintf(stderr, "skiff-run: error: no memory for the times of %zu runs\n", count);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!TimedRun(session, &took[i])) return false;
  }
  std::sort(took.get(), took.get() + count);
  *times = {count, took[0], took[(count - 1) / 2], took[(count * 9 + 9) / 10 - 1]};
  return true;
}

/// False after a message.
bool CompareOutput(const Arguments& arguments, const NamedFile& expected, const skiff::Session& session,
                   Compared* compared) {
  const int port = PortIndex(session.signature().outputs, expected.name, expected.name_length);
  if (port < 0) return false;
  const auto got = session.Output(port);
  if (!got.ok()) return false;
  skiff::TensorView tensor = got.value();
  const std::unique_ptr<double[]> memory(
      new (std::nothrow) double[static_cast<size_t>(tensor.bytes()) / sizeof(double) + 1]);
  if (!memory) {
    std::fprintf(stderr, "skiff-run: error: no memory for what '%.*s' shall be\n", expected.name_length,
                 expected.name);
    return false;
  }
  tensor.data = memory.get();
  TensorFile file;
  if (!file.Open(expected.file, session.signature().outputs[static_cast<size_t>(port)].name) ||
      !file.Read(tensor))
    return false;
  compared->found = Compare(got.value(), tensor);
  compared->ok = compared->found.difference <=
                 (compared->found.exact ? 0 : arguments.tolerance * compared->found.largest);
  return true;
}

int CompareOutputs(const Arguments& arguments, const skiff::Session& session, Compared* compared) {
  int result = kDone;
  for (int i = 0; i < arguments.expected_count; ++i) {
    if (!CompareOutput(arguments, arguments.expected[i], session, &compared[i])) return kBadInput;
    if (!compared[i].ok) result = kMismatch;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!ParseArguments(argc, argv, &arguments)) return kUsage;
  if (arguments.help) return kDone;
  if (arguments.output != nullptr && !MakeFolder(arguments.output)) return kBadInput;
  const long before = PeakResidentKilobytes();
  Times times;
  const auto begin = std::chrono::steady_clock::now();
  skiff::ModelOptions options;
  options.delegates = skiff::BuiltinDelegates();
  options.cache_folder = arguments.cache_folder;
  auto model = skiff::Model::Open(arguments.model, options);
  if (!model.ok()) return kBadInput;
  KeepFile(arguments.model);
  times.open = Nanoseconds(begin);
  auto session = skiff::Session::Create(**model, arguments.session);
  if (!session.ok()) return kBadInput;
  times.session = Nanoseconds(begin) - times.open;
  Sizes sizes;
  if (!sizes.Init(**model) || !SetInputs(arguments, &sizes, **session)) return kBadInput;
  if (!TimedRun(**session, &times.first_run)) return kBadInput;
  if (arguments.bench > 0 && !Bench(arguments.bench, **session, &times.bench)) return kBadInput;
  Compared compared[Arguments::kMaxFiles];
  const int result = CompareOutputs(arguments, **session, compared);
  if (result == kBadInput) return kBadInput;
  const bool printed = arguments.json ? PrintJson(arguments, **session, sizes, times, compared)
                                      : PrintText(arguments, **session, times, compared, before);
  return printed && std::fflush(stdout) == 0 ? result : kBadInput;
}
