#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/table.h"
#include "cli/terminal.h"
#include "graph/counted.h"

namespace skiff::cli {
namespace {

/// Sums over all nodes of one operator or delegate.
struct Total {
  std::string key;
  size_t nodes = 0;
  double ns = 0;
  uint64_t bytes = 0;
  uint64_t multiply_adds = 0;
};

template <class KeyOf>
std::vector<Total> TotalsBy(const BenchResult& result, KeyOf key_of) {
  std::map<std::string, Total> totals;
  for (const NodeProfile& node : result.nodes) {
    if (node.info.shape_program) continue;
    Total& total = totals[key_of(node.info)];
    ++total.nodes;
    total.ns += node.median_ns;
    total.bytes += node.info.bytes;
    total.multiply_adds += node.info.multiply_adds;
  }
  std::vector<Total> sorted;
  for (auto& [key, total] : totals) {
    total.key = key;
    sorted.push_back(total);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Total& a, const Total& b) { return a.ns > b.ns; });
  return sorted;
}

std::vector<Total> TotalsByOperator(const BenchResult& result) {
  return TotalsBy(result, [](const NodeInfo& info) { return std::string(info.op); });
}

std::string NodeDelegateText(const NodeInfo& info) {
  return std::string(info.delegate_name) + (info.fell_back ? " (fell back)" : "");
}

std::vector<Total> TotalsByDelegate(const BenchResult& result) { return TotalsBy(result, NodeDelegateText); }

/// What a new shape costs beyond the run itself.
double ReshapeTime(const BenchResult& result) {
  return std::max(result.changed_run_ns - result.unchanged_run_ns, 0.0);
}

std::string Rate(double amount, double ns) {
  return amount == 0 || ns == 0 ? "" : fmt::format("{:.1f}", amount / ns);
}

std::string TotalsTable(const std::string& title, const std::vector<Total>& totals, double all_ns,
                        double between_ns) {
  using Align = Table::Align;
  Table table({{title},
               {"nodes", Align::kRight},
               {"time", Align::kRight},
               {"share", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"GB/s", Align::kRight}});
  for (const Total& total : totals) {
    table.Add({total.key, std::to_string(total.nodes), Duration(total.ns),
               fmt::format("{:.1f} %", 100 * total.ns / std::max(all_ns, 1.0)),
               Rate(2.0 * static_cast<double>(total.multiply_adds), total.ns),
               Rate(static_cast<double>(total.bytes), total.ns)});
  }
  table.Add({"between nodes", "", Duration(between_ns),
             fmt::format("{:.1f} %", 100 * between_ns / std::max(all_ns, 1.0)), "", ""});
  return table.ToString();
}

std::string NodesTable(const BenchResult& result, double all_ns, size_t top) {
  using Align = Table::Align;
  Table table({{"node", Align::kLeft, true},
               {"operator"},
               {"delegate"},
               {"time", Align::kRight},
               {"share", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"GB/s", Align::kRight}});
  std::vector<const NodeProfile*> sorted;
  for (const NodeProfile& node : result.nodes) {
    if (!node.info.shape_program) sorted.push_back(&node);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->median_ns > b->median_ns; });
  for (size_t i = 0; i < std::min(top, sorted.size()); ++i) {
    const NodeProfile& node = *sorted[i];
    // Computed by the product before it, row by row: no time of its own is left to measure.
    const std::string time = node.median_ns > 0 ? Duration(node.median_ns) : "in a product's";
    table.Add({Shortened(node.info.name, 48), node.info.op, NodeDelegateText(node.info), time,
               fmt::format("{:.1f} %", 100 * node.median_ns / std::max(all_ns, 1.0)),
               Rate(2.0 * static_cast<double>(node.info.multiply_adds), node.median_ns),
               Rate(static_cast<double>(node.info.bytes), node.median_ns)});
  }
  return table.ToString();
}

std::string Sizes(uint32_t group, uint32_t tile) {
  return tile == 0 ? std::to_string(group) : fmt::format("{} x {}", group, tile);
}

