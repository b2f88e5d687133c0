#include "cli/tool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <new>
#include <string_view>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "skiff/log.h"
#include "skiff/print.h"
#include "skiff/version.h"

namespace skiff::cli {
namespace {

/// What takes longer says how long it took, on a terminal.
constexpr std::chrono::seconds kWorthTelling{2};

int Report(ExitCode code, const std::string& message) {
  const std::string mark = Coloured(STDERR_FILENO, Colour::kRed, "skiff: error:");
  Print(stderr, "{} {}\n", mark, message);
  return code;
}

/// What was likely meant by what nothing takes: an option, or at the tool itself a command.
std::string Meant(const CLI::App& app, bool of_tool, const std::string& word) {
  if (word.starts_with("-")) return DidYouMean(word.substr(0, word.find('=')), OptionNames(app));
  return of_tool ? DidYouMean(word, CommandNames(app)) : "";
}

/// Usage errors say which help text to read.
int ReportUsage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& asked = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> rest = asked.remaining();
  const std::string meant = rest.empty() ? "" : Meant(asked, chosen.empty(), rest.front());
  if (chosen.empty() && !rest.empty()) {
    return Report(kUsage,
                  fmt::format("there is no {} '{}'{}; see 'skiff --help'",
                              rest.front().starts_with("-") ? "option" : "command", rest.front(), meant));
  }
  if (chosen.empty()) {
    return Report(kUsage, fmt::format("a command is expected, one of\n{}'skiff help COMMAND' explains it and "
                                      "gives an example",
                                      CommandsText(app)));
  }
  const std::string help = asked.get_name() == "help" ? "" : " " + asked.get_name();
  // CLI11 names them from the last to the first.
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string what = extra ? fmt::format("not expected: '{}'", fmt::join(rest, "', '")) : error.what();
  return Report(kUsage, fmt::format("{}{}; see 'skiff{} --help'", what, meant, help));
}

/// Messages of the runtime name what is in models, too.
void ShowLog(void*, LogLevel level, const char* message) {
  constexpr const char* kPrefixes[] = {"", "warning: ", "error: "};
  Print(stderr, "skiff: {}{}\n", kPrefixes[static_cast<int>(level)], message);
}

/// So do those of its Print nodes.
void ShowPrint(void*, const char* text) { Print(stderr, "{}\n", text); }

/// CommandFiles takes "" for an option that nobody gave.
void RefuseEmptyPaths(CLI::App& app) {
  static constexpr std::string_view kPaths[] = {"FILE", "DIR",    "MODEL",  "SOURCE",
                                                "OUT.", "OTHER.", "SHAPES."};
  for (CLI::App* command : app.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) {
      const std::string type = option->get_type_name();
      const bool path =
          type == "IN" || std::any_of(std::begin(kPaths), std::end(kPaths),
                                      [&](std::string_view of) { return type.starts_with(of); });
      if (!path) continue;
      option->check([](const std::string& text) {
        return text.empty() ? "a path was expected, not ''" : std::string();
      });
    }
  }
}

void TellElapsed(std::chrono::steady_clock::time_point begin) {
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  if (elapsed < kWorthTelling || !IsTerminal(STDERR_FILENO)) return;
  std::fputs(fmt::format("({:.1f} s)\n", std::chrono::duration<double>(elapsed).count()).c_str(), stderr);
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
  SetLogSink(&ShowLog, nullptr);
  SetPrintSink(&ShowPrint, nullptr);

  const auto begin = std::chrono::steady_clock::now();
  CLI::App app(
      "Skiff turns a trained graph into one small file for phones and boards, runs it, and proves that it "
      "still computes the same numbers.",
      "skiff");
  app.formatter(MakeHelpFormatter());
  app.set_version_flag("-v,--version", "skiff " SKIFF_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 bad input, model or file, 2 usage, 3 parity failed,\n4 a quantised model's "
      "error is beyond --max-error.\n"
      "Results go to standard output, progress and messages to standard error.\n"
      "'skiff help COMMAND' explains a command and gives an example. What --json prints: docs/json.md.");
  int code = kDone;
  AddConvert(app, code);
  AddQuantize(app, code);
  AddRun(app, code);
  AddBench(app, code);
  AddParity(app, code);
  AddBuckets(app, code);
  AddInspect(app, code);
  AddReport(app, code);
  AddSizeList(app, code);
#ifdef SKIFF_WITH_SIGNATURES
  AddSign(app, code);
  AddVerify(app, code);
#endif
  AddHelp(app);
  RefuseEmptyPaths(app);

  try {
    app.parse(argc, argv);
    TellElapsed(begin);
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
