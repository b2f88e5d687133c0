// Casts, comparisons, masks and choices.
#include <cmath>

#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

Argument OfType(DType dtype, std::initializer_list<int64_t> shape, double low = -3, double high = 4) {
  Argument argument = F32(shape, low, high);
  argument.dtype = dtype;
  return argument;
}

Argument Bools(std::initializer_list<int64_t> shape) {
  Argument argument = OfType(DType::kBool, shape);
  int64_t elements = 1;
  for (int64_t extent : shape) elements *= extent;
  for (int64_t i = 0; i < elements; ++i) argument.values.push_back(i * 7 % 5 < 2 ? 1 : 0);
  return argument;
}

Argument Special() {
  Argument special = F32({9});
  special.values = {NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1, 1e30, -1e30};
  return special;
}

/// Those with a kernel, each as a vector, as rows apart, and with nothing in it.
constexpr struct {
  DType from;
  DType to;
} kCasts[] = {
    {DType::kF32, DType::kF16},  {DType::kF32, DType::kF32},  {DType::kF16, DType::kF32},
    {DType::kBool, DType::kF32}, {DType::kBool, DType::kI32}, {DType::kBool, DType::kI64},
    {DType::kU8, DType::kF32},   {DType::kU8, DType::kI32},   {DType::kU8, DType::kI64},
    {DType::kI32, DType::kF32},  {DType::kI32, DType::kI64},  {DType::kI32, DType::kBool},
    {DType::kI64, DType::kF32},  {DType::kI64, DType::kI32},  {DType::kI64, DType::kBool},
    {DType::kF32, DType::kI32},  {DType::kF32, DType::kI64},  {DType::kF32, DType::kU8},
    {DType::kF32, DType::kBool}, {DType::kBool, DType::kF64}, {DType::kU8, DType::kF64},
    {DType::kI16, DType::kF64},  {DType::kI32, DType::kF64},  {DType::kU32, DType::kF64},
    {DType::kI64, DType::kF64},  {DType::kF32, DType::kF64},  {DType::kF64, DType::kF32},
    {DType::kF64, DType::kI16},  {DType::kF64, DType::kI32},  {DType::kF64, DType::kU32},
    {DType::kF64, DType::kI64},
};

