// Nodes with quantised operands that are no products and no moves.
#include "conformance_cases.h"
#include "conformance_codes.h"
#include "delegates/xnnpack/support.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

const Quantization* X() { return Quantized(0.05f, -7); }

class Adder {
 public:
  explicit Adder(CaseList& list) : list_(list) {}

  /// With a result of codes.
  Case& operator()(OpCode op, const char* name, std::initializer_list<Argument> inputs,
                   DType dtype = DType::kI8, float scale = 0.06f, int32_t zero_point = 3) {
    Case& made = list_.Add(op, name, inputs);
    made.quantized_output = dtype;
    made.output_quantization = Quantized(scale, zero_point);
    return made;
  }

 private:
  CaseList& list_;
};

Argument I8(const Shape& shape) { return CodesOf(DType::kI8, shape, X()); }
Argument U8(const Shape& shape) { return CodesOf(DType::kU8, shape, Quantized(0.02f, 90)); }
/// Of positive numbers.
Argument Positive(const Shape& shape) {
  Argument argument = CodesOf(DType::kU8, shape, Quantized(0.02f, 10));
  argument.low = 11;
  return argument;
}

void AddConversions(CaseList& list, Adder& add) {
  add(OpCode::kQuantize, "to_i8", {F32({3, 7}, -9, 9)});
  add(OpCode::kQuantize, "to_u8", {F32({4, 5, 6}, -3, 3)}, DType::kU8, 0.02f, 128);
  add(OpCode::kQuantize, "to_i16", {F32({3, 7}, -9, 9)}, DType::kI16, 0.0002f, 0);
  add(OpCode::kQuantize, "to_u16", {F32({4, 5}, -3, 3)}, DType::kU16, 0.0001f, 30000);
  Argument ties = F32({7});
  ties.values = {0.25, 0.75, -0.25, 1.25, 1e30, -1e30, 0};
  add(OpCode::kQuantize, "ties", {ties}, DType::kI8, 0.5f, 1);
  list.Add(OpCode::kDequantize, "of_i8", {I8({3, 7})});
  list.Add(OpCode::kDequantize, "of_u8", {Strided(U8({2, 3, 5}), 3)});
  list.Add(OpCode::kDequantize, "of_i16", {CodesOf(DType::kI16, {3, 7}, Quantized(0.0002f, -5))});
  list.Add(OpCode::kDequantize, "of_u16", {CodesOf(DType::kU16, {2, 9}, Quantized(0.0001f, 30000))});
  add(OpCode::kRequantize, "i8", {I8({3, 7})});
  add(OpCode::kRequantize, "i8_to_u8", {I8({257})}, DType::kU8, 0.04f, 100);
  add(OpCode::kRequantize, "u8_to_i8", {U8({5, 5})});
}

void AddFunctions(CaseList& list, Adder& add) {
  constexpr OpCode kFunctions[] = {
      OpCode::kAbs,       OpCode::kNeg,       OpCode::kExp,  OpCode::kSigmoid,    OpCode::kTanh,
      OpCode::kErf,       OpCode::kFloor,     OpCode::kCeil, OpCode::kRound,      OpCode::kSign,
      OpCode::kSin,       OpCode::kCos,       OpCode::kSilu, OpCode::kSoftplus,   OpCode::kGelu,
      OpCode::kHardSwish, OpCode::kLeakyRelu, OpCode::kElu,  OpCode::kHardSigmoid};
  for (const OpCode op : kFunctions) {
    add(op, "i8", {I8({3, 7})});
    add(op, "u8", {U8({2, 3, 4})}, DType::kU8, 0.01f, 20);
  }
  for (const OpCode op : {OpCode::kLog, OpCode::kSqrt, OpCode::kReciprocal})
    add(op, "u8", {Positive({3, 7})});
  add(OpCode::kClamp, "i8", {I8({3, 7})}).As<ClampAttrs>() = {-0.5f, 0.7f};
  list.Add(OpCode::kSigmoid, "to_f32", {I8({3, 7})});
  add(OpCode::kSigmoid, "of_f32", {F32({3, 7}, -5, 5)}, DType::kU8, 1 / 256.0f, 0);
}

void AddBinaries(Adder& add) {
  for (const OpCode op : {OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kMin, OpCode::kMax}) {
    add(op, "i8", {I8({3, 7}), CodesOf(DType::kI8, {3, 7}, Quantized(0.03f, 11))});
    add(op, "mixed", {U8({2, 3, 8}), I8({2, 3, 8})}, DType::kU8, 0.03f, 120);
    add(op, "channels", {I8({71, 3, 5}), U8({5})});
    add(op, "both_ways", {I8({2, 1, 5}), U8({1, 3, 1})});
    add(op, "many_i8", {I8({2, 3, 107}), I8({107})});
    add(op, "many_u8", {U8({517}), U8({517})}, DType::kU8, 0.03f, 120);
    add(op, "in_place", {U8({3, 39}), U8({3, 39})}, DType::kU8, 0.03f, 120).in_place = 1;
    Argument constant = I8({1});
    constant.constant = true;
    add(op, "scalar", {U8({3, 6}), constant});
    add(op, "f32", {I8({3, 7}), F32({3, 7}, -3, 3)});
  }
  add(OpCode::kAdd, "clamped", {I8({3, 7}), U8({3, 7})}).As<ClampAttrs>() = {0, 1.5f};
  add(OpCode::kAdd, "one_scale", {I8({3, 8}), I8({3, 8})}, DType::kI8, 0.05f, -7);
  Argument small = CodesOf(DType::kI8, {3, 7}, Quantized(1e-20f, 3));
  add(OpCode::kAdd, "small", {small, small}, DType::kI8, 2e-20f, 5);
  add(OpCode::kDiv, "i8", {I8({3, 7}), Positive({3, 7})});
  Argument zeros = CodesOf(DType::kU8, {5, 9}, Quantized(0.02f, 10));
  zeros.low = 9;
  zeros.high = 11.9;
  add(OpCode::kDiv, "zeros", {zeros, zeros}, DType::kU8, 0.03f, 120);
  add(OpCode::kPow, "u8", {Positive({3, 7}), U8({3, 7})});
  add(OpCode::kPRelu, "i8", {I8({2, 3, 5}), U8({5})});
  add(OpCode::kPRelu, "many_i8", {I8({2, 3, 53}), I8({53})});
}

