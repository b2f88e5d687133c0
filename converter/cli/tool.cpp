#include "cli/tool.h"

#include <csignal>
#include <cstdio>
#include <new>

#include "cli/commands.h"
#include "graph/error.h"
#include "skiff/version.h"

namespace skiff::cli {
namespace {

int Report(ExitCode code, const std::string& message) {
  // Not fmt::print, which throws where standard error cannot be written.
  std::fputs(fmt::format("skiff: error: {}\n", message).c_str(), stderr);
  return code;
}

/// Usage errors say which help text to read.
int ReportUsage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (const std::vector<std::string> rest = app.remaining(); chosen.empty() && !rest.empty()) {
    return Report(kUsage, fmt::format("there is no command '{}'; see 'skiff --help'", rest.front()));
  }
  const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return Report(kUsage, fmt::format("{}; see 'skiff{} --help'", error.what(), command));
}

/// A full disk shows only when buffered output is flushed; results that were lost must not look like success.
int Finish(int code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Report(kBadInput, "the results cannot be written to standard output (is the disk full?)");
  }
  return code;
}

}  // namespace

int RunTool(int argc, char** argv) {
  // Beyond a file-size limit, write() then fails with a reason instead of ending the process without a word.
  std::signal(SIGXFSZ, SIG_IGN);

  CLI::App app(
      "Skiff turns a trained graph into one small file for phones and boards, runs it, and proves that it "
      "still\n"
      "computes the same numbers.",
      "skiff");
  app.set_version_flag("--version", "skiff " SKIFF_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 bad input, model or file, 2 usage, 3 parity failed.\n"
      "Results go to standard output, progress and messages to standard error.\n"
      "'skiff COMMAND --help' explains a command and gives an example.");
  int code = kDone;
  AddConvert(app, code);
  AddRun(app, code);
  AddBench(app, code);
  AddParity(app, code);
  AddBuckets(app, code);
  AddInspect(app, code);
  AddSizeList(app, code);

  try {
    app.parse(argc, argv);
    return Finish(code);
  } catch (const CLI::Success& success) {  // --help and --version
    return Finish(app.exit(success));
  } catch (const CLI::ParseError& error) {
    return ReportUsage(app, error);
  } catch (const Error& error) {
    return Report(kBadInput, error.what());
  } catch (const std::bad_alloc&) {
    return Report(kBadInput, "out of memory");
  } catch (const std::exception& error) {
    return Report(kBadInput, error.what());
  }
}

}  // namespace skiff::cli
