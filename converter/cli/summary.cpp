#include "cli/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/opened_model.h"
#include "cli/table.h"

namespace skiff::cli {

void StepTimes::Begin(const std::string& step) {
  End();
  milliseconds_.emplace_back(step, 0);
  started_ = std::chrono::steady_clock::now();
  running_ = true;
}

void StepTimes::End() {
  if (!running_) return;
  milliseconds_.back().second =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started_).count();
  running_ = false;
}

std::string DelegateCounts(Span<const SegmentData> segments) {
  std::map<DelegateKind, uint32_t, std::greater<>> counts;
  for (const SegmentData& segment : segments) counts[segment.delegate] += segment.end - segment.begin;
  std::string text;
  for (const auto& [delegate, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", DelegateKindName(delegate), count);
  }
  return text.empty() ? "none" : text;
}

std::string ConversionSummary(const std::string& path, const ConvertResult& result, const StepTimes& times,
                              const std::vector<std::pair<std::string, double>>& pass_ms) {
  // The written file is the authority on what is in it.
  const OpenedModel opened(result.file);
  const ModelData& data = opened.data();
  const PlanDraft& draft = result.draft;
  std::string text = fmt::format("{}: {} bytes, of which {} are weights\n", path, Grouped(data.file_bytes),
                                 Grouped(data.weights_bytes));
  text += fmt::format("nodes:   {} in the source, {} in the plan ({} in {} segment{})\n",
                      result.graph.sources().size(), draft.nodes.size(),
                      DelegateCounts({draft.segments.data(), draft.segments.size()}), draft.segments.size(),
                      draft.segments.size() == 1 ? "" : "s");
  const double over =
      draft.arena_lower_bound == 0
          ? 0
          : 100.0 *
                (static_cast<double>(draft.arena_bytes) / static_cast<double>(draft.arena_lower_bound) - 1);
  text += fmt::format("arena:   {} bytes, {:.1f} % above the lower bound of {}\n", Grouped(draft.arena_bytes),
                      over, Grouped(draft.arena_lower_bound));
  text += "time:   ";
  for (const auto& [step, milliseconds] : times.milliseconds())
    text += fmt::format(" {} {:.1f} ms,", step, milliseconds);
  text.back() = '\n';
  const auto slowest = std::max_element(pass_ms.begin(), pass_ms.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest != pass_ms.end())
    text += fmt::format("         slowest pass: {} {:.1f} ms\n", slowest->first, slowest->second);
  return text;
}

}  // namespace skiff::cli
