#include <cmath>
#include <limits>

#include "conformance_cases.h"
#include "delegates/xnnpack/build.h"
#include "delegates/xnnpack/support.h"
#include "ops/op_codes.h"
#include "tests/support/operators.h"

namespace skiff::testing {
namespace {

void SetUnaryAttrs(Case& made) {
  if (made.op == OpCode::kClamp) made.As<ClampAttrs>() = {0, 6};
  if (made.op == OpCode::kLeakyRelu) made.As<AlphaAttrs>().alpha = 0.2f;
  if (made.op == OpCode::kElu) made.As<AlphaAttrs>().alpha = 0.7f;
}

bool IsFloatUnary(OpCode op) {
  return FindOp(op)->Is(kUnary) && op != OpCode::kNot && op != OpCode::kBitwiseNot && op != OpCode::kLookup;
}

void AddUnary(CaseList& list) {
  for (const OperatorRow& row : OperatorRows()) {
    // The functions of floats; of f16, too, where a delegate has them.
    if (!IsFloatUnary(row.op)) continue;
    Case& plain = list.Add(row.op, "matrix", {F32({5, 41}, row.x.low, row.x.high)});
    SetUnaryAttrs(plain);
    if (!XnnpackSupport().Supports(Node(plain).types())) {
      plain.falls_back = "no delegate has a lowering for it";
      continue;
    }
    const auto add = [&](const char* name, std::initializer_list<int64_t> shape, int64_t in_gap,
                         int64_t out_gap) {
      Case& made = list.Add(row.op, name, {Strided(F32(shape, row.x.low, row.x.high), in_gap)});
      made.output_row_gap = out_gap;
      SetUnaryAttrs(made);
      list.AddHalf(Case(made));
    };
    add("vector", {1009}, 0, 0);
    add("image", {2, 5, 7, 13}, 0, 0);
    add("one", {1}, 0, 0);
    add("scalar", {}, 0, 0);
    add("large", {3, 9000}, 0, 0);
    add("strided_in", {1, 3, 5, 19}, 5, 0);
    add("strided_out", {1, 3, 5, 19}, 0, 7);
    add("strided_column", {6, 1}, 3, 2);
    Case& in_place = list.Add(row.op, "in_place", {F32({3, 257}, row.x.low, row.x.high)});
    in_place.in_place = 0;
    SetUnaryAttrs(in_place);
  }
  Case& gelu = list.Add(OpCode::kGelu, "tanh", {F32({37, 11}, -6, 6)});
  gelu.As<GeluAttrs>().approximate = GeluKind::kTanh;
  list.AddHalf(Case(gelu));
  Case& one_sided = list.Add(OpCode::kClamp, "relu", {F32({501}, -3, 3)});
  one_sided.As<ClampAttrs>() = {0, kInfinity};
  Case& crossed = list.Add(OpCode::kClamp, "crossed", {F32({501}, -3, 3)});
  crossed.As<ClampAttrs>() = {-0.5f, -1};
  crossed.falls_back = "XNNPACK wants the lower bound below the upper one";
  // Values outside the kernels' ordinary path.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  for (const OperatorRow& row : OperatorRows()) {
    Argument special = F32({20}, row.x.low, row.x.high);
    special.values = {kNan,  kEndless, -kEndless, 0, 100,        -100,      88.5, -0.0,
                      -87.5, 1e-30,    1e30,      1, 0.99999994, 1.0000001, -2.5, 4};
    Case made;
    made.op = row.op;
    InitAttrs(row.op, made.attrs);
    made.inputs = {special};
    if (!IsFloatUnary(row.op) || !XnnpackSupport().Supports(Node(made).types())) continue;
    Case& added = list.Add(row.op, "special", {special});
    SetUnaryAttrs(added);
    list.AddHalf(Case(added));
  }
  // Next to zeros of one or the other: 0x1.f37c8ap+95 is the float that is nearest to one, 355 is almost 113
  // pi. And where the quarters of a turn change, numbers that are their own sine, and the largest.
  for (const OpCode op : {OpCode::kSin, OpCode::kCos}) {
    Argument turns = F32({24});
    turns.values = {
        0x1.f37c8ap+95,  -0x1.f37c8ap+95,  355,     -355,    1.57079637, -1.57079625, 3.14159274, 6.28318548,
        0.785398185,     0.785398126,      -0.0,    2.3562,  3.9269908,  1e-20,       11,         22,
        0x1.fffffep+127, -0x1.fffffep+127, 0x1p+24, 0x1p+64, 0x1.fp+32,  102943.7,    -78540.0,   0.5};
    list.Add(op, "turns", {turns});
  }
}

Argument OneOf(double value) {
  Argument one = F32({});
  one.values = {value};
  return one;
}

void AddBinary(CaseList& list) {
  struct Shapes {
    const char* name;
    std::initializer_list<int64_t> a;
    std::initializer_list<int64_t> b;
  };
  const Shapes kShapes[] = {
      {"same", {2, 3, 5, 7}, {2, 3, 5, 7}},
      {"large", {20001}, {20001}},
      {"row", {3, 70, 7}, {7}},
      {"scalar_right", {4, 33}, {}},
      {"scalar_left", {1}, {3, 41}},
      {"column", {5, 17}, {5, 1}},
      {"column_left", {5, 1}, {5, 17}},
      {"both", {4, 1, 6}, {3, 1}},
      {"channels", {2, 3, 4, 8}, {2, 1, 1, 8}},
      {"six", {2, 1, 3, 1, 2, 5}, {1, 4, 1, 2, 1, 5}},
      {"ones", {1, 1, 1, 1}, {1, 1}},
  };
  for (OpCode op :
       {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kDiv, OpCode::kMin, OpCode::kMax, OpCode::kPRelu}) {
    const bool arithmetic = op != OpCode::kMin && op != OpCode::kMax && op != OpCode::kPRelu;
    const auto [low, high] = RowOf(op).others;
    for (const Shapes& shapes : kShapes) {
      list.AddHalf(Case(list.Add(op, shapes.name, {F32(shapes.a), F32(shapes.b, low, high)})));
    }
    list.AddHalf(Case(list.Add(op, "empty", {F32({3, 0, 2}), F32({2})})));
    Case& in_place = list.Add(op, "in_place", {F32({7, 65}), F32({7, 65}, low, high)});
    in_place.in_place = 0;
    list.Add(op, "strided_all", {Strided(F32({3, 4, 10}), 3), Strided(F32({3, 4, 10}, low, high), 6)})
        .output_row_gap = 5;
    list.Add(op, "strided_row", {Strided(F32({3, 4, 10}), 3), F32({10}, low, high)}).output_row_gap = 2;
    list.Add(op, "strided_columns", {Strided(F32({30, 1}), 3), Strided(F32({30, 1}, low, high), 1)})
        .output_row_gap = 2;
    if (!xnnpack::kHasOwnKernels) {
      Case& apart = list.AddHalf(Case(list.Add(op, "rows_apart", {F32({6, 10}), F32({6, 10}, low, high)})));
      apart.output_row_gap = 4;
      apart.falls_back = "XNNPACK's binary operator is dense";
    }
    if (!arithmetic) continue;
    const std::string clamped = "clamped_";
    for (const Shapes& shapes : kShapes) {
      Case& made = list.Add(op, (clamped + shapes.name).c_str(), {F32(shapes.a), F32(shapes.b, low, high)});
      made.As<ClampAttrs>() = {-0.25f, 0.5f};
      list.AddHalf(Case(made));
    }
  }
  const OperatorRow& pow = RowOf(OpCode::kPow);
  for (const Shapes& shapes : kShapes) {
    list.Add(OpCode::kPow, shapes.name,
             {F32(shapes.a, pow.x.low, pow.x.high), F32(shapes.b, pow.others.low, pow.others.high)});
  }
  list.Add(OpCode::kPow, "strided", {Strided(F32({6, 10}, pow.x.low, pow.x.high), 3), F32({}, 2.5, 2.5)})
      .output_row_gap = 2;
  // More than the vectors of any kernel, and what is left over.
  const Argument special = WithSpecials(F32({2, 401}));
  for (OpCode op : {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kDiv, OpCode::kMin, OpCode::kMax,
                    OpCode::kPow, OpCode::kPRelu}) {
    const auto add = [&](const char* name, const Argument& a, const Argument& b) {
      Case& made = list.Add(op, name, {a, b});
      if (op == OpCode::kPow) return;
      list.AddHalf(Case(made));
      if (op == OpCode::kMin || op == OpCode::kMax || op == OpCode::kPRelu) return;
      const std::string clamped = std::string(name) + "_clamped";
      Case& between = list.Add(op, clamped.c_str(), {a, b});
      between.As<ClampAttrs>() = {-0.5f, 1};
      list.AddHalf(Case(between));
    };
    add("special_left", special, F32({2, 401}));
    add("special_right", F32({2, 401}), special);
    add("special_scalar", F32({37}), OneOf(NAN));
  }
}

}  // namespace

void AddElementwiseCases(CaseList& list) {
  AddUnary(list);
  AddBinary(list);
}

}  // namespace skiff::testing
