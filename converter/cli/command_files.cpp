#include "cli/command_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "cli/calibration_inputs.h"
#include "cli/custom_options.h"
#include "cli/output_files.h"
#include "emit/write_file.h"
#include "files/output_path.h"
#include "graph/error.h"
#include "import/import_model.h"

namespace skiff::cli {
namespace {

namespace fs = std::filesystem;

/// A source that cannot be opened is the business of who converts it.
std::vector<std::string> WeightsOf(const std::string& source) {
  try {
    return OpenSource(source)->OtherFiles();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

CommandFiles::CommandFiles() {
  for (const std::string& file : CustomLibraries()) Reads("the file of --custom-library", file);
}

std::optional<CommandFiles::Identity> CommandFiles::IdentityOf(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return {};
  return Identity{file.st_dev, file.st_ino};
}

std::string CommandFiles::PlaceOf(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(path, error).string();
}

void CommandFiles::Check(const Output& output, Input& input) {
  if (!output.file) return;
  if (input.list) {
    for (const std::string& path : input.list()) {
      if (const auto file = IdentityOf(path)) input.files.emplace_back(path, *file);
    }
    input.list = nullptr;
  }
  for (const auto& [path, file] : input.files) {
    if (file == *output.file)
      Throw(StatusCode::kInvalidArgument, "{} would overwrite {}, '{}'; choose another {}", output.text,
            input.what, path, output.another);
  }
}

void CommandFiles::Add(const std::string& what, std::function<std::vector<std::string>()> list) {
  Input& input = inputs_.emplace_back(Input{what, std::move(list), {}});
  for (const Output& output : outputs_) Check(output, input);
}

void CommandFiles::Add(Output output) {
  output.place = PlaceOf(output.place.empty() ? output.path : output.place);
  if (const auto folder = folders_.find(output.place); folder != folders_.end())
    Throw(StatusCode::kInvalidArgument, "{} is the folder of {}; choose another {}", output.text,
          folder->second, output.another);
  output.file = IdentityOf(output.path);
  for (Input& input : inputs_) Check(output, input);
  auto [at, fresh] = by_place_.try_emplace(output.place, outputs_.size());
  size_t same = at->second;
  if (fresh && output.file) {
    const auto [there, is_first] = by_file_.try_emplace(*output.file, outputs_.size());
    fresh = is_first;
    same = there->second;
  }
  if (!fresh)
    Throw(StatusCode::kInvalidArgument, "{} would overwrite '{}', which {} writes; choose another {}",
          output.text, outputs_[same].path, outputs_[same].option, output.another);
  outputs_.push_back(std::move(output));
}

void CommandFiles::Reads(const std::string& what, const std::string& path) {
  if (!path.empty()) Add(what, [path] { return std::vector<std::string>{path}; });
}

void CommandFiles::ReadsSource(const std::string& path) {
  if (path.empty()) return;
  Reads("the source", path);
  Add("weights of the source", [path] { return WeightsOf(path); });
}

void CommandFiles::ReadsInputs(const InputSources& sources, Span<const PortInfo> ports) {
  for (const std::string& file : GivenFiles(sources.files, ports)) Reads("the file of --input", file);
  if (!sources.others.empty() && !IsRandomSource(sources.others))
    Add("a file of --inputs", [=] { return FilesOfInputs(sources.others, ports); });
}

void CommandFiles::ReadsExpected(const std::string& folder, Span<const PortInfo> ports) {
  Add("a file of --expect", [=] { return FilesOfOutputs(folder, ports); });
}

void CommandFiles::ReadsCalibration(const std::string& source) {
  if (!source.empty() && !IsDrawn(source))
    Add("a file of --calibrate", [source] { return CalibrationFiles(source); });
}

std::string CommandFiles::Writes(const std::string& option, const std::string& path) {
  if (path.empty()) return "";
  std::string followed = CheckOutputFile(path);
  Add({option, path, fmt::format("{} {}:", option, path), "name", followed});
  return followed;
}

void CommandFiles::WritesInto(const std::string& option, const std::string& folder,
                              const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    CheckReplaceable(file);
    Add({option, file, fmt::format("{} {}: its {}", option, folder, fs::path(file).filename().string()),
         "folder"});
  }
  const std::string place = PlaceOf(folder);
  if (const auto same = by_place_.find(place); same != by_place_.end())
    Throw(StatusCode::kInvalidArgument,
          "{} {}: a folder is to be where {} writes a file; choose another folder", option, folder,
          outputs_[same->second].option);
  folders_[place] = option;
}

}  // namespace skiff::cli
