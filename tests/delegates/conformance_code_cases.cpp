// Nodes with quantised operands: conversions, elementwise operators, and what sums or chooses codes.
#include <cmath>

#include "conformance_cases.h"
#include "conformance_codes.h"
#include "ops/op_codes.h"
#include "tests/support/operators.h"

namespace skiff::testing {
namespace {

constexpr DType kCodeTypes[] = {DType::kI8, DType::kU8};

std::string Suffixed(const char* name, DType dtype) {
  return std::string(name) + (dtype == DType::kI8 ? "_i8" : "_u8");
}

/// Every code once.
Argument AllCodes(DType dtype, const Shape& shape, const Quantization* quantization) {
  Argument argument = CodesOf(dtype, shape, quantization);
  for (int code = 0; code < 256; ++code) argument.values.push_back(dtype == DType::kU8 ? code : code - 128);
  return argument;
}

Case& Add(CaseList& list, OpCode op, const std::string& name, std::initializer_list<Argument> inputs,
          DType output, const Quantization* quantization) {
  Case& made = list.Add(op, name.c_str(), inputs);
  made.quantized_output = output;
  made.output_quantization = quantization;
  return made;
}

void AddConversions(CaseList& list) {
  Argument special = F32({4, 8}, -8, 8);
  special.values = {NAN,    HUGE_VAL, -HUGE_VAL, 0,    0.025, 0.075, 0.125,
                    -0.025, -0.075,   -0.125,    1e30, -1e30, 6.3,   -6.4};
  for (const DType dtype : kCodeTypes) {
    const int zero = dtype == DType::kI8 ? -3 : 100;
    Add(list, OpCode::kQuantize, Suffixed("special", dtype), {special}, dtype, Quantized(0.05f, zero));
    Add(list, OpCode::kQuantize, Suffixed("many", dtype), {F32({3, 9000}, -9, 9)}, dtype,
        Quantized(0.0625f, zero));
    Case& strided = Add(list, OpCode::kQuantize, Suffixed("strided", dtype), {Strided(F32({5, 7}), 3)}, dtype,
                        Quantized(0.01f, zero));
    strided.output_row_gap = 2;
    list.Add(OpCode::kDequantize, Suffixed("all", dtype).c_str(),
             {AllCodes(dtype, {2, 128}, Quantized(0.03f, zero))});
    list.Add(OpCode::kDequantize, Suffixed("strided", dtype).c_str(),
             {Strided(CodesOf(dtype, {5, 7}, Quantized(0.03f, zero)), 3)})
        .output_row_gap = 1;
    for (const int axis : {0, 1, 2}) {
      list.Add(OpCode::kDequantize, Suffixed(("axis_" + std::to_string(axis)).c_str(), dtype).c_str(),
               {CodesOf(dtype, {5, 6, 7}, QuantizedAlong(axis, 5 + axis, 0.03f))});
    }
    for (const DType to : kCodeTypes) {
      Add(list, OpCode::kRequantize, Suffixed(Suffixed("all", dtype).c_str(), to),
          {AllCodes(dtype, {16, 16}, Quantized(0.05f, zero))}, to, Quantized(0.1f, 7));
    }
  }
  list.Add(OpCode::kDequantize, "axis_strided",
           {Strided(CodesOf(DType::kI8, {5, 6}, QuantizedAlong(0, 5, 0.03f)), 3)})
      .falls_back = "what has a scale for each index is dense";
  Argument i32 = CodesOf(DType::kI32, {4, 9}, Quantized(0.003f, 12));
  i32.low = -2e9;
  i32.high = 2e9;
  list.Add(OpCode::kDequantize, "i32", {i32});
  Add(list, OpCode::kQuantize, "i16", {F32({3, 7})}, DType::kI32, Quantized(0.01f, 3)).falls_back =
      "there are kernels to codes of 8 bits";
}

void AddTables(CaseList& list) {
#define LOWERING(Name, Lowering) {OpCode::k##Name, #Lowering},
  const struct {
    OpCode op;
    const char* lowering;
  } kRows[] = {
#include "delegates/xnnpack/quantized.def"
  };
#undef LOWERING
  for (const auto& row : kRows) {
    if (std::string(row.lowering) != "Table" || row.op == OpCode::kRequantize) continue;
    const Range range = RowOf(row.op).x;
    const auto scale = static_cast<float>(std::fmax(std::fabs(range.low), std::fabs(range.high)) / 100);
    for (const DType dtype : kCodeTypes) {
      Case& made =
          Add(list, row.op, Suffixed("all", dtype),
              {Strided(AllCodes(dtype, {8, 32}, Quantized(scale, dtype == DType::kI8 ? -20 : 110)), 3)},
              dtype, Quantized(0.04f, 5));
      made.output_row_gap = 2;
      if (row.op == OpCode::kClamp) made.As<ClampAttrs>() = {0, 2.3f};
      if (row.op == OpCode::kLeakyRelu) made.As<AlphaAttrs>().alpha = 0.2f;
    }
  }
  Add(list, OpCode::kSigmoid, "many_i8", {CodesOf(DType::kI8, {3, 9001}, Quantized(0.05f, 3))}, DType::kI8,
      Quantized(1.0f / 256, -128));
  Add(list, OpCode::kNeg, "i8_to_u8", {AllCodes(DType::kI8, {256}, Quantized(0.05f, 3))}, DType::kU8,
      Quantized(0.03f, 99));
  list.Add(OpCode::kTanh, "i8_to_f32", {CodesOf(DType::kI8, {3, 7}, Quantized(0.05f, 3))}).falls_back =
      "tables are of codes";
}

void AddBinaries(CaseList& list) {
  struct Scales {
    const char* name;
    float a, b, y;
  };
  const Scales kScales[] = {
      {"halves", 0.05f, 0.05f, 0.1f}, {"mixed", 0.031f, 0.007f, 0.013f}, {"coarse", 0.5f, 0.003f, 0.0021f}};
  for (const OpCode op :
       {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kDiv, OpCode::kMin, OpCode::kMax, OpCode::kPRelu}) {
    const bool divides = op == OpCode::kDiv;
    for (const DType dtype : kCodeTypes) {
      const int zero = dtype == DType::kI8 ? -10 : 120;
      for (const Scales& s : kScales) {
        Add(list, op, Suffixed(s.name, dtype),
            {AllCodes(dtype, {256, 1}, Quantized(s.a, zero)),
             AllCodes(dtype, {256}, Quantized(s.b, zero + 7))},
            dtype, Quantized(divides ? 0.1f : s.y, zero + 3));
      }
      const Quantization* const shared = Quantized(0.05f, zero);
      Case& rows = Add(list, op, Suffixed("rows", dtype),
                       {Strided(CodesOf(dtype, {4, 3, 37}, shared), 2), CodesOf(dtype, {3, 37}, shared)},
                       dtype, shared);
      rows.output_row_gap = 4;
      Add(list, op, Suffixed("scalar", dtype),
          {CodesOf(dtype, {1}, shared), CodesOf(dtype, {3, 2001}, shared)}, dtype, shared);
      Add(list, op, Suffixed("columns", dtype),
          {CodesOf(dtype, {5, 2}, shared), CodesOf(dtype, {4, 5, 1}, shared)}, dtype, shared);
      if (op != OpCode::kAdd && op != OpCode::kSub && op != OpCode::kMul && !divides) continue;
      Add(list, op, Suffixed("clamped", dtype),
          {CodesOf(dtype, {5, 33}, shared), CodesOf(dtype, {5, 33}, shared)}, dtype, shared)
          .As<ClampAttrs>() = {0, 1.17f};
    }
  }
  Add(list, OpCode::kAdd, "mixed_dtypes",
      {CodesOf(DType::kI8, {3, 4}, Quantized(0.05f, 3)), CodesOf(DType::kU8, {3, 4}, Quantized(0.05f, 3))},
      DType::kI8, Quantized(0.05f, 3))
      .falls_back = "operands are of one dtype";
  Add(list, OpCode::kAdd, "far_scales",
      {CodesOf(DType::kI8, {3, 4}, Quantized(50, 3)), CodesOf(DType::kI8, {3, 4}, Quantized(0.05f, 3))},
      DType::kI8, Quantized(0.001f, 3))
      .falls_back = "steps of an operand are too coarse for f32";
}

struct PoolShape {
  const char* name;
  Ints kernel, strides;
  Ints pads{0, 0, 0, 0};
  bool ceil_mode = false;
  AutoPad auto_pad = AutoPad::kExplicit;
};

void AddPools(CaseList& list) {
  const PoolShape kShapes[] = {
      {"2x2", {2, 2}, {2, 2}},
      {"3x3", {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"3x3_asymmetric", {3, 3}, {2, 2}, {0, 1, 1, 0}},
      {"ceil_pads", {3, 3}, {2, 2}, {1, 1, 1, 1}, true},
      {"same", {3, 2}, {2, 2}, {0, 0, 0, 0}, false, AutoPad::kSameUpper},
      {"global", {11, 10}, {1, 1}},
  };
  for (const OpCode op : {OpCode::kMaxPool2d, OpCode::kAveragePool2d}) {
    for (const PoolShape& s : kShapes) {
      for (const DType dtype : kCodeTypes) {
        const Quantization* const x = Quantized(0.05f, dtype == DType::kI8 ? -7 : 99);
        const Quantization* const y = op == OpCode::kMaxPool2d ? x : Quantized(0.03f, 11);
        for (const bool counted : {false, true}) {
          if (counted && op == OpCode::kMaxPool2d) continue;
          Case& made = Add(list, op, Suffixed(s.name, dtype) + (counted ? "_count_pads" : ""),
                           {Strided(CodesOf(dtype, {2, 11, 10, 19}, x), 4)}, dtype, y);
          made.output_row_gap = 3;
          auto& attrs = made.As<Pool2dAttrs>();
          attrs.kernel = s.kernel;
          attrs.strides = s.strides;
          attrs.pads = s.pads;
          attrs.ceil_mode = s.ceil_mode;
          attrs.auto_pad = s.auto_pad;
          attrs.count_include_pad = counted;
        }
      }
    }
  }
  const Quantization* const x = Quantized(0.05f, 3);
  Case& wide =
      Add(list, OpCode::kAveragePool2d, "wide_i8", {CodesOf(DType::kI8, {1, 4, 4, 600}, x)}, DType::kI8, x);
  wide.As<Pool2dAttrs>().kernel = {2, 2};
  Case& other = Add(list, OpCode::kMaxPool2d, "other_scale", {CodesOf(DType::kI8, {1, 4, 4, 6}, x)},
                    DType::kI8, Quantized(0.07f, 3));
  other.As<Pool2dAttrs>().kernel = {2, 2};
  other.falls_back = "the largest code is chosen, not rounded";
}

void AddResizes(CaseList& list) {
  for (const DType dtype : kCodeTypes) {
    const Quantization* const x = Quantized(0.05f, 3);
    for (const bool linear : {false, true}) {
      Case& made = Add(list, OpCode::kResize2d, Suffixed(linear ? "linear" : "nearest", dtype),
                       {Strided(CodesOf(dtype, {2, 6, 5, 7}, x), 3), Integers({11, 9})}, dtype, x);
      made.output_row_gap = 2;
      made.As<ResizeAttrs>().mode = linear ? ResizeMode::kLinear : ResizeMode::kNearest;
    }
  }
}

void AddRows(CaseList& list) {
  for (const DType dtype : kCodeTypes) {
    const Quantization* const x = Quantized(0.06f, dtype == DType::kI8 ? -7 : 99);
    const Quantization* const y = Quantized(1.0f / 256, dtype == DType::kI8 ? -128 : 0);
    const auto softmax = [&](const char* name, const Argument& rows) -> Case& {
      Case& made = Add(list, OpCode::kSoftmax, Suffixed(name, dtype), {rows}, dtype, y);
      made.As<AxisAttrs>().axis = -1;
      return made;
    };
    softmax("short", CodesOf(dtype, {7, 10}, x));
    softmax("long", CodesOf(dtype, {3, 1001}, Quantized(0.01f, 3)));
    softmax("columns", CodesOf(dtype, {3, 70, 5}, x)).As<AxisAttrs>().axis = 1;
    softmax("first_axis", CodesOf(dtype, {41, 9}, x)).As<AxisAttrs>().axis = 0;
    softmax("strided", Strided(CodesOf(dtype, {6, 11}, x), 5)).output_row_gap = 2;
    list.Add(OpCode::kSoftmax, Suffixed("f32", dtype).c_str(), {CodesOf(dtype, {6, 300}, x)})
        .As<AxisAttrs>()
        .axis = -1;
    const auto reduce = [&](const char* name, const Shape& shape, Ints axes) {
      for (const OpCode op : {OpCode::kReduceMean, OpCode::kReduceSum}) {
        Case& made = Add(list, op, Suffixed(name, dtype), {CodesOf(dtype, shape, x)}, dtype,
                         Quantized(op == OpCode::kReduceMean ? 0.03f : 0.4f, 5));
        made.As<ReduceAttrs>().axes = axes;
      }
    };
    reduce("spatial", {2, 7, 7, 37}, {1, 2});
    reduce("wide", {2, 3, 3, 600}, {1, 2});
    reduce("last", {5, 6, 131}, {-1});
    reduce("all", {3, 4, 5}, {});
    reduce("first", {9, 20}, {0});
    reduce("extent_one", {2, 1, 1, 12}, {1, 2});
    const Argument begin_end = Integers({1, 2, 0, 1});
    Add(list, OpCode::kPad, Suffixed("zeros", dtype), {CodesOf(dtype, {5, 7}, x), begin_end}, dtype, x);
    Argument value = Weights({});
    value.values = {1.3};
    Add(list, OpCode::kPad, Suffixed("number", dtype), {CodesOf(dtype, {5, 7}, x), begin_end, value}, dtype,
        x);
    Add(list, OpCode::kPad, Suffixed("code", dtype),
        {CodesOf(dtype, {5, 7}, x), begin_end, CodesOf(dtype, {}, x)}, dtype, x);
    Add(list, OpCode::kPad, Suffixed("edge", dtype), {CodesOf(dtype, {5, 7}, x), begin_end}, dtype, x)
        .As<PadAttrs>()
        .mode = PadMode::kEdge;
  }
  const Quantization* const x = Quantized(0.05f, 3);
  Case& apart = Add(list, OpCode::kReduceMean, "apart", {CodesOf(DType::kI8, {3, 4, 5}, x)}, DType::kI8, x);
  apart.As<ReduceAttrs>().axes = {0, 2};
  apart.falls_back = "the reduced axes are not neighbours";
}

}  // namespace

void AddCodeCases(CaseList& list) {
  AddConversions(list);
  AddTables(list);
  AddBinaries(list);
  AddPools(list);
  AddResizes(list);
  AddRows(list);
}

}  // namespace skiff::testing
