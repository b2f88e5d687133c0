/// Sizes for the open dimensions of which nobody said any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/model_sizes.h"

namespace skiff {

/// Why a net refuses sizes, by Symbol; "" where it takes them.
using WhyRefusedAt = std::function<std::string(const std::vector<int64_t>& sizes)>;

/// What `said` leaves open is the largest of its contract, or `wanted` where that has no end; where the net
/// refuses these, 1, the contract's smallest, or another common size that it takes, each dimension as small
/// as can be. Throws Error with the options that say sizes where none of them is taken; `option`: "--dim".
std::vector<int64_t> AcceptedSizes(const ModelSignature& signature, const SymbolSizes& said, int64_t wanted,
                                   const std::string& option, const WhyRefusedAt& why_refused);

/// "batch=1, seq=7 because no option says it; --dim batch=N --dim seq=N says otherwise", of what `said`
/// leaves open; "" where that is nothing.
std::string ChosenSizesText(const SymbolSizes& said, const std::vector<int64_t>& chosen,
                            const std::string& option);

}  // namespace skiff
