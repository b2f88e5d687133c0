/// The calls that `skiff parity` compares: their sizes, and the ranges of their random inputs, of one
/// signature after the other.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/parity_pairs.h"
#include "run/model_signature.h"
#include "run/random_inputs.h"
#include "run/sizes.h"

namespace skiff::cli {

/// The calls: sizes of open dimensions, -1 where they follow from files or from the default. `used`: gets
/// those of --at and --dim that are of this signature.
std::vector<SymbolSizes> CallsOf(const ParityArguments& arguments, const ModelSignature& signature,
                                 std::set<std::string>& used);

/// The ranges of the inputs that a signature has; `used` gets these inputs.
InputRanges RangesOf(const InputRanges& ranges, const ModelSignature& signature, std::set<std::string>& used);

/// Throws Error for a size or a range of which no signature knows; where there is one, it has said so.
void CheckUsed(const ParityArguments& arguments, const InputRanges& ranges, const std::set<std::string>& dims,
               const std::set<std::string>& inputs);

}  // namespace skiff::cli
