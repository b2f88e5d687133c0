#include "tests/support/operators.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

using In = Range;
constexpr Range Any;

constexpr OperatorRow kRows[] = {
#define OPERATOR(Name, x, others, computes, limits) {OpCode::k##Name, x, others, computes, limits},
#include "tests/support/operators.def"
};

constexpr struct {
  OpCode op;
  int units;
  bool shaders_only;
} kCodeRules[] = {
#define CODE_RULE(Name, units) {OpCode::k##Name, units, false},
#define SHADER_CODE_RULE(Name, units) {OpCode::k##Name, units, true},
#include "tests/support/operators.def"
};

}  // namespace

std::span<const OperatorRow> OperatorRows() { return kRows; }

const OperatorRow& RowOf(OpCode op) {
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const OperatorRow& r) { return r.op == op; });
  if (row == std::end(kRows)) {
    throw std::runtime_error(std::string("tests/support/operators.def has no row of ") + OpName(op) +
                             "; it needs one for every operator");
  }
  return *row;
}

int CodesApart(OpCode op, DelegateKind delegate) {
  for (const auto& row : kCodeRules) {
    if (row.op == op && (!row.shaders_only || delegate == DelegateKind::kVulkan)) return row.units;
  }
  return 0;
}

}  // namespace skiff::testing
