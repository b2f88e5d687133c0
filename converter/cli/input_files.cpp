#include "cli/input_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "cli/print.h"
#include "files/input_type.h"
#include "files/npz.h"
#include "files/tensor_files.h"
#include "graph/counted.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "graph/quantization.h"
#include "run/accepted_sizes.h"

namespace skiff::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRandom = "random:";

struct Assignment {
  const PortInfo* port;
  std::string file;
};

/// A folder where a file was expected is meant for --inputs.
void CheckIsNoFolder(const std::string& argument, const std::string& file) {
  std::error_code error;
  if (fs::is_directory(file, error))
    Throw(StatusCode::kInvalidArgument,
          "--input {}: '{}' is a folder, and --input takes a file (.npy, .npz, .pb, .bin, .jpg, .png); a "
          "folder with a file for each input goes to --inputs {}",
          argument, file, file);
}

/// Names and files may both contain '=': the shortest prefix that names an input decides.
Assignment SplitArgument(const std::string& argument, Span<const PortInfo> ports) {
  for (size_t at = argument.find('='); at != std::string::npos; at = argument.find('=', at + 1)) {
    for (const PortInfo& port : ports) {
      if (argument.compare(0, at, port.name) != 0) continue;
      CheckIsNoFolder(argument, argument.substr(at + 1));
      return {&port, argument.substr(at + 1)};
    }
  }
  CheckIsNoFolder(argument, argument);
  std::error_code error;
  const bool plain = argument.find('=') == std::string::npos || fs::exists(argument, error);
  if (plain && ports.size() == 1) return {&ports[0], argument};
  if (plain) {
    Throw(StatusCode::kInvalidArgument,
          "--input {}: the model has {} inputs, so each needs NAME=FILE; the names are {}", argument,
          ports.size(), PortNames(ports));
  }
  Throw(StatusCode::kInvalidArgument, "--input {}: the model has no input '{}'; its inputs are {}{}",
        argument, argument.substr(0, argument.find('=')), PortNames(ports),
        DidYouMean(argument.substr(0, argument.find('=')), NamesOf(ports)));
}

const PortInfo* FindPort(Span<const PortInfo> ports, const std::string& name) {
  const auto* found =
      std::find_if(ports.begin(), ports.end(), [&](const PortInfo& port) { return name == port.name; });
  return found == ports.end() ? nullptr : found;
}

/// FILE.npz, in front of which no input is named.
bool IsWholeArchive(const std::string& argument, Span<const PortInfo> ports) {
  std::error_code error;
  if (!IsNpz(argument)) return false;
  for (size_t at = argument.find('='); at != std::string::npos; at = argument.find('=', at + 1)) {
    if (FindPort(ports, argument.substr(0, at)) != nullptr) return false;
  }
  return argument.find('=') == std::string::npos || fs::exists(argument, error);
}

/// Archives hold more than inputs, too.
std::set<std::string> ArraysOfInputs(const std::vector<std::string>& names, Span<const PortInfo> ports,
                                     const std::function<void(const std::string& array)>& note_other) {
  std::set<std::string> inputs;
  for (const std::string& name : names) {
    if (FindPort(ports, name) != nullptr) {
      inputs.insert(name);
    } else {
      note_other(name);
    }
  }
  return inputs;
}

/// FOLDER/STEM with one of the extensions, or "".
std::string FindFile(const fs::path& folder, const std::string& stem) {
  for (const char* extension : {".npy", ".pb", ".bin"}) {
    const fs::path file = folder / (stem + extension);
    std::error_code error;
    if (fs::exists(file, error)) return file.string();
  }
  return "";
}

std::string FirstFound(const fs::path& folder, const std::vector<std::string>& stems) {
  std::string file;
  for (size_t i = 0; i < stems.size() && file.empty(); ++i) file = FindFile(folder, stems[i]);
  return file;
}

