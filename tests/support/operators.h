/// The rows of operators.def as data.
#pragma once

#include <span>

#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff::testing {

/// How the difference that is allowed follows from a node's elements; eps is that of the storage type.
enum class Rule {
  kExact,  ///< The same value (or a subnormal one flushed to zero), or both NaN: elements moved or chosen.
  kUlp,    ///< `c` units in the last place of the result.
  kInput,  ///< c * eps * |x|: the formula cancels, so that its terms are as large as the input.
  kTerms,  ///< c * eps * sum of absolute terms, from the reference with absolute inputs.
  kLayerNorm,  ///< The same, by hand: the deviations cancel.
  kLargest,    ///< c * eps * max|x|: the largest of a row is subtracted from all.
  kState,   ///< c * eps, of every output: states of about 1, from gates whose rounding fades over the steps.
  kResize,  ///< c * eps * extent * max|x|: the sampling position is rounded in f32.
};

struct Tolerance {
  Rule rule = Rule::kExact;
  double c = 0;
};

struct Range {
  double low = -1;
  double high = 1;
};

struct OperatorRow {
  OpCode op;
  Range x;
  Range others;
  Tolerance tolerance;
  const char* computes;
  const char* limits;
};

/// In the order of ops.def.
std::span<const OperatorRow> OperatorRows();
/// Throws std::runtime_error where there is no row.
const OperatorRow& RowOf(OpCode op);
/// Of the delegate's fast path.
Tolerance ToleranceOf(OpCode op, DelegateKind delegate);
/// Units that a fast path's quantised output may be apart from the reference kernel's.
int CodesApart(OpCode op, DelegateKind delegate);

}  // namespace skiff::testing
