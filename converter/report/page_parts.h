/// The files of page/, as the build put them into page_parts.cpp.
#pragma once

#include <string_view>

namespace skiff {

extern const std::string_view kReportPage;    ///< page.html, with marks for the others.
extern const std::string_view kReportStyle;   ///< page.css
extern const std::string_view kReportScript;  ///< All scripts, one behind the other.

}  // namespace skiff
