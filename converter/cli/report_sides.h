/// What `skiff report` shows: one side for each file and backend, run and measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench_report.h"
#include "cli/command_files.h"
#include "cli/session_options.h"
#include "parity/parity.h"
#include "report/plan_picture.h"
#include "report/source_fates.h"

namespace skiff::cli {

/// The command line.
struct ReportArguments : SessionArguments {
  std::string model;
  std::string source;
  std::string against;
  std::vector<std::string> backends;  ///< In place of `backend`, side by side.
  InputArguments inputs;
  std::vector<std::string> dims;
  std::vector<std::string> shapes;
  std::string output;
  std::optional<int> runs;
  bool json = false;
};

struct ReportSide {
  std::string label;  ///< What differs from the other sides; the file's name where there is one.
  std::string path;
  std::shared_ptr<OpenedModel> opened;
  ModelSignature signature;
  const PlanData* plan = nullptr;  ///< That ran.
  PlanPicture picture = {};
  BenchContext context = {};
  BenchResult bench = {};
  std::vector<SourceFate> fates = {};       ///< With a source.
  std::optional<ParityReport> parity = {};  ///< With a source.
};

/// Told when a step of a side begins.
using TellStep = std::function<void(const std::string& step)>;

/// How many steps CollectSides() tells of, at most.
int StepsOf(const ReportArguments& arguments);
/// Throws Error. `files` is told of inputs; `notes`: sentences for the user.
std::vector<ReportSide> CollectSides(const ReportArguments& arguments, CommandFiles& files,
                                     const TellStep& tell, std::vector<std::string>& notes);

}  // namespace skiff::cli