/// Of each port its file, or "". Files go by names, and those that have none by numbers; all by numbers where
/// these are there and the names are not: Keras calls an ONNX test set's input_0 input_1.
std::vector<std::string> FindTensorFiles(const fs::path& folder, const std::string& kind,
                                         const std::vector<std::string>& ports) {
  const std::map<std::string, std::string> names = DistinctFileNames({ports.begin(), ports.end()});
  std::vector<std::string> by_name;
  std::vector<std::string> by_number;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& name = names.at(ports[i]);
    by_name.push_back(FirstFound(folder, {fmt::format("{}_{}", kind, name), name}));
    by_number.push_back(FindFile(folder, fmt::format("{}_{}", kind, i)));
  }
  const auto all = [](const std::vector<std::string>& files) {
    return std::find(files.begin(), files.end(), "") == files.end();
  };
  const bool numbered = all(by_number) && !all(by_name);
  std::vector<std::string> files;
  for (size_t i = 0; i < ports.size(); ++i) {
    // Of a name that is a number itself, as PyTorch gives them, the file with that number is another port's.
    const std::string& name = names.at(ports[i]);
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    const std::string named =
        is_number ? FirstFound(folder, {name, fmt::format("{}_{}", kind, name)}) : by_name[i];
    const bool number_first = numbered || is_number;
    const std::string& first = number_first ? by_number[i] : named;
    files.push_back(!first.empty() ? first : number_first ? named : by_number[i]);
  }
  return files;
}

std::vector<std::string> TensorFilesIn(const std::string& folder, const std::string& kind,
                                       Span<const PortInfo> ports) {
  std::vector<std::string> files = FindTensorFiles(folder, kind, NamesOf(ports));
  files.erase(std::remove(files.begin(), files.end(), ""), files.end());
  return files;
}

/// What an input's file holds. Real numbers for a quantised input become its integers, and the user hears of
/// it.
TensorData AsInput(const std::string& file, TensorData tensor, const PortInfo& port,
                   const SymbolSizes& sizes) {
  if (tensor.dtype() == port.dtype) return tensor;
  Print(stderr, "note: {}: its {} were quantised for input '{}' ({})\n", file, DTypeName(tensor.dtype()),
        port.name, sizes.TypeText(port));
  return QuantizedAs(port, tensor);
}

TensorData ReadAsInput(const std::string& file, const PortInfo& port, const SymbolSizes& sizes) {
  return AsInput(file, ReadInput(file, port, sizes), port, sizes);
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

/// The same where an option names it.
void CheckInputsOption(const std::string& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  if (fs::exists(folder, error))
    Throw(StatusCode::kIo,
          "--inputs {}: is no folder, and --inputs takes one with a file for each input, or random:SEED; a "
          "single file goes to --input [NAME=]{}",
          folder, folder);
  Throw(StatusCode::kIo,
        "--inputs {}: there is no such folder; expected one with a file for each input, or random:SEED, for "
        "example random:1",
        folder);
}

/// The inputs that are not `given`.
NamedTensors ReadFolder(const std::string& folder, Span<const PortInfo> ports, const SymbolSizes& sizes,
                        const NamedTensors& given) {
  CheckFolder(folder);
  NamedTensors inputs;
  const std::vector<std::string> files = FindTensorFiles(folder, "input", NamesOf(ports));
  for (size_t i = 0; i < ports.size(); ++i) {
    if (given.contains(ports[i].name)) continue;
    const std::string& file = files[i];
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

struct RandomSource {
  uint64_t seed = 0;
  std::optional<RandomRange> range;
};

/// "random:SEED" and "random:SEED:LOW..HIGH".
RandomSource ParseRandomSource(const std::string& source) {
  const auto malformed = [&] {
    Throw(StatusCode::kInvalidArgument,
          "--inputs {}: expected random:SEED or random:SEED:LOW..HIGH, for example random:7:0..255", source);
  };
  RandomSource random;
  const char* end = source.data() + source.size();
  const auto after_seed = std::from_chars(source.data() + kRandom.size(), end, random.seed);
  if (after_seed.ec != std::errc()) malformed();
  if (after_seed.ptr == end) return random;
  random.range.emplace();
  const bool good = *after_seed.ptr == ':' && ParseRandomRange({after_seed.ptr + 1, end}, &*random.range);
  if (!good || random.range->low == random.range->high) malformed();
  return random;
}

void CheckNoRanges(const InputRanges& ranges, const std::string& source) {
  if (!ranges.empty())
    Throw(StatusCode::kInvalidArgument,
          "--input-range {}: is for random inputs, and --inputs {} names a folder", ranges.begin()->first,
          source);
}

void CheckNoneIsGiven(const InputRanges& ranges, const NamedTensors& given) {
  for (const auto& [name, range] : ranges) {
    if (given.contains(name))
      Throw(StatusCode::kInvalidArgument,
            "--input-range {0}: is for random inputs, and --input gives '{0}'; leave one of them out", name);
  }
}

}  // namespace

NamedTensors ReadGivenInputs(const std::vector<std::string>& arguments, Span<const PortInfo> ports,
                             const SymbolSizes& sizes) {
  NamedTensors inputs;
  const auto add = [&](const std::string& argument, const PortInfo& port, TensorData tensor) {
    if (!inputs.emplace(port.name, std::move(tensor)).second)
      Throw(StatusCode::kInvalidArgument, "--input {}: input '{}' was already given", argument, port.name);
  };
  for (const std::string& argument : arguments) {
    if (IsWholeArchive(argument, ports)) {
      constexpr size_t kMostNotes = 20;
      size_t others = 0;
      const auto note = [&](const std::string& array) {
        if (others++ >= kMostNotes) return;
        Print(stderr, "note: {}: the array '{}' is not used: the inputs are {}{}\n", argument, array,
              PortNames(ports), DidYouMean(array, NamesOf(ports)));
      };
      const auto choose = [&](const auto& names) { return ArraysOfInputs(names, ports, note); };
      for (auto& [name, array] : ReadNpz(argument, choose)) {
        const PortInfo* port = FindPort(ports, name);
        CheckInputType(argument, array, *port, sizes);
        add(argument, *port, AsInput(argument, std::move(array), *port, sizes));
      }
      if (others > kMostNotes)
        Print(stderr, "note: {}: the same of {}\n", argument, Counted(others - kMostNotes, "other array"));
      continue;
    }
    const auto [port, file] = SplitArgument(argument, ports);
    add(argument, *port, ReadAsInput(file, *port, sizes));
  }
  return inputs;
}

std::vector<std::string> GivenFiles(const std::vector<std::string>& arguments, Span<const PortInfo> ports) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments)
    files.push_back(IsWholeArchive(argument, ports) ? argument : SplitArgument(argument, ports).file);
  return files;
}

