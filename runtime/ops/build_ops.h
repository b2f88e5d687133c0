/// What this build has of the operator table (SKIFF_OPERATORS), as constants and as code for each row.
#pragma once

#include <string_view>
#include <type_traits>

#include "ops/op.h"
#include "ops/op_codes.h"

namespace skiff {

/// A build without reference kernels, or without operators that have bodies, needs none of what runs these.
inline constexpr bool kBuildHasKernels = false
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, ...) || std::string_view(#Kernel) != "None"
#include "ops/build_ops.def"
#undef OP
    ;
inline constexpr bool kBuildHasBodies = ((0
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, ...) | (traits)
#include "ops/build_ops.def"
#undef OP
                                          ) &
                                         kBodies) != 0;

/// Whether this build has the operator: code for its nodes alone is dropped without it.
consteval bool BuildHas([[maybe_unused]] OpCode op) {
  return false
#define OP(id, Name, ...) || op == OpCode::k##Name
#include "ops/build_ops.def"
#undef OP
      ;
}

/// Calls visitor(attrs struct) with the struct that belongs to the operator, or does nothing for a code
/// that is not in this build.
template <class Storage, class Visitor>
void WithAttrs(OpCode code, [[maybe_unused]] Storage& storage, [[maybe_unused]] Visitor&& visitor) {
  switch (code) {
#define OP(id, Name, Attrs, ...)           \
  case OpCode::k##Name:                    \
    visitor(storage.template as<Attrs>()); \
    break;
#include "ops/build_ops.def"
#undef OP
    default:
      break;
  }
}

/// Calls visit(tag, name, member) for each attribute field of the operator.
template <class Storage, class Visitor>
void VisitAttrs(OpCode code, Storage& storage, Visitor&& visit) {
  WithAttrs(code, storage, [&](auto& attrs) { std::remove_cvref_t<decltype(attrs)>::Fields(attrs, visit); });
}

}  // namespace skiff
