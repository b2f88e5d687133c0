/// The report of a quantised net, as one page that needs no other file and no network.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/quantize_report.h"

namespace skiff::cli {

/// `facts`: what was done, as names and values above the tables. HTML. `measure`: of what layers cost;
/// `search_measure`: of what the search tried.
std::string QuantizePage(const std::string& title,
                         const std::vector<std::pair<std::string, std::string>>& facts,
                         const QuantizeResult& result, const std::string& measure,
                         const std::string& search_measure);

/// Text as HTML has it.
std::string EscapeHtml(const std::string& text);

}  // namespace skiff::cli
