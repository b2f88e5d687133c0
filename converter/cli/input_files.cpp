#include "cli/input_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "files/tensor_files.h"
#include "graph/error.h"
#include "graph/quantization.h"

namespace skiff::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRandom = "random:";

struct Assignment {
  const PortInfo* port;
  std::string file;
};

/// Names and files may both contain '=': the shortest prefix that names an input decides.
Assignment SplitArgument(const std::string& argument, Span<const PortInfo> ports) {
  for (size_t at = argument.find('='); at != std::string::npos; at = argument.find('=', at + 1)) {
    for (const PortInfo& port : ports) {
      if (argument.compare(0, at, port.name) == 0) return {&port, argument.substr(at + 1)};
    }
  }
  std::error_code error;
  const bool plain = argument.find('=') == std::string::npos || fs::exists(argument, error);
  if (plain && ports.size() == 1) return {&ports[0], argument};
  if (plain) {
    Throw(StatusCode::kInvalidArgument,
          "--input {}: the model has {} inputs, so each needs NAME=FILE; the names are {}", argument,
          ports.size(), PortNames(ports));
  }
  Throw(StatusCode::kInvalidArgument, "--input {}: the model has no input '{}'; its inputs are {}", argument,
        argument.substr(0, argument.find('=')), PortNames(ports));
}

/// The file of port number `index`, or "". Of a name that is a number itself, as PyTorch gives them, the file
/// with that number is another port's.
std::string FindTensorFile(const fs::path& folder, const std::string& kind, const std::string& port,
                           size_t index) {
  const std::string name = FileNameOf(port);
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  const std::string by_name = kind + "_" + name;
  const std::string by_number = fmt::format("{}_{}", kind, index);
  for (const std::string& stem : {is_number ? by_number : by_name, name, is_number ? by_name : by_number}) {
    for (const char* extension : {".npy", ".pb", ".bin"}) {
      const fs::path file = folder / (stem + extension);
      std::error_code error;
      if (fs::exists(file, error)) return file.string();
    }
  }
  return "";
}

/// What an input's file holds. Real numbers for a quantised input become its integers, and the user hears of
/// it.
TensorData ReadAsInput(const std::string& file, const PortInfo& port, const SymbolSizes& sizes) {
  TensorData tensor = ReadInput(file, port, sizes);
  if (tensor.dtype() == port.dtype) return tensor;
  fmt::print(stderr, "note: {}: its {} were quantised for input '{}' ({})\n", file, DTypeName(tensor.dtype()),
             port.name, sizes.TypeText(port));
  return QuantizedAs(port, tensor);
}

/// An output's file; integers of a quantised output stand for the same numbers.
TensorData ReadAsOutput(const std::string& file, const PortInfo& port, const SymbolSizes& sizes) {
  const TensorData tensor = ReadTensor(file, port, sizes);
  return tensor.dtype() == port.dtype ? tensor.Quantized(CopyOf(port.quantization)) : tensor;
}

void CheckFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    Throw(StatusCode::kIo, "{}: {}", folder,
          fs::exists(folder, error) ? "is no folder" : "there is no such folder");
  }
}

/// "LOW..HIGH", finite numbers.
bool ParseRange(std::string_view text, RandomRange* range) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const char* end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), text.data() + dots, range->low);
  const auto high = std::from_chars(text.data() + dots + 2, end, range->high);
  return low.ec == std::errc() && low.ptr == text.data() + dots && high.ec == std::errc() &&
         high.ptr == end && std::isfinite(range->low) && std::isfinite(range->high);
}

}  // namespace

NamedTensors ReadInputArguments(const std::vector<std::string>& arguments, Span<const PortInfo> ports,
                                const SymbolSizes& sizes) {
  NamedTensors inputs;
  for (const std::string& argument : arguments) {
    const auto [port, file] = SplitArgument(argument, ports);
    if (inputs.contains(port->name)) {
      Throw(StatusCode::kInvalidArgument, "--input {}: input '{}' was already given", argument, port->name);
    }
    inputs[port->name] = ReadAsInput(file, *port, sizes);
  }
  for (const PortInfo& port : ports) {
    if (!inputs.contains(port.name)) {
      Throw(StatusCode::kInvalidArgument, "input '{}' ({}) was not given; add --input '{}=FILE'", port.name,
            sizes.TypeText(port), port.name);
    }
  }
  return inputs;
}

