#include "delegates/vulkan/segment/segment.h"

#include <algorithm>

#include "core/platform.h"
#include "delegates/vulkan/lower/emitter.h"
#include "delegates/vulkan/program/transfer.h"
#include "delegates/vulkan/segment/measure.h"
#include "delegates/vulkan/support.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"

namespace skiff::vulkan {
namespace {

/// Of the report, in front of a run.
constexpr uint32_t kNoneOutside = UINT32_MAX;

bool HasElements(const SegmentView& segment, Span<const int32_t> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [&](int32_t tensor) {
    return tensor >= 0 && segment.tensors[static_cast<size_t>(tensor)].view.shape.elements() > 0;
  });
}

/// An input without elements beside an output with some: a case for the reference kernel.
bool ReadsNothing(const SegmentView& segment, const PlanNode& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0 || node.op->NeedsValues(i) || node.op->code == OpCode::kConcat) continue;
    if (segment.tensors[static_cast<size_t>(node.inputs[i])].view.shape.elements() == 0) return true;
  }
  return false;
}

}  // namespace

Segment::~Segment() {
  if (environment_.device->stuck()) return;
  for (const Recording& recording : recordings_)
    vkDestroyQueryPool(environment_.device->handle(), recording.queries, nullptr);
}

Status Segment::Prepare() {
  const size_t count = segment_.end - segment_.begin;
  SKIFF_RETURN_IF_ERROR(on_gpu_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(empty_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(references_.Allocate(count));
  SKIFF_RETURN_IF_ERROR(uses_.Find(segment_));
  SKIFF_RETURN_IF_ERROR(described_.Allocate(count));
  for (uint32_t n = segment_.begin; n < segment_.end; ++n)
    SKIFF_RETURN_IF_ERROR(Describe(segment_.nodes[n], described_[n - segment_.begin]));
  return OkStatus();
}

Status Segment::Describe(const PlanNode& node, Described& described) const {
  const size_t inputs = node.inputs.size();
  SKIFF_RETURN_IF_ERROR(described.tensors.Allocate(inputs + node.outputs.size()));
  for (size_t i = 0; i < described.tensors.size(); ++i) {
    const int32_t tensor = i < inputs ? node.inputs[i] : node.outputs[i - inputs];
    described.tensors[i] = tensor < 0 ? nullptr : &segment_.tensors[static_cast<size_t>(tensor)];
  }
  described.types = {node.op,
                     node.attrs,
                     {described.tensors.data(), inputs},
                     {described.tensors.data() + inputs, node.outputs.size()}};
  return OkStatus();
}

/// Asks each node's lowering for its dispatches at these extents.
Status Segment::Lower() {
  const std::lock_guard<std::mutex> guard(environment_.weights->lock());
  program_.Truncate({});
  Emitter emit(segment_, *environment_.device, *environment_.options, *environment_.tuning,
               *environment_.weights, program_);
  for (uint32_t n = segment_.begin; n < segment_.end; ++n) {
    const PlanNode& node = segment_.nodes[n];
    const uint32_t i = n - segment_.begin;
    empty_[i] = !HasElements(segment_, node.outputs);
    on_gpu_[i] = true;
    if (empty_[i]) continue;
    SKIFF_RETURN_IF_ERROR(CheckLimit(program_.memory_bytes()));
    const Program::Mark before = program_.mark();
    emit.Begin(n);
    const bool quantized = ComputesQuantized(described_[i].types);
    const bool able = VulkanSupport().Supports(described_[i].types) && !ReadsNothing(segment_, node);
    const Status status = able ? FindLowering(node.op->code, quantized)(emit) : Refuse();
    if (status.ok()) continue;
    if (status.code() != StatusCode::kUnsupported) return status;
    program_.Truncate(before);
    on_gpu_[i] = false;
    if (!references_[i].prepared) SKIFF_RETURN_IF_ERROR(references_[i].node.Prepare(segment_, n));
    references_[i].prepared = true;
    SKIFF_RETURN_IF_ERROR(references_[i].node.Reshape());
  }
  return environment_.weights->Flush();
}

Status Segment::MakeTable() {
  const uint64_t bytes = program_.table.size() * 4;
  if (bytes == 0) return OkStatus();
  SKIFF_RETURN_IF_ERROR(CheckLimit(bytes));
  SKIFF_ASSIGN_OR_RETURN(
      table_, Buffer::Create(environment_.device, bytes, MemoryUse::kDevice, *environment_.options));
  if (table_.mapped() != nullptr) {
    std::memcpy(table_.mapped(), program_.table.begin(), bytes);
    return OkStatus();
  }
  SKIFF_ASSIGN_OR_RETURN(const Buffer staging, Buffer::Create(environment_.device, bytes, MemoryUse::kUpload,
                                                              *environment_.options));
  std::memcpy(staging.mapped(), program_.table.begin(), bytes);
  Commands copy;
  SKIFF_RETURN_IF_ERROR(copy.Begin(environment_.device, 0));
  const VkBufferCopy region{0, 0, bytes};
  vkCmdCopyBuffer(copy.handle(), staging.handle(), table_.handle(), 1, &region);
  Barrier(copy.handle(), VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT);
  SKIFF_RETURN_IF_ERROR(copy.End());
  return copy.Run();
}

Status Segment::MakeReport() {
  const uint64_t bytes = program_.checks.size() * kTensorAlignment;
  if (bytes <= report_.bytes()) return OkStatus();
  SKIFF_RETURN_IF_ERROR(CheckLimit(bytes));
  SKIFF_ASSIGN_OR_RETURN(
      report_, Buffer::Create(environment_.device, bytes, MemoryUse::kDownload, *environment_.options));
  return OkStatus();
}

/// Before `bytes` are allocated; what all segments hold together the Session checks behind it.
Status Segment::CheckLimit(uint64_t bytes) const {
  const uint64_t limit = environment_.session.memory_limit;
  if (bytes <= limit) return OkStatus();
  return Fail(StatusCode::kOutOfMemory,
              "%llu bytes are needed beside the arena for '%s', the memory limit is %llu "
              "(SessionOptions::memory_limit)",
              static_cast<unsigned long long>(bytes), environment_.device->name(),
              static_cast<unsigned long long>(limit));
}

Status Segment::GrowArena() {
  const uint64_t bytes = std::max<uint64_t>(residency_.arena_bytes, kTensorAlignment);
  std::shared_ptr<Arena>& newest = *environment_.arena;
  if (!newest || newest->device.bytes() < bytes) {
    std::shared_ptr<Arena> larger(new (std::nothrow) Arena);
    if (!larger) return Fail(StatusCode::kOutOfMemory, "cannot allocate an arena");
    const auto create = [&](Buffer& buffer, MemoryUse use) -> Status {
      SKIFF_ASSIGN_OR_RETURN(buffer, Buffer::Create(environment_.device, bytes, use, *environment_.options));
      return OkStatus();
    };
    SKIFF_RETURN_IF_ERROR(CheckLimit(bytes));
    SKIFF_RETURN_IF_ERROR(create(larger->device, MemoryUse::kDevice));
    if (larger->device.mapped() == nullptr) {
      SKIFF_RETURN_IF_ERROR(CheckLimit(3 * bytes));
      SKIFF_RETURN_IF_ERROR(create(larger->upload, MemoryUse::kUpload));
      SKIFF_RETURN_IF_ERROR(create(larger->download, MemoryUse::kDownload));
    }
    newest = std::move(larger);
  }
  arena_ = newest;
  return OkStatus();
}

Status Segment::Reshape() {
  if (environment_.options->tuning == VulkanTuning::kMeasure)
    SKIFF_RETURN_IF_ERROR(MeasureSegment(segment_, environment_));
  SKIFF_RETURN_IF_ERROR(Lower());
  List<PipelineKey> keys;
  for (const Dispatch& dispatch : program_.dispatches) SKIFF_RETURN_IF_ERROR(keys.Append(dispatch.key));
  for (const PipelineKey& key : program_.variants) SKIFF_RETURN_IF_ERROR(keys.Append(key));
  SKIFF_RETURN_IF_ERROR(environment_.pipelines->Make(keys, *environment_.options, environment_.cache_folder));
  SKIFF_RETURN_IF_ERROR(
      residency_.Plan({segment_, uses_, program_, on_gpu_, f16(), environment_.session.keep_intermediates}));
  SKIFF_RETURN_IF_ERROR(MakeTable());
  program_.table = {};  // The device has it.
  SKIFF_RETURN_IF_ERROR(MakeReport());
  SKIFF_RETURN_IF_ERROR(GrowArena());
  return RecordAll();
}

Status Segment::Bind() {
  for (ReferenceSlot& reference : references_) {
    if (reference.prepared) SKIFF_RETURN_IF_ERROR(reference.node.Bind());
  }
  return OkStatus();
}

void Segment::ClearReport(const NodeSpan& span) const {
  for (size_t i = span.first_check; i < span.end_check; ++i)
    std::memcpy(report_.mapped() + i * kTensorAlignment, &kNoneOutside, sizeof(kNoneOutside));
}

Status Segment::ReadReport(const NodeSpan& span) const {
  for (size_t i = span.first_check; i < span.end_check; ++i) {
    const IntegerCheck& check = program_.checks[i];
    uint32_t first = 0;
    std::memcpy(&first, report_.mapped() + i * kTensorAlignment, sizeof(first));
    if (first == kNoneOutside) continue;
    const PlanNode& node = segment_.nodes[check.node];
    return Fail(StatusCode::kInvalidArgument,
                "node '%s' (%s): the integer at position %u is outside [%lld, %lld)", node.name,
                node.op->name, first, static_cast<long long>(check.low), static_cast<long long>(check.end));
  }
  return OkStatus();
}

/// What the host sees of the arena: NaN in floats, -1 in integers. What it does not see the commands fill.
void Segment::Poison() const {
  for (const Buffer* buffer : {&arena_->device, &arena_->upload, &arena_->download}) {
    if (buffer->mapped() != nullptr) std::memset(buffer->mapped(), 0xFF, buffer->bytes());
  }
}

void Segment::Upload(const NodeSpan& span) const {
  unsigned char* to = arena_->device.mapped() != nullptr ? arena_->device.mapped() : arena_->upload.mapped();
  for (size_t i = span.first_resident; i < span.end_resident; ++i) {
    const Resident& resident = residency_.residents[i];
    if (resident.upload)
      ToDevice(segment_.tensors[static_cast<size_t>(resident.tensor)].view, f16(), to + resident.offset);
  }
}

void Segment::Download(const NodeSpan& span) const {
  unsigned char* from =
      arena_->device.mapped() != nullptr ? arena_->device.mapped() : arena_->download.mapped();
  for (size_t i = span.first_resident; i < span.end_resident; ++i) {
    const Resident& resident = residency_.residents[i];
    if (!resident.download) continue;
    if (environment_.options->fault == VulkanFault::kWrongResult) from[resident.offset + 3] ^= 0x55;
    FromDevice(from + resident.offset, f16(), segment_.tensors[static_cast<size_t>(resident.tensor)].view);
  }
}

Status Segment::ReportTimes(const NodeSpan& span, const Recording& recording, uint64_t begin_ns,
                            NodeTimer& timer) {
  const uint32_t count = span.end - span.begin + 1;
  SKIFF_RETURN_IF_ERROR(
      Check(vkGetQueryPoolResults(environment_.device->handle(), recording.queries, 0, count,
                                  count * sizeof(uint64_t), stamps_.data(), sizeof(uint64_t),
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
            "vkGetQueryPoolResults"));
  const auto since_begin = [&](uint32_t i) {
    return begin_ns + static_cast<uint64_t>(static_cast<double>(stamps_[i] - stamps_[0]) *
                                            environment_.device->timestamp_ns());
  };
  for (uint32_t i = 1; i < count; ++i) timer.Record(span.begin + i - 1, since_begin(i - 1), since_begin(i));
  return OkStatus();
}

Status Segment::RunOnGpu(const NodeSpan& span, Recording& recording, const RunContext& context) {
  if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
    return Status(StatusCode::kCancelled);
  ClearReport(span);
  if (environment_.session.poison) Poison();
  Upload(span);
  const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
  SKIFF_RETURN_IF_ERROR(recording.commands.Run(environment_.options->fault));
  SKIFF_RETURN_IF_ERROR(ReadReport(span));
  Download(span);
  if (context.timer == nullptr || recording.query_count == 0) return OkStatus();
  return ReportTimes(span, recording, begin, *context.timer);
}

Status Segment::RunOnHost(const NodeSpan& span, const RunContext& context) {
  for (uint32_t n = span.begin; n < span.end; ++n) {
    if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed))
      return Status(StatusCode::kCancelled);
    const uint64_t begin = context.timer != nullptr ? platform::NowNanoseconds() : 0;
    SKIFF_RETURN_IF_ERROR(references_[n - segment_.begin].node.RunNamed());
    if (context.timer != nullptr) context.timer->Record(n, begin, platform::NowNanoseconds());
  }
  return OkStatus();
}

Status Segment::Run(const RunContext& context) {
  for (size_t i = 0; i < residency_.spans.size(); ++i) {
    const NodeSpan& span = residency_.spans[i];
    SKIFF_RETURN_IF_ERROR(span.gpu ? RunOnGpu(span, recordings_[i], context) : RunOnHost(span, context));
  }
  return OkStatus();
}

Status Segment::Time(NodeTimer& timer) {
  const Buffer& inputs = arena_->device.mapped() != nullptr ? arena_->device : arena_->upload;
  std::memset(inputs.mapped(), 0, inputs.bytes());
  for (size_t i = 0; i < residency_.spans.size(); ++i) {
    if (!residency_.spans[i].gpu) continue;
    const uint64_t begin = platform::NowNanoseconds();
    SKIFF_RETURN_IF_ERROR(recordings_[i].commands.Run(environment_.options->fault));
    SKIFF_RETURN_IF_ERROR(ReportTimes(residency_.spans[i], recordings_[i], begin, timer));
  }
  return OkStatus();
}

bool Segment::FellBack(uint32_t node) const {
  return node >= segment_.begin && node < segment_.end && !on_gpu_[node - segment_.begin];
}

/// Rounded up: the shares of all who use it are the whole.
uint64_t Segment::ShareOfArena() const {
  const uint64_t bytes = arena_->device.bytes() + arena_->upload.bytes() + arena_->download.bytes();
  const bool newest = arena_ == *environment_.arena;  // Which the Session holds as well.
  const auto segments = static_cast<uint64_t>(std::max(arena_.use_count() - (newest ? 1 : 0), 1L));
  return (bytes + segments - 1) / segments;
}

uint64_t Segment::workspace_bytes() const {
  uint64_t bytes = table_.bytes() + report_.bytes() + program_.memory_bytes();
  if (arena_) bytes += ShareOfArena();
  for (const ReferenceSlot& reference : references_) bytes += reference.node.scratch_bytes();
  return bytes;
}

}  // namespace skiff::vulkan
