/// What every damaged source file goes through.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "convert.h"
#include "import/import_model.h"

namespace skiff::testing {

/// Imports, converts to one file, opens and runs each signature as a plan, open dimensions at 2, before which
/// a model that has some is converted with them and used (use_model.h); the error's text, or "". What begins
/// with kDefect is none of the source's, but of the converter: a file that the loader refuses, or a state
/// that it says it cannot be in. `keep` sees the file before it is opened.
inline constexpr const char* kDefect = "DEFECT ";
std::string ConvertAndRun(const std::function<std::vector<NamedGraph>()>& import,
                          const std::function<void(std::string_view file)>& keep = {});

/// As a double: no shape's product overflows.
double ElementsOfInputs(const Graph& graph);

/// What a caller says of inputs, of which a fuzzer knows the names alone: "fixed3" is 3 in every call (of a
/// sequence: holds as many tensors), "fixedm1_5" is -1.5.
FixedInputs FixedByName(const std::vector<std::string>& inputs);

/// Makes importers and models know two operators of an application: copy_operator.h, and "fuzz::Kept", which
/// has no functions here.
void KnowCustomOperators();

}  // namespace skiff::testing