NamedTensors ReadInputArguments(const std::vector<std::string>& arguments, Span<const PortInfo> ports,
                                const SymbolSizes& sizes) {
  NamedTensors inputs = ReadGivenInputs(arguments, ports, sizes);
  for (const PortInfo& port : ports) {
    if (!inputs.contains(port.name)) {
      Throw(StatusCode::kInvalidArgument, "input '{}' ({}) was not given; add --input '{}=FILE'", port.name,
            sizes.TypeText(port), port.name);
    }
  }
  return inputs;
}

std::vector<std::string> FindInputFiles(const std::string& folder, Span<const PortInfo> ports) {
  return FindTensorFiles(folder, "input", NamesOf(ports));
}

NamedTensors ReadInputFolder(const std::string& folder, Span<const PortInfo> ports,
                             const SymbolSizes& sizes) {
  return ReadFolder(folder, ports, sizes, {});
}

NamedTensors ReadOutputFolder(const std::string& folder, Span<const PortInfo> ports,
                              const SymbolSizes& sizes) {
  CheckFolder(folder);
  NamedTensors outputs;
  const std::vector<std::string> files = FindTensorFiles(folder, "output", NamesOf(ports));
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!files[i].empty()) outputs[ports[i].name] = ReadAsOutput(files[i], ports[i], sizes);
  }
  if (outputs.empty()) {
    Throw(StatusCode::kIo,
          "{}: there is no file for any of the outputs {}; looked for output_NAME, NAME and output_0, ... as "
          ".npy, .pb and .bin",
          folder, PortNames(ports));
  }
  return outputs;
}

std::vector<std::string> FilesOfInputs(const std::string& folder, Span<const PortInfo> ports) {
  return TensorFilesIn(folder, "input", ports);
}

std::vector<std::string> FilesOfOutputs(const std::string& folder, Span<const PortInfo> ports) {
  return TensorFilesIn(folder, "output", ports);
}

bool HoldsOutputs(const std::string& folder, Span<const PortInfo> ports) {
  return !FilesOfOutputs(folder, ports).empty();
}

bool IsRandomSource(const std::string& source) { return source.compare(0, kRandom.size(), kRandom) == 0; }

NamedTensors ReadInputSource(const std::string& source, const ModelSignature& signature,
                             const SymbolSizes& sizes, const InputRanges& ranges, uint64_t step) {
  if (!IsRandomSource(source)) {
    CheckNoRanges(ranges, source);
    return ReadInputFolder(source, signature.info().inputs, sizes);
  }
  const RandomSource random = ParseRandomSource(source);
  return RandomInputs(signature, ClosedSizes(signature, sizes), random.seed + step, random.range, ranges);
}

