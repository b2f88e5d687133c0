#include "cli/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/parity_report.h"
#include "cli/plan_table.h"
#include "cli/table.h"
#include "graph/counted.h"
#include "run/model_sizes.h"

namespace skiff::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string CaseText(const ModelSignature& signature, const SizedReport& one) {
  const std::string sizes = SizesText(signature.model().symbols(), one.sizes);
  if (one.step > 0) return fmt::format("{}{}run {}", sizes, sizes.empty() ? "" : ", ", one.step);
  return sizes.empty() ? "fixed" : sizes;
}

/// "0 relaxed": the plan's number, as 'skiff inspect' shows it, and kind.
std::string PlanText(const ModelSignature& signature, const SizedReport& one) {
  const PlanData& plan = PlanAt(signature, one.sizes);
  return fmt::format("{} {}", &plan - signature.data().plans.begin(), BucketKindName(plan.kind));
}

/// The output that is furthest from eager, and from what was expected.
const TensorParity* WorstOutput(const BackendParity& backend) {
  const TensorParity* worst = nullptr;
  for (const auto* rows : {&backend.outputs, &backend.expected}) {
    for (const TensorParity& row : *rows) {
      if (worst == nullptr || row.comparison.relative() > worst->comparison.relative() ||
          (worst->comparison.ok && !row.comparison.ok))
        worst = &row;
    }
  }
  return worst;
}

std::string LayersCell(const BackendParity& backend) {
  if (backend.layers.empty()) return "";
  const TensorParity* bad = backend.FirstBadLayer();
  return bad == nullptr ? fmt::format("{} ok", backend.layers.size()) : "FAILED at " + bad->name;
}

/// "3 sizes", "1 run".
std::string CountedCases(size_t count, const std::vector<SizedReport>& cases) {
  return Counted(count, cases[0].step > 0 ? "run" : "size");
}

bool Compared(const SizedReport& one) { return one.report.refused.empty(); }

}  // namespace

bool SweepOk(const std::vector<SizedReport>& cases) {
  return std::any_of(cases.begin(), cases.end(), Compared) &&
         std::all_of(cases.begin(), cases.end(), [](const SizedReport& one) { return one.report.ok(); });
}

std::string SweepVerdict(const ModelSignature& signature, const std::vector<SizedReport>& cases) {
  size_t failed = 0;
  const SizedReport* first = nullptr;
  for (const SizedReport& one : cases) {
    if (one.report.ok()) continue;
    ++failed;
    if (first == nullptr) first = &one;
  }
  if (first != nullptr) {
    return fmt::format("PARITY FAILED at {} of {}, first at {}: {}", failed,
                       CountedCases(cases.size(), cases), CaseText(signature, *first),
                       FailureText(first->report));
  }
  const auto compared = static_cast<size_t>(std::count_if(cases.begin(), cases.end(), Compared));
  if (compared == 0) {
    return fmt::format("PARITY FAILED: the source refuses every size: {}",
                       cases.empty() ? "there is none" : cases[0].report.refused);
  }
  double worst = 0;
  for (const SizedReport& one : cases) {
    for (const BackendParity& backend : one.report.backends) {
      if (const TensorParity* row = WorstOutput(backend)) worst = std::max(worst, row->comparison.relative());
    }
  }
  std::string text =
      fmt::format("PARITY OK: {} on {}, worst error {:.2e} of the largest element",
                  CountedCases(compared, cases), Counted(cases[0].report.backends.size(), "backend"), worst);
  if (compared < cases.size())
    text += fmt::format("; {} more that the source itself refuses", cases.size() - compared);
  return text;
}

std::string SweepText(const ModelSignature& signature, const std::vector<SizedReport>& cases,
                      const std::string& of) {
  using Align = Table::Align;
  Table table({{"plan"},
               {"sizes"},
               {"backend"},
               {"worst output", Align::kLeft, true},
               {"of largest", Align::kRight},
               {"layers"},
               {"result"}});
  std::string failures;
  for (const SizedReport& one : cases) {
    for (const BackendParity& backend : one.report.backends) {
      const TensorParity* worst = WorstOutput(backend);
      const bool ok = one.report.Holds(backend);
      table.Add({PlanText(signature, one), CaseText(signature, one), BackendName(backend.backend),
                 worst == nullptr ? "" : Shortened(worst->name, 40),
                 worst == nullptr ? "" : fmt::format("{:.2e}", worst->comparison.relative()),
                 LayersCell(backend),
                 !ok             ? "FAILED"
                 : Compared(one) ? "ok"
                                 : "refused"});
    }
    if (!one.report.ok())
      failures += fmt::format("{}: {}\n", CaseText(signature, one), FailureText(one.report));
    if (one.report.ok() && !Compared(one))
      failures += fmt::format("{}: refused by the source and the model: {}\n", CaseText(signature, one),
                              one.report.refused);
  }
  return fmt::format("{}{}\n{}{}{}\n", table.ToString(), failures.empty() ? "" : "\n" + failures, of,
                     of.empty() ? "" : ": ", SweepVerdict(signature, cases));
}

Json SweepJson(const ModelSignature& signature, const std::vector<SizedReport>& cases) {
  Json json = {{"ok", SweepOk(cases)}, {"verdict", SweepVerdict(signature, cases)}, {"cases", Json::array()}};
  for (const SizedReport& one : cases) {
    const PlanData& plan = PlanAt(signature, one.sizes);
    Json sizes = Json::object();
    for (size_t i = 0; i < one.sizes.size(); ++i) {
      if (signature.Has(i)) sizes[signature.model().symbols()[i].name] = one.sizes[i];
    }
    Json entry = {{"plan", &plan - signature.data().plans.begin()},
                  {"kind", BucketKindName(plan.kind)},
                  {"sizes", std::move(sizes)}};
    if (one.step > 0) entry["run"] = one.step;
    entry.update(ParityJson(one.report));
    json["cases"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace skiff::cli
