// Expands the operators of this build into the table of OpDefs that the runtime and the converter share.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "eager/kernels.h"
#include "ops/build_ops.h"
#include "ops/op.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// Of this build, after an empty row: an array needs an element.
constexpr OpDef kOps[] = {
    {},
#define OP(id, Name, Attrs, min_in, max_in, out, Infer_, Kernel_, traits, values)                      \
  {OpCode::k##Name,        #Name,          min_in, max_in, out, static_cast<uint32_t>(traits), values, \
   Infer##Infer_<int64_t>, Kernel##Kernel_},
#include "ops/build_ops.def"
#undef OP
};
constexpr size_t kOpCount = sizeof(kOps) / sizeof(kOps[0]);

/// Every operator's name, one text after the other in the order of the ids: no pointer needs a relocation.
constexpr char kNames[] =
#define OP(id, Name, ...) #Name "\0"
#include "ops/ops.def"
#undef OP
    ;
constexpr uint16_t kIds[] = {
#define OP(id, ...) id,
#include "ops/ops.def"
#undef OP
};

constexpr bool IdsAscend() {
  for (size_t i = 1; i < kOpCount; ++i) {
    if (kOps[i - 1].code >= kOps[i].code) return false;
  }
  return true;
}
static_assert(IdsAscend(), "ops.def must list ids in ascending order, each once");

#define OP(id, Name, Attrs, ...) \
  static_assert(std::is_trivially_copyable_v<Attrs> && sizeof(Attrs) <= sizeof(AttrStorage::bytes));
#include "ops/build_ops.def"
#undef OP

/// Collects an attribute struct's fields as bytes, so that two can be compared without comparing padding.
struct FieldBytes {
  unsigned char bytes[sizeof(AttrStorage::bytes) * 2] = {};
  size_t size = 0;

  template <class T>
  void operator()(int, const char*, const T& member) {
    std::memcpy(bytes + size, &member, sizeof(T));
    size += sizeof(T);
  }
};

}  // namespace

const OpDef* FindOp(OpCode code) {
  size_t low = 1;
  size_t high = kOpCount;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (kOps[middle].code == code) return &kOps[middle];
    if (kOps[middle].code < code) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nullptr;
}

const OpDef* FindOp(const char* name) {
  for (const OpDef& op : AllOps()) {
    if (std::strcmp(op.name, name) == 0) return &op;
  }
  return nullptr;
}

const char* OpName(OpCode code) {
  const char* name = kNames;
  for (const uint16_t id : kIds) {
    if (static_cast<OpCode>(id) == code) return name;
    name += std::strlen(name) + 1;
  }
  return nullptr;
}

Span<const OpDef> AllOps() { return {kOps + 1, kOpCount - 1}; }

void InitAttrs(OpCode code, AttrStorage& attrs) {
  attrs = AttrStorage();
  WithAttrs(code, attrs, [](auto& typed) { typed = std::remove_cvref_t<decltype(typed)>(); });
}

bool AttrsEqual(OpCode code, const AttrStorage& a, const AttrStorage& b) {
  FieldBytes left;
  FieldBytes right;
  VisitAttrs(code, a, left);
  VisitAttrs(code, b, right);
  return left.size == right.size && std::memcmp(left.bytes, right.bytes, left.size) == 0;
}

template <>
__attribute__((format(printf, 2, 3))) Status InferContext<int64_t>::Error(const char* format, ...) const {
  if (message != nullptr) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, kMessageBytes, format, arguments);
    va_end(arguments);
  }
  return Status(StatusCode::kInvalidArgument);
}

}  // namespace skiff
