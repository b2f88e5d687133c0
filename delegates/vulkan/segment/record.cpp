// The command buffers of a segment: transfers, dispatches with barriers between them, timestamps.
#include <algorithm>

#include "delegates/vulkan/program/hazards.h"
#include "delegates/vulkan/segment/segment.h"

namespace skiff::vulkan {
namespace {

/// Bytes that a shader sees of an operand: up to a whole vec4.
uint64_t BoundBytes(uint64_t bytes) { return (std::max<uint64_t>(bytes, 1) + 15) / 16 * 16; }

}  // namespace

Status Segment::RecordAll() {
  if (recordings_.size() < residency_.spans.size()) {
    FixedArray<Recording> more;
    SKIFF_RETURN_IF_ERROR(more.Allocate(residency_.spans.size()));
    for (size_t i = 0; i < recordings_.size(); ++i) more[i] = std::move(recordings_[i]);
    recordings_ = std::move(more);
  }
  for (size_t i = 0; i < residency_.spans.size(); ++i) {
    if (!residency_.spans[i].gpu) continue;
    residency_.Enter(uses_, residency_.spans[i]);
    SKIFF_RETURN_IF_ERROR(Record(residency_.spans[i], recordings_[i]));
  }
  return OkStatus();
}

/// Copies between the staging buffers and the arena: each tensor lies at the same offset in all of them.
void Segment::RecordTransfers(const NodeSpan& span, bool up, VkCommandBuffer commands) const {
  for (size_t i = span.first_resident; i < span.end_resident; ++i) {
    const Resident& resident = residency_.residents[i];
    if (!resident.copied || !(up ? resident.upload : resident.download)) continue;
    const VkBufferCopy region{resident.offset, resident.offset, resident.bytes};
    vkCmdCopyBuffer(commands, up ? arena_->upload.handle() : arena_->device.handle(),
                    up ? arena_->device.handle() : arena_->download.handle(), 1, &region);
  }
}

Status Segment::Record(const NodeSpan& span, Recording& recording) {
  const auto dispatches = static_cast<uint32_t>(span.end_dispatch - span.first_dispatch);
  SKIFF_RETURN_IF_ERROR(recording.commands.Begin(environment_.device, dispatches));
  SKIFF_RETURN_IF_ERROR(PrepareQueries(span, recording));
  const VkCommandBuffer commands = recording.commands.handle();
  const bool staged = arena_->device.mapped() == nullptr;
  if (staged && environment_.session.poison) {
    vkCmdFillBuffer(commands, arena_->device.handle(), 0, VK_WHOLE_SIZE, ~0u);
    Barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
  }
  if (staged) {
    RecordTransfers(span, true, commands);
    Barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT);
  }
  SKIFF_RETURN_IF_ERROR(RecordDispatches(span, recording));
  if (staged) {
    Barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    RecordTransfers(span, false, commands);
  }
  Barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_HOST_READ_BIT);
  return recording.commands.End();
}

/// Nodes in their order, with a barrier in front of a dispatch that touches what an earlier one still does.
Status Segment::RecordDispatches(const NodeSpan& span, Recording& recording) {
  const VkCommandBuffer commands = recording.commands.handle();
  Hazards hazards;
  uint32_t node = span.begin;
  uint32_t stamp = 0;
  const auto stamp_until = [&](uint32_t end) {
    for (; node < end && recording.query_count > 0; ++node)
      vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording.queries, ++stamp);
  };
  if (recording.query_count > 0)
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, recording.queries, 0);
  for (size_t d = span.first_dispatch; d < span.end_dispatch; ++d) {
    const Dispatch& dispatch = program_.dispatches[d];
    stamp_until(dispatch.node);
    ByteRange reads[kMaxBindings];
    ByteRange writes[kMaxBindings];
    size_t read_count = 0;
    size_t write_count = 0;
    for (int i = 0; i < dispatch.bindings; ++i) {
      const Operand::Place place = dispatch.operands[i].place;
      if (place != Operand::Place::kTensor && place != Operand::Place::kScratch) continue;
      const Resident* resident = residency_.Find(uses_, span, dispatch.operands[i]);
      const ByteRange range{resident->offset, resident->offset + resident->bytes};
      if (i < dispatch.reads) {
        reads[read_count++] = range;
      } else {
        writes[write_count++] = range;
      }
    }
    if (hazards.full() || hazards.Conflicts({reads, read_count}, {writes, write_count})) {
      Barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
      hazards.Clear();
    }
    SKIFF_RETURN_IF_ERROR(hazards.Note({reads, read_count}, {writes, write_count}));
    SKIFF_RETURN_IF_ERROR(RecordDispatch(span, dispatch, recording.commands));
  }
  stamp_until(span.end);
  return OkStatus();
}

Status Segment::RecordDispatch(const NodeSpan& span, const Dispatch& dispatch, Commands& commands) {
  VkDescriptorBufferInfo buffers[kMaxBindings] = {};
  for (int i = 0; i < dispatch.bindings; ++i) {
    const Operand& operand = dispatch.operands[i];
    switch (operand.place) {
      case Operand::Place::kNone:
        break;
      case Operand::Place::kTensor:
      case Operand::Place::kScratch:
        buffers[i] = {arena_->device.handle(), residency_.Find(uses_, span, operand)->offset,
                      BoundBytes(operand.bytes)};
        break;
      case Operand::Place::kTable:
        buffers[i] = {table_.handle(), operand.offset, BoundBytes(operand.bytes)};
        break;
      case Operand::Place::kConstant:
        buffers[i] = {operand.buffer, operand.offset, BoundBytes(operand.bytes)};
        break;
      case Operand::Place::kReport:
        buffers[i] = {report_.handle(), static_cast<uint64_t>(operand.index) * kTensorAlignment,
                      BoundBytes(operand.bytes)};
        break;
    }
  }
  const Device& device = *environment_.device;
  SKIFF_ASSIGN_OR_RETURN(const VkDescriptorSet set, commands.Bind({buffers, kMaxBindings}));
  vkCmdBindPipeline(commands.handle(), VK_PIPELINE_BIND_POINT_COMPUTE,
                    environment_.pipelines->Find(dispatch.key));
  vkCmdBindDescriptorSets(commands.handle(), VK_PIPELINE_BIND_POINT_COMPUTE, device.pipeline_layout(), 0, 1,
                          &set, 0, nullptr);
  vkCmdPushConstants(commands.handle(), device.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes,
                     dispatch.push);
  vkCmdDispatch(commands.handle(), dispatch.groups[0], dispatch.groups[1], 1);
  return OkStatus();
}

/// One timestamp in front of the span and one behind each node.
Status Segment::PrepareQueries(const NodeSpan& span, Recording& recording) {
  if (!environment_.session.profile || environment_.device->timestamp_ns() == 0) return OkStatus();
  const uint32_t count = span.end - span.begin + 1;
  if (recording.query_count < count) {
    vkDestroyQueryPool(environment_.device->handle(), recording.queries, nullptr);
    recording.queries = VK_NULL_HANDLE;
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = count;
    SKIFF_RETURN_IF_ERROR(
        Check(vkCreateQueryPool(environment_.device->handle(), &info, nullptr, &recording.queries),
              "vkCreateQueryPool"));
    recording.query_count = count;
  }
  if (stamps_.size() < count) SKIFF_RETURN_IF_ERROR(stamps_.Allocate(count));
  vkCmdResetQueryPool(recording.commands.handle(), recording.queries, 0, count);
  return OkStatus();
}

}  // namespace skiff::vulkan
