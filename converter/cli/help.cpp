#include "cli/help.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/terminal.h"
#include "graph/nearest.h"

namespace skiff::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return Row(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return Row(command->get_display_name(true), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return Wrapped(CLI::Formatter::make_description(app), Width());
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return Wrapped(CLI::Formatter::make_usage(app, std::move(name)), Width(), 2);
  }
  std::string make_footer(const CLI::App* app) const override {
    return Wrapped(CLI::Formatter::make_footer(app), Width());
  }

 private:
  static size_t Width() { return TextWidth(STDOUT_FILENO); }

  /// Two columns; a narrow terminal has them below each other.
  static std::string Row(const std::string& left, const std::string& right) {
    const size_t width = Width();
    const size_t column = width >= 70 ? 30 : 6;
    std::string text = "  " + left;
    if (left.size() + 4 > column) {
      text += '\n' + std::string(column, ' ');
    } else {
      text.resize(column, ' ');
    }
    // Wrapped() takes a line that begins with spaces for an example.
    std::string wrapped = Wrapped(right, width - column);
    for (size_t at = wrapped.find('\n'); at != std::string::npos; at = wrapped.find('\n', at + 1))
      wrapped.insert(at + 1, column, ' ');
    return text + wrapped + '\n';
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() { return std::make_shared<HelpFormatter>(); }

std::string CommandsText(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    text += fmt::format("  {:<11} {}\n", command->get_name(), command->get_description());
  return text;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

void AddHelp(CLI::App& app) {
  CLI::App* help = app.add_subcommand("help", "Explain the tool, or one of its commands");
  auto wanted = std::make_shared<std::string>();
  help->add_option("command", *wanted, "Which one")->type_name("COMMAND");
  help->callback([&app, wanted] {
    const CLI::App* explained = &app;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_name() == *wanted) explained = command;
    }
    if (explained == &app && !wanted->empty())
      throw CLI::ValidationError("help " + *wanted,
                                 "there is no such command" + DidYouMean(*wanted, CommandNames(app)));
    const std::string name = app.get_name() + (explained == &app ? "" : " " + *wanted);
    const std::string text = app.get_formatter()->make_help(explained, name, CLI::AppFormatMode::Normal);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace skiff::cli
