// Operators that are linear in their operands: exact numbers, rounded once.
#include <fmt/format.h>

#include "tests/converter/quantized/operator_cases.h"

namespace skiff::testing {
namespace {

struct Types {
  const char* name;
  const char* x;
  const char* result;  ///< With the colon; "" is f32.
};

void AddUnary(CaseTable& table) {
  // Scales that are powers of two make ties.
  constexpr Types kTypes[] = {
      {"ties", "u8[9, 31] {scale=0.25, zero_point=100}", ": i8 {scale=0.5, zero_point=-3}"},
      {"any_scale", "i8[9, 31] {scale=0.1, zero_point=5}", ": u8 {scale=0.07, zero_point=30}"},
      {"channels", "i8[9, 4] {scale=[0.1, 0.25, 0.5, 0.3], zero_point=[0, 5, -9, 127], axis=1}",
       ": i16 {scale=0.125, zero_point=-7}"},
      {"to_channels", "i16[9, 2] {scale=0.0078125}", ": u8 {scale=[0.5, 0.25], zero_point=[7, 9], axis=1}"},
      {"to_floats", "u8[9, 31] {scale=0.1, zero_point=7}", ""},
      {"from_floats", "f32[9, 31]", ": i8 {scale=0.125, zero_point=-3}"},
  };
  const auto add = [&](const char* op, const Types& types, const char* attrs) {
    table.push_back(
        {fmt::format("{}_{}", op, types.name),
         fmt::format("input x: {} y{} = {}(x){}", types.x, types.result, op, attrs),
         [](const Operands& o) -> Expected { return ExactUnary(o.op, o.attrs, ExactOf(o.inputs[0])); }});
  };
  for (const Types& types : kTypes) {
    add("Abs", types, "");
    add("Neg", types, "");
    add("LeakyRelu", types, " {alpha=0.125}");
    const bool from_floats = types.x[0] == 'f';
    const bool to_floats = types.result[0] == '\0';
    add(from_floats ? "Quantize" : (to_floats ? "Dequantize" : "Requantize"), types, "");
  }
  constexpr Types kWide[] = {
      {"i32", "i32[99] {scale=0.0078125, zero_point=-5}", ": i32 {scale=0.25, zero_point=9}"},
      {"i16", "u16[99] {scale=0.0625, zero_point=40000}", ": i16 {scale=0.125, zero_point=-40}"},
      {"u16", "i16[99] {scale=0.3}", ": u16 {scale=0.3, zero_point=32768}"},
      {"blocks", "i8[3, 10] {scale=[1, 0.5, 0.25, 2, 3, 0.75], axis=1, block=5}", ": i8 {scale=4}"},
  };
  for (const Types& types : kWide) add("Requantize", types, "");
}

struct Pair {
  const char* name;
  const char* a;
  const char* b;  ///< With the keyword.
  const char* result;
};

void AddBinary(CaseTable& table) {
  constexpr Pair kPairs[] = {
      {"one_scale", "u8[5, 1, 7] {scale=0.25, zero_point=100}",
       "input b: i8[9, 1] {scale=0.25, zero_point=3}", ": i8 {scale=0.5, zero_point=-3}"},
      {"two_scales", "u8[5, 1, 7] {scale=0.1, zero_point=100}",
       "input b: i8[9, 1] {scale=0.07, zero_point=3}", ": u8 {scale=0.11, zero_point=90}"},
      {"channels", "i8[6, 4] {scale=[0.5, 0.1, 0.2, 1], zero_point=[1, -2, 3, 4], axis=1}",
       "input b: u8[6, 4] {scale=0.25, zero_point=128}",
       ": i8 {scale=[1, 0.5, 0.25, 2], zero_point=[0, 9, -9, 3], axis=1}"},
      {"packed", "i8[5, 12] {scale=0.1, zero_point=5}",
       "const b: i4[12] {scale=[0.5, 0.3], zero_point=[1, -8], axis=0, block=6} = seed 3",
       ": i8 {scale=0.125}"},
      {"floats", "i8[9, 7] {scale=0.0625, zero_point=5}", "input b: f32[7]",
       ": u8 {scale=0.125, zero_point=100}"},
      {"to_floats", "i8[9, 7] {scale=0.1}", "input b: u8[9, 7] {scale=0.1, zero_point=100}", ""},
  };
  const auto add = [&](const char* op, const Pair& pair, const char* name, const char* attrs) {
    table.push_back({fmt::format("{}_{}{}", op, pair.name, name),
                     fmt::format("input a: {} {} y{} = {}(a, b){}", pair.a, pair.b, pair.result, op, attrs),
                     [](const Operands& o) -> Expected {
                       return ExactBinary(o.op, o.attrs, ExactOf(o.inputs[0]), ExactOf(o.inputs[1]));
                     }});
  };
  for (const char* op : {"Add", "Sub", "Min", "Max"}) {
    for (const Pair& pair : kPairs) add(op, pair, "", "");
  }
  // A fused activation limits real numbers, between the steps, too.
  for (const char* op : {"Add", "Sub"}) {
    for (const Pair& pair : kPairs) add(op, pair, "_limited", " {min=-3.6875, max=6.25}");
  }
}

void AddPools(CaseTable& table) {
  constexpr Types kTypes[] = {
      {"ties", "u8[2, 7, 6, 3] {scale=0.25, zero_point=100}", ": i8 {scale=0.5, zero_point=-3}"},
      // Means of six times 27: ties, but for what the division has lost.
      {"sixths", "u8[2, 7, 6, 3] {scale=6.75, zero_point=100}", ": i16 {scale=0.25, zero_point=-3}"},
      {"any_scale", "i8[2, 7, 6, 3] {scale=0.1, zero_point=5}", ": i8 {scale=0.1, zero_point=-6}"},
      {"channels", "i8[2, 7, 6, 3] {scale=[0.5, 0.1, 0.3], zero_point=[1, -2, 3], axis=3}",
       ": u8 {scale=0.25, zero_point=128}"},
      {"to_channels", "u8[2, 7, 6, 3] {scale=0.25, zero_point=100}",
       ": i8 {scale=[0.5, 0.25, 0.3], zero_point=[1, -2, 3], axis=3}"},
      {"to_floats", "u8[2, 7, 6, 3] {scale=0.25, zero_point=100}", ""},
  };
  const auto add = [&](const char* op, const Types& types, const char* name, const char* attrs) {
    table.push_back(
        {fmt::format("{}_{}_{}", op, types.name, name),
         fmt::format("input x: {} y{} = {}(x) {}", types.x, types.result, op, attrs),
         [](const Operands& o) -> Expected { return ExactPool(o.op, o.attrs, ExactOf(o.inputs[0])); }});
  };
  for (const Types& types : kTypes) {
    for (const char* op : {"MaxPool2d", "AveragePool2d"}) {
      add(op, types, "2x3", "{kernel=[2, 3], pads=[1, 0, 0, 1]}");
      add(op, types, "strided", "{kernel=[3, 2], strides=[2, 2], dilations=[2, 1], pads=[1, 1, 1, 0]}");
    }
    add("AveragePool2d", types, "with_pads", "{kernel=[3, 3], pads=[1, 1, 1, 1], count_include_pad=true}");
  }
}

void AddReductions(CaseTable& table) {
  constexpr Types kTypes[] = {
      {"ties", "u8[5, 6, 7] {scale=0.25, zero_point=100}", ": i16 {scale=0.5, zero_point=-3}"},
      {"sixths", "u8[5, 6, 7] {scale=6.75, zero_point=100}", ": i16 {scale=0.25, zero_point=-3}"},
      {"any_scale", "i8[5, 6, 7] {scale=0.1, zero_point=5}", ": i8 {scale=0.3, zero_point=-6}"},
      {"channels", "i8[5, 6, 2] {scale=[0.5, 0.3], zero_point=[1, -2], axis=2}",
       ": u8 {scale=0.5, zero_point=128}"},
      {"to_floats", "i8[5, 6, 7] {scale=0.1, zero_point=5}", ""},
      {"from_floats", "f32[5, 6, 7]", ": i8 {scale=0.25, zero_point=5}"},
  };
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}) {
    for (const Types& types : kTypes) {
      for (int axis = 0; axis < 3; ++axis) {
        table.push_back(
            {fmt::format("{}_{}_{}", op, types.name, axis),
             fmt::format("input x: {} y{} = {}(x) {{axes=[{}], keep_dims=false}}", types.x, types.result, op,
                         axis),
             [](const Operands& o) -> Expected { return ExactReduce(o.op, o.attrs, ExactOf(o.inputs[0])); }});
      }
    }
  }
}

}  // namespace

void AddLinearCases(CaseTable& table) {
  AddUnary(table);
  AddBinary(table);
  AddPools(table);
  AddReductions(table);
}

}  // namespace skiff::testing
