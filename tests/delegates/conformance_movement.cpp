#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

Argument OfType(Argument argument, DType dtype) {
  argument.dtype = dtype;
  return argument;
}

void AddCopies(CaseList& list) {
  list.Add(OpCode::kReshape, "dense", {F32({2, 3, 8}), Integers({6, 8})});
  list.Add(OpCode::kReshape, "merge_rows_strided_in", {Strided(F32({4, 6}), 3), Integers({24})});
  list.Add(OpCode::kReshape, "split_rows_strided_in", {Strided(F32({4, 6}), 3), Integers({4, 2, 3})});
  list.Add(OpCode::kReshape, "strided_out", {F32({4, 6}), Integers({8, 3})}).output_row_gap = 2;
  Case& both = list.Add(OpCode::kReshape, "strided_both", {Strided(F32({4, 6}), 3), Integers({8, 3})});
  both.output_row_gap = 2;
  Case& odd = list.Add(OpCode::kReshape, "strided_odd", {Strided(F32({4, 6}), 3), Integers({6, 4})});
  odd.output_row_gap = 2;
  odd.falls_back = "rows of 6 and of 4 with gaps share no rows to copy";
  list.Add(OpCode::kReshape, "i64", {OfType(F32({2, 3}, 0, 100), DType::kI64), Integers({6})});
  list.Add(OpCode::kFlatten, "image", {F32({2, 3, 4, 5})}).As<AxisAttrs>().axis = 1;
  list.Add(OpCode::kFlatten, "constant", {Weights({2, 3, 4, 5})}).As<AxisAttrs>().axis = 1;
  list.Add(OpCode::kSqueeze, "one", {F32({2, 1, 5})}).As<AxesAttrs>().axes = {1};
  list.Add(OpCode::kUnsqueeze, "one", {Strided(F32({2, 5}), 2)}).As<AxesAttrs>().axes = {1};
  list.AddHalf(Case(list.Add(OpCode::kIdentity, "strided", {Strided(F32({2, 5}), 2)})));
  list.Add(OpCode::kIdentity, "large", {F32({300000})});
}

void AddPieces(CaseList& list) {
  const auto concat = [&](const char* name, std::initializer_list<Argument> inputs, int64_t axis) -> Case& {
    Case& made = list.Add(OpCode::kConcat, name, inputs);
    made.As<AxisAttrs>().axis = axis;
    return made;
  };
  list.AddHalf(Case(concat("channels", {F32({2, 3, 3, 5}), F32({2, 3, 3, 8}), F32({2, 3, 3, 1})}, -1)));
  concat("rows", {F32({2, 3, 4}), F32({2, 5, 4})}, 1);
  concat("first", {F32({2, 4}), F32({1, 4})}, 0);
  concat("empty_piece", {F32({2, 3}), F32({2, 0}), F32({2, 2})}, 1).falls_back = "an input has no elements";
  concat("one", {F32({2, 4})}, 0);
  Case& strided = concat("strided", {Strided(F32({2, 3, 5}), 2), F32({2, 3, 4})}, 2);
  strided.output_row_gap = 3;
  concat("strided_rows", {Strided(F32({2, 3, 5}), 2), F32({2, 2, 5})}, 1).output_row_gap = 4;
  concat("i64", {OfType(F32({3}, 0, 9), DType::kI64), OfType(F32({2}, 0, 9), DType::kI64)}, 0);

  const auto split = [&](const char* name, const Argument& x, const Argument& sizes, int64_t axis,
                         size_t outputs) -> Case& {
    Case& made = list.Add(OpCode::kSplit, name, {x, sizes});
    made.As<SplitAttrs>().axis = axis;
    made.As<SplitAttrs>().parts = sizes.absent ? static_cast<int64_t>(outputs) : 0;
    made.outputs = outputs;
    return made;
  };
  list.AddHalf(Case(split("channels", F32({2, 3, 9}), Integers({2, 4, 3}), -1, 3)));
  split("parts", F32({2, 10}), Absent(), 1, 3);
  split("rows", F32({2, 6, 5}), Integers({1, 5}), 1, 2);
  split("strided", Strided(F32({2, 3, 9}), 2), Integers({4, 5}), 2, 2).output_row_gap = 1;

  list.AddHalf(Case(list.Add(OpCode::kSlice, "box",
                             {F32({5, 6, 7}), Integers({1, 2}), Integers({4, 6}), Integers({0, 2})})));
  list.Add(OpCode::kSlice, "steps",
           {F32({9, 10}), Integers({1, -1}), Integers({9, -100}), Integers({0, 1}), Integers({3, -2})});
  list.Add(OpCode::kSlice, "strided",
           {Strided(F32({3, 4, 9}), 2), Integers({2}), Integers({7}), Integers({2})})
      .output_row_gap = 3;
  list.Add(OpCode::kSlice, "i64", {OfType(F32({9}, 0, 99), DType::kI64), Integers({2}), Integers({5})});
}

void AddRepeats(CaseList& list) {
  list.AddHalf(Case(list.Add(OpCode::kExpand, "middle", {F32({3, 1, 5}), Integers({2, 3, 4, 5})})));
  list.Add(OpCode::kExpand, "scalar", {F32({}), Integers({3, 4})});
  list.Add(OpCode::kExpand, "strided", {Strided(F32({3, 1}), 2), Integers({3, 6})}).output_row_gap = 1;
  list.AddHalf(Case(list.Add(OpCode::kTile, "all", {F32({2, 3, 4}), Integers({2, 1, 3})})));
  list.Add(OpCode::kTile, "strided", {Strided(F32({3, 4}), 2), Integers({2, 2})}).output_row_gap = 1;
}

