/// The report as one HTML file that needs nothing else.
#pragma once

#include <string>

namespace skiff {

/// `json`: what docs/json.md says of "report". It stands in the page as data: no text of it is ever markup.
std::string ReportPage(const std::string& json);

}  // namespace skiff
