// skiff.ops: the operators as functions of tensors, from the table of operators and from operators.def.
// Names, attributes and their defaults are data here, so that a new operator is a row.
#include "platforms/python/bindings/operators.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>

#include "ops/op_codes.h"
#include "platforms/python/bindings/tensors.h"

namespace skiff::python {
namespace {

/// Names that the rule would spell otherwise than people do, and Python's keywords.
constexpr std::pair<const char*, const char*> kNames[] = {
    {"IsNaN", "is_nan"}, {"PRelu", "prelu"}, {"And", "and_"}, {"Or", "or_"}, {"Not", "not_"}};

std::string PythonName(const std::string& name) {
  for (const auto& [ours, theirs] : kNames) {
    if (name == ours) return theirs;
  }
  std::string text;
  for (const char letter : name) {
    if (std::isupper(static_cast<unsigned char>(letter)) && !text.empty()) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

struct Element {
  OpCode op;
  const char* name;
  const char* operands;
};
constexpr Element kElementwise[] = {
#define SKIFF_UNARY(Name) {OpCode::k##Name, #Name, "x"},
#define SKIFF_BINARY(Name) {OpCode::k##Name, #Name, "a b"},
#include "trace/elementwise.inc"
};

struct Row {
  OpCode op;
  const char* name;
  const char* operands;
  const char* defaults;
  const char* doc;
};
constexpr Row kRows[] = {
#define SKIFF_OPERATOR(Op, name, operands, defaults, doc) {OpCode::k##Op, #name, operands, defaults, doc},
#include "platforms/python/bindings/operators.def"
#undef SKIFF_OPERATOR
};

}  // namespace

void BindOperators(nb::module_& module) {
  nb::module_ ops = module.def_submodule(
      "ops",
      "The operators as functions of tensors: at once outside of a trace, a node inside.\n\n"
      "Two-dimensional convolution, pooling and resize take [N, height, width, channels], weights are [out, "
      "height, width, in]. "
      "Errors begin with the line that called.");
  for (const Element& element : kElementwise) {
    const bool two = std::strlen(element.operands) > 1;
    DefineRow(ops,
              {element.op, PythonName(element.name), element.operands, false, "",
               fmt::format("{}, element by element{}.", element.name, two ? "; the two broadcast" : "")});
  }
  for (const Row& row : kRows) DefineRow(ops, {row.op, row.name, row.operands, true, row.defaults, row.doc});
  DefineWrittenOut(ops);
}

}  // namespace skiff::python
