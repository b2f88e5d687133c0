#include "cli/chrome_trace.h"

namespace skiff::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A complete event; the format counts in microseconds.
Json Event(const std::string& name, const std::string& category, uint64_t begin_ns, uint64_t duration_ns,
           Json arguments) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", static_cast<double>(begin_ns) / 1000},
          {"dur", static_cast<double>(duration_ns) / 1000},
          {"pid", 1},
          {"tid", 1},
          {"args", std::move(arguments)}};
}

}  // namespace

Json ChromeTrace(const std::string& model, const BenchResult& result) {
  Json events = Json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", model}}}});
  for (size_t r = 0; r < result.traced.size(); ++r) {
    const TracedRun& run = result.traced[r];
    events.push_back(Event("run " + std::to_string(r + 1), "run", run.begin_ns, run.end_ns - run.begin_ns,
                           Json::object()));
    for (size_t i = 0; i < run.nodes.size(); ++i) {
      const NodeInfo& info = result.nodes[i].info;
      if (info.shape_program) continue;  // It did not run in this call.
      const auto& [begin, duration] = run.nodes[i];
      events.push_back(
          Event(info.op, info.delegate_name, begin, duration,
                {{"node", info.name}, {"bytes", info.bytes}, {"multiply_adds", info.multiply_adds}}));
    }
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace skiff::cli
