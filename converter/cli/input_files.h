/// Which files hold the values of a model's inputs and expected outputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/opened_model.h"
#include "run/random_inputs.h"
#include "run/sizes.h"

namespace skiff::cli {

/// The tensors of NAME=FILE arguments, each with the input's name; a model with one input takes FILE alone,
/// and of an .npz without a name each array is the input of its name (stderr tells which are none). f32 in a
/// file for a quantised input is quantised, which stderr says, too. Throws Error for an unknown or repeated
/// name. `sizes`: of open dimensions, for files that state no shape.
NamedTensors ReadGivenInputs(const std::vector<std::string>& arguments, Span<const PortInfo> ports,
                             const SymbolSizes& sizes = {});
/// The same. Throws Error for inputs that are left out.
NamedTensors ReadInputArguments(const std::vector<std::string>& arguments, Span<const PortInfo> ports,
                                const SymbolSizes& sizes = {});

/// The files of such arguments.
std::vector<std::string> GivenFiles(const std::vector<std::string>& arguments, Span<const PortInfo> ports);

/// Of each port the file of the folder that holds it, as below; "" where there is none.
std::vector<std::string> FindInputFiles(const std::string& folder, Span<const PortInfo> ports);

/// The tensors of a folder: for port number i of name N, input_N, N or input_i (output_...), as .npy, .pb or
/// .bin. This is the layout of ONNX test sets (input_0.pb) and of folders with one .npy per name. Throws
/// Error when a port has no file.
NamedTensors ReadInputFolder(const std::string& folder, Span<const PortInfo> ports,
                             const SymbolSizes& sizes = {});
/// The same for outputs; one that has no file is left out, but at least one must be there.
NamedTensors ReadOutputFolder(const std::string& folder, Span<const PortInfo> ports,
                              const SymbolSizes& sizes = {});
/// The files that these two would read.
std::vector<std::string> FilesOfInputs(const std::string& folder, Span<const PortInfo> ports);
std::vector<std::string> FilesOfOutputs(const std::string& folder, Span<const PortInfo> ports);
/// Whether ReadOutputFolder() would find some.
bool HoldsOutputs(const std::string& folder, Span<const PortInfo> ports);

/// "random:SEED", "random:SEED:LOW..HIGH", or a folder. Random values have DefaultSizes() where `sizes` are
/// not known; `step` is added to their seed. Throws Error where `ranges`, which are for random values, come
/// with a folder.
NamedTensors ReadInputSource(const std::string& source, const ModelSignature& signature,
                             const SymbolSizes& sizes, const InputRanges& ranges = {}, uint64_t step = 0);
/// What --inputs is where nothing says otherwise.
constexpr const char* kDefaultInputs = "random:1";
/// Where the inputs of a call come from, as the options have it.
struct InputSources {
  std::vector<std::string> files;  ///< --input: NAME=FILE.
  std::string others =
      kDefaultInputs;  ///< --inputs: a folder, or random values, for what `files` leaves out.
  InputRanges ranges;  ///< --input-range.
};

/// How dimensions are chosen of which nobody says a size: see AcceptedSizes().
struct SizeChoice {
  int64_t unbounded = 1;
  std::string option = "--dim";
};

/// The inputs of a call. Sizes that `said` does not have are those of the files, and else chosen for random
/// values; `note` then says which (it may be null). `step` is added to the seed.
NamedTensors ReadCallInputs(const InputSources& sources, const ModelSignature& signature,
                            const SymbolSizes& said, const SizeChoice& choice, std::string* note,
                            uint64_t step = 0);

/// "LOW..HIGH", finite numbers in this order; false for others.
bool ParseRandomRange(std::string_view text, RandomRange* range);
/// "mask=0..1" of --input-range, each. Throws Error where one is malformed, or an input comes twice.
InputRanges ParseInputRanges(const std::vector<std::string>& texts);
bool IsRandomSource(const std::string& source);

/// The shapes of the inputs in a folder, by name, for a conversion whose dimensions are open. Inputs without
/// a file, or with one that states no shape, are left out.
NamedShapes ReadShapes(const std::string& folder, std::span<const GraphPort> ports);
/// The same of NAME=FILE arguments. Throws Error for an unknown name.
NamedShapes ReadShapes(const std::vector<std::string>& arguments, std::span<const GraphPort> ports);

}  // namespace skiff::cli
