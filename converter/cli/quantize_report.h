/// What became of a net that was quantised.
#pragma once

#include <string>

#include "cli/json.h"
#include "quantize/quantizer.h"

namespace skiff::cli {

/// Of the files.
struct QuantizedSizes {
  uint64_t before = 0;
  uint64_t behind = 0;
};

/// "3.9 times smaller", or that it is not.
std::string ShrunkText(const QuantizedSizes& sizes);
std::string QuantizeText(const QuantizeResult& result, const QuantizedSizes& sizes,
                         const std::string& measure);
Json QuantizeJson(const QuantizeResult& result, const QuantizedSizes& sizes, const std::string& measure);

}  // namespace skiff::cli
