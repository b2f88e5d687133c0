#include "arguments.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "skiff/version.h"

namespace {

constexpr const char* kUsage =
    "usage: skiff-run MODEL.skiff [options]\n"
    "as of 'skiff run':\n"
    "  -i, --input [NAME=]FILE  a .npy file, or raw little-endian elements; a model with one input\n"
    "                           needs no NAME=; without any --input, a fixed pattern is used\n"
    "  --dim NAME=SIZE          the size of an open dimension, where no .npy file says it\n"
    "  --shape NAME=1x7         the shape of an input, in place of --dim for its open dimensions\n"
    "  --signature NAME         the entry point to run (default: the first of the file)\n"
    "  -o, --output DIR         write each output to DIR/<name>.npy; made where it is absent\n"
    "  --backend NAME           xnnpack (default), vulkan or reference\n"
    "  --threads N              default: the usable cores, at most 4\n"
    "  --cache DIR              keep packed weights in this folder; the next start maps them\n"
    "for devices:\n"
    "  --expect NAME=FILE       compare an output with a file (.npy or raw); exit code 3 when they\n"
    "                           differ\n"
    "  --tolerance T            allowed difference, relative to the largest expected element\n"
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
  if (errno != 0 || end == text || *end != '\0' || number < 1 || number > INT_MAX)
    return FailOf(option, "a number from 1", text);
  *value = static_cast<int>(number);
  return true;
}

bool ParseTolerance(const char* option, const char* text, double* value) {
  char* end = nullptr;
  *value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(*value >= 0)) return FailOf(option, "a number from 0", text);
  return true;
}

/// Whoever names the GPU wants to know when it does not run: no falling back.
bool ParseBackend(const char* option, const char* text, skiff::SessionOptions* options) {
  const bool reference = std::strcmp(text, "reference") == 0;
  const bool vulkan = std::strcmp(text, "vulkan") == 0;
  if (!reference && !vulkan && std::strcmp(text, "xnnpack") != 0)
    return FailOf(option, "xnnpack, vulkan or reference", text);
  options->backend = reference ? skiff::Backend::kReference : skiff::Backend::kPlanned;
  options->target = vulkan ? skiff::Target::kVulkan : skiff::Target::kCpu;
  options->fall_back = false;
  return true;
}

bool ParseOption(const char* option, const char* value, Arguments* arguments) {
  if (std::strcmp(option, "--input") == 0 || std::strcmp(option, "-i") == 0)
    return AddInput(value, arguments);
  if (std::strcmp(option, "--dim") == 0) return ParseNamedSize(value, arguments);
  if (std::strcmp(option, "--expect") == 0)
    return ParseNamedFile(value, arguments->expected, &arguments->expected_count);
  if (std::strcmp(option, "--shape") == 0) return ParseNamedShape(value, arguments);
  if (std::strcmp(option, "--tolerance") == 0) return ParseTolerance(option, value, &arguments->tolerance);
  if (std::strcmp(option, "--backend") == 0) return ParseBackend(option, value, &arguments->session);
  if (std::strcmp(option, "--threads") == 0) return ParseCount(option, value, &arguments->session.threads);
  if (std::strcmp(option, "--bench") == 0) return ParseCount(option, value, &arguments->bench);
  if (std::strcmp(option, "--cache") == 0) {
    arguments->cache_folder = value;
    return true;
  }
  if (std::strcmp(option, "--signature") == 0) {
    arguments->session.signature = value;
    return true;
  }
  if (std::strcmp(option, "--output") == 0 || std::strcmp(option, "-o") == 0) {
    arguments->output = value;
    return true;
  }
  return Fail("unknown option", option);
}

}  // namespace

bool ParseArguments(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const bool version = std::strcmp(argv[i], "--version") == 0 || std::strcmp(argv[i], "-v") == 0;
    if (version || std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
      std::fputs(version ? "skiff-run " SKIFF_VERSION "\n" : kUsage, stdout);
      arguments->help = true;
      return true;
    }
    if (argv[i][0] != '-') {
      if (arguments->model != nullptr) return Fail("one model was expected, got also", argv[i]);
      arguments->model = argv[i];
      continue;
    }
    if (i + 1 == argc) return Fail("a value is missing after", argv[i]);
    if (!ParseOption(argv[i], argv[i + 1], arguments)) return false;
    ++i;
  }
  if (arguments->model != nullptr) return true;
  std::fprintf(stderr, "skiff-run: error: a model was expected\n%s", kUsage);
  return false;
}