void AddRearrangements(CaseList& list) {
  const auto transpose = [&](const char* name, const Argument& x, Ints perm) -> Case& {
    Case& made = list.Add(OpCode::kTranspose, name, {x});
    made.As<TransposeAttrs>().perm = perm;
    return made;
  };
  list.AddHalf(Case(transpose("matrix", F32({37, 41}), {1, 0})));
  list.AddHalf(Case(transpose("to_nhwc", F32({2, 5, 7, 9}), {0, 2, 3, 1})));
  transpose("to_nchw", F32({2, 7, 9, 5}), {0, 3, 1, 2});
  transpose("heads", F32({2, 6, 4, 8}), {0, 2, 1, 3});
  transpose("reverse", F32({3, 4, 5}), {});
  transpose("identity", F32({3, 1, 5}), {1, 0, 2});
  transpose("all_ones", F32({1, 1, 1}), {2, 1, 0});
  transpose("six", F32({2, 3, 2, 3, 2, 3}), {5, 2, 0, 4, 1, 3});
  transpose("eight_with_ones", F32({2, 1, 3, 1, 4, 1, 1, 5}), {7, 1, 4, 3, 2, 5, 6, 0});
  transpose("i64", OfType(F32({5, 6}, 0, 99), DType::kI64), {1, 0});
  transpose("u8", OfType(F32({5, 6, 3}, 0, 99), DType::kU8), {2, 0, 1});
  transpose("strided", Strided(F32({5, 6}), 1), {1, 0}).falls_back = "XNNPACK's transposition is dense";
  transpose("seven", F32({2, 2, 2, 2, 2, 2, 3}), {6, 5, 4, 3, 2, 1, 0});
  transpose("windows", F32({2, 3, 4, 3, 5, 3, 32}), {4, 0, 2, 5, 1, 3, 6});
  transpose("eight_of_i8", OfType(F32({2, 3, 2, 3, 2, 3, 2, 3}, 0, 99), DType::kI8),
            {7, 0, 2, 4, 6, 1, 3, 5});

  Argument value = Weights({});
  value.values = {2.5};
  list.AddHalf(
      Case(list.Add(OpCode::kPad, "image", {F32({2, 3, 4, 5}), Integers({0, 1, 2, 0, 0, 3, 1, 0})})));
  list.AddHalf(Case(list.Add(OpCode::kPad, "value", {F32({3, 4}), Integers({1, 2, 3, 4}), value})));
  list.Add(OpCode::kPad, "channels", {F32({2, 30, 20, 6}), Integers({0, 0, 0, 0, 0, 0, 0, 19}), value});
  list.Add(OpCode::kPad, "axes", {F32({3, 4, 5}), Integers({2, 1}), Absent(), Integers({-2})});
  list.Add(OpCode::kPad, "crop", {F32({3, 4}), Integers({-1, 2, 0, 0})});
  list.Add(OpCode::kPad, "shift", {F32({3, 4, 2}), Integers({0, -1, 0, 0, 1, 0})});
  list.Add(OpCode::kPad, "crop_both", {F32({5, 6}), Integers({1, -2, -1, -3}), value});
  list.Add(OpCode::kPad, "i64", {OfType(F32({2, 5}, 0, 99), DType::kI64), Integers({1, 0, 0, 2})});
  list.Add(OpCode::kPad, "many_rows", {F32({40, 7, 100}), Integers({2, 0, 3, 0, 1, 99})});
  list.Add(OpCode::kPad, "strided", {Strided(F32({3, 4}), 1), Integers({1, 1, 1, 1})}).falls_back =
      "the copies read dense rows";
  for (const PadMode mode : {PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    const auto repeated = [&](const char* name, const Argument& x, const Argument& pads,
                              const Argument& axes = Absent()) -> Case& {
      const std::string full =
          std::string(EnumNames<PadMode>::kNames[static_cast<size_t>(mode)]) + "_" + name;
      Case& made = list.Add(OpCode::kPad, full.c_str(), {x, pads, Absent(), axes});
      made.As<PadAttrs>().mode = mode;
      return made;
    };
    list.AddHalf(Case(repeated("both", F32({3, 4}), Integers({1, 1, 1, 1}))));
    repeated("outer", F32({2, 3, 4, 5}), Integers({0, 2, 1, 0, 0, 1, 2, 0}));
    repeated("many_rows", F32({40, 7, 100}), Integers({0, 0, 3, 0, 0, 99}));
    repeated("channels", F32({2, 30, 20, 6}), Integers({0, 1, 0, 2, 0, 2, 0, 3}));
    repeated("beyond", F32({2, 3}), Integers({0, 7, 5, 4}));
    repeated("axes", F32({3, 4, 5}), Integers({2, 1}), Integers({-2}));
    repeated("nothing", F32({3, 4}), Integers({0, 0, 0, 0}));
    repeated("i64", OfType(F32({9}, 0, 99), DType::kI64), Integers({3, 4}));
    repeated("crop", F32({3, 4}), Integers({-1, 2, 0, 0})).falls_back = "a negative pad crops";
    repeated("strided", Strided(F32({3, 4}), 1), Integers({1, 1, 1, 1})).falls_back =
        "the copies read dense rows";
  }

  for (const int64_t groups : {2, 3, 4, 5}) {
    Case& made = list.Add(OpCode::kChannelShuffle, ("groups_" + std::to_string(groups)).c_str(),
                          {Strided(F32({2, 3, 3, 60}), 4)});
    made.As<GroupsAttrs>().groups = groups;
    made.output_row_gap = 8;
    list.AddHalf(Case(made));
  }
}

}  // namespace

void AddMovementCases(CaseList& list) {
  AddCopies(list);
  AddPieces(list);
  AddRepeats(list);
  AddRearrangements(list);
}

}  // namespace skiff::testing