std::string TuningText(const BenchContext& context, const BenchResult& result) {
  if (context.tuning.empty()) return "";
  std::string text =
      fmt::format("tuning:  {} {} measured sizes", Counted(context.tuning.size(), "shader variant"),
                  context.tuning.size() == 1 ? "has" : "have");
  if (context.median_by_rule_ns == 0) return text + " (--tune measures anew)\n";
  text += fmt::format("; median run {} by rule, {} tuned\n\n", Duration(context.median_by_rule_ns),
                      Duration(result.Quantile(0.5)));
  using Align = Table::Align;
  Table table({{"shader"},
               {"constants"},
               {"by rule", Align::kRight},
               {"time", Align::kRight},
               {"tuned", Align::kRight},
               {"time", Align::kRight}});
  for (const TunedShader& shader : context.tuning) {
    table.Add({shader.shader + (shader.precision == "f32" ? "" : " " + shader.precision), shader.constants,
               Sizes(shader.group_by_rule, shader.tile_by_rule), Duration(shader.ns_by_rule),
               Sizes(shader.group, shader.tile), Duration(shader.ns)});
  }
  return text + table.ToString() +
         "(invocations of a work group, x pixels of an invocation; times of all nodes in one run)\n";
}

nlohmann::ordered_json TuningJson(const BenchContext& context) {
  nlohmann::ordered_json json = {{"shaders", nlohmann::ordered_json::array()}};
  if (context.median_by_rule_ns != 0) json["median_by_rule_ns"] = context.median_by_rule_ns;
  for (const TunedShader& shader : context.tuning) {
    json["shaders"].push_back({{"name", shader.shader},
                               {"constants", shader.constants},
                               {"precision", shader.precision},
                               {"group_by_rule", shader.group_by_rule},
                               {"group", shader.group},
                               {"tile_by_rule", shader.tile_by_rule},
                               {"tile", shader.tile},
                               {"ns_by_rule", shader.ns_by_rule},
                               {"ns", shader.ns}});
  }
  return json;
}

nlohmann::ordered_json TotalsJson(const std::vector<Total>& totals) {
  auto json = nlohmann::ordered_json::array();
  for (const Total& total : totals) {
    json.push_back({{"name", total.key},
                    {"nodes", total.nodes},
                    {"median_ns", total.ns},
                    {"bytes", total.bytes},
                    {"multiply_adds", total.multiply_adds}});
  }
  return json;
}

}  // namespace

std::string BenchText(const BenchContext& context, const BenchResult& result, size_t top_nodes) {
  const double between_ns = result.BetweenNodes();
  const double all_ns = result.NodesTime() + between_ns;
  std::string text = fmt::format("{} on {}, {}\n", context.model, context.backend,
                                 Counted(static_cast<uint64_t>(result.threads), "thread"));
  if (!context.signature.empty()) text += fmt::format("of:      signature '{}'\n", context.signature);
  if (!context.sizes.empty()) text += fmt::format("sizes:   {}\n", context.sizes);
  text += fmt::format("run:     median {}, min {}, p90 {} over {}\n", Duration(result.Quantile(0.5)),
                      Duration(result.Quantile(0)), Duration(result.Quantile(0.9)),
                      Counted(result.runs_ns.size(), "run"));
  text += Folded("noise:   " + NoiseText(result.noise, result.Spread(), result.runs_ns.size()), kLabelWidth) +
          '\n';
  text += fmt::format("start:   load {}, session {}, first run {}\n", Duration(context.load_ns),
                      Duration(result.create_ns), Duration(result.first_run_ns));
  if (!context.other_sizes.empty())
    text += fmt::format("reshape: {}; the first call after a change from {} takes {}, the next {}\n",
                        Duration(ReshapeTime(result)), context.other_sizes, Duration(result.changed_run_ns),
                        Duration(result.unchanged_run_ns));
  const std::string memory = fmt::format(
      "memory:  arena {}, inputs {}, workspace {}, packed weights {} and {} mapped, mapped weights {}, "
      "widened weights {} bytes",
      Grouped(result.memory.arena), Grouped(result.memory.inputs), Grouped(result.memory.workspace),
      Grouped(result.memory.packed_weights), Grouped(result.memory.mapped_packed_weights),
      Grouped(result.memory.mapped_weights), Grouped(result.memory.widened_weights));
  text += Folded(memory, kLabelWidth) + '\n' + TuningText(context, result) + '\n';
  text += NodesTable(result, all_ns, top_nodes);
  const auto shape_nodes =
      static_cast<size_t>(std::count_if(result.nodes.begin(), result.nodes.end(),
                                        [](const NodeProfile& node) { return node.info.shape_program; }));
  const size_t nodes = result.nodes.size() - shape_nodes;
  if (nodes > top_nodes)
    text += fmt::format("... and {} (--top {} shows all)\n", Counted(nodes - top_nodes, "more node"), nodes);
  if (shape_nodes > 0) text += fmt::format("(at a new shape only: {})\n", Counted(shape_nodes, "node"));
  text += '\n' + TotalsTable("by operator", TotalsByOperator(result), all_ns, between_ns);
  text += '\n' + TotalsTable("by delegate", TotalsByDelegate(result), all_ns, between_ns);
  text += fmt::format("(of profiled runs, which took {}: the clock is read at every node)\n",
                      Duration(result.profiled_run_ns));
  return text;
}

