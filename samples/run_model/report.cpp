#include "report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "inputs.h"
#include "outputs.h"

namespace {

/// Where output `index` is written: of several whose names differ in other characters than files have alone,
/// each has a file of its own.
void PathOf(const char* folder, skiff::Span<const skiff::PortInfo> ports, int index, char* path,
            size_t size) {
  char name[128];
  FileNameOf(ports[static_cast<size_t>(index)].name, name, sizeof(name));
  // In the order of their names, as `skiff run` writes and reads them.
  const auto comes_first = [&](const skiff::PortInfo& other) {
    char taken[sizeof(name)];
    FileNameOf(other.name, taken, sizeof(taken));
    return std::strcmp(taken, name) == 0 &&
           std::strcmp(other.name, ports[static_cast<size_t>(index)].name) < 0;
  };
  const auto before = std::count_if(ports.begin(), ports.end(), comes_first);
  std::snprintf(path, size, before == 0 ? "%s/%s.npy" : "%s/%s_%d.npy", folder, name,
                static_cast<int>(before) + 1);
}

/// Writes the outputs to files, where they shall be, and calls use(index, port, output, file or null).
template <class Use>
bool ForEachOutput(const Arguments& arguments, const skiff::Session& session, const Use& use) {
  const skiff::Span<const skiff::PortInfo> ports = session.signature().outputs;
  for (int i = 0; i < static_cast<int>(ports.size()); ++i) {
    const auto output = session.Output(i);
    if (!output.ok()) return false;
    char path[4096];
    if (arguments.output != nullptr) {
      PathOf(arguments.output, ports, i, path, sizeof(path));
      if (!WriteTensor(path, output.value())) return false;
    }
    if (!use(i, ports[static_cast<size_t>(i)], output.value(), arguments.output != nullptr ? path : nullptr))
      return false;
  }
  return true;
}

struct MemoryRow {
  const char* name;
  uint64_t skiff::MemoryUsage::*bytes;
};
constexpr MemoryRow kMemory[] = {
    {"arena", &skiff::MemoryUsage::arena},
    {"inputs", &skiff::MemoryUsage::inputs},
    {"workspace", &skiff::MemoryUsage::workspace},
    {"packed_weights", &skiff::MemoryUsage::packed_weights},
    {"mapped_weights", &skiff::MemoryUsage::mapped_weights},
    {"mapped_packed_weights", &skiff::MemoryUsage::mapped_packed_weights},
    {"widened_weights", &skiff::MemoryUsage::widened_weights},
};

bool PrintOutput(const Arguments& arguments, int index, const skiff::PortInfo& port,
                 const skiff::TensorView& output) {
  std::printf("output %d '%s': %s %s", index, port.name, skiff::DTypeName(port.dtype),
              skiff::ShapeText(output.shape).c_str());
  const skiff::Quantization* quantization = port.quantization;
  if (quantization != nullptr && quantization->per_tensor())
    std::printf(", scale %g, zero point %d", static_cast<double>(quantization->scale),
                quantization->zero_point);
  std::printf("\n");
  return PrintClasses(port, output, arguments.top);
}

}  // namespace

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

bool PrintText(const Arguments& arguments, const skiff::Session& session, const Times& times,
               const Compared* compared, long kilobytes_before) {
  std::printf("start: open %.3f ms, session %.3f ms\n", times.open / 1e6, times.session / 1e6);
  std::printf("run: first %.3f ms, %d threads\n", times.first_run / 1e6, session.threads());
  if (times.bench.runs > 0)
    std::printf("bench: %zu more, min %.6f ms, median %.6f ms, p90 %.6f ms\n", times.bench.runs,
                times.bench.min / 1e6, times.bench.median / 1e6, times.bench.p90 / 1e6);
  const bool ok = ForEachOutput(arguments, session, [&](int i, const auto& port, const auto& output, auto) {
    return PrintOutput(arguments, i, port, output);
  });
  const skiff::MemoryUsage memory = session.memory_usage();
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
              PeakResidentKilobytes(), kilobytes_before);
  for (int i = 0; i < arguments.expected_count; ++i) {
    const Difference& found = compared[i].found;
    std::printf("%s: '%.*s' differs by %.3g of the largest element %.3g (allowed %.3g)\n",
                compared[i].ok ? "MATCH" : "MISMATCH", arguments.expected[i].name_length,
                arguments.expected[i].name,
                found.largest > 0 ? found.difference / found.largest : found.difference, found.largest,
                arguments.tolerance);
  }
  return ok;
}

bool PrintJson(const Arguments& arguments, const skiff::Session& session, const Sizes& sizes,
               const Times& times, const Compared* compared) {
  JsonWriter json(stdout);
  json.Begin(nullptr, '{');
  json.Integer("schema", 1);
  json.Text("command", "run");
  json.Text("model", arguments.model);
  json.Text("signature", session.signature().name);
  json.Text("backend", arguments.backend);
  json.Integer("threads", session.threads());
  json.Begin("sizes", '{');
  for (size_t i = 0; i < sizes.symbols().size(); ++i) {
    if (sizes.of(i) >= 0) json.Integer(sizes.symbols()[i].name, sizes.of(i));
  }
  json.End('}');
  json.Real("first_run_ns", times.first_run);
  json.Begin("outputs", '[');
  const bool ok =
      ForEachOutput(arguments, session, [&](int, const auto& port, const auto& output, auto file) {
        return WriteOutput(json, port, output, arguments.top, file);
      });
  json.End(']');
  json.Real("load_ns", times.open);
  json.Real("session_ns", times.session);
  if (times.bench.runs > 0) {
    json.Integer("runs", static_cast<int64_t>(times.bench.runs));
    json.Real("median_ns", times.bench.median);
    json.Real("min_ns", times.bench.min);
    json.Real("p90_ns", times.bench.p90);
  }
  json.Begin("memory", '{');
  const skiff::MemoryUsage memory = session.memory_usage();
  for (const MemoryRow& row : kMemory) json.Integer(row.name, static_cast<int64_t>(memory.*row.bytes));
  json.End('}');
  if (arguments.expected_count > 0) json.Begin("expected", '[');
  for (int i = 0; i < arguments.expected_count; ++i) {
    json.Begin(nullptr, '{');
    const int port =
        PortIndex(session.signature().outputs, arguments.expected[i].name, arguments.expected[i].name_length);
    json.Text("name", session.signature().outputs[static_cast<size_t>(port)].name);
    json.Flag("ok", compared[i].ok);
    json.Real("max_error", compared[i].found.difference);
    json.Real("largest", compared[i].found.largest);
    json.End('}');
  }
  if (arguments.expected_count > 0) json.End(']');
  json.End('}');
  return ok;
}
