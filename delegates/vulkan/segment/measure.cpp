#include "delegates/vulkan/segment/measure.h"

#include <algorithm>
#include <memory>

#include "core/error_capture.h"

namespace skiff::vulkan {
namespace {

constexpr uint32_t kGroupSizes[] = {32, 64, 128, 256};
constexpr uint32_t kTiles[] = {4, 2, 1};
constexpr size_t kRuns = 7;
/// Less is noise.
constexpr double kWorthwhile = 0.95;

/// The segment once more, with sizes that options force, and with memory of its own.
class Trial {
 public:
  /// `pipelines` are not the device's, so that what loses leaves nothing behind.
  Trial(const SegmentView& view, const Environment& environment, const Choice& choice, Pipelines& pipelines)
      : options_(Forced(*environment.options, choice)),
        tuning_(*environment.device, options_, nullptr),
        segment_(view, Alone(environment, pipelines)),
        begin_(view.begin),
        nodes_(view.end - view.begin) {}

  Status Prepare() {
    SKIFF_RETURN_IF_ERROR(segment_.Prepare());
    return segment_.Reshape();
  }
  Span<const Dispatch> dispatches() const { return segment_.dispatches(); }

  /// Medians, by node of the segment. The first run warms up.
  Result<FixedArray<uint64_t>> Time() {
    FixedArray<uint64_t> times;
    SKIFF_RETURN_IF_ERROR(times.Allocate(nodes_ * kRuns));
    Timer timer;
    timer.begin = begin_;
    for (size_t run = 0; run <= kRuns; ++run) {
      timer.times = times.data() + (run == 0 ? 0 : run - 1);
      SKIFF_RETURN_IF_ERROR(segment_.Time(timer));
    }
    FixedArray<uint64_t> medians;
    SKIFF_RETURN_IF_ERROR(medians.Allocate(nodes_));
    for (size_t node = 0; node < nodes_; ++node) {
      uint64_t* const of_node = times.data() + node * kRuns;
      std::nth_element(of_node, of_node + kRuns / 2, of_node + kRuns);
      medians[node] = of_node[kRuns / 2];
    }
    return medians;
  }

 private:
  struct Timer final : NodeTimer {
    uint64_t* times = nullptr;
    uint32_t begin = 0;
    void Record(uint32_t node, uint64_t begin_ns, uint64_t end_ns) override {
      times[(node - begin) * kRuns] = end_ns - begin_ns;
    }
  };

  static VulkanOptions Forced(VulkanOptions options, const Choice& choice) {
    options.tuning = VulkanTuning::kIgnore;
    options.group_size = choice.group_size;
    options.conv_tile = choice.tile;
    return options;
  }
  Environment Alone(Environment environment, Pipelines& pipelines) {
    environment.options = &options_;
    environment.cache_folder = nullptr;
    environment.tuning = &tuning_;
    environment.pipelines = &pipelines;
    environment.session.profile = true;
    environment.session.keep_intermediates = false;
    environment.arena = &arena_;
    return environment;
  }

