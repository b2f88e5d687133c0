/// What every damaged source file goes through.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "convert.h"

namespace skiff::testing {

/// Imports, converts to one file, opens and runs each signature as a plan, open dimensions at 2; the error's
/// text, or "". What begins with kDefect is none of the source's, but of the converter: a file that the
/// loader refuses, or a state that it says it cannot be in. `keep` sees the file before it is opened.
inline constexpr const char* kDefect = "DEFECT ";
std::string ConvertAndRun(const std::function<std::vector<NamedGraph>()>& import,
                          const std::function<void(std::string_view file)>& keep = {});

}  // namespace skiff::testing
