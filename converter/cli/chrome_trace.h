/// Profiled runs in the Trace Event Format, which chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "run/bench.h"

namespace skiff::cli {

nlohmann::ordered_json ChromeTrace(const std::string& model, const BenchResult& result);

}  // namespace skiff::cli