  const VulkanOptions options_;
  Tuning tuning_;
  std::shared_ptr<Arena> arena_;
  Segment segment_;
  const uint32_t begin_;
  const size_t nodes_;
};

Variant VariantOf(const Dispatch& by_rule) {
  Variant variant = by_rule.key;
  variant.constants[0] = 0;
  return variant;
}

TuningRow RowFor(const Dispatch& by_rule) {
  const Variant variant = VariantOf(by_rule);
  TuningRow row;
  row.shader = static_cast<uint32_t>(variant.shader);
  row.precision = static_cast<uint32_t>(variant.precision);
  std::copy(std::begin(variant.constants), std::end(variant.constants), row.constants);
  row.choice = {by_rule.key.constants[0], HasTile(variant.shader) ? variant.constants[1] : 0};
  return row;
}

/// Over the nodes that dispatch the variant.
uint64_t TimeOf(const TuningRow& row, Span<const Dispatch> by_rule, uint32_t begin,
                Span<const uint64_t> times) {
  uint64_t total = 0;
  uint32_t counted = UINT32_MAX;
  for (const Dispatch& dispatch : by_rule) {
    if (dispatch.node == counted || !row.Is(VariantOf(dispatch))) continue;
    counted = dispatch.node;
    total += times[dispatch.node - begin];
  }
  return total;
}

/// A trial's times; empty where these sizes do not work, quietly. kDeviceLost ends the search.
Result<FixedArray<uint64_t>> TimesWith(const SegmentView& view, const Environment& environment,
                                       const Choice& choice, Pipelines& pipelines, size_t dispatches) {
  const std::unique_ptr<Trial> trial(new (std::nothrow) Trial(view, environment, choice, pipelines));
  if (!trial) return Fail(StatusCode::kOutOfMemory, "cannot allocate what is measured");
  const Status prepared = [&] {
    const ErrorCapture quiet;
    return trial->Prepare();
  }();
  if (prepared.ok() && trial->dispatches().size() == dispatches) return trial->Time();
  if (prepared.code() == StatusCode::kDeviceLost) return prepared;
  return FixedArray<uint64_t>();
}

}  // namespace

Status MeasureSegment(const SegmentView& view, const Environment& environment) {
  if (environment.device->timestamp_ns() == 0) {
    Log(LogLevel::kWarning, "'%s' has no timestamps; nothing is tuned", environment.device->name());
    return OkStatus();
  }
  Pipelines pipelines(*environment.device);
  const std::unique_ptr<Trial> rule(new (std::nothrow) Trial(view, environment, {}, pipelines));
  if (!rule) return Fail(StatusCode::kOutOfMemory, "cannot allocate what is measured");
  SKIFF_RETURN_IF_ERROR(rule->Prepare());
  const Span<const Dispatch> dispatches = rule->dispatches();
  List<TuningRow> rows;
  bool tiled = false;
  for (const Dispatch& dispatch : dispatches) {
    const Variant variant = VariantOf(dispatch);
    const bool listed =
        std::any_of(rows.begin(), rows.end(), [&](const TuningRow& row) { return row.Is(variant); });
    if (listed || environment.tuning->HasMeasured(variant)) continue;
    SKIFF_RETURN_IF_ERROR(rows.Append(RowFor(dispatch)));
    tiled = tiled || rows[rows.size() - 1].HasChoiceOfTile();
  }
  if (rows.empty()) return OkStatus();
  SKIFF_ASSIGN_OR_RETURN(const FixedArray<uint64_t> by_rule, rule->Time());
  FixedArray<Choice> rules;
  SKIFF_RETURN_IF_ERROR(rules.Allocate(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    rules[i] = rows[i].choice;
    rows[i].rule_ns = TimeOf(rows[i], dispatches, view.begin, by_rule);
    rows[i].chosen_ns = UINT64_MAX;
  }
  for (const uint32_t tile : kTiles) {
    if (tile != kMostTile && !tiled) break;
    for (const uint32_t group : kGroupSizes) {
      if (group > LargestGroup(*environment.device, *environment.options)) break;
      SKIFF_ASSIGN_OR_RETURN(const FixedArray<uint64_t> times,
                             TimesWith(view, environment, {group, tile}, pipelines, dispatches.size()));
      if (times.empty()) continue;
      for (size_t i = 0; i < rows.size(); ++i) {
        TuningRow& row = rows[i];
        const Choice tried{group, row.HasChoiceOfTile() ? tile : rules[i].tile};
        const uint64_t time = TimeOf(row, dispatches, view.begin, times);
        if (tried == rules[i]) {
          row.rule_ns = std::min(row.rule_ns, time);
        } else if (time < row.chosen_ns) {
          row.choice = tried;
          row.chosen_ns = time;
        }
      }
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<double>(rows[i].chosen_ns) <= kWorthwhile * static_cast<double>(rows[i].rule_ns))
      continue;
    rows[i].choice = rules[i];
    rows[i].chosen_ns = rows[i].rule_ns;
  }
  return environment.tuning->Add(rows);
}

}  // namespace skiff::vulkan
