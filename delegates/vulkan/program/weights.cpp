#include "delegates/vulkan/program/weights.h"

#include <algorithm>

#include "core/align.h"

namespace skiff::vulkan {
namespace {

/// Constants share allocations of this size, of which a device allows only some thousands.
constexpr uint64_t kChunkBytes = 4u << 20;

}  // namespace

Operand Weights::Find(const WeightsKey& key) {
  for (const Entry& entry : entries_) {
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
  if (!fits) {
    SKIFF_RETURN_IF_ERROR(Flush());
    if (!chunks_.empty()) chunks_[chunks_.size() - 1].staging = Buffer();
    SKIFF_RETURN_IF_ERROR(AddChunk(std::max(room, kChunkBytes)));
  }
  Chunk& chunk = chunks_[chunks_.size() - 1];
  const Operand place{Operand::Place::kConstant, -1, chunk.device.handle(), chunk.used, bytes};
  unsigned char* base = chunk.device.mapped() != nullptr ? chunk.device.mapped() : chunk.staging.mapped();
  *host = base + chunk.used;
  SKIFF_RETURN_IF_ERROR(entries_.Append({key, place}));
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
