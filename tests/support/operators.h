/// The rows of operators.def as data.
#pragma once

#include <span>

#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff::testing {

struct Range {
  double low = -1;
  double high = 1;
};

struct OperatorRow {
  OpCode op;
  Range x;
  Range others;
  const char* computes;
  const char* limits;
};

/// In the order of ops.def.
std::span<const OperatorRow> OperatorRows();
/// Throws std::runtime_error where there is no row.
const OperatorRow& RowOf(OpCode op);
/// Units that a fast path's quantised output may be apart from the reference kernel's.
int CodesApart(OpCode op, DelegateKind delegate);

}  // namespace skiff::testing
