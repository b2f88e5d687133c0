// What indices decide: elements and slices from and to places, and the largest ones with their places.
#include <cmath>
#include <limits>

#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Argument OfType(DType dtype, std::initializer_list<int64_t> shape, double low = -99, double high = 99) {
  Argument argument = F32(shape, dtype == DType::kU8 ? 0 : low, high);
  argument.dtype = dtype;
  return argument;
}

Argument Indices(std::initializer_list<int64_t> shape, std::initializer_list<double> values,
                 DType dtype = DType::kI64) {
  Argument argument = OfType(dtype, shape);
  argument.values = values;
  return argument;
}

/// Of each size.
constexpr DType kElements[] = {DType::kF32, DType::kF16, DType::kU8, DType::kBool, DType::kI64, DType::kF64};

void AddLookups(CaseList& list) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    const double low = dtype == DType::kU8 ? 0 : -128;
    const auto bytes = [&](std::initializer_list<int64_t> shape) {
      Argument argument = OfType(dtype, shape, low, low + 255);
      argument.high = low + 255;
      return argument;
    };
    Argument table = bytes({256});
    table.constant = true;
    list.Add(OpCode::kLookup, DTypeName(dtype), {Strided(bytes({2, 3, 70}), 5), table}).output_row_gap = 3;
  }
}

void AddTuples(CaseList& list) {
  const auto add = [&](const std::string& name, const Argument& x, const Argument& at,
                       int64_t batch_dims = 0) -> Case& {
    Case& made = list.Add(OpCode::kGatherND, name.c_str(), {x, at});
    made.As<GatherNDAttrs>().batch_dims = batch_dims;
    return made;
  };
  for (const DType dtype : kElements) {
    const std::string type = std::string(DTypeName(dtype)) + "_";
    add(type + "slices", OfType(dtype, {3, 4, 5}), Indices({3, 2}, {2, 2, 1, 1, 0, 2}));
    add(type + "elements", OfType(dtype, {2, 3, 4}),
        Indices({2, 2, 3}, {1, 0, 1, -1, -2, 0, 0, 1, -2, 1, -1, -1}, DType::kI32));
    add(type + "rows", OfType(dtype, {4, 3}), Indices({2, 1}, {3, -3}));
    add(type + "batches", OfType(dtype, {2, 4, 3}), Indices({2, 2, 1}, {3, 1, 0, -1}), 1);
  }
  add("batches_of_two", F32({2, 3, 4, 5}), Indices({2, 3, 2, 1}, {3, 1, 0, -1, 2, 2, 0, 0, 1, -4, 3, 3}), 2);
  add("one", F32({5}), Indices({1}, {-2}));
  add("large", F32({6, 40000}), Indices({3, 1}, {5, 0, 5}));
  add("no_indices", F32({6, 4}), Indices({0, 1}, {}));
  add("strided", Strided(F32({6, 4}), 2), Indices({2, 1}, {5, 0})).falls_back = "the copies read dense rows";
}

void AddScatteredSlices(CaseList& list) {
  const auto add = [&](const std::string& name, const Argument& x, const Argument& at,
                       const Argument& updates) -> Case& {
    return list.Add(OpCode::kScatterND, name.c_str(), {x, at, updates});
  };
  for (const DType dtype : kElements) {
    const std::string type = std::string(DTypeName(dtype)) + "_";
    add(type + "rows", OfType(dtype, {4, 3}), Indices({2, 1}, {3, -3}), OfType(dtype, {2, 3}));
    add(type + "elements", OfType(dtype, {4, 3}), Indices({3, 2}, {2, 0, 0, -1, 1, 1}, DType::kI32),
        OfType(dtype, {3}));
  }
  // The last of several stays.
  add("meeting", F32({5, 2}), Indices({4, 1}, {1, 3, 1, -4}), F32({4, 2}));
  add("in_place", F32({6, 7}), Indices({2, 1}, {4, 0}), F32({2, 7})).in_place = 0;
  add("one_row", F32({1, 9}), Indices({1, 1}, {0}), F32({1, 9}));
  add("strided", Strided(F32({4, 3}), 2), Indices({1, 1}, {2}), F32({1, 3})).falls_back =
      "the copies read dense rows";
}