void AddPools(Adder& add) {
  for (const OpCode op : {OpCode::kMaxPool2d, OpCode::kAveragePool2d}) {
    add(op, "3x3", {I8({2, 7, 8, 5})}).As<Pool2dAttrs>().kernel = {3, 3};
    Case& padded = add(op, "padded", {U8({1, 9, 7, 8})}, DType::kU8, 0.02f, 90);
    auto& attrs = padded.As<Pool2dAttrs>();
    attrs.kernel = {3, 2};
    attrs.strides = {2, 2};
    attrs.pads = {1, 1, 1, 0};
  }
  Case& counted = add(OpCode::kAveragePool2d, "counted", {I8({1, 6, 6, 4})}, DType::kU8, 0.03f, 60);
  auto& attrs = counted.As<Pool2dAttrs>();
  attrs.kernel = {2, 2};
  attrs.pads = {1, 1, 1, 1};
  attrs.count_include_pad = true;
}

void AddResizes(Adder& add) {
  const auto resize = [&](const char* name, const Argument& x, ResizeMode mode) -> Case& {
    Case& made = add(OpCode::kResize2d, name, {x, Integers({9, 8})});
    made.As<ResizeAttrs>().mode = mode;
    made.quantized_output = x.dtype;
    return made;
  };
  resize("nearest", I8({2, 5, 4, 3}), ResizeMode::kNearest).output_quantization = X();
  resize("nearest_fours", I8({1, 5, 4, 8}), ResizeMode::kNearest).output_quantization = X();
  resize("nearest_rescaled", I8({1, 5, 4, 3}), ResizeMode::kNearest);
  resize("linear", U8({2, 5, 4, 3}), ResizeMode::kLinear);
}

void AddRows(CaseList& list, Adder& add) {
  for (const OpCode op : {OpCode::kSoftmax, OpCode::kLogSoftmax}) {
    const bool log = op == OpCode::kLogSoftmax;
    add(op, "i8", {I8({3, 11})}, DType::kI8, log ? 0.1f : 1 / 256.0f, log ? 127 : -128).As<AxisAttrs>().axis =
        -1;
    add(op, "u8", {U8({2, 100})}, DType::kU8, log ? 0.1f : 1 / 256.0f, log ? 255 : 0).As<AxisAttrs>().axis =
        1;
  }
  add(OpCode::kSoftmax, "of_f32", {F32({3, 11}, -3, 3)}, DType::kI8, 1 / 256.0f, -128).As<AxisAttrs>().axis =
      -1;
  list.Add(OpCode::kSoftmax, "to_f32", {I8({3, 11})}).As<AxisAttrs>().axis = -1;
  add(OpCode::kDiv, "f32", {F32({3, 7}, -3, 3), Positive({3, 7})});
  add(OpCode::kLayerNorm, "i8", {I8({4, 10}), Weights({10}), Weights({10})}).As<NormAttrs>().axis = -1;
  Case& norm = add(OpCode::kBatchNorm, "i8",
                   {I8({2, 3, 6}), Weights({6}), Weights({6}), Weights({6}), Weights({6}, 0.5, 2)});
  norm.As<NormAttrs>().axis = -1;
  for (const OpCode op : {OpCode::kReduceSum, OpCode::kReduceMean, OpCode::kReduceMax, OpCode::kReduceMin}) {
    add(op, "spatial", {I8({2, 4, 5, 6})}).As<ReduceAttrs>().axes = {1, 2};
    add(op, "long", {U8({3, 200})}, DType::kU8, 0.05f, 90).As<ReduceAttrs>().axes = {1};
  }
  add(OpCode::kReduceProd, "u8", {U8({5, 4})}).As<ReduceAttrs>().axes = {1};
  list.Add(OpCode::kArgMax, "i8", {I8({3, 9})}).As<ArgAttrs>().axis = 1;
  list.Add(OpCode::kArgMin, "u8", {U8({3, 9})}).As<ArgAttrs>().axis = 1;
  Argument value = Weights({});
  value.values = {0.6};
  add(OpCode::kPad, "value", {I8({3, 5}), Integers({1, 0, 2, 1}), value});
  add(OpCode::kPad, "zero", {U8({2, 5, 4}), Integers({0, 1, 1, 1, 0, 2})}, DType::kU8, 0.02f, 90);
}

}  // namespace

void AddQuantizedOperatorCases(CaseList& list) {
  const size_t first = list.cases().size();
  Adder add(list);
  AddConversions(list, add);
  AddFunctions(list, add);
  AddBinaries(add);
  AddPools(add);
  AddResizes(add);
  AddRows(list, add);
  for (size_t i = first; i < list.cases().size(); ++i) {
    Case& made = list.cases()[i];
    made.name.insert(made.name.find('_'), "_quantized");
    const Node node(made);
    const bool strided = made.inputs[0].row_gap != 0 && !XnnpackSupport().TakesStridedInput(node.types(), 0);
    if (!XnnpackSupport().Supports(node.types()) || strided) made.falls_back = "no lowering on the CPU";
  }
}

}  // namespace skiff::testing
