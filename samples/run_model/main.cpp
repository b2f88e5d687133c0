// skiff-run: runs a model on a device, from files to files. Exit codes: 0 done, 1 bad input, model or
// file, 2 usage, 3 an output differs from what was expected.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "arguments.h"
#include "files.h"
#include "inputs.h"
#include "skiff/delegates.h"

namespace {

constexpr int kDone = 0;
constexpr int kBadInput = 1;
constexpr int kUsage = 2;
constexpr int kMismatch = 3;

/// Resident memory of the process at its peak so far; 0 where the system does not tell.
long PeakResidentKilobytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  long kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr &&
         std::sscanf(line, "VmHWM: %ld kB", &kilobytes) != 1) {
  }
  std::fclose(file);
  return kilobytes;
}

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

bool TimedRun(skiff::Session& session, double* milliseconds) {
  const auto begin = std::chrono::steady_clock::now();
  if (!session.Run().ok()) return false;
  *milliseconds = Milliseconds(begin);
  return true;
}

bool RunAll(const Arguments& arguments, skiff::Session& session) {
  double first = 0;
  if (!TimedRun(session, &first)) return false;
  std::printf("run: first %.3f ms, %d threads\n", first, session.threads());
  if (arguments.bench == 0) return true;
  const auto count = static_cast<size_t>(arguments.bench);
  const std::unique_ptr<void, decltype(&std::free)> memory(std::calloc(count, sizeof(double)), &std::free);
  auto* const took = static_cast<double*>(memory.get());
  if (took == nullptr) {
    std::fprintf(stderr, "skiff-run: error: no memory for the times of %zu runs\n", count);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!TimedRun(session, &took[i])) return false;
  }
  std::sort(took, took + count);
  std::printf("bench: %zu more, min %.6f ms, median %.6f ms, p90 %.6f ms\n", count, took[0],
              took[(count - 1) / 2], took[(count * 9 + 9) / 10 - 1]);
  return true;
}

bool UseOutputs(const Arguments& arguments, const skiff::Session& session) {
  const skiff::Span<const skiff::PortInfo> ports = session.signature().outputs;
  for (int i = 0; i < static_cast<int>(ports.size()); ++i) {
    auto output = session.Output(i);
    if (!output.ok()) return false;
    const skiff::PortInfo& port = ports[static_cast<size_t>(i)];
    std::printf("output %d '%s': %s %s", i, port.name, skiff::DTypeName(port.dtype),
                skiff::ShapeText(output->shape).c_str());
    const skiff::Quantization* quantization = port.quantization;
    if (quantization != nullptr && quantization->per_tensor())
      std::printf(", scale %g, zero point %d", static_cast<double>(quantization->scale),
                  quantization->zero_point);
    std::printf("\n");
    if (arguments.output == nullptr) continue;
    char name[128];
    FileNameOf(port.name, name, sizeof(name));
    // Of several outputs whose names differ in other characters alone, each has a file of its own.
    const auto same = [&](const skiff::PortInfo& other) {
      char taken[sizeof(name)];
      FileNameOf(other.name, taken, sizeof(taken));
      return std::strcmp(taken, name) == 0;
    };
    const auto before = std::count_if(ports.begin(), ports.begin() + i, same);
    char path[4096];
    std::snprintf(path, sizeof(path), before == 0 ? "%s/%s.npy" : "%s/%s_%d.npy", arguments.output, name,
                  static_cast<int>(before) + 1);
    if (!WriteTensor(path, output.value())) return false;
  }
  return true;
}

int CompareOutputs(const Arguments& arguments, const skiff::Session& session) {
  int result = kDone;
  for (int i = 0; i < arguments.expected_count; ++i) {
    const int port =
        PortIndex(session.signature().outputs, arguments.expected[i].name, arguments.expected[i].name_length);
    if (port < 0) return kBadInput;
    const auto got = session.Output(port);
    if (!got.ok()) return kBadInput;
    skiff::TensorView expected = got.value();
    const std::unique_ptr<double[]> memory(
        new (std::nothrow) double[static_cast<size_t>(expected.bytes()) / sizeof(double) + 1]);
    if (!memory) return kBadInput;
    expected.data = memory.get();
    if (!ReadTensor(arguments.expected[i].file, expected)) return kBadInput;
    const Difference found = Compare(got.value(), expected);
    const bool ok = found.difference <= arguments.tolerance * found.largest;
    std::printf("%s: '%.*s' differs by %.3g of the largest element %.3g (allowed %.3g)\n",
                ok ? "MATCH" : "MISMATCH", arguments.expected[i].name_length, arguments.expected[i].name,
                found.largest > 0 ? found.difference / found.largest : found.difference, found.largest,
                arguments.tolerance);
    if (!ok) result = kMismatch;
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
  const auto begin = std::chrono::steady_clock::now();
  skiff::ModelOptions options;
  options.delegates = skiff::BuiltinDelegates();
  options.cache_folder = arguments.cache_folder;
  auto model = skiff::Model::Open(arguments.model, options);
  if (!model.ok()) return kBadInput;
  const double opened = Milliseconds(begin);
  auto session = skiff::Session::Create(**model, arguments.session);
  if (!session.ok()) return kBadInput;
  std::printf("start: open %.3f ms, session %.3f ms\n", opened, Milliseconds(begin) - opened);
  if (!SetInputs(arguments, **model, **session)) return kBadInput;
  if (!RunAll(arguments, **session) || !UseOutputs(arguments, **session)) return kBadInput;
  const skiff::MemoryUsage memory = session.value()->memory_usage();
  std::printf(
      "memory: arena %llu, inputs %llu, workspace %llu, packed weights %llu and %llu mapped, mapped weights "
      "%llu, widened weights %llu bytes\n",
      static_cast<unsigned long long>(memory.arena), static_cast<unsigned long long>(memory.inputs),
      static_cast<unsigned long long>(memory.workspace),
      static_cast<unsigned long long>(memory.packed_weights),
      static_cast<unsigned long long>(memory.mapped_packed_weights),
      static_cast<unsigned long long>(memory.mapped_weights),
      static_cast<unsigned long long>(memory.widened_weights));
  std::printf("peak resident memory: %ld KiB, %ld of them before the model was opened\n",
              PeakResidentKilobytes(), before);
  const int result = CompareOutputs(arguments, **session);
  return std::fflush(stdout) == 0 ? result : kBadInput;
}
