/// The table of the conformance test: nodes, keyed by operator.
#pragma once

#include <initializer_list>

#include "node_harness.h"

namespace skiff::testing {

class CaseList {
 public:
  /// Adds a case of an f32 operator.
  Case& Add(OpCode op, const char* name, std::initializer_list<Argument> inputs);
  /// The same case in f16: every f32 argument becomes f16.
  Case& AddHalf(const Case& single);
  std::vector<Case>& cases() { return cases_; }

 private:
  std::vector<Case> cases_;
};

/// An f32 tensor.
Argument F32(const Shape& shape, double low = -1, double high = 1);
/// The same, constant.
Argument Weights(const Shape& shape, double low = -1, double high = 1);
/// The same with NaN, infinities and zeros among its first elements, far enough from each other that some
/// windows of pictures meet one of them only.
Argument WithSpecials(Argument argument);
/// A constant i64 vector: bounds, axes, pads.
Argument Integers(std::initializer_list<int64_t> values);
Argument Absent();
/// A view whose rows lie `gap` elements apart.
Argument Strided(Argument argument, int64_t gap);

// conformance_elementwise.cpp, conformance_masks.cpp, ...
void AddElementwiseCases(CaseList& list);
void AddNumberCases(CaseList& list);
void AddMaskCases(CaseList& list);
void AddRowCases(CaseList& list);
void AddIndexCases(CaseList& list);
void AddProductCases(CaseList& list);
void AddMatrixCases(CaseList& list);
void AddRecurrentCases(CaseList& list);
void AddMovementCases(CaseList& list);
void AddStoredCases(CaseList& list);
void AddQuantizedCases(CaseList& list);
void AddCodeCases(CaseList& list);
void AddQuantizedOperatorCases(CaseList& list);
void AddTreeCases(CaseList& list);
void AddReferenceCases(CaseList& list);

const std::vector<Case>& ConformanceCases();

/// Operator, extents, attributes.
std::string Describe(const Case& description);

}  // namespace skiff::testing
