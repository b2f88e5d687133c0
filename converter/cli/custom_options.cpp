#include "cli/custom_options.h"

#include <dlfcn.h>

#include <filesystem>

#include "graph/custom_operators.h"
#include "graph/error.h"
#include "platforms/c/custom.h"

namespace skiff::cli {
namespace {

const char* ReasonOfLoader() {
  const char* reason = dlerror();
  return reason == nullptr ? "no reason was given" : reason;
}

std::vector<std::string>& Loaded() {
  static std::vector<std::string> files;
  return files;
}

}  // namespace

const std::vector<std::string>& CustomLibraries() { return Loaded(); }

void LoadCustomLibrary(const std::string& file) {
  // Without a slash, the loader would look in the system's folders.
  void* library = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Throw(StatusCode::kIo, "{}: cannot be loaded: {}", file, ReasonOfLoader());
  const auto list =
      reinterpret_cast<SkiffCustomOperatorsFunction>(dlsym(library, SKIFF_CUSTOM_OPERATORS_SYMBOL));
  if (list == nullptr)
    Throw(StatusCode::kInvalidArgument,
          "{}: it has no function '{}', which would name its operators (skiff/skiff.h)", file,
          SKIFF_CUSTOM_OPERATORS_SYMBOL);
  size_t count = 0;
  const SkiffCustomOperator* operators = list(&count);
  if (operators == nullptr || count == 0)
    Throw(StatusCode::kInvalidArgument, "{}: it has no operators", file);
  for (size_t i = 0; i < count; ++i) {
    const CustomOperator op = ToCustomOperator(operators[i]);
    if (op.name == nullptr || op.infer == nullptr || op.run == nullptr)
      Throw(StatusCode::kInvalidArgument, "{}: its operator {} '{}' lacks a name, a shape rule or a kernel",
            file, i, op.name == nullptr ? "" : op.name);
    RegisterCustomOperator(op);
  }
  Loaded().push_back(file);
}

void AddCustomLibraryOption(CLI::App& command) {
  command
      .add_option_function<std::vector<std::string>>(
          "--custom-library",
          [](const std::vector<std::string>& files) {
            for (const std::string& file : files) LoadCustomLibrary(file);
          },
          "A shared library with operators of your own (samples/custom_operator); repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->check(CLI::ExistingFile.description(""));
}

void AddCustomOptions(CLI::App& command) {
  AddCustomLibraryOption(command);
  command
      .add_option_function<std::vector<std::string>>(
          "--custom",
          [](const std::vector<std::string>& names) {
            for (const std::string& name : names) {
              if (!IsCustomOperator(name)) RegisterCustomOperator({.name = name.c_str()});
            }
          },
          "Keep nodes of this operator, which Skiff does not know, for an application that registers it; "
          "repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

}  // namespace skiff::cli
