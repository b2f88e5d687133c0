/// Tables with a row for some of the operators, in the order of ops.def.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "ops/op.h"

namespace skiff {

template <class T>
struct OpRow {
  OpCode op;
  T value;
};

/// For a static_assert beside the table: FindRow() needs the order.
template <class T, size_t kCount>
constexpr bool OpsAscend(const OpRow<T> (&rows)[kCount]) {
  for (size_t i = 1; i < kCount; ++i) {
    if (rows[i - 1].op >= rows[i].op) return false;
  }
  return true;
}

/// The operator's value; T() where the table does not have it.
template <class T, size_t kCount>
constexpr T FindRow(const OpRow<T> (&rows)[kCount], OpCode op) {
  const OpRow<T>* row = std::lower_bound(std::begin(rows), std::end(rows), op,
                                         [](const OpRow<T>& a, OpCode b) { return a.op < b; });
  return row != std::end(rows) && row->op == op ? row->value : T();
}

}  // namespace skiff
