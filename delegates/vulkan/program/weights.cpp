#include "delegates/vulkan/program/weights.h"

#include <algorithm>

#include "core/align.h"

namespace skiff::vulkan {
namespace {

/// Constants share allocations of this size, of which a device allows only some thousands.
constexpr uint64_t kChunkBytes = 4u << 20;

/// What constants may become on the device: codes of 4 bits that are widened to f32 and padded to four
/// columns are 32 times as many bytes, but few are both.
constexpr uint64_t kMostGrowth = 16;
constexpr uint64_t kAlwaysAllowed = 64u << 20;

}  // namespace

Weights::Weights(std::shared_ptr<Device> device, const VulkanOptions& options, uint64_t file_bytes)
    : device_(std::move(device)), options_(options), limit_(kAlwaysAllowed + file_bytes * kMostGrowth) {}

int32_t& Weights::BucketOf(const WeightsKey& key) {
  uint64_t hash = key.hash.low ^ key.layout;
  for (const uint32_t size : key.sizes) hash = (hash ^ size) * 0x9e3779b97f4a7c15u;
  return buckets_[(hash >> 32) & (buckets_.size() - 1)];
}

Status Weights::GrowBuckets() {
  FixedArray<int32_t> larger;
  SKIFF_RETURN_IF_ERROR(larger.Allocate(std::max<size_t>(2 * buckets_.size(), 64)));
  buckets_ = std::move(larger);
  for (int32_t& bucket : buckets_) bucket = -1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    int32_t& bucket = BucketOf(entries_[i].key);
    entries_[i].next = bucket;
    bucket = static_cast<int32_t>(i);
  }
  return OkStatus();
}

Operand Weights::Find(const WeightsKey& key) {
  if (buckets_.empty()) return {};
  for (int32_t i = BucketOf(key); i >= 0; i = entries_[static_cast<size_t>(i)].next) {
    const Entry& entry = entries_[static_cast<size_t>(i)];
    if (entry.key == key) return entry.place;
  }
  return {};
}

Status Weights::AddChunk(uint64_t bytes) {
  Chunk chunk;
  SKIFF_ASSIGN_OR_RETURN(chunk.device, Buffer::Create(device_, bytes, MemoryUse::kDevice, options_));
  if (chunk.device.mapped() == nullptr) {
    SKIFF_ASSIGN_OR_RETURN(chunk.staging, Buffer::Create(device_, bytes, MemoryUse::kUpload, options_));
  }
  return chunks_.Append(std::move(chunk));
}

Result<Operand> Weights::Add(const WeightsKey& key, uint64_t bytes, unsigned char** host) {
  const uint64_t room =
      (std::max<uint64_t>(bytes, 1) + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  const bool fits = !chunks_.empty() &&
                    chunks_[chunks_.size() - 1].used + room <= chunks_[chunks_.size() - 1].device.bytes();
  if (room > limit_ - bytes_) {
    return Fail(StatusCode::kOutOfMemory,
                "the constants take more than %llu bytes on '%s', many times what the file has",
                static_cast<unsigned long long>(limit_), device_->name());
  }
  if (!fits) {
    SKIFF_RETURN_IF_ERROR(Flush());
    SKIFF_RETURN_IF_ERROR(AddChunk(std::max(room, kChunkBytes)));
    if (chunks_.size() > 1) chunks_[chunks_.size() - 2].staging = Buffer();
  }
  Chunk& chunk = chunks_[chunks_.size() - 1];
  const Operand place{Operand::Place::kConstant, -1, chunk.device.handle(), chunk.used, bytes};
  unsigned char* base = chunk.device.mapped() != nullptr ? chunk.device.mapped() : chunk.staging.mapped();
  *host = base + chunk.used;
  if (entries_.size() == buckets_.size()) SKIFF_RETURN_IF_ERROR(GrowBuckets());
  int32_t& bucket = BucketOf(key);
  SKIFF_RETURN_IF_ERROR(entries_.Append({key, place, bucket}));
  bucket = static_cast<int32_t>(entries_.size()) - 1;
  chunk.used += room;
  bytes_ += room;
  return place;
}

Status Weights::Flush() {
  if (chunks_.empty()) return OkStatus();
  Chunk& chunk = chunks_[chunks_.size() - 1];
  if (chunk.staging.handle() == VK_NULL_HANDLE || chunk.flushed == chunk.used) return OkStatus();
  Commands copy;
  SKIFF_RETURN_IF_ERROR(copy.Begin(device_, 0));
  const VkBufferCopy region{chunk.flushed, chunk.flushed, chunk.used - chunk.flushed};
  vkCmdCopyBuffer(copy.handle(), chunk.staging.handle(), chunk.device.handle(), 1, &region);
  Barrier(copy.handle(), VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT);
  SKIFF_RETURN_IF_ERROR(copy.End());
  SKIFF_RETURN_IF_ERROR(copy.Run());
  chunk.flushed = chunk.used;
  return OkStatus();
}

}  // namespace skiff::vulkan
