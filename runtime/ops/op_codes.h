/// The operators by name. Their numbers are file format.
#pragma once

#include <cstdint>

namespace skiff {

enum class OpCode : uint16_t {
  kInvalid = 0,
#define OP(id, Name, ...) k##Name = id,
#include "ops/ops.def"
#undef OP
};

}  // namespace skiff