void AddElements(CaseList& list) {
  for (const DType dtype : kElements) {
    const std::string type = std::string(DTypeName(dtype)) + "_";
    const auto gather = [&](const char* name, const Argument& x, const Argument& at, int64_t axis) {
      list.Add(OpCode::kGatherElements, (type + name).c_str(), {x, at}).As<AxisAttrs>().axis = axis;
    };
    gather("first_axis", OfType(dtype, {3, 4}), Indices({2, 4}, {2, 0, 1, -1, 1, 2, 0, 0}), 0);
    gather("last_axis", OfType(dtype, {3, 4}), Indices({3, 2}, {2, 0, 1, -1, -4, 3}, DType::kI32), -1);
    gather("smaller", OfType(dtype, {3, 4, 5}), Indices({2, 2, 3}, {2, 0, 3, 1, 1, 3, 0, 0, 2, 3, -1, -4}),
           1);
    const auto scatter = [&](const char* name, const Argument& x, const Argument& at, const Argument& updates,
                             int64_t axis) -> Case& {
      Case& made = list.Add(OpCode::kScatterElements, (type + name).c_str(), {x, at, updates});
      made.As<ScatterAttrs>().axis = axis;
      return made;
    };
    scatter("first_axis", OfType(dtype, {4, 3}), Indices({2, 3}, {0, 1, 2, 3, 2, -3}), OfType(dtype, {2, 3}),
            0);
    scatter("last_axis", OfType(dtype, {4, 3}), Indices({3, 2}, {0, 1, 2, 0, 2, -2}, DType::kI32),
            OfType(dtype, {3, 2}), -1);
    scatter("meeting", OfType(dtype, {4}), Indices({3}, {1, 2, 1}), OfType(dtype, {3}), 0).in_place = 0;
  }
}

/// Large enough for many work groups, with many updates for a place.
void AddManyElements(CaseList& list) {
  const auto many = [](std::initializer_list<int64_t> shape, int count, int places) {
    Argument at = OfType(DType::kI64, shape);
    for (int i = 0; i < count; ++i) at.values.push_back(i * 7919 % 10007 % (2 * places) - places);
    return at;
  };
  list.Add(OpCode::kGatherElements, "many", {F32({40, 70, 3}), many({40, 90, 3}, 10800, 70)})
      .As<AxisAttrs>()
      .axis = 1;
  for (const DType dtype : {DType::kF32, DType::kU8, DType::kI64}) {
    const std::string name = std::string(DTypeName(dtype)) + "_many_meeting";
    list.Add(OpCode::kScatterElements, name.c_str(),
             {OfType(dtype, {40, 7, 3}), many({40, 90, 3}, 10800, 7), OfType(dtype, {40, 90, 3})})
        .As<ScatterAttrs>()
        .axis = 1;
    list.Add(OpCode::kScatterND, name.c_str(),
             {OfType(dtype, {9, 23}), many({6000, 1}, 6000, 9), OfType(dtype, {6000, 23})});
    list.Add(OpCode::kScatterND, (name + "_elements").c_str(),
             {OfType(dtype, {9, 7}), many({3000, 2}, 6000, 7), OfType(dtype, {3000})});
  }
}

void AddTopK(CaseList& list) {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kI64}) {
    for (const bool largest : {true, false}) {
      const std::string prefix = std::string(DTypeName(dtype)) + (largest ? "_largest_" : "_smallest_");
      const auto add = [&](const char* name, const Argument& x, int64_t k, int64_t axis = -1) -> Case& {
        Case& made = list.Add(OpCode::kTopK, (prefix + name).c_str(), {x, Integers({k})});
        made.outputs = 2;
        made.As<TopKAttrs>() = {axis, largest};
        return made;
      };
      add("rows", OfType(dtype, {4, 9}), 3);
      add("long", OfType(dtype, {3953}, -5000, 5000), 100);
      add("all", OfType(dtype, {3, 40}), 40);
      add("one", OfType(dtype, {5, 90}), 1);
      add("none", OfType(dtype, {5, 9}), 0);
      add("middle", OfType(dtype, {3, 17, 5}), 6, 1);
      add("first", OfType(dtype, {40, 3, 2}), 5, 0);
      Argument equal = OfType(dtype, {3, 40});
      for (int i = 0; i < 120; ++i) equal.values.push_back(i % 7 % 3);
      add("equal", equal, 25);
      if (dtype != DType::kF32) continue;
      Argument special = F32({4, 6});
      special.values = {1,     kNan,  3, kInf, -kInf, 2,    kNan, kNan, 0,    -0.0, -kInf, kNan,
                        -kInf, -kInf, 5, 6,    7,     kNan, 1,    1,    kNan, 1,    kInf,  -0.0};
      add("special", special, 4);
      add("special_all", special, 6);
    }
  }
  // More than one dispatch of a GPU finds.
  Case& many = list.Add(OpCode::kTopK, "many", {OfType(DType::kF32, {2, 6000}, -100, 100), Integers({900})});
  many.outputs = 2;
  Case& strided = list.Add(OpCode::kTopK, "strided", {Strided(F32({4, 9}), 2), Integers({3})});
  strided.outputs = 2;
  strided.falls_back = "the kernel reads dense rows";
  Case& half = list.Add(OpCode::kTopK, "f16", {OfType(DType::kF16, {4, 9}), Integers({3})});
  half.outputs = 2;
  half.falls_back = "there are kernels for f32, i32 and i64";
}

}  // namespace

void AddIndexCases(CaseList& list) {
  AddLookups(list);
  AddTuples(list);
  AddScatteredSlices(list);
  AddElements(list);
  AddManyElements(list);
  AddTopK(list);
}

}  // namespace skiff::testing