NamedTensors ReadCallInputs(const InputSources& sources, const ModelSignature& signature,
                            const SymbolSizes& said, const SizeChoice& choice, std::string* note,
                            uint64_t step) {
  const Span<const PortInfo> ports = signature.info().inputs;
  NamedTensors inputs = ReadGivenInputs(sources.files, ports, said);
  if (!IsRandomSource(sources.others)) {
    CheckNoRanges(sources.ranges, sources.others);
    CheckInputsOption(sources.others);
    inputs.merge(ReadFolder(sources.others, ports, said, inputs));
    return inputs;
  }
  CheckNoneIsGiven(sources.ranges, inputs);
  SymbolSizes known = said;
  for (const PortInfo& port : ports) {
    if (const auto found = inputs.find(port.name); found != inputs.end())
      known.Take(port, found->second.shape());
  }
  const RandomSource random = ParseRandomSource(sources.others);
  const auto draw = [&](const std::vector<int64_t>& sizes) {
    return RandomInputs(signature, sizes, random.seed + step, random.range, sources.ranges, inputs);
  };
  const auto why_refused = [&](const std::vector<int64_t>& sizes) -> std::string {
    try {
      return WhyRefused(signature, draw(sizes));
    } catch (const Error& error) {
      if (error.code() != StatusCode::kNoMatchingBucket) throw;
      return error.what();
    }
  };
  const std::vector<int64_t> sizes =
      AcceptedSizes(signature, known, choice.unbounded, choice.option, why_refused);
  if (note != nullptr) *note = ChosenSizesText(known, sizes, choice.option);
  return draw(sizes);
}

bool ParseRandomRange(std::string_view text, RandomRange* range) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const char* end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), text.data() + dots, range->low);
  const auto high = std::from_chars(text.data() + dots + 2, end, range->high);
  return low.ec == std::errc() && low.ptr == text.data() + dots && high.ec == std::errc() &&
         high.ptr == end && std::isfinite(range->low) && std::isfinite(range->high) &&
         range->low <= range->high;
}

InputRanges ParseInputRanges(const std::vector<std::string>& texts) {
  InputRanges ranges;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    RandomRange range;
    if (at == std::string::npos || at == 0 ||
        !ParseRandomRange(std::string_view(text).substr(at + 1), &range)) {
      Throw(StatusCode::kInvalidArgument, "--input-range {}: expected NAME=LOW..HIGH, for example mask=0..1",
            text);
    }
    if (!ranges.emplace(text.substr(0, at), range).second)
      Throw(StatusCode::kInvalidArgument, "--input-range {}: input '{}' already has a range", text,
            text.substr(0, at));
  }
  return ranges;
}

NamedShapes ReadShapes(const std::string& folder, std::span<const GraphPort> ports) {
  NamedShapes shapes;
  std::vector<std::string> names;
  for (const GraphPort& port : ports) names.push_back(port.name);
  const std::vector<std::string> files = FindTensorFiles(folder, "input", names);
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& file = files[i];
    if (file.empty() || file.ends_with(".bin")) continue;
    const Shape shape = ReadTensor(file, {}).shape();
    shapes[ports[i].name] = {shape.begin(), shape.end()};
  }
  return shapes;
}

NamedShapes ReadShapes(const std::vector<std::string>& arguments, std::span<const GraphPort> ports) {
  std::vector<PortInfo> infos(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) infos[i].name = ports[i].name.c_str();
  const Span<const PortInfo> all{infos.data(), infos.size()};
  NamedShapes shapes;
  const auto add = [&](const std::string& name, const Shape& shape) {
    shapes[name] = {shape.begin(), shape.end()};
  };
  for (const std::string& argument : arguments) {
    if (IsWholeArchive(argument, all)) {
      const auto choose = [&](const auto& names) { return ArraysOfInputs(names, all, [](const auto&) {}); };
      for (const auto& [name, array] : ReadNpz(argument, choose)) add(name, array.shape());
      continue;
    }
    const auto [port, file] = SplitArgument(argument, all);
    const bool states_shape = IsNpz(file) || file.ends_with(".npy") || file.ends_with(".pb");
    PortInfo named;
    named.name = port->name;
    if (states_shape) add(port->name, ReadTensor(file, named).shape());
  }
  return shapes;
}

}  // namespace skiff::cli
