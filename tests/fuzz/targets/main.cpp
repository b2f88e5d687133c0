// Without libFuzzer this is the program: it runs the target over its seeds and over what its mutator makes of
// each, or over the files and folders that it is given; SKIFF_FUZZ_CORPUS=FOLDER: also over those of the
// target's corpus there, as platforms/fuzz leaves it. With libFuzzer it writes the seeds for it, or the
// models that its seeds are converted to. usage: TARGET [--mutations N] | TARGET FILE... | --write-seeds
// FOLDER | --write-models FOLDER
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "skiff/log.h"
#include "tests/fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned seed);

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void WriteSeeds(const fs::path& folder) {
  fs::create_directories(folder);
  int number = 0;
  for (const std::string& seed : FuzzSeeds())
    std::ofstream(folder / ("seed_" + std::to_string(number++)), std::ios::binary) << seed;
}

/// Errors are what most inputs end in.
void BeQuiet() {
  SetLogSink([](void*, LogLevel, const char*) {}, nullptr);
}

/// Where --write-models wants them, and the name of the next.
fs::path models_folder;
std::string model_name;

void WriteModels(const fs::path& folder) {
  models_folder = folder;
  fs::create_directories(folder);
  for (const std::string& seed : FuzzSeeds()) {
    model_name = "model_" + std::to_string(std::hash<std::string>()(seed));
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seed.data()), seed.size());
  }
}

/// True where the program was called to write one of these, and has.
bool HasWritten(int argc, char** argv) {
  if (argc != 3) return false;
  const std::string_view option = argv[1];
  if (option == "--write-seeds") WriteSeeds(argv[2]);
  if (option == "--write-models") WriteModels(argv[2]);
  return option == "--write-seeds" || option == "--write-models";
}

}  // namespace

void KeepModel(std::string_view file) {
  if (!models_folder.empty()) std::ofstream(models_folder / model_name, std::ios::binary) << file;
}

std::vector<std::string> FilesIn(const std::string& folder, const std::string& extension, size_t count) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SKIFF_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  if (paths.empty()) throw std::runtime_error(folder + ": has no files " + extension);
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(fs::file_size(a), a) < std::pair(fs::file_size(b), b);
  });
  paths.resize(std::min(count, paths.size()));
  std::vector<std::string> files;
  std::transform(paths.begin(), paths.end(), std::back_inserter(files), ReadFile);
  return files;
}

BytesAsFile::BytesAsFile(const uint8_t* data, size_t size)
    : descriptor_(memfd_create("skiff_fuzz", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  if (descriptor_ < 0 || write(descriptor_, data, size) != static_cast<ssize_t>(size))
    throw std::runtime_error("the input cannot be made a file");
}

BytesAsFile::~BytesAsFile() { close(descriptor_); }

size_t Replaced(const std::string& made, uint8_t* data, size_t size, size_t max_size) {
  if (made.empty() || made.size() > max_size) return size;
  std::copy(made.begin(), made.end(), data);
  return made.size();
}

void Require(bool holds, const std::string& sentence) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::abort();
}

}  // namespace skiff::testing

#ifdef SKIFF_LIBFUZZER

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  skiff::testing::BeQuiet();
  if (skiff::testing::HasWritten(*argc, *argv)) std::exit(0);
  return 0;
}

#else

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytesAdded = 4096;
/// Of more, each is changed once: with sanitizers they take minutes.
constexpr size_t kManySeeds = 1000;

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string Mutated(std::string bytes, unsigned number) {
  const size_t size = bytes.size();
  bytes.resize(size + kMostBytesAdded);
  auto* data = reinterpret_cast<uint8_t*>(bytes.data());
  bytes.resize(LLVMFuzzerCustomMutator == nullptr
                   ? LLVMFuzzerMutate(data, size, bytes.size())
                   : LLVMFuzzerCustomMutator(data, size, bytes.size(), number));
  return bytes;
}

/// Each, and what becomes of it; `mutations`: how often, a number.
void RunSeeds(const char* mutations) {
  const std::vector<std::string> seeds = skiff::testing::FuzzSeeds();
  skiff::testing::Require(!seeds.empty(), "the target has no seeds");
  unsigned long count = seeds.size() > kManySeeds ? 1 : 3;
  if (mutations != nullptr) count = std::strtoul(mutations, nullptr, 10);
  unsigned number = 0;  // No two seeds are changed in the same way.
  for (const std::string& seed : seeds) {
    Run(seed);
    for (unsigned long i = 0; i < count; ++i) Run(Mutated(seed, number++));
  }
  std::printf("%zu seeds, %lu mutations of each\n", seeds.size(), count);
}

/// A file, or all below a folder.
void AddFiles(const fs::path& from, std::vector<fs::path>& paths) {
  if (!fs::is_directory(from)) return paths.push_back(from);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) {
  static unsigned number = 0;
  if (size > 0) data[(number * 2654435761U) % size] ^= static_cast<uint8_t>(1U << number % 8);
  ++number;
  return size;
}

int main(int argc, char** argv) {
  skiff::testing::BeQuiet();
  if (skiff::testing::HasWritten(argc, argv)) return 0;
  const bool counted = argc == 3 && std::strcmp(argv[1], "--mutations") == 0;
  std::vector<fs::path> paths;
  if (argc > 1 && !counted) {
    for (int i = 1; i < argc; ++i) AddFiles(argv[i], paths);
  } else {
    RunSeeds(counted ? argv[2] : nullptr);
    if (const char* corpora = std::getenv("SKIFF_FUZZ_CORPUS"); corpora != nullptr)
      AddFiles(fs::path(corpora) / fs::path(argv[0]).filename().string().substr(std::strlen("fuzz_")), paths);
  }
  for (const fs::path& path : paths) Run(skiff::testing::ReadFile(path));
  if (!paths.empty()) std::printf("%zu files\n", paths.size());
  return 0;
}

#endif
