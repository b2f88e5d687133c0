/// Python's keywords as the tool's options: the same words, checked by the same code.
#pragma once

#include "platforms/python/bindings/python.h"

#include "cli/parity_pairs.h"
#include "cli/quantize_options.h"

namespace skiff::python {

/// Of a dictionary that has keys of the arguments' names. Throws Error, or CLI::Error as the tool says it.
cli::ConvertArguments ToConvertArguments(const nb::dict& given);
/// With the words of `skiff convert --quantize` under "quantize".
cli::QuantizeArguments ToQuantizeArguments(const nb::dict& given);
/// With what only Python says: labels in a list, and the target.
ConvertOptions ToConvertOptions(const cli::ConvertArguments& arguments, const nb::dict& given);
cli::ParityArguments ToParityArguments(const nb::dict& given);

}  // namespace skiff::python