nlohmann::ordered_json BenchJson(const BenchContext& context, const BenchResult& result) {
  nlohmann::ordered_json json = {{"model", context.model},
                                 {"backend", context.backend},
                                 {"threads", result.threads},
                                 {"runs", result.runs_ns.size()},
                                 {"median_ns", result.Quantile(0.5)},
                                 {"min_ns", result.Quantile(0)},
                                 {"p90_ns", result.Quantile(0.9)},
                                 {"load_ns", context.load_ns},
                                 {"session_ns", result.create_ns},
                                 {"first_run_ns", result.first_run_ns},
                                 {"file_bytes", context.file_bytes}};
  json["noise"] = {{"noisy", IsNoisy(result.noise, result.Spread(), result.runs_ns.size())},
                   {"enough_runs", result.runs_ns.size() >= kRunsToTell},
                   {"spread", result.Spread()},
                   {"other_programs_cpus", result.noise.others},
                   {"stolen_share", result.noise.stolen},
                   {"preempted", result.noise.preempted}};
  if (result.noise.mhz_before > 0) json["noise"]["mhz"] = {result.noise.mhz_before, result.noise.mhz_after};
  if (!context.signature.empty()) json["signature"] = context.signature;
  json["sizes"] = context.sizes_json;
  if (!context.other_sizes.empty()) {
    json["reshape"] = {{"from", context.other_sizes},
                       {"ns", ReshapeTime(result)},
                       {"first_run_ns", result.changed_run_ns},
                       {"next_run_ns", result.unchanged_run_ns}};
  }
  json["memory"] = {{"arena", result.memory.arena},
                    {"inputs", result.memory.inputs},
                    {"workspace", result.memory.workspace},
                    {"packed_weights", result.memory.packed_weights},
                    {"mapped_weights", result.memory.mapped_weights},
                    {"mapped_packed_weights", result.memory.mapped_packed_weights},
                    {"widened_weights", result.memory.widened_weights}};
  if (!context.tuning.empty()) json["tuning"] = TuningJson(context);
  json["profiled_run_ns"] = result.profiled_run_ns;
  json["between_nodes_ns"] = result.BetweenNodes();
  json["nodes"] = nlohmann::ordered_json::array();
  for (const NodeProfile& node : result.nodes) {
    json["nodes"].push_back({{"name", node.info.name},
                             {"operator", node.info.op},
                             {"delegate", node.info.delegate_name},
                             {"fell_back", node.info.fell_back},
                             {"shape_program", node.info.shape_program},
                             {"median_ns", node.median_ns},
                             {"bytes", node.info.bytes},
                             {"multiply_adds", node.info.multiply_adds}});
  }
  json["by_operator"] = TotalsJson(TotalsByOperator(result));
  json["by_delegate"] = TotalsJson(TotalsByDelegate(result));
  return json;
}

}  // namespace skiff::cli
