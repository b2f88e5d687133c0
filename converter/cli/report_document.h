/// The data of a report (docs/json.md), which its page shows.
#pragma once

#include <vector>

#include "cli/json.h"
#include "cli/report_sides.h"

namespace skiff::cli {

Json ReportDocument(const std::vector<ReportSide>& sides);

}  // namespace skiff::cli
