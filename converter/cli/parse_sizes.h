/// Sizes of open dimensions, as the command line spells them.
#pragma once

#include <string>
#include <vector>

#include "run/sizes.h"

namespace skiff::cli {

/// Reads "seq=7" and "seq=7,batch=2" of the option `option` into `sizes`. Throws CLI::ValidationError where
/// the text is malformed, or names a dimension twice.
void ParseSizes(const std::string& option, const std::string& text, NamedSizes& sizes);

/// Reads "NAME=1x7" of --shape, each. Throws CLI::ValidationError where one is malformed, or names an input
/// again.
NamedShapes ParseShapes(const std::vector<std::string>& texts);

}  // namespace skiff::cli
