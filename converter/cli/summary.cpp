#include "cli/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/image_options.h"
#include "cli/plan_table.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "graph/counted.h"
#include "run/opened_model.h"
#include "signatures.h"

namespace skiff::cli {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;
std::string SignatureSummary(const ModelSignature& signature, const Graph& graph) {
  std::string text;
  if (signature.model().signature_count() > 1) text += fmt::format("signature '{}'\n", signature.name());
  if (const std::string contract = ContractText(signature); !contract.empty())
    text += fmt::format("sizes:   {}\n", contract);
  for (const PortInfo& port : signature.info().inputs) {
    if (port.image.width != 0)
      text += Folded(fmt::format("input:   '{}'{}", port.name, ImageText(port.image)), kLabelWidth) + '\n';
  }
  const PlanData& plan = signature.data().plans[0];
  return text + fmt::format("nodes:   {} in the source, {} in the plan ({} in {})\n", graph.sources().size(),
                            plan.nodes.size(), DelegateCounts(plan.segments),
                            Counted(plan.segments.size(), "segment"));
}

Json TimesJson(const std::vector<std::pair<std::string, double>>& milliseconds) {
  std::map<std::string, double> sums;  // Buckets go through the same passes.
  for (const auto& [name, time] : milliseconds) sums[name] += time * kNanosecondsPerMillisecond;
  Json json = Json::array();
  for (const auto& [name, time] : sums) json.push_back({{"name", name}, {"ns", time}});
  return json;
}

}  // namespace

void StepTimes::Begin(const std::string& step) {
  End();
  // Signatures go through the same steps, one after the other.
  const auto known = std::find_if(milliseconds_.begin(), milliseconds_.end(),
                                  [&](const auto& other) { return other.first == step; });
  current_ = static_cast<size_t>(known - milliseconds_.begin());
  if (known == milliseconds_.end()) milliseconds_.emplace_back(step, 0);
  started_ = std::chrono::steady_clock::now();
  running_ = true;
}

void StepTimes::End() {
  if (!running_) return;
  milliseconds_[current_].second +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started_).count();
  running_ = false;
}

Remarks RemarksOn(const ConvertedFile& result) {
  Remarks remarks;
  for (const auto& signature : result.signatures) {
    const std::string of = result.signatures.size() == 1 ? "" : SignatureText(signature->name) + ": ";
    for (const std::string& sentence : signature->graph.left_out) remarks.notes.push_back(of + sentence);
    if (const std::string hint = OpenDimsHint(signature->graph); !hint.empty())
      remarks.hints.push_back(of + hint);
    for (const StatePair& pair : LikelyStates(signature->graph))
      remarks.hints.push_back(of + StateHint(pair));
  }
  return remarks;
}

std::string ConversionSummary(const std::string& path, const ConvertedFile& result, const StepTimes& times,
                              const std::vector<std::pair<std::string, double>>& pass_ms) {
  // The written file is the authority on what is in it.
  OpenedModel opened(path, "", {});
  const ModelData& data = opened.data();
  std::string text = fmt::format("{}: {} bytes, of which {} are weights\n", path, Grouped(data.file_bytes),
                                 Grouped(data.weights_bytes));
  for (size_t i = 0; i < data.signatures.size(); ++i)
    text +=
        SignatureSummary(ModelSignature(opened.model(), static_cast<int>(i)), result.signatures[i]->graph);
  text += '\n' + PlansTable(data, {data.signatures.data(), data.signatures.size()});
  for (const auto& signature : result.signatures) {
    if (signature->draft.arena_lower_bound == 0) continue;
    const double over = 100.0 * (static_cast<double>(signature->draft.arena_bytes) /
                                     static_cast<double>(signature->draft.arena_lower_bound) -
                                 1);
    const std::string where = over < 0.05 ? "at" : fmt::format("{:.1f} % above", over);
    text += fmt::format("(the arena of plan 0{} is {} its lower bound of {} bytes)\n",
                        result.signatures.size() == 1 ? "" : fmt::format(" of '{}'", signature->name), where,
                        Grouped(signature->draft.arena_lower_bound));
  }
  text += '\n';
  std::string steps = "time:   ";
  for (const auto& [step, milliseconds] : times.milliseconds())
    steps += fmt::format(" {} {:.1f} ms,", step, milliseconds);
  steps.pop_back();
  text += Folded(steps, kLabelWidth) + '\n';
  const auto slowest = std::max_element(pass_ms.begin(), pass_ms.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest != pass_ms.end())
    text += fmt::format("         slowest pass: {} {:.1f} ms\n", slowest->first, slowest->second);
  return text;
}

Json ConversionJson(const std::string& path, const ConvertedFile& result, const StepTimes& times,
                    const std::vector<std::pair<std::string, double>>& pass_ms) {
  OpenedModel opened(path, "", {});
  const ModelData& data = opened.data();
  Json json = {{"file", path},
               {"file_bytes", data.file_bytes},
               {"weights_bytes", data.weights_bytes},
               {"signatures", Json::array()},
               {"steps", TimesJson(times.milliseconds())},
               {"passes", TimesJson(pass_ms)}};
  for (size_t i = 0; i < data.signatures.size(); ++i) {
    const SignatureData& signature = data.signatures[i];
    Json entry = {{"name", signature.name},
                  {"source_nodes", result.signatures[i]->graph.sources().size()},
                  {"plan_nodes", signature.plans[0].nodes.size()},
                  {"arena_lower_bound_bytes", result.signatures[i]->draft.arena_lower_bound},
                  {"plans", Json::array()}};
    for (const PlanData& plan : signature.plans) entry["plans"].push_back(PlanJson(data, plan));
    json["signatures"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace skiff::cli
