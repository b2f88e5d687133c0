/// What every damaged source file goes through.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convert.h"

namespace skiff::testing {

/// Imports, converts to one file, opens and runs each signature as a plan, open dimensions at 2; the error's
/// text, or "". What begins with "OWN FILE REFUSED" is a defect of the converter.
std::string ConvertAndRun(const std::function<std::vector<NamedGraph>()>& import);

}  // namespace skiff::testing
