#include "conformance_cases.h"

#include <limits>

#include "ops/build_ops.h"
#include "ops/op_codes.h"

namespace skiff::testing {

Case& CaseList::Add(OpCode op, const char* name, std::initializer_list<Argument> inputs) {
  Case made;
  made.op = op;
  made.name = std::string(FindOp(op)->name) + "_" + name;
  InitAttrs(op, made.attrs);
  made.inputs = inputs;
  cases_.push_back(std::move(made));
  return cases_.back();
}

Case& CaseList::AddHalf(const Case& single) {
  Case half = single;
  half.name += "_f16";
  for (Argument& input : half.inputs) {
    if (input.dtype == DType::kF32) input.dtype = DType::kF16;
  }
  cases_.push_back(std::move(half));
  return cases_.back();
}

Argument F32(const Shape& shape, double low, double high) {
  Argument argument;
  argument.shape = shape;
  argument.low = low;
  argument.high = high;
  return argument;
}

Argument Weights(const Shape& shape, double low, double high) {
  Argument argument = F32(shape, low, high);
  argument.constant = true;
  return argument;
}

Argument WithSpecials(Argument argument) {
  constexpr size_t kApart = 23;
  argument.values.clear();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {-0.0, kNan, 0.0, kInfinity, -1.0, -kInfinity, 1.0, kNan}) {
    argument.values.push_back(value);
    for (size_t i = 1; i < kApart; ++i)
      argument.values.push_back(static_cast<double>((argument.values.size() * 37) % 64) / 32 - 1);
  }
  return argument;
}

Argument Integers(std::initializer_list<int64_t> values) {
  Argument argument;
  argument.dtype = DType::kI64;
  argument.shape = Shape{static_cast<int64_t>(values.size())};
  argument.constant = true;
  for (int64_t value : values) argument.values.push_back(static_cast<double>(value));
  return argument;
}

Argument Absent() {
  Argument argument;
  argument.absent = true;
  return argument;
}

Argument Strided(Argument argument, int64_t gap) {
  argument.row_gap = gap;
  return argument;
}

const std::vector<Case>& ConformanceCases() {
  static const std::vector<Case> cases = [] {
    CaseList list;
    AddElementwiseCases(list);
    AddNumberCases(list);
    AddMaskCases(list);
    AddRowCases(list);
    AddIndexCases(list);
    AddProductCases(list);
    AddMatrixCases(list);
    AddRecurrentCases(list);
    AddMovementCases(list);
    AddStoredCases(list);
    AddQuantizedCases(list);
    AddCodeCases(list);
    AddQuantizedOperatorCases(list);
    AddTreeCases(list);
    AddReferenceCases(list);
    return std::move(list.cases());
  }();
  return cases;
}

std::string Describe(const Case& description) {
  std::string text = FindOp(description.op)->name;
  for (const Argument& input : description.inputs)
    text += input.absent ? " -" : " " + std::string(ShapeText(input.shape).c_str());
  VisitAttrs(description.op, description.attrs, [&](int, const char* name, const auto& member) {
    text += std::string(" ") + name + "=";
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Ints>) {
      for (int64_t i = 0; i < member.size; ++i) text += (i > 0 ? "," : "") + std::to_string(member[i]);
    } else if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(member)>>) {
      text += std::to_string(static_cast<int64_t>(member));
    } else {
      text += std::to_string(member);
    }
  });
  return text;
}

}  // namespace skiff::testing
