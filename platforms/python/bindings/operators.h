/// How skiff.ops comes to be: most functions are rows of tables, some are written out.
#pragma once

#include "platforms/python/bindings/python.h"

#include <string>

#include "ops/op.h"

namespace skiff::python {

/// A function of skiff.ops that is a row, in the words of operators.def.
struct OperatorRow {
  OpCode op = OpCode{};
  std::string name;
  std::string operands;
  bool attributes = false;  ///< They follow behind the operands.
  std::string defaults;     ///< Where they are others than those of runtime/ops/attrs.h.
  std::string doc;
};
void DefineRow(nb::module_& ops, const OperatorRow& row);

/// Those whose results are several, or follow from elements, or that need more than a row says.
void DefineWrittenOut(nb::module_& ops);

}  // namespace skiff::python
