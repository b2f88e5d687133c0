// Extrema, products, positions, normalisations of rows, and gathering them.
#include <limits>

#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Argument Special(std::initializer_list<int64_t> shape) {
  Argument special = F32(shape);
  special.values = {1, kNan, 3, kInfinity, -kInfinity, 2, -kInfinity, -kInfinity, -kInfinity, 5, 6, 7};
  return special;
}

void AddReductions(CaseList& list) {
  for (const OpCode op : {OpCode::kReduceMax, OpCode::kReduceMin, OpCode::kReduceProd}) {
    const auto add = [&](const char* name, const Argument& x, Ints axes, bool keep = true) -> Case& {
      Case& made = list.Add(op, name, {x});
      made.As<ReduceAttrs>().axes = axes;
      made.As<ReduceAttrs>().keep_dims = keep;
      return made;
    };
    add("spatial", F32({2, 7, 7, 37}, 0.8, 1.2), {1, 2});
    add("wide", F32({3, 5, 2500}, 0.8, 1.2), {1});
    add("last", F32({5, 6, 131}, 0.8, 1.2), {-1});
    add("last_short", F32({5, 6, 3}), {-1}, false);
    add("all", F32({3, 4, 5}), {}, false);
    add("first", F32({9, 20}), {0});
    add("extent_one", F32({2, 1, 1, 12}), {1, 2});
    add("around_extent_one", F32({2, 5, 1, 6, 3}), {1, 3});
    add("empty", F32({0, 5}), {1});
    add("nothing_to_reduce", F32({3, 0}), {1}).falls_back = "an input has no elements";
    add("special", Special({4, 3}), {1});
    add("special_columns", Special({4, 3}), {0});
    add("apart", F32({3, 4, 5}), {0, 2}).falls_back = "the reduced axes are not neighbours";
    add("strided", Strided(F32({3, 5}), 2), {1}).falls_back = "the kernels read dense rows";
  }
}

void AddFakeQuantize(CaseList& list) {
  const auto add = [&](const char* name, const Argument& x, FakeQuantizeAttrs attrs) -> Case& {
    Case& made = list.Add(OpCode::kFakeQuantize, name, {x});
    made.As<FakeQuantizeAttrs>() = attrs;
    return made;
  };
  add("rows", F32({5, 6, 131}, -3, 9), {});
  add("short_rows", F32({7, 3}), {});
  add("pictures", F32({2, 9, 5, 21}, 0, 6), {1});
  add("whole", F32({3, 70}, -9, -2), {0});
  add("symmetric", F32({4, 37}), {-1, true});
  add("several_parts", F32({2, 20000}, -5, 4), {});
  add("blocks", F32({5, 3, 96}, -5, 9), {-1, true, 32});
  add("blocks_with_zero_points", F32({4, 30}, -5, 9), {0, false, 10});
  add("long_blocks", F32({3, 20000}, -5, 4), {-1, true, 10000});
  add("special", Special({4, 3}), {});
  add("empty", F32({0, 5}), {});
  // Steps of 1 and numbers half way between them; in the second row the zero point lies half way as well.
  Argument ties = F32({2, 8});
  ties.values = {-100,   155,   -99.5, -98.5, 0.5,  1.5, 2.5, 154.5,
                 -100.5, 154.5, -99.5, -1.5,  -0.5, 0.5, 1,   2.5};
  add("ties", ties, {});
  Argument symmetric_ties = F32({8});
  symmetric_ties.values = {-127, 126.5, -125.5, -1.5, -0.5, 0.5, 2.5, 127};
  add("symmetric_ties", symmetric_ties, {-1, true});
  Argument halves = F32({3, 40});
  halves.dtype = DType::kF16;
  add("f16", halves, {}).falls_back = "the kernels read f32";
  add("strided", Strided(F32({3, 5}), 2), {}).falls_back = "the kernels read dense rows";
}

