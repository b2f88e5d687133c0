#include "cli/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/plan_table.h"
#include "cli/table.h"
#include "run/opened_model.h"

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

std::string ConversionSummary(const std::string& path, const ConvertResult& result, const StepTimes& times,
                              const std::vector<std::pair<std::string, double>>& pass_ms) {
  // The written file is the authority on what is in it.
  const OpenedModel opened(result.file);
  const ModelData& data = opened.data();
  std::string text = fmt::format("{}: {} bytes, of which {} are weights\n", path, Grouped(data.file_bytes),
                                 Grouped(data.weights_bytes));
  if (const std::string contract = ContractText(data); !contract.empty())
    text += fmt::format("sizes:   {}\n", contract);
  const SignatureData& signature = data.signatures[0];
  const Span<const SegmentData> segments = signature.plans[0].segments;
  text += fmt::format("nodes:   {} in the source, {} in the plan ({} in {} segment{})\n",
                      result.graph.sources().size(), signature.plans[0].nodes.size(),
                      DelegateCounts(segments), segments.size(), segments.size() == 1 ? "" : "s");
  text += '\n' + PlansTable(data, signature);
  if (result.draft.arena_lower_bound > 0) {
    const double over = 100.0 * (static_cast<double>(result.draft.arena_bytes) /
                                     static_cast<double>(result.draft.arena_lower_bound) -
                                 1);
    text += fmt::format("(the arena of plan 0 is {:.1f} % above its lower bound of {} bytes)\n", over,
                        Grouped(result.draft.arena_lower_bound));
  }
  text += '\n';
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
