#include "delegates/vulkan/pipelines/tuning.h"

#include <algorithm>
#include <cstring>

#include "core/checksum.h"
#include "delegates/vulkan/pipelines/cache_file.h"

namespace skiff::vulkan {
namespace {

static_assert(sizeof(TuningRow) == 64, "no padding: rows are written as they are");

/// Over the code of all shaders: what was measured holds for these.
uint64_t ShadersId() {
  uint64_t id = 0;
  constexpr uint32_t kPrecisions = static_cast<uint32_t>(VulkanPrecision::kF16Arithmetic) + 1;
  for (size_t i = 0; i < kShaderCount * kPrecisions; ++i) {
    const ShaderCode code =
        CodeOf(static_cast<Shader>(i / kPrecisions), static_cast<VulkanPrecision>(i % kPrecisions));
    id = id * 0x100000001b3u + Checksum(code.words, code.bytes);
  }
  return id;
}

CacheFileKind FileKind() {
  return {"SKIFFVT1", "tuning", "work groups have the sizes of the rule", ShadersId()};
}

/// 64 invocations fill the subgroups of every GPU but those with wider ones.
uint32_t GroupByRule(const Device& device, const VulkanOptions& options) {
  return std::min(std::max(64u, device.subgroup_size()), LargestGroup(device, options));
}

Choice ByRule(const Device& device, const VulkanOptions& options, const Variant& variant) {
  return {GroupByRule(device, options), HasTile(variant.shader) ? variant.constants[1] : 0};
}

}  // namespace

uint32_t LargestGroup(const Device& device, const VulkanOptions& options) {
  const uint32_t most = device.LimitsFor(options).group_size;
  uint32_t largest = 1;
  while (largest <= most / 2) largest *= 2;
  return largest;
}

bool TuningRow::Is(const Variant& variant) const {
  return shader == static_cast<uint32_t>(variant.shader) &&
         precision == static_cast<uint32_t>(variant.precision) &&
         std::equal(std::begin(constants), std::end(constants), variant.constants);
}

Tuning::Tuning(const Device& device, const VulkanOptions& options, const char* cache_folder)
    : device_(device), options_(options), cache_folder_(cache_folder) {
  if (options.tuning != VulkanTuning::kIgnore && cache_folder != nullptr && !Load().ok()) rows_.Truncate(0);
  read_ = rows_.size();
}

/// The file may have been written by anybody: a checksum does not tell sense from nonsense.
bool Tuning::IsSound(const TuningRow& row) const {
  const uint32_t group = row.choice.group_size;
  if (row.shader >= kShaderCount || row.precision > static_cast<uint32_t>(VulkanPrecision::kF16Arithmetic))
    return false;
  if (group == 0 || (group & (group - 1)) != 0 || group > LargestGroup(device_, options_)) return false;
  if (!HasTile(static_cast<Shader>(row.shader))) return row.choice.tile == 0;
  return row.choice.tile >= 1 && row.choice.tile <= std::min(row.constants[1], kMostTile);
}

Status Tuning::Load() {
  const CacheFile file(device_, FileKind(), cache_folder_);
  for (size_t at = 0; at + sizeof(TuningRow) <= file.content().size(); at += sizeof(TuningRow)) {
    TuningRow row;
    std::memcpy(&row, file.content().data() + at, sizeof(row));
    if (IsSound(row)) SKIFF_RETURN_IF_ERROR(rows_.Append(row));
  }
  return OkStatus();
}

const TuningRow* Tuning::Find(const Variant& variant) const {
  for (const TuningRow& row : rows_) {
    if (row.Is(variant)) return &row;
  }
  return nullptr;
}

bool Tuning::HasMeasured(const Variant& variant) const {
  const std::lock_guard<std::mutex> guard(lock_);
  const TuningRow* row = Find(variant);
  return row != nullptr && row >= rows_.begin() + read_;
}

Choice Tuning::Of(const Variant& variant) const {
  Choice choice = ByRule(device_, options_, variant);
  if (options_.group_size != 0) {
    choice.group_size = std::min(options_.group_size, LargestGroup(device_, options_));
    if (choice.tile > 1 && options_.conv_tile != 0) choice.tile = options_.conv_tile;
    return choice;
  }
  const std::lock_guard<std::mutex> guard(lock_);
  const TuningRow* row = Find(variant);
  return row != nullptr ? row->choice : choice;
}

Status Tuning::Add(Span<const TuningRow> rows) {
  const std::lock_guard<std::mutex> guard(lock_);
  for (const TuningRow& row : rows) {
    TuningRow* at = std::find_if(rows_.begin(), rows_.end(), [&](const TuningRow& known) {
      return known.shader == row.shader && known.precision == row.precision &&
             std::equal(std::begin(row.constants), std::end(row.constants), known.constants);
    });
    if (at == rows_.end()) {
      SKIFF_RETURN_IF_ERROR(rows_.Append(row));
      continue;
    }
    *at = row;
    if (at < rows_.begin() + read_) std::swap(*at, rows_[--read_]);
  }
  if (cache_folder_ != nullptr)
    StoreCacheFile(device_, FileKind(), cache_folder_,
                   {reinterpret_cast<const uint8_t*>(rows_.begin()), rows_.size() * sizeof(TuningRow)});
  return OkStatus();
}

}  // namespace skiff::vulkan
