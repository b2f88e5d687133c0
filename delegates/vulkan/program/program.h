/// What a segment hands to the GPU at one shape, as plain data: dispatches that name their tensors.
#pragma once

#include "delegates/vulkan/device/list.h"
#include "delegates/vulkan/device/memory.h"
#include "delegates/vulkan/pipelines/pipelines.h"
#include "skiff/tensor.h"

namespace skiff::vulkan {

/// Something that a shader reads or writes.
struct Operand {
  enum class Place : uint8_t {
    kNone,      ///< The shader does not touch the binding.
    kTensor,    ///< `index` is a tensor of the plan.
    kScratch,   ///< `index` counts the node's temporaries in the program.
    kTable,     ///< The program's table at `offset`.
    kConstant,  ///< `buffer` at `offset`.
    kReport,    ///< What the host reads of check `index`.
  };
  Place place = Place::kNone;
  int32_t index = -1;
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct Dispatch {
  PipelineKey key;
  Operand operands[kMaxBindings];
  int reads = 0;     ///< So many operands are only read,
  int bindings = 0;  ///< those from there up to this one are written. Scratch may be both.
  uint32_t push[kPushBytes / 4] = {};
  uint32_t groups[2] = {1, 1};
  uint32_t node = 0;
};

/// A node's output that has its input's elements in its input's place.
struct TensorAlias {
  int32_t tensor = -1;
  int32_t of = -1;
};

/// Integers that a shader looks at, and reports where the first one is that is outside of [low, end).
struct IntegerCheck {
  uint32_t node = 0;
  int64_t low = 0;
  int64_t end = 0;
};

/// Memory that only one node uses.
struct ScratchBuffer {
  uint32_t node = 0;
  uint64_t bytes = 0;
};

struct Program {
  List<Dispatch> dispatches;
  List<PipelineKey> variants;  ///< Pipelines that other shapes of the bucket will want.
  List<ScratchBuffer> scratch;
  List<TensorAlias> aliases;
  List<IntegerCheck> checks;
  List<uint32_t> table;  ///< What dispatches read beside tensors and push constants, until it is uploaded.
  List<Operand> tables;  ///< The parts of it.

  uint64_t memory_bytes() const { return dispatches.memory_bytes() + table.memory_bytes(); }

  struct Mark {
    size_t dispatches = 0, variants = 0, scratch = 0, aliases = 0, checks = 0, table = 0, tables = 0;
  };
  Mark mark() const {
    return {dispatches.size(), variants.size(), scratch.size(), aliases.size(),
            checks.size(),     table.size(),    tables.size()};
  }
  /// Forgets what came after the mark.
  void Truncate(const Mark& mark) {
    dispatches.Truncate(mark.dispatches);
    variants.Truncate(mark.variants);
    scratch.Truncate(mark.scratch);
    aliases.Truncate(mark.aliases);
    checks.Truncate(mark.checks);
    table.Truncate(mark.table);
    tables.Truncate(mark.tables);
  }
};

/// Bytes of an element in device memory. Floats are kept in the storage type, whatever their dtype; bool is
/// widened to 32 bits; 8-bit integers lie four in a word of 32 bits, as on the host. 0: the device has no
/// such tensors.
uint32_t DeviceBytes(DType dtype, bool f16);

}  // namespace skiff::vulkan
