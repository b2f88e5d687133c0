#include "tune/shaders.h"

#include <algorithm>

#include "core/error_capture.h"
#include "graph/error.h"
#include "skiff/delegates.h"
#ifdef SKIFF_WITH_VULKAN
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/pipelines/tuning.h"
#endif

namespace skiff {

#ifdef SKIFF_WITH_VULKAN
namespace {

VulkanOptions OptionsFor(VulkanTuning tuning) {
  VulkanOptions options = VulkanOptionsFromEnvironment();
  options.tuning = tuning;
  return options;
}

/// The built-in delegates, but for the GPU's.
std::vector<const Delegate*> With(const VulkanDelegate& vulkan) {
  const Span<const Delegate* const> builtin = BuiltinDelegates();
  std::vector<const Delegate*> delegates(builtin.begin(), builtin.end());
  for (const Delegate*& delegate : delegates) {
    if (delegate->kind() == DelegateKind::kVulkan) delegate = &vulkan;
  }
  return delegates;
}

std::string ConstantsText(const vulkan::TuningRow& row) {
  constexpr int kMost = vulkan::PipelineKey::kMaxConstants;
  int count = kMost;
  while (count > 1 && row.constants[count - 1] == 0) --count;
  std::string text;
  for (int i = 1; i < count; ++i) text += (i > 1 ? "," : "") + std::to_string(row.constants[i]);
  return text;
}

const char* PrecisionName(VulkanPrecision precision) {
  constexpr const char* kNames[] = {"f32", "f16", "f16 arithmetic"};
  return kNames[static_cast<size_t>(precision)];
}

}  // namespace

std::vector<TunedShader> ReadTuning(const std::string& cache_folder) {
  if (cache_folder.empty()) return {};
  const ErrorCapture quiet;
  Result<std::shared_ptr<vulkan::Device>> device = vulkan::Device::Get(VulkanOptionsFromEnvironment());
  if (!device.ok()) return {};
  const vulkan::Tuning by_rule(**device, OptionsFor(VulkanTuning::kIgnore), nullptr);
  const vulkan::Tuning tuning(**device, OptionsFor(VulkanTuning::kUse), cache_folder.c_str());
  std::vector<TunedShader> shaders;
  for (const vulkan::TuningRow& row : tuning.rows()) {
    vulkan::Variant variant{static_cast<vulkan::Shader>(row.shader),
                            static_cast<VulkanPrecision>(row.precision)};
    std::copy(std::begin(row.constants), std::end(row.constants), variant.constants);
    const vulkan::Choice rule = by_rule.Of(variant);
    shaders.push_back({vulkan::ShaderName(variant.shader), ConstantsText(row),
                       PrecisionName(variant.precision), rule.group_size, row.choice.group_size, rule.tile,
                       row.choice.tile, static_cast<double>(row.rule_ns),
                       static_cast<double>(row.chosen_ns)});
  }
  std::stable_sort(shaders.begin(), shaders.end(),
                   [](const TunedShader& a, const TunedShader& b) { return a.ns_by_rule > b.ns_by_rule; });
  return shaders;
}

BenchResult Tune(const std::string& path, const std::string& cache_folder, const NamedTensors& inputs,
                 const BenchOptions& options) {
  BenchOptions demanding = options;
  demanding.session.fall_back = false;
  demanding.other_inputs.clear();
  const VulkanDelegate ignoring(OptionsFor(VulkanTuning::kIgnore));
  const std::vector<const Delegate*> by_rule = With(ignoring);
  OpenedModel before(path, cache_folder, {by_rule.data(), by_rule.size()});
  BenchResult result = Bench(before.model(), inputs, demanding);

  const VulkanDelegate measuring(OptionsFor(VulkanTuning::kMeasure));
  const std::vector<const Delegate*> measured = With(measuring);
  OpenedModel model(path, cache_folder, {measured.data(), measured.size()});
  const std::unique_ptr<Session> session = CreateSession(model.model(), demanding.session);
  SetInputs(*session, inputs);
  Must([&] { return session->Run(); });
  result.nodes.clear();  // Their names point into the model.
  return result;
}

#else

std::vector<TunedShader> ReadTuning(const std::string&) { return {}; }

BenchResult Tune(const std::string&, const std::string&, const NamedTensors&, const BenchOptions&) {
  Throw(StatusCode::kUnsupported, "this build has no GPU delegate (SKIFF_VULKAN)");
}

#endif

}  // namespace skiff
