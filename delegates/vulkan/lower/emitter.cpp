#include "delegates/vulkan/lower/emitter.h"

#include <algorithm>

#include "delegates/vulkan/program/transfer.h"
#include "eager/kernels/dispatch.h"

namespace skiff::vulkan {
namespace {

/// The layout of constants that are used as they are; packings have numbers of their own (lowerings.h).
constexpr uint32_t kAsIs = 0;

/// Of all tables of a segment, 64 MiB. A multiple of what each is rounded up to.
constexpr size_t kMostTableWords = size_t{1} << 24;

}  // namespace

Status Emitter::CheckRange(uint64_t bytes) const {
  return bytes <= limits_.buffer_range ? OkStatus() : Refuse();
}

PipelineKey Emitter::KeyOf(Shader shader, std::initializer_list<uint32_t> constants) const {
  PipelineKey key;
  key.shader = shader;
  key.precision = precision_;
  std::copy(constants.begin(), constants.end(), key.constants + 1);
  const Choice choice = tuning_.Of(key);
  key.constants[0] = choice.group_size;
  if (HasTile(shader)) key.constants[1] = choice.tile;
  return key;
}

Result<Operand> Emitter::TensorOperand(int32_t tensor) {
  const TensorView& view = segment_.tensors[static_cast<size_t>(tensor)].view;
  const uint32_t size = DeviceBytes(view.dtype, f16());
  // Shaders count elements, and their sums of two positions, in 32 bits.
  constexpr int64_t kMostElements = int64_t{1} << 30;
  if (size == 0 || view.shape.elements() > kMostElements) return Refuse();
  Operand operand;
  operand.place = Operand::Place::kTensor;
  operand.index = tensor;
  operand.bytes = static_cast<uint64_t>(view.shape.elements()) * size;
  SKIFF_RETURN_IF_ERROR(CheckRange(operand.bytes));
  return operand;
}

Result<Operand> Emitter::In(size_t i) {
  if (i < kMostStandIns && stand_ins_[i].is()) return stand_ins_[i].place;
  if (!input(i).constant) return TensorOperand(node_->inputs[i]);
  return InPart(i, 0, in(i).shape.elements());
}

Result<Operand> Emitter::Out(size_t i) {
  if (i == 0 && output_stand_in_.is()) return output_stand_in_.place;
  return TensorOperand(node_->outputs[i]);
}

int64_t Emitter::MostElements(DType dtype) const {
  return static_cast<int64_t>(limits_.buffer_range / DeviceBytes(dtype, f16()));
}

Result<Operand> Emitter::InPart(size_t i, int64_t first, int64_t count) {
  const DType dtype = in(i).dtype;
  const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
  const WeightsKey key{input(i).hash, kAsIs, {static_cast<uint32_t>(dtype), u32(first), u32(count)}, f16()};
  if (const Operand known = weights_.Find(key); known.place != Operand::Place::kNone) return known;
  const uint64_t bytes = static_cast<uint64_t>(count) * DeviceBytes(dtype, f16());
  if (bytes == 0) return Refuse();
  SKIFF_RETURN_IF_ERROR(CheckRange(bytes));
  unsigned char* host = nullptr;
  SKIFF_ASSIGN_OR_RETURN(const Operand place, weights_.Add(key, bytes, &host));
  ToDevice(TensorView(in(i).as<unsigned char>() + first * DTypeSize(dtype), dtype, Shape{count}), f16(),
           host);
  return place;
}

Result<Operand> Emitter::Store(const WeightsKey& key, Span<const float> elements) {
  unsigned char* host = nullptr;
  SKIFF_ASSIGN_OR_RETURN(const Operand place,
                         weights_.Add(key, elements.size() * DeviceBytes(DType::kF32, f16()), &host));
  TensorView view(const_cast<float*>(elements.data()), DType::kF32,
                  Shape{static_cast<int64_t>(elements.size())});
  ToDevice(view, f16(), host);
  return place;
}

Result<Operand> Emitter::Words(uint32_t layout, Span<const uint32_t> words) {
  // FNV-1a, twice.
  ContentHash hash;
  hash.low = 0xcbf29ce484222325u;
  hash.high = 0x9e3779b97f4a7c15u;
  for (const uint32_t word : words) {
    hash.low = (hash.low ^ word) * 0x100000001b3u;
    hash.high = (hash.high ^ (word * 0x85ebca6bu)) * 0x100000001b3u;
  }
  return PackedWords(hash, layout, {static_cast<int64_t>(words.size())}, words.size(),
                     [&](uint32_t* to) { std::copy(words.begin(), words.end(), to); });
}

Result<Operand> Emitter::Scratch(uint64_t words) {
  Operand operand;
  operand.place = Operand::Place::kScratch;
  operand.index = static_cast<int32_t>(program_.scratch.size());
  operand.bytes = words * 4;
  SKIFF_RETURN_IF_ERROR(CheckRange(operand.bytes));
  SKIFF_RETURN_IF_ERROR(program_.scratch.Append({index_, operand.bytes}));
  return operand;
}

/// The same words where a node before has them; place kNone: none has. Only the newest tables are looked at:
/// nets resize between few sizes, and a file of many may not take the square of their number.
Operand Emitter::FindTable(Span<const uint32_t> words) const {
  constexpr size_t kNewest = 64;
  const List<Operand>& tables = program_.tables;
  for (size_t i = tables.size(); i-- > 0 && tables.size() - i <= kNewest;) {
    const Operand& table = tables[i];
    if (table.bytes == words.size() * 4 &&
        std::memcmp(program_.table.begin() + table.offset / 4, words.begin(), table.bytes) == 0)
      return table;
  }
  return Operand();
}

Result<Operand> Emitter::Table(Span<const uint32_t> words) {
  constexpr size_t kWords = kTensorAlignment / 4;
  if (const Operand known = FindTable(words); known.place != Operand::Place::kNone) return known;
  if (words.size() > kMostTableWords - program_.table.size()) return Refuse();
  Operand operand;
  operand.place = Operand::Place::kTable;
  operand.offset = program_.table.size() * 4;
  operand.bytes = words.size() * 4;
  SKIFF_RETURN_IF_ERROR(CheckRange(operand.bytes));
  for (const uint32_t word : words) SKIFF_RETURN_IF_ERROR(program_.table.Append(word));
  while (program_.table.size() % kWords != 0) SKIFF_RETURN_IF_ERROR(program_.table.Append(0));
  SKIFF_RETURN_IF_ERROR(program_.tables.Append(operand));
  return operand;
}

Status Emitter::CheckIntegers(size_t i, int64_t low, int64_t end, int64_t first, int64_t stride) {
  const int64_t count = in(i).shape.elements() / stride;
  if (input(i).constant) {
    for (int64_t at = first; at < count * stride; at += stride) {
      const int64_t value = eager::IntegerAt(in(i), at);
      if (value < low || value >= end) return Refuse();
    }
    return OkStatus();
  }
  const struct {
    uint32_t count;
    uint32_t first;
    uint32_t stride;
    int32_t low;
    int32_t end;
  } push{static_cast<uint32_t>(count), static_cast<uint32_t>(first), static_cast<uint32_t>(stride),
         static_cast<int32_t>(low), static_cast<int32_t>(end)};
  SKIFF_ASSIGN_OR_RETURN(const Operand integers, In(i));
  Operand report;
  report.place = Operand::Place::kReport;
  report.index = static_cast<int32_t>(program_.checks.size());
  report.bytes = 4;
  SKIFF_RETURN_IF_ERROR(program_.checks.Append({index_, low, end}));
  const uint32_t words = DTypeSize(in(i).dtype) == 8 ? 2 : 1;
  return Dispatch(Shader::kCheck, {words}, {integers, report}, push, push.count);
}

Status Emitter::Alias(size_t output) {
  SKIFF_RETURN_IF_ERROR(TensorOperand(node_->outputs[output]).status());
  if (input(0).constant) return Refuse();
  return program_.aliases.Append({node_->outputs[output], node_->inputs[0]});
}

bool Emitter::IsUsable(Shader shader) const {
  if (CodeOf(shader, precision_).words == nullptr) return false;
  if (device_.IsQuarantined(shader)) return false;
  const char* name = ShaderName(shader);
  const size_t length = std::strlen(name);
  for (const char* at = options_.quarantine; at != nullptr; at = std::strchr(at, ',')) {
    at += *at == ',' ? 1 : 0;
    if (std::strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return false;
  }
  return true;
}

Status Emitter::Add(const PipelineKey& key, std::initializer_list<Operand> operands, size_t written,
                    const void* push, size_t push_bytes, uint64_t groups) {
  if (groups == 0) return OkStatus();
  if (!IsUsable(key.shader)) return Refuse();
  vulkan::Dispatch dispatch;
  dispatch.key = key;
  std::copy(operands.begin(), operands.end(), dispatch.operands);
  dispatch.bindings = static_cast<int>(operands.size());
  dispatch.reads = dispatch.bindings - static_cast<int>(written);
  std::memcpy(dispatch.push, push, push_bytes);
  const uint64_t most = limits_.group_count;
  dispatch.groups[0] = static_cast<uint32_t>(std::min(groups, most));
  const uint64_t rows = (groups + dispatch.groups[0] - 1) / dispatch.groups[0];
  if (rows > most) return Refuse();
  dispatch.groups[1] = static_cast<uint32_t>(rows);
  dispatch.node = index_;
  return program_.dispatches.Append(dispatch);
}

}  // namespace skiff::vulkan
