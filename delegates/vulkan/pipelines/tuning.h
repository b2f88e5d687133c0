/// Sizes of work groups and of tiles: how fast a shader is depends on them, what it computes does not. They
/// come from a rule over the device's limits, or from what `skiff bench --tune` measured, which the cache
/// folder keeps.
#pragma once

#include "delegates/vulkan/pipelines/pipelines.h"

namespace skiff::vulkan {

struct Choice {
  uint32_t group_size = 0;  ///< Invocations of a work group, a power of two.
  uint32_t tile = 0;        ///< Pixels of an invocation; 0: the shader has no tiles.
  bool operator==(const Choice&) const = default;
};

/// A variant is a pipeline as lowerings ask for it: constants[0] is 0, and a tile is the rule's.
using Variant = PipelineKey;

/// The tile is constants[1] of these.
constexpr bool HasTile(Shader shader) {
  return shader == Shader::kConv || shader == Shader::kQuantizedConv || shader == Shader::kQuantizedConvDot ||
         shader == Shader::kQuantizedWeights || shader == Shader::kStoredWeights;
}
inline constexpr uint32_t kMostTile = 4;

/// Invocations that a work group can have, a power of two.
uint32_t LargestGroup(const Device& device, const VulkanOptions& options);

/// What was measured for a variant. Rows are the content of the file.
struct TuningRow {
  uint32_t shader = 0;
  uint32_t precision = 0;
  uint32_t constants[PipelineKey::kMaxConstants] = {};
  Choice choice;
  uint64_t rule_ns = 0;    ///< All nodes of the variant in one run, as the rule has it.
  uint64_t chosen_ns = 0;  ///< The same with `choice`.

  bool Is(const Variant& variant) const;
  /// The rule's tile of 1 serves single pixels.
  bool HasChoiceOfTile() const { return HasTile(static_cast<Shader>(shader)) && constants[1] > 1; }
};

class Tuning {
 public:
  /// Reads the folder's file (null: none), unless the options say otherwise.
  Tuning(const Device& device, const VulkanOptions& options, const char* cache_folder);

  /// As the options force it, as measured, or by rule.
  Choice Of(const Variant& variant) const;
  /// By Add(), not from the file.
  bool HasMeasured(const Variant& variant) const;
  /// Takes the place of what was known, and writes the file where there is a folder.
  Status Add(Span<const TuningRow> rows);
  /// Not while another thread adds.
  Span<const TuningRow> rows() const { return rows_; }

 private:
  const TuningRow* Find(const Variant& variant) const;
  bool IsSound(const TuningRow& row) const;
  Status Load();

  const Device& device_;
  const VulkanOptions options_;
  const char* const cache_folder_;
  mutable std::mutex lock_;
  List<TuningRow> rows_;
  size_t read_ = 0;  ///< So many of them, the first, are from the file.
};

}  // namespace skiff::vulkan
