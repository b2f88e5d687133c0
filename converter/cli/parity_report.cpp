#include "cli/parity_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"
#include "graph/counted.h"

namespace skiff::cli {
namespace {

using Json = nlohmann::ordered_json;

/// One group of comparisons, as tables and messages call it.
struct Group {
  std::string got;
  std::string against;
  const std::vector<TensorParity>* rows;
};

std::vector<Group> OutputGroups(const ParityReport& report) {
  std::vector<Group> groups{{"eager", "expected", &report.eager_expected}};
  for (const BackendParity& backend : report.backends) {
    groups.push_back({BackendName(backend.backend), "eager", &backend.outputs});
    groups.push_back({BackendName(backend.backend), "expected", &backend.expected});
  }
  return groups;
}

std::string TypeText(const TensorParity& row) {
  return fmt::format("{} {}", DTypeName(row.dtype), ShapeText(row.shape).c_str());
}

const TensorParity* WorstOf(const std::vector<TensorParity>& rows) {
  const auto worst =
      std::max_element(rows.begin(), rows.end(), [](const TensorParity& a, const TensorParity& b) {
        return a.comparison.relative() < b.comparison.relative();
      });
  return worst == rows.end() ? nullptr : &*worst;
}

/// Multi-dimensional index of a flat one.
std::string IndexText(const Shape& shape, int64_t flat) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = flat % shape[axis];
    flat /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string AllowedText(const TensorParity& row) {
  if (!row.measured) return Describe(row.tolerance);
  const Comparison& c = row.comparison;
  return fmt::format("what rounding costs it, {:.1e} of the largest element",
                     c.largest > 0 ? c.allowed / c.largest : c.allowed);
}

std::string Details(const TensorParity& row) {
  const Comparison& c = row.comparison;
  if (!c.problem.empty()) return c.problem;
  return fmt::format("{} of {} elements beyond {}; the worst at {}: expected {:.9g}, got {:.9g}", c.outside,
                     c.elements, AllowedText(row), IndexText(row.shape, c.worst), c.worst_expected,
                     c.worst_got);
}

std::string OutputsTable(const ParityReport& report) {
  using Align = Table::Align;
  Table table({{"compared"},
               {"output", Align::kLeft, true},
               {"type"},
               {"max error", Align::kRight},
               {"of largest", Align::kRight},
               {"allowed"},
               {"result"}});
  for (const Group& group : OutputGroups(report)) {
    for (const TensorParity& row : *group.rows) {
      table.Add({group.got + " / " + group.against, Shortened(row.name, 40), TypeText(row),
                 fmt::format("{:.3g}", row.comparison.max_error),
                 fmt::format("{:.2e}", row.comparison.relative()), AllowedText(row),
                 row.comparison.ok ? "ok" : "FAILED"});
    }
  }
  return table.ToString();
}

std::string LayersTable(const BackendParity& backend) {
  using Align = Table::Align;
  Table table({{"layer", Align::kLeft, true},
               {"operator"},
               {"type"},
               {"max error", Align::kRight},
               {"of largest", Align::kRight},
               {"result"}});
  const TensorParity* worst = WorstOf(backend.layers);
  for (const TensorParity& row : backend.layers) {
    std::string result = row.comparison.ok ? "ok" : "FAILED";
    if (&row == worst && row.comparison.max_error > 0) result += ", worst";
    table.Add({Shortened(row.name, 48), row.op, TypeText(row),
               fmt::format("{:.3g}", row.comparison.max_error),
               fmt::format("{:.2e}", row.comparison.relative()), result});
  }
  std::string text = fmt::format(
      "\nlayers on {}: {} compared with eager{}\n{}", BackendName(backend.backend), backend.layers.size(),
      backend.fused_away == 0 ? "" : fmt::format(", {} more fused away", backend.fused_away),
      backend.layers.empty() ? "" : table.ToString());
  if (const auto& at = backend.amplifier)
    text += fmt::format("rounding grows most at '{}' ({}): from {:.1e} to {:.1e} of the largest element\n",
                        at->layer, at->op, at->before, at->behind);
  return text;
}

Json RowJson(const TensorParity& row) {
  const Comparison& c = row.comparison;
  Json json = {{"name", row.name},
               {"dtype", DTypeName(row.dtype)},
               {"shape", std::vector<int64_t>(row.shape.begin(), row.shape.end())},
               {"ok", c.ok},
               {"elements", c.elements},
               {"outside", c.outside},
               {"max_error", c.max_error},
               {"largest", c.largest},
               {"relative", c.relative()},
               {"allowed", AllowedText(row)},
               {"allowed_error", c.allowed},
               {"share_of_allowed", c.share},
               {"measured", row.measured}};
  if (!row.op.empty()) json["operator"] = row.op;
  if (!c.problem.empty()) json["problem"] = c.problem;
  return json;
}

Json RowsJson(const std::vector<TensorParity>& rows) {
  Json json = Json::array();
  for (const TensorParity& row : rows) json.push_back(RowJson(row));
  return json;
}

}  // namespace

std::string FailureText(const ParityReport& report) {
  for (const BackendParity& backend : report.backends) {
    const char* name = BackendName(backend.backend);
    if (report.Holds(backend) || (backend.refused.empty() && report.refused.empty())) continue;
    return backend.refused.empty()
               ? fmt::format("eager mode refuses what {} computes: {}", name, report.refused)
               : fmt::format("{} refuses what eager mode computes: {}", name, backend.refused);
  }
  for (const BackendParity& backend : report.backends) {
    if (backend.unstable.empty()) continue;
    return fmt::format("output '{}' of {} has other bits in another run with the same inputs",
                       backend.unstable, BackendName(backend.backend));
  }
  for (const Group& group : OutputGroups(report)) {
    for (const TensorParity& row : *group.rows) {
      if (row.comparison.ok) continue;
      std::string text = fmt::format("output '{}' of {} differs from {}: {}", row.name, group.got,
                                     group.against, Details(row));
      for (const BackendParity& backend : report.backends) {
        const TensorParity* layer =
            BackendName(backend.backend) == group.got ? backend.FirstBadLayer() : nullptr;
        if (layer != nullptr)
          text += fmt::format("; the first layer that differs is '{}' ({})", layer->name, layer->op);
      }
      return text;
    }
  }
  for (const BackendParity& backend : report.backends) {
    if (const TensorParity* layer = backend.FirstBadLayer()) {
      return fmt::format("layer '{}' ({}) on {} differs from eager: {}", layer->name, layer->op,
                         BackendName(backend.backend), Details(*layer));
    }
  }
  return "";
}

std::string Verdict(const ParityReport& report) {
  if (const std::string failure = FailureText(report); !failure.empty()) return "PARITY FAILED: " + failure;
  double worst = 0;
  size_t compared = 0;
  for (const Group& group : OutputGroups(report)) {
    for (const TensorParity& row : *group.rows) {
      worst = std::max(worst, row.comparison.relative());
      ++compared;
    }
  }
  size_t layers = 0;
  for (const BackendParity& backend : report.backends) layers += backend.layers.size();
  std::string text = fmt::format("PARITY OK: {}, worst error {:.2e} of the largest element",
                                 Counted(compared, "output comparison"), worst);
  if (layers > 0) text += "; " + Counted(layers, "layer comparison");
  return text;
}

std::string ParityText(const ParityReport& report, const std::string& of) {
  std::string text = OutputsTable(report);
  for (const BackendParity& backend : report.backends) {
    if (!backend.layers.empty() || backend.fused_away > 0) text += LayersTable(backend);
  }
  return fmt::format("{}\n{}{}{}\n", text, of, of.empty() ? "" : ": ", Verdict(report));
}

Json ParityJson(const ParityReport& report) {
  Json json = {{"ok", report.ok()},
               {"verdict", Verdict(report)},
               {"eager_against_expected", RowsJson(report.eager_expected)},
               {"backends", Json::array()}};
  if (!report.refused.empty()) json["refused"] = report.refused;
  for (const BackendParity& backend : report.backends) {
    json["backends"].push_back({{"backend", BackendName(backend.backend)},
                                {"against_eager", RowsJson(backend.outputs)},
                                {"against_expected", RowsJson(backend.expected)},
                                {"layers", RowsJson(backend.layers)},
                                {"fused_away", backend.fused_away}});
    if (const auto& at = backend.amplifier)
      json["backends"].back()["amplifier"] = {
          {"layer", at->layer}, {"operator", at->op}, {"before", at->before}, {"behind", at->behind}};
    if (!backend.refused.empty()) json["backends"].back()["refused"] = backend.refused;
    if (!backend.unstable.empty()) json["backends"].back()["unstable"] = backend.unstable;
  }
  return json;
}

}  // namespace skiff::cli