void AddRunningSums(CaseList& list) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI64, DType::kU32}) {
    const auto add = [&](const char* name, std::initializer_list<int64_t> shape, int64_t axis, bool exclusive,
                         bool reverse) -> Case& {
      Argument x = F32(shape, dtype == DType::kU32 ? 0 : -99, 99);
      x.dtype = dtype;
      Argument along = Integers({axis});
      along.shape = Shape();
      Case& made =
          list.Add(OpCode::kCumSum, (std::string(DTypeName(dtype)) + "_" + name).c_str(), {x, along});
      made.As<CumSumAttrs>() = {exclusive, reverse};
      made.falls_back = "no delegate of the CPU has a lowering for it";
      return made;
    };
    add("rows", {4, 9}, 1, false, false);
    add("exclusive", {4, 9}, -1, true, false);
    add("reverse", {4, 9}, 1, false, true);
    add("exclusive_reverse", {4, 9}, 1, true, true);
    add("columns", {40, 7}, 0, false, false);
    add("middle", {3, 17, 50}, 1, true, true);
    add("long", {2, 5000}, 1, false, false);
    add("long_columns", {700, 3}, 0, true, true);
    add("odd_length", {1, 257}, 1, false, true);
    if (DTypeSize(dtype) <= 4) add("many_lines", {64, 65, 70}, 1, false, false);
    add("one", {5, 1}, 1, true, false);
  }
  for (const int64_t axis : {0, 1}) {
    Case& made = list.Add(OpCode::kCumSum, axis == 0 ? "special_columns" : "special",
                          {Special({4, 3}), Integers({axis})});
    made.falls_back = "no delegate of the CPU has a lowering for it";
  }
  // Sums that wrap around, and carries between words.
  Argument wide = Integers({0});
  wide.shape = Shape{6};
  wide.values = {4294967295.0,         1, 9007199254740991.0, -9007199254740992.0, 9223372036854774784.0,
                 9223372036854774784.0};
  wide.constant = false;
  list.Add(OpCode::kCumSum, "wraps", {wide, Integers({0})}).falls_back =
      "no delegate of the CPU has a lowering for it";
}

void AddPositions(CaseList& list) {
  for (const OpCode op : {OpCode::kArgMax, OpCode::kArgMin}) {
    const auto add = [&](const char* name, const Argument& x, bool last = false) -> Case& {
      Case& made = list.Add(op, name, {x});
      made.As<ArgAttrs>() = {-1, false, last};
      return made;
    };
    add("rows", F32({3, 7, 101}));
    add("short", F32({9, 5}));
    add("one", F32({6, 1}));
    add("empty", F32({0, 4}));
    add("strided", Strided(F32({6, 33}), 4));
    Argument equal = F32({3, 40});
    for (int i = 0; i < 120; ++i) equal.values.push_back(i % 7 % 3);
    add("first_of_equal", equal);
    add("last_of_equal", equal, true);
    add("special", Special({4, 3}));
    add("special_last", Special({4, 3}), true);
    const auto along = [&](const char* name, const Argument& x, int64_t axis) -> Case& {
      Case& made = add(name, x);
      made.As<ArgAttrs>().axis = axis;
      return made;
    };
    for (const bool last : {false, true}) {
      const auto name = [&](const char* text) { return std::string(text) + (last ? "_last" : ""); };
      along(name("first_axis").c_str(), F32({40, 5}), 0).As<ArgAttrs>().select_last = last;
      along(name("middle_axis").c_str(), F32({3, 48, 17}), 1).As<ArgAttrs>().select_last = last;
      along(name("wide_axis").c_str(), F32({2, 9, 1500}), 1).As<ArgAttrs>().select_last = last;
      along(name("trailing_ones").c_str(), F32({3, 70, 1, 1}), 1).As<ArgAttrs>().select_last = last;
      Argument columns = F32({5, 4});
      columns.values = {1,    kNan, 3,         2, 4, 1, kNan,      2, 4, kNan,
                        kNan, 2,    kInfinity, 5, 6, 2, kInfinity, 0, 1, -0.0};
      along(name("special_columns").c_str(), columns, 0).As<ArgAttrs>().select_last = last;
    }
    along("strided_columns", Strided(F32({4, 5}), 2), 0).falls_back = "columns are read from dense rows";
  }
}