void AddCasts(CaseList& list) {
  for (const auto& [from, to] : kCasts) {
    const std::string types = std::string(DTypeName(from)) + "_to_" + DTypeName(to);
    const double low = from == DType::kU8 || from == DType::kU32 ? 0 : -300;
    const auto add = [&](const char* name, const Argument& x) -> Case& {
      Case& made = list.Add(OpCode::kCast, (types + "_" + name).c_str(), {x});
      made.As<CastAttrs>().to = static_cast<int64_t>(to);
      return made;
    };
    add("vector", OfType(from, {10007}, low, 250));
    add("strided", Strided(OfType(from, {6, 33}, low, 250), 2)).output_row_gap = 3;
    add("empty", OfType(from, {4, 0}));
    Argument constant = OfType(from, {7, 143}, low, 250);
    constant.constant = true;
    add("constant", constant);
  }
  // What does not fit saturates, and NaN is 0; what has no exact f32 is rounded once.
  for (DType to : {DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    Argument special = Special();
    special.shape = Shape{14};
    for (double value : {2147483520.0, 2147483648.0, -2147483648.0, 255.9, 0x1.fffffep62})
      special.values.push_back(value);
    list.Add(OpCode::kCast, (std::string("special_to_") + DTypeName(to)).c_str(), {special})
        .As<CastAttrs>()
        .to = static_cast<int64_t>(to);
  }
  for (DType to : {DType::kF32, DType::kI16, DType::kI32, DType::kU32, DType::kI64}) {
    Argument special = Special();
    special.dtype = DType::kF64;
    special.shape = Shape{20};
    for (double value : {32767.9, 32768.0, -32768.9, 2147483647.9, 2147483648.0, -2147483648.9, -2147483649.0,
                         4294967295.9, 4294967296.0, -0.9, 0x1.fffffffffffffp62})
      special.values.push_back(value);
    list.Add(OpCode::kCast, (std::string("special_f64_to_") + DTypeName(to)).c_str(), {special})
        .As<CastAttrs>()
        .to = static_cast<int64_t>(to);
  }
  Argument large = OfType(DType::kI64, {6});
  large.values = {16777217, 16777219, -16777217, 9007199254740991, -4611686018427387904, 4611686293305294848};
  list.Add(OpCode::kCast, "large_to_f32", {large}).As<CastAttrs>().to = static_cast<int64_t>(DType::kF32);
  list.Add(OpCode::kCast, "large_to_i32", {large}).As<CastAttrs>().to = static_cast<int64_t>(DType::kI32);
}

void AddComparisons(CaseList& list) {
  for (OpCode op :
       {OpCode::kEqual, OpCode::kLess, OpCode::kLessOrEqual, OpCode::kGreater, OpCode::kGreaterOrEqual}) {
    for (DType dtype : {DType::kF32, DType::kI32, DType::kI64, DType::kU8, DType::kBool, DType::kF64}) {
      const double low = dtype == DType::kU8 ? 0 : -3;
      const auto add = [&](const char* name, const Argument& a, const Argument& b) -> Case& {
        return list.Add(op, (std::string(DTypeName(dtype)) + "_" + name).c_str(), {a, b});
      };
      add("same", OfType(dtype, {3, 211}, low), OfType(dtype, {3, 211}, low));
      add("scalar_right", OfType(dtype, {5, 7, 11}, low), OfType(dtype, {}, low));
      add("scalar_left", OfType(dtype, {1}, low), OfType(dtype, {5, 77}, low));
      add("one_hot", OfType(dtype, {2, 9, 1}, low), OfType(dtype, {1, 1, 17}, low));
      add("empty", OfType(dtype, {0, 4}), OfType(dtype, {4}));
      add("strided", Strided(OfType(dtype, {6, 10}, low), 3), Strided(OfType(dtype, {6, 10}, low), 1))
          .output_row_gap = 2;
    }
    list.Add(op, "special", {Special(), F32({9}, -1, 1)});
    list.Add(op, "special_itself", {Special(), Special()});
  }
}

void AddLogic(CaseList& list) {
  for (OpCode op : {OpCode::kAnd, OpCode::kOr, OpCode::kXor}) {
    list.Add(op, "same", {Bools({3, 211}), Bools({3, 211})});
    list.Add(op, "row", {Bools({5, 13}), Bools({13})});
    list.Add(op, "column", {Bools({5, 13}), Bools({5, 1})});
    list.Add(op, "scalar_left", {Bools({}), Bools({4, 9})});
    list.Add(op, "empty", {Bools({2, 0}), Bools({1})});
    list.Add(op, "strided", {Strided(Bools({6, 10}), 3), Strided(Bools({6, 10}), 1)}).output_row_gap = 2;
  }
  list.Add(OpCode::kNot, "vector", {Bools({10001})});
  list.Add(OpCode::kNot, "strided", {Strided(Bools({6, 10}), 3)}).output_row_gap = 2;
  list.Add(OpCode::kNot, "empty", {Bools({0})});
}

void AddChoices(CaseList& list) {
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kI64, DType::kI32, DType::kU8, DType::kBool, DType::kF64}) {
    const double low = dtype == DType::kU8 ? 0 : -3;
    const auto add = [&](const char* name, const Argument& condition, const Argument& a,
                         const Argument& b) -> Case& {
      return list.Add(OpCode::kWhere, (std::string(DTypeName(dtype)) + "_" + name).c_str(),
                      {condition, a, b});
    };
    add("same", Bools({3, 211}), OfType(dtype, {3, 211}, low), OfType(dtype, {3, 211}, low));
    add("fill", Bools({2, 3, 7, 7}), OfType(dtype, {}, low), OfType(dtype, {2, 3, 7, 7}, low));
    add("keep", Bools({1, 1, 7, 7}), OfType(dtype, {2, 3, 7, 7}, low), OfType(dtype, {1}, low));
    add("two_values", Bools({50}), OfType(dtype, {}, low), OfType(dtype, {}, low));
    add("by_row", Bools({6, 1}), OfType(dtype, {6, 20}, low), OfType(dtype, {20}, low));
    add("by_row_of_values", Bools({6, 1}), OfType(dtype, {6, 1}, low), OfType(dtype, {6, 20}, low));
    add("short_rows", Bools({3}), OfType(dtype, {3}, low), OfType(dtype, {5, 7, 3}, low));
    add("one_condition", Bools({}), OfType(dtype, {9}, low), OfType(dtype, {}, low));
    add("empty", Bools({0, 3}), OfType(dtype, {3}), OfType(dtype, {}));
    add("strided", Strided(Bools({6, 10}), 3), Strided(OfType(dtype, {6, 10}, low), 1),
        Strided(OfType(dtype, {6, 10}, low), 2))
        .output_row_gap = 2;
  }
  Argument mask = Bools({9});
  list.Add(OpCode::kWhere, "special", {mask, Special(), F32({}, 2, 2)});
}

}  // namespace

void AddMaskCases(CaseList& list) {
  AddCasts(list);
  AddComparisons(list);
  AddLogic(list);
  AddChoices(list);
}

}  // namespace skiff::testing
