#include "tests/converter/quantized/operator_cases.h"

#include <cmath>

namespace skiff::testing {

Reals RealsOf(const TensorData& data) {
  const Exact exact = ExactOf(data);
  Reals reals{exact.shape, {}};
  for (const Wide number : exact.numbers)
    reals.numbers.push_back(std::ldexp(static_cast<long double>(number), -exact.exponent));
  return reals;
}

const CaseTable& OperatorCases() {
  static const CaseTable table = [] {
    CaseTable made;
    AddLinearCases(made);
    AddProductCases(made);
    AddRealCases(made);
    AddRowCases(made);
    AddMoveCases(made);
    return made;
  }();
  return table;
}

}  // namespace skiff::testing
