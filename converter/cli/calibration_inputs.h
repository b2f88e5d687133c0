/// The inputs that a net is calibrated with, from a folder or drawn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/input_files.h"

namespace skiff::cli {

/// "random:N" or "random:N:LOW..HIGH", or a folder. In it, or in the folders in it, lie the inputs of one
/// call (input_NAME and so on, as of --inputs); of a net with one input each file may also be a call of its
/// own, as a picture or a tensor. A tensor whose first axis is longer than the input's 1 is as many calls. Of
/// more than `most` calls so many are taken, evenly spread. `progress` is told which file is read; NaN and
/// infinities are told of on standard error. Throws Error where there are none.
std::vector<NamedTensors> ReadCalibration(const std::string& source, const ModelSignature& signature,
                                          const SymbolSizes& sizes, const InputRanges& ranges, size_t most,
                                          const std::function<void(const std::string& step)>& progress);

/// What ReadCalibration() may read of a folder.
std::vector<std::string> CalibrationFiles(const std::string& folder);

/// The same of tensors in memory: those of one call, or of as many as the first axes are longer. Throws Error
/// where those of one call differ in that.
std::vector<NamedTensors> SplitCalls(const std::vector<NamedTensors>& given, Span<const PortInfo> ports,
                                     size_t most);

/// Whether the values mean nothing to the net.
bool IsDrawn(const std::string& source);

}  // namespace skiff::cli
