#include "cli/plan_table.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "cli/table.h"
#include "delegates/supports.h"
#include "run/sizes.h"

namespace skiff::cli {

std::string RangesText(const ModelData& model, const PlanData& plan) {
  std::string text;
  for (const SymbolRange& range : plan.ranges) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", model.symbols[range.symbol].name,
                        RangeText(range.min, range.max));
  }
  return text;
}

std::string ContractText(const ModelSignature& signature) {
  std::string text;
  const Span<const SymbolInfo> symbols = signature.model().symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!signature.Has(i)) continue;
    const SymbolInfo& symbol = symbols[i];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", symbol.name,
                        RangeText(symbol.min, symbol.max, symbol.multiple));
  }
  return text;
}

std::string DelegateText(DelegateKind kind) {
  const char* name = NameOfDelegate(kind);
  return kind < DelegateKind::kOfApplications ? name : fmt::format("{} {}", name, static_cast<int>(kind));
}

DelegateKind DelegateOf(const PlanData& plan, size_t node) {
  for (const SegmentData& segment : plan.segments) {
    if (node >= segment.begin && node < segment.end) return segment.delegate;
  }
  return DelegateKind::kReference;
}

Json MaximumJson(int64_t max) { return max == SymbolInfo::kUnbounded ? Json() : Json(max); }

Json PlanJson(const ModelData& model, const PlanData& plan) {
  Json ranges = Json::object();
  for (const SymbolRange& range : plan.ranges)
    ranges[model.symbols[range.symbol].name] = {{"min", range.min}, {"max", MaximumJson(range.max)}};
  Json delegates = Json::object();
  for (size_t i = plan.shape_node_count; i < plan.nodes.size(); ++i) {
    const std::string name = DelegateText(DelegateOf(plan, i));
    delegates[name] = delegates.value(name, 0) + 1;
  }
  const NodeCounts counts = CountNodes(plan);
  return {{"target", TargetName(plan.target)},
          {"kind", BucketKindName(plan.kind)},
          {"ranges", std::move(ranges)},
          {"arena_bytes", plan.arena_bytes},
          {"shape_program_nodes", counts.shape_program},
          {"reference_nodes", counts.reference},
          {"segments", plan.segments.size()},
          {"delegates", std::move(delegates)}};
}

NodeCounts CountNodes(const PlanData& plan) {
  NodeCounts counts{plan.shape_node_count, plan.nodes.size() - plan.shape_node_count, 0};
  for (const SegmentData& segment : plan.segments) {
    if (segment.delegate == DelegateKind::kReference) counts.reference += segment.end - segment.begin;
  }
  return counts;
}

std::string PlansTable(const ModelData& model, Span<const SignatureData> signatures) {
  using Align = Table::Align;
  const bool several = signatures.size() > 1;
  std::vector<Table::Column> columns{{"plan", Align::kRight},
                                     {"target"},
                                     {"kind"},
                                     {"sizes"},
                                     {"arena bytes", Align::kRight},
                                     {"nodes", Align::kRight},
                                     {"on reference", Align::kRight},
                                     {"shape program", Align::kRight}};
  if (several) columns.insert(columns.begin(), {"signature"});
  Table table(std::move(columns));
  for (const SignatureData& signature : signatures) {
    for (size_t i = 0; i < signature.plans.size(); ++i) {
      const PlanData& plan = signature.plans[i];
      const NodeCounts nodes = CountNodes(plan);
      const std::string ranges = RangesText(model, plan);
      std::vector<std::string> row{
          std::to_string(i),
          TargetName(plan.target),
          BucketKindName(plan.kind),
          ranges.empty() ? "fixed" : ranges,
          plan.kind == BucketKind::kUnbounded ? "at run time" : Grouped(plan.arena_bytes),
          std::to_string(nodes.data_program),
          std::to_string(nodes.reference),
          std::to_string(nodes.shape_program)};
      if (several) row.insert(row.begin(), signature.name);
      table.Add(std::move(row));
    }
  }
  return table.ToString();
}

std::string DelegateCounts(Span<const SegmentData> segments) {
  std::map<DelegateKind, uint32_t, std::greater<>> counts;
  for (const SegmentData& segment : segments) counts[segment.delegate] += segment.end - segment.begin;
  std::string text;
  for (const auto& [delegate, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", DelegateText(delegate), count);
  }
  return text.empty() ? "none" : text;
}

}  // namespace skiff::cli