NamedTensors ReadInputFolder(const std::string& folder, Span<const PortInfo> ports,
                             const SymbolSizes& sizes) {
  CheckFolder(folder);
  NamedTensors inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string file = FindTensorFile(folder, "input", ports[i].name, i);
    if (file.empty()) {
      const std::string name = FileNameOf(ports[i].name);
      Throw(StatusCode::kIo,
            "{}: there is no file for input '{}'; looked for input_{}, {} and input_{} as .npy, .pb and .bin",
            folder, ports[i].name, name, name, i);
    }
    inputs[ports[i].name] = ReadAsInput(file, ports[i], sizes);
  }
  return inputs;
}

NamedTensors ReadOutputFolder(const std::string& folder, Span<const PortInfo> ports,
                              const SymbolSizes& sizes) {
  CheckFolder(folder);
  NamedTensors outputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string file = FindTensorFile(folder, "output", ports[i].name, i);
    if (!file.empty()) outputs[ports[i].name] = ReadAsOutput(file, ports[i], sizes);
  }
  if (outputs.empty()) {
    Throw(StatusCode::kIo,
          "{}: there is no file for any of the outputs {}; looked for output_NAME, NAME and output_0, ... as "
          ".npy, .pb and .bin",
          folder, PortNames(ports));
  }
  return outputs;
}

bool IsRandomSource(const std::string& source) { return source.compare(0, kRandom.size(), kRandom) == 0; }

NamedTensors ReadInputSource(const std::string& source, const ModelSignature& signature,
                             const SymbolSizes& sizes, const InputRanges& ranges, uint64_t step) {
  if (!IsRandomSource(source)) {
    if (!ranges.empty())
      Throw(StatusCode::kInvalidArgument,
            "--input-range {}: is for random inputs, and --inputs {} names a folder", ranges.begin()->first,
            source);
    return ReadInputFolder(source, signature.info().inputs, sizes);
  }
  const auto malformed = [&] {
    Throw(StatusCode::kInvalidArgument,
          "--inputs {}: expected random:SEED or random:SEED:LOW..HIGH, for example random:7:0..255", source);
  };
  const char* end = source.data() + source.size();
  uint64_t seed = 0;
  const auto after_seed = std::from_chars(source.data() + kRandom.size(), end, seed);
  if (after_seed.ec != std::errc()) malformed();
  std::optional<RandomRange> range;
  if (after_seed.ptr != end) {
    range.emplace();
    const bool good = *after_seed.ptr == ':' && ParseRange({after_seed.ptr + 1, end}, &*range);
    if (!good || !(range->low < range->high)) malformed();
  }
  return RandomInputs(signature, ClosedSizes(signature, sizes), seed + step, range, ranges);
}

InputRanges ParseInputRanges(const std::vector<std::string>& texts) {
  InputRanges ranges;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    RandomRange range;
    if (at == std::string::npos || at == 0 || !ParseRange(std::string_view(text).substr(at + 1), &range) ||
        !(range.low <= range.high)) {
      Throw(StatusCode::kInvalidArgument, "--input-range {}: expected NAME=LOW..HIGH, for example mask=0..1",
            text);
    }
    if (!ranges.emplace(text.substr(0, at), range).second)
      Throw(StatusCode::kInvalidArgument, "--input-range {}: input '{}' already has a range", text,
            text.substr(0, at));
  }
  return ranges;
}

std::map<std::string, std::vector<int64_t>> ReadShapes(const std::string& folder,
                                                       std::span<const GraphPort> ports) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string file = FindTensorFile(folder, "input", ports[i].name, i);
    if (file.empty() || file.ends_with(".bin")) continue;
    const Shape shape = ReadTensor(file, {}).shape();
    shapes[ports[i].name] = {shape.begin(), shape.end()};
  }
  return shapes;
}

}  // namespace skiff::cli
