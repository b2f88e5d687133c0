/// Sizes of open dimensions, as the command line spells them.
#pragma once

#include <string>

#include "run/sizes.h"

namespace skiff::cli {

/// Reads "seq=7" and "seq=7,batch=2" of the option `option` into `sizes`. Throws CLI::ValidationError where
/// the text is malformed, or names a dimension twice.
void ParseSizes(const std::string& option, const std::string& text, NamedSizes& sizes);

}  // namespace skiff::cli
