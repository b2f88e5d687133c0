/// Cases of pass tests: text files beside this one, several cases in each.
///
///   == a name
///   passes: canonicalize, fuse-linear      names as in Pipeline(); empty for none
///   tolerance: 1e-5                        relative to the largest element; 0 (the default) is bit for bit
///   graph before {
///     ...
///   }
///   ->
///   graph before {
///     ...
///   }
///   notes:                                 optional: lines that --explain must hold
///   clamp: fused into 'conv' as its activation [0, 6]
///
/// In place of the second graph, `error: text` is a part of the Error that must be thrown. The second graph
/// is compared as text: constants that the first graph draws with `seed N` are written so again, other large
/// ones by their hash. SKIFF_UPDATE_CASES=fuse_pad in the environment rewrites fuse_pad.txt with what the
/// passes make; read the diff.
#pragma once

#include <string>
#include <vector>

namespace skiff {

struct PassCase {
  std::string file;  ///< Without folder and ending.
  std::string name;
  std::vector<std::string> passes;
  double tolerance = 0;
  std::string before;
  std::string after;
  std::string error;
  std::vector<std::string> notes;
  std::vector<std::string> comments;  ///< Lines that start with '#', above the name.
};

/// All cases of all files in the folder, sorted by file.
std::vector<PassCase> ReadPassCases(const std::string& folder);
std::vector<PassCase> ReadPassFile(const std::string& path);
void WritePassFile(const std::string& path, const std::vector<PassCase>& cases);

}  // namespace skiff
