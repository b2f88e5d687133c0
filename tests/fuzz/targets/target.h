/// What each program of this folder is made of: libFuzzer calls it, and so does the replay that the tests
/// run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// libFuzzer's own mutations; without libFuzzer, one byte.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace skiff::testing {

/// Each target says what its corpus begins with.
std::vector<std::string> FuzzSeeds();

/// The bytes of the files of a folder of this tree, or of those below it, by their extension (".onnx"),
/// smallest first and at most `count`. Throws where there are none.
std::vector<std::string> FilesIn(const std::string& folder, const std::string& extension, size_t count);

/// Bytes under a path, for readers that want one.
class BytesAsFile {
 public:
  BytesAsFile(const uint8_t* data, size_t size);
  ~BytesAsFile();
  BytesAsFile(const BytesAsFile&) = delete;
  BytesAsFile& operator=(const BytesAsFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// A model that a target's input was converted to: `--write-models` collects them, seeds of `skiff`. Nothing
/// happens without that option.
void KeepModel(std::string_view file);

/// What a custom mutator returns: `made` in place of the input, or the input as it is where that is too long.
size_t Replaced(const std::string& made, uint8_t* data, size_t size, size_t max_size);

/// Ends the program where a promise is broken that no sanitizer knows.
void Require(bool holds, const std::string& sentence);

}  // namespace skiff::testing
