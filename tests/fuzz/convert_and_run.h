/// What every damaged source file goes through.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"

namespace skiff::testing {

/// Imports, converts, opens and runs as a plan, open dimensions at 2; the error's text, or "". What begins
/// with "OWN FILE REFUSED" is a defect of the converter.
std::string ConvertAndRun(const std::function<Graph()>& import);

}  // namespace skiff::testing
