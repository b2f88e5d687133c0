// Arithmetic on whole numbers and on f64: bit by bit the reference kernels' results.
#include <cmath>
#include <limits>

#include "conformance_cases.h"
#include "ops/op_codes.h"
#include "tests/support/operators.h"

namespace skiff::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

constexpr DType kNumbers[] = {DType::kI32, DType::kI64, DType::kF64};

Argument OfType(DType dtype, std::initializer_list<int64_t> shape, double low = -50, double high = 50) {
  Argument argument = F32(shape, low, high);
  argument.dtype = dtype;
  return argument;
}

Argument Listed(DType dtype, std::initializer_list<double> values) {
  Argument argument = OfType(dtype, {static_cast<int64_t>(values.size())});
  argument.values = values;
  return argument;
}

/// What wraps around, divides by zero, or has no order.
Argument Left(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return Listed(dtype, {2147483647, -2147483648.0, -2147483648.0, 65537, -1, 46341, 0, 7, -7, 7, -7, 5});
    case DType::kI64:
      return Listed(dtype, {9007199254740991, -9223372036854775808.0, -9223372036854775808.0, 4294967297, -1,
                            -4294967296, 0, 7, -7, 7, -7, 6442450945});
    default:
      return Listed(dtype, {kNan, 1, kInf, -kInf, 1e300, 0.0, -0.0, 7, -7, 7, -7, 0.1});
  }
}
Argument Right(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return Listed(dtype, {1, -1, 1, 65537, 2147483647, -46341, 5, 3, 3, -3, -3, 0});
    case DType::kI64:
      return Listed(dtype, {2097153, -1, 1, -4294967295, 1, 4294967296, 5, 3, 3, -3, -3, 0});
    default:
      return Listed(dtype, {1, kNan, -kInf, -kInf, 1e300, -0.0, 0.0, 3, 3, -3, -3, 0.3});
  }
}

void AddForms(CaseList& list, OpCode op, DType dtype, const std::string& prefix, void (*set)(Case&)) {
  const auto add = [&](const char* name, const Argument& a, const Argument& b) -> Case& {
    Case& made = list.Add(op, (prefix + name).c_str(), {a, b});
    set(made);
    return made;
  };
  add("same", OfType(dtype, {2, 3, 5, 7}), OfType(dtype, {2, 3, 5, 7}));
  add("both", OfType(dtype, {4, 1, 6}), OfType(dtype, {3, 1}));
  add("row", OfType(dtype, {5, 9}), OfType(dtype, {9}));
  add("column", OfType(dtype, {5, 17}), OfType(dtype, {5, 1}));
  add("scalar_left", OfType(dtype, {}), OfType(dtype, {41}));
  add("scalar_right", OfType(dtype, {3, 41}), OfType(dtype, {1}));
  add("scalars", OfType(dtype, {}), OfType(dtype, {}));
  add("large", OfType(dtype, {20001}), OfType(dtype, {20001}));
  add("empty", OfType(dtype, {0, 3}), OfType(dtype, {3}));
  add("in_place", OfType(dtype, {7, 65}), OfType(dtype, {7, 65})).in_place = 0;
  add("strided", Strided(OfType(dtype, {6, 10}), 3), Strided(OfType(dtype, {6, 10}), 1)).output_row_gap = 2;
  if (dtype == DType::kF32) {
    add("edges", F32({6}, -1, 1), Listed(dtype, {0, -0.0, kInf, -kInf, kNan, -0.3}));
  } else {
    add("edges", Left(dtype), Right(dtype));
  }
}

void AddArithmetic(CaseList& list) {
  const auto name = [](DType dtype) { return std::string(DTypeName(dtype)) + "_"; };
  for (const DType dtype : kNumbers) {
    for (const OpCode op :
         {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kDiv, OpCode::kMin, OpCode::kMax}) {
      AddForms(list, op, dtype, name(dtype), [](Case&) {});
    }
    for (const OpCode op : {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kDiv}) {
      Case& clamped = list.Add(op, (name(dtype) + "clamped").c_str(), {Left(dtype), Right(dtype)});
      clamped.As<ClampAttrs>() = {-1000, 1000};
      clamped.falls_back = "nothing writes a clamp behind such numbers";
    }
  }
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kF64, DType::kF32}) {
    AddForms(list, OpCode::kMod, dtype, name(dtype), [](Case&) {});
    AddForms(list, OpCode::kMod, dtype, name(dtype) + "truncated_",
             [](Case& made) { made.As<ModAttrs>().truncate = true; });
  }
  list.Add(OpCode::kAdd, "u8", {OfType(DType::kU8, {9}, 0, 255), OfType(DType::kU8, {9}, 0, 255)})
      .falls_back = "there are kernels for i32 and i64";
}

void AddFunctions(CaseList& list) {
  const auto add = [&](OpCode op, DType dtype) {
    const auto [low, high] = RowOf(op).x;
    const auto made = [&](const char* name, const Argument& x) -> Case& {
      Case& added = list.Add(op, (std::string(DTypeName(dtype)) + "_" + name).c_str(), {x});
      if (op == OpCode::kClamp) added.As<ClampAttrs>() = {-3.5f, 6.25f};
      return added;
    };
    made("image", OfType(dtype, {2, 5, 7, 13}, low, high));
    made("scalar", OfType(dtype, {}, low, high));
    made("empty", OfType(dtype, {3, 0}));
    made("large", OfType(dtype, {20001}, low, high));
    made("strided", Strided(OfType(dtype, {6, 10}, low, high), 3)).output_row_gap = 2;
    made("in_place", OfType(dtype, {3, 257}, low, high)).in_place = 0;
    made("edges", Left(dtype));
  };
  for (const OpCode op : {OpCode::kAbs, OpCode::kNeg, OpCode::kSign, OpCode::kClamp}) {
    for (const DType dtype : kNumbers) add(op, dtype);
  }
  for (const OpCode op : {OpCode::kExp, OpCode::kSqrt, OpCode::kFloor, OpCode::kCeil, OpCode::kRound})
    add(op, DType::kF64);
  // Limits that the type does not hold.
  for (const DType dtype : kNumbers)
    list.Add(OpCode::kClamp, (std::string(DTypeName(dtype)) + "_wide").c_str(), {Left(dtype)})
        .As<ClampAttrs>() = {-1e30f, 5e9f};
  list.Add(OpCode::kTanh, "f64", {OfType(DType::kF64, {7})}).falls_back =
      "the function has no kernel for f64";
}

}  // namespace

void AddNumberCases(CaseList& list) {
  AddArithmetic(list);
  AddFunctions(list);
}

}  // namespace skiff::testing
