// A cache file of packed weights: read at the start of a Session, which then runs; damaged ones are written
// anew.
#include <cstdlib>
#include <fstream>
#include <memory>

#include "skiff/delegates.h"
#include "tests/delegates/packed_file_layout.h"
#include "tests/fuzz/targets/target.h"
#include "tests/fuzz/use_model.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

/// A net whose weights are packed, and the file that an undisturbed start leaves.
class Cached {
 public:
  Cached() {
    Start();
    const std::set<std::string> files = folder_.List();
    Require(files.size() == 1, "a start leaves one file in the cache folder");
    path_ = folder_ / *files.begin();
    good_ = ReadWhole(path_);
  }
  const std::string& good() const { return good_; }
  void StartWith(const uint8_t* data, size_t size) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    Start();
  }

 private:
  void Start() const {
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    options.cache_folder = folder_.path().c_str();
    auto model = Model::Open(SKIFF_SOURCE_DIR "/tests/format/golden/format_1.skiff", options);
    Require(model.ok(), "the model does not open");
    UseModel(**model);
  }

  TempFolder folder_;
  std::string path_;
  std::string good_;
};

const Cached& TheCache() {
  static const Cached cache;
  return cache;
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return {TheCache().good(), ""}; }

}  // namespace skiff::testing

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 == 0 || size < skiff::xnnpack::kHeaderBytes) return size;
  // As if the file had been written so: what is behind the sums is looked at, too.
  std::string file(reinterpret_cast<const char*>(data), size);
  skiff::xnnpack::Sum(file);
  return skiff::testing::Replaced(file, data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skiff::testing::TheCache().StartWith(data, size);
  return 0;
}
