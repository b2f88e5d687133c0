/// The operators of runtime/ops/quantized.def, one by one: a node over quantised operands, and what the
/// operator's specification says of it. Nothing here calls a kernel.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tests/converter/quantized/exact.h"

namespace skiff::testing {

/// What an expectation is computed from.
struct Operands {
  OpCode op{};
  AttrStorage attrs;
  std::vector<TensorData> inputs;  ///< An absent one has no dtype.
  size_t output = 0;               ///< Which output is asked for.

  bool Has(size_t i) const { return i < inputs.size() && inputs[i].dtype() != DType::kInvalid; }
  const Shape& shape(size_t i) const { return inputs[i].shape(); }
  template <class A>
  const A& As() const {
    return attrs.as<A>();
  }
};

/// Real numbers as precisely as a formula in long double gives them.
struct Reals {
  Shape shape;
  std::vector<long double> numbers;
};
/// What an input stands for.
Reals RealsOf(const TensorData& data);

/// Elements as they are stored: integers that were moved, truths, indices.
struct Stored {
  Shape shape;
  std::vector<int64_t> elements;
};

using Expected = std::variant<Exact, Reals, Stored>;
using Expectation = std::function<Expected(const Operands&)>;

struct OperatorCase {
  std::string name;  ///< The operator's name, '_', and what is special.
  /// Inputs, constants and one node, in the text form. Every result is an output.
  std::string text;
  Expectation expectation;
};

using CaseTable = std::vector<OperatorCase>;

// linear_cases.cpp, product_cases.cpp, ...
void AddLinearCases(CaseTable& table);
void AddProductCases(CaseTable& table);
void AddRealCases(CaseTable& table);
void AddRowCases(CaseTable& table);
void AddMoveCases(CaseTable& table);

const CaseTable& OperatorCases();

}  // namespace skiff::testing
