#include "graph/symbolic_rules.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Rule = Status (*)(InferContext<Dim>&);

struct Row {
  OpCode op;
  Rule rule;
};

constexpr Row kRules[] = {
#define OP(id, Name, Attrs, min_in, max_in, out, Infer_, ...) {OpCode::k##Name, Infer##Infer_<Dim>},
#include "ops/ops.def"
#undef OP
};

}  // namespace

template <>
__attribute__((format(printf, 2, 3))) Status InferContext<Dim>::Error(const char* format, ...) const {
  if (message != nullptr) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, kMessageBytes, format, arguments);
    va_end(arguments);
  }
  return Status(StatusCode::kInvalidArgument);
}

Status InferSymbolic(InferContext<Dim>& context) {
  const auto* row = std::lower_bound(std::begin(kRules), std::end(kRules), context.op,
                                     [](const Row& a, OpCode op) { return a.op < op; });
  return row->rule(context);
}

}  // namespace skiff
