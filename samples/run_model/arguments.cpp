#include "arguments.h"

#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "nearest.h"
#include "skiff/version.h"

namespace {

constexpr const char* kUsage =
    "usage: skiff-run MODEL.skiff [options]\n"
    "as of 'skiff run':\n"
    "  -i, --input [NAME=]FILE  a .npy file, or raw little-endian elements; of an .npz (numpy.savez)\n"
    "                           each array is the input of its name; a model with one input needs no\n"
    "                           NAME=; without any --input, a fixed pattern is used\n"
    "  --dim NAME=SIZE          the size of an open dimension, where no .npy file says it\n"
    "  --shape NAME=1x7         the shape of an input, in place of --dim for its open dimensions\n"
    "  --signature NAME         the entry point to run (default: the first of the file)\n"
    "  -o, --output DIR         write each output to DIR/<name>.npy; made where it is absent\n"
    "  --backend NAME           xnnpack (default), vulkan or reference\n"
    "  --threads N              default: the usable cores, at most 4\n"
    "  --cache DIR              keep packed weights in this folder; the next start maps them\n"
    "  --top K                  how many of the best classes to print (default 5 of outputs with\n"
    "                           labels, else none)\n"
    "  --json                   print JSON (docs/json.md)\n"
    "for devices:\n"
    "  --expect NAME=FILE       compare an output with a file as of --input; exit code 3 when they\n"
    "                           differ\n"
    "  --tolerance T            allowed difference, relative to the largest expected element\n"
    "                           (integers: none, unless they are quantised numbers)\n"
    "                           (default 2e-5)\n"
    "  --bench N                time N more runs after the first one\n"
    "  -h, --help; -v, --version\n"
    "exit codes: 0 done, 1 bad input, model or file, 2 usage, 3 an output differs from what was expected\n";

bool Fail(const char* what, const char* text) {
  std::fprintf(stderr, "skiff-run: error: %s '%s'; see 'skiff-run --help'\n", what, text);
  return false;
}

bool FailOf(const char* option, const char* expected, const char* text) {
  std::fprintf(stderr, "skiff-run: error: %s '%s': expected %s; see 'skiff-run --help'\n", option, text,
               expected);
  return false;
}

bool ParseNamedFile(const char* text, NamedFile* files, int* count) {
  const char* equals = std::strchr(text, '=');
  if (equals == nullptr || equals == text || equals[1] == '\0') return Fail("expected NAME=FILE, got", text);
  if (*count == Arguments::kMaxFiles) return Fail("too many files at", text);
  files[(*count)++] = {text, static_cast<int>(equals - text), equals + 1};
  return true;
}

bool ParseNamedShape(const char* text, Arguments* arguments) {
  const char* equals = std::strrchr(text, '=');
  if (equals == nullptr || equals == text) return Fail("expected NAME=1x7, got", text);
  if (arguments->shape_count == Arguments::kMaxFiles) return Fail("too many shapes at", text);
  NamedShape& named = arguments->shapes[arguments->shape_count++];
  named = {text, static_cast<int>(equals - text), {}};
  const char* at = equals + 1;
  while (true) {
    char* end = nullptr;
    errno = 0;
    const long long extent = std::strtoll(at, &end, 10);
    const bool digits = *at >= '0' && *at <= '9';
    if (!digits || errno != 0 || (*end != 'x' && *end != '\0') || named.shape.rank() == skiff::kMaxRank)
      return Fail("expected NAME=1x7, got", text);
    named.shape.Append(extent);
    if (*end == '\0') return true;
    at = end + 1;
  }
}

bool ParseNamedSize(const char* text, Arguments* arguments) {
  const char* equals = std::strrchr(text, '=');
  if (equals != nullptr && equals != text && equals[1] == '-' && equals[2] >= '0' && equals[2] <= '9')
    return FailOf("--dim", "NAME=SIZE with a size that is not negative", text);
  if (equals == nullptr || equals == text || equals[1] < '0' || equals[1] > '9')
    return Fail("expected NAME=SIZE, got", text);
  if (arguments->dim_count == Arguments::kMaxFiles) return Fail("too many dimensions at", text);
  char* end = nullptr;
  errno = 0;
  const long long size = std::strtoll(equals + 1, &end, 10);
  if (errno != 0 || *end != '\0') return Fail("expected NAME=SIZE, got", text);
  arguments->dims[arguments->dim_count++] = {text, static_cast<int>(equals - text), size};
  return true;
}

bool AddInput(const char* text, Arguments* arguments) {
  if (arguments->input_count == Arguments::kMaxFiles) return Fail("too many files at", text);
  arguments->inputs[arguments->input_count++] = text;
  return true;
}

bool ParseCount(const char* option, const char* text, int* value) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 1) return FailOf(option, "a number from 1", text);
  if (errno != 0 || number > INT_MAX) return FailOf(option, "a smaller number", text);
  *value = static_cast<int>(number);
  return true;
}