void AddLogSoftmax(CaseList& list) {
  const auto add = [&](const char* name, const Argument& x) -> Case& {
    Case& made = list.Add(OpCode::kLogSoftmax, name, {x});
    made.As<AxisAttrs>().axis = -1;
    return made;
  };
  add("rows", F32({3, 7, 101}, -9, 9));
  add("one", F32({6, 1}, -4, 4));
  add("empty", F32({0, 4}));
  add("in_place", F32({5, 65}, -4, 4)).in_place = 0;
  add("strided", Strided(F32({6, 11}, -4, 4), 5)).output_row_gap = 2;
  Argument masked = F32({2, 6});
  masked.values = {1, -kInfinity, 2, -1e9, -3.4e38, 0.5, 1e30, 1e30, -1e30, 3, 1e30, 0};
  add("masked", masked);
  add("special", Special({4, 3}));
}

void AddGathers(CaseList& list) {
  const auto indices = [](DType dtype, std::initializer_list<int64_t> shape,
                          std::initializer_list<double> values) {
    Argument argument = F32(shape);
    argument.dtype = dtype;
    argument.values = values;
    return argument;
  };
  const auto add = [&](const char* name, Argument x, const Argument& at, int64_t axis,
                       DType dtype = DType::kF32) -> Case& {
    x.dtype = dtype;
    Case& made = list.Add(OpCode::kGather, name, {x, at});
    made.As<AxisAttrs>().axis = axis;
    return made;
  };
  const Argument four = indices(DType::kI64, {2, 2}, {0, 5, -1, 2});
  add("rows", F32({6, 33}), four, 0);
  add("rows_f16", F32({6, 33}), four, 0, DType::kF16);
  add("rows_i64", F32({6, 3}, 0, 99), four, 0, DType::kI64);
  add("middle", F32({3, 6, 5}), four, 1);
  add("elements", F32({3, 6}), indices(DType::kI32, {3}, {1, -6, 5}), -1);
  add("bytes", F32({3, 6}, 0, 99), four, 1, DType::kU8);
  Argument constant = four;
  constant.constant = true;
  add("constant", F32({3, 6, 5}), constant, 1);
  add("constant_f16", F32({3, 6, 5}), constant, 1, DType::kF16);
  add("constant_i64", F32({6, 3}, 0, 99), constant, 0, DType::kI64);
  constant = indices(DType::kI32, {3}, {1, -6, 5});
  constant.constant = true;
  add("constant_i32", F32({3, 6}), constant, -1);
  Argument table = F32({1100, 531});
  table.constant = true;
  add("table", table, indices(DType::kI64, {3, 2}, {0, 1099, -1, 493, 494, 700}), 0);
  table = F32({1, 1200, 130}, 0, 99);
  table.constant = true;
  add("table_i64", table, indices(DType::kI32, {4}, {0, 1199, -2, 1153}), 1, DType::kI64);
  add("scalar", F32({6, 4}), indices(DType::kI64, {}, {3}), 0);
  add("large", F32({6, 40000}), four, 0);
  add("no_indices", F32({6, 4}), indices(DType::kI64, {0}, {}), 0);
  add("strided", Strided(F32({6, 4}), 2), four, 0).falls_back = "the copies read dense rows";
}

}  // namespace

void AddRowCases(CaseList& list) {
  AddReductions(list);
  AddFakeQuantize(list);
  AddRunningSums(list);
  AddPositions(list);
  AddLogSoftmax(list);
  AddGathers(list);
}

}  // namespace skiff::testing
