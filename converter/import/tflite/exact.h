/// Fixed-point arithmetic as nodes: integers in f64, which computes exactly what stays below 2^53.
#pragma once

#include <vector>

#include "import/tflite/builder.h"
#include "ops/op_codes.h"

namespace skiff {

class Exact {
 public:
  explicit Exact(TfliteBuilder& b) : b_(b) {}

  /// Plain integers of input i.
  ValueId Input(size_t i) { return b_.CastTo("exact", b_.Codes("codes", b_.Input(i)), DType::kF64); }
  ValueId Number(double number) { return b_.Scalar("number", DType::kF64, number); }
  ValueId Numbers(const Shape& shape, const std::vector<double>& numbers) {
    return b_.Constant("numbers", MakeConstant(DType::kF64, shape, numbers));
  }

  ValueId Add(ValueId x, ValueId y) { return EmitAdd(b_, "sum", x, y); }
  ValueId Plus(ValueId x, double y) { return Add(x, Number(y)); }
  ValueId Sub(ValueId x, ValueId y) { return EmitSub(b_, "difference", x, y); }
  ValueId Mul(ValueId x, ValueId y) { return EmitMul(b_, "product", x, y); }
  ValueId Times(ValueId x, double y) { return Mul(x, Number(y)); }
  ValueId Floor(ValueId x) { return b_.Emit("floor", OpCode::kFloor, {x}); }
  /// An arithmetic shift.
  ValueId ShiftRight(ValueId x, int64_t bits);
  /// What `bits` bits of it are, without a sign and with one.
  ValueId Wrap(ValueId x, int64_t bits);
  ValueId WrapSigned(ValueId x, int64_t bits);
  /// The nearest integer, halves up.
  ValueId Round(ValueId x) { return Floor(Plus(x, 0.5)); }

  ValueId Where(ValueId condition, ValueId x, ValueId y) {
    return b_.Emit("choice", OpCode::kWhere, {condition, x, y});
  }
  ValueId Greater(ValueId x, ValueId y) { return b_.Emit("greater", OpCode::kGreater, {x, y}); }
  /// 1 where it holds, else 0.
  ValueId OneIf(ValueId condition) { return b_.CastTo("one_if", condition, DType::kF64); }
  /// How many bits an integer in [0, 2^32) has without leading zeros.
  ValueId BitCount(ValueId x);
  /// 2^exponent, for exponents in [-64, 64].
  ValueId PowerOfTwo(ValueId exponent);
  /// Elements of a vector.
  ValueId LookUp(ValueId table, ValueId index);

 private:
  TfliteBuilder& b_;
};

/// The two parts of complex integers.
struct ExactComplex {
  ValueId real = kNoValue;
  ValueId imaginary = kNoValue;
};
/// The one-sided spectrum [rows, length / 2 + 1] of rows [rows, length], of 16 bits, as KISS FFT computes it
/// with 16 bits: it scales down and rounds in each step. The length is a power of two from 4 on.
ExactComplex EmitFft16(TfliteBuilder& b, ValueId rows, int64_t length);

}  // namespace skiff