bool ParseTolerance(const char* option, const char* text, double* value) {
  char* end = nullptr;
  *value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(*value >= 0) || std::isinf(*value))
    return FailOf(option, "a number of 0 or more", text);
  return true;
}

/// Whoever names the GPU wants to know when it does not run: no falling back.
bool ParseBackend(const char* option, const char* text, Arguments* arguments) {
  skiff::SessionOptions* const options = &arguments->session;
  const bool reference = std::strcmp(text, "reference") == 0;
  const bool vulkan = std::strcmp(text, "vulkan") == 0;
  if (!reference && !vulkan && std::strcmp(text, "xnnpack") != 0)
    return FailOf(option, "xnnpack, vulkan or reference", text);
  options->backend = reference ? skiff::Backend::kReference : skiff::Backend::kPlanned;
  options->target = vulkan ? skiff::Target::kVulkan : skiff::Target::kCpu;
  options->fall_back = false;
  arguments->backend = text;
  return true;
}

bool ParseTop(const char* option, const char* text, int* value) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > 1000)
    return FailOf(option, "a number from 0 to 1000", text);
  *value = static_cast<int>(number);
  return true;
}

/// What an option does with its value.
struct Option {
  const char* name;
  const char* letter;  ///< Its short form, or null.
  bool (*take)(const char* option, const char* value, Arguments* to);
};

constexpr Option kOptions[] = {
    {"--input", "-i", [](auto, auto value, auto to) { return AddInput(value, to); }},
    {"--dim", nullptr, [](auto, auto value, auto to) { return ParseNamedSize(value, to); }},
    {"--shape", nullptr, [](auto, auto value, auto to) { return ParseNamedShape(value, to); }},
    {"--expect", nullptr,
     [](auto, auto value, auto to) { return ParseNamedFile(value, to->expected, &to->expected_count); }},
    {"--tolerance", nullptr,
     [](auto option, auto value, auto to) { return ParseTolerance(option, value, &to->tolerance); }},
    {"--backend", nullptr, [](auto option, auto value, auto to) { return ParseBackend(option, value, to); }},
    {"--threads", nullptr,
     [](auto option, auto value, auto to) { return ParseCount(option, value, &to->session.threads); }},
    {"--bench", nullptr,
     [](auto option, auto value, auto to) { return ParseCount(option, value, &to->bench); }},
    {"--top", nullptr, [](auto option, auto value, auto to) { return ParseTop(option, value, &to->top); }},
    {"--cache", nullptr, [](auto, auto value, auto to) { return (to->cache_folder = value) != nullptr; }},
    {"--signature", nullptr,
     [](auto, auto value, auto to) { return (to->session.signature = value) != nullptr; }},
    {"--output", "-o", [](auto, auto value, auto to) { return (to->output = value) != nullptr; }},
};

/// Those without a value.
constexpr const char* kFlags[] = {"--json", "--help", "--version"};

bool FailUnknown(const char* text, int length) {
  std::fprintf(stderr, "skiff-run: error: unknown option '%.*s'", length, text);
  Nearest nearest(text, length);
  for (const Option& option : kOptions) nearest.Offer(option.name);
  for (const char* flag : kFlags) nearest.Offer(flag);
  nearest.Print();
  std::fprintf(stderr, "; see 'skiff-run --help'\n");
  return false;
}

const Option* FindOption(const char* text, int length) {
  const auto is = [&](const char* name) {
    return name != nullptr && std::strncmp(name, text, static_cast<size_t>(length)) == 0 &&
           name[length] == '\0';
  };
  for (const Option& option : kOptions) {
    if (is(option.name) || is(option.letter)) return &option;
  }
  return nullptr;
}

bool Is(const char* text, const char* name, const char* letter) {
  return std::strcmp(text, name) == 0 || std::strcmp(text, letter) == 0;
}

}  // namespace

bool ParseArguments(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const char* const text = argv[i];
    const bool version = Is(text, "--version", "-v");
    if (version || Is(text, "--help", "-h")) {
      std::fputs(version ? "skiff-run " SKIFF_VERSION "\n" : kUsage, stdout);
      arguments->help = true;
      return true;
    }
    if (std::strcmp(text, "--json") == 0) {
      arguments->json = true;
      continue;
    }
    if (text[0] != '-') {
      if (arguments->model != nullptr) return Fail("one model was expected, got also", text);
      arguments->model = text;
      continue;
    }
    // --input FILE, or --input=FILE.
    const char* const equals = text[1] == '-' ? std::strchr(text, '=') : nullptr;
    const auto length =
        static_cast<int>(equals != nullptr ? equals - text : static_cast<long>(std::strlen(text)));
    const Option* const option = FindOption(text, length);
    if (option == nullptr) return FailUnknown(text, length);
    if (equals == nullptr && ++i == argc) return Fail("a value is missing after", text);
    if (!option->take(option->name, equals != nullptr ? equals + 1 : argv[i], arguments)) return false;
  }
  if (arguments->model != nullptr) return true;
  std::fprintf(stderr, "skiff-run: error: a model was expected\n%s", kUsage);
  return false;
}
