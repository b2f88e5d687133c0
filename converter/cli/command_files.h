/// The files of one command: nothing that it writes takes the place of what it reads, nor of what else it
/// writes. Files are the same by device and number, however their paths are spelled.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/input_files.h"

namespace skiff::cli {

/// Told of everything before the command works, in any order. Each call throws Error where two do not go
/// together, which says which options they are of. What is not there yet cannot be overwritten: where no
/// output is, nobody looks at what is read.
class CommandFiles {
 public:
  /// With the libraries of --custom-library.
  CommandFiles();

  /// `what`: for messages, "the model" or "the file of --labels". No file has the path "".
  void Reads(const std::string& what, const std::string& path);
  /// A model to convert, and the files beside it that its weights are in.
  void ReadsSource(const std::string& path);
  void ReadsInputs(const InputSources& sources, Span<const PortInfo> ports);
  /// The folder of --expect.
  void ReadsExpected(const std::string& folder, Span<const PortInfo> ports);
  /// --calibrate.
  void ReadsCalibration(const std::string& source);

  /// CheckOutputFile(), and nothing for "".
  std::string Writes(const std::string& option, const std::string& path);
  /// Files in the folder that the option names.
  void WritesInto(const std::string& option, const std::string& folder,
                  const std::vector<std::string>& files);

 private:
  /// A file, whatever its path: the device and the number there.
  using Identity = std::pair<uint64_t, uint64_t>;
  struct Input {
    std::string what;
    std::function<std::vector<std::string>()> list;  ///< Empty once `files` is what it says.
    std::vector<std::pair<std::string, Identity>> files;
  };
  struct Output {
    std::string option;
    std::string path;
    std::string text;                   ///< The option and what it says, as messages begin.
    std::string another;                ///< What to choose another one of.
    std::string place = {};             ///< One for all spellings of the path.
    std::optional<Identity> file = {};  ///< That is there.
  };

  static std::optional<Identity> IdentityOf(const std::string& path);
  static void Check(const Output& output, Input& input);
  void Add(const std::string& what, std::function<std::vector<std::string>()> list);
  void Add(Output output);
  static std::string PlaceOf(const std::string& path);

  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::map<std::string, size_t> by_place_;      ///< Into outputs_: a batch has one for each of its pictures.
  std::map<Identity, size_t> by_file_;          ///< The same of those that are there.
  std::map<std::string, std::string> folders_;  ///< By place, the option that names it.
};

}  // namespace skiff::cli
