/// What `skiff quantize` and `skiff convert --quantize` do.
#pragma once

#include "cli/quantize_options.h"

namespace skiff::cli {

/// Quantises, writes the file and the report, and prints what came of it. Returns the exit code. Throws
/// Error, and CLI::ValidationError where options do not go together.
int RunQuantize(const QuantizeArguments& arguments);

}  // namespace skiff::cli
