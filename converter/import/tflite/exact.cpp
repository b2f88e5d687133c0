#include "import/tflite/exact.h"

#include <cmath>

#include "ops/op_codes.h"

namespace skiff {

ValueId Exact::ShiftRight(ValueId x, int64_t bits) {
  return bits == 0 ? x : Floor(Times(x, std::ldexp(1.0, -static_cast<int>(bits))));
}

ValueId Exact::Wrap(ValueId x, int64_t bits) {
  return b_.Emit("wrapped", OpCode::kMod, {x, Number(std::ldexp(1.0, static_cast<int>(bits)))}, ModAttrs{});
}

ValueId Exact::WrapSigned(ValueId x, int64_t bits) {
  const double half = std::ldexp(1.0, static_cast<int>(bits) - 1);
  return Plus(Wrap(Plus(x, half), bits), -half);
}

ValueId Exact::BitCount(ValueId x) {
  std::vector<double> powers;
  for (int i = 0; i < 32; ++i) powers.push_back(std::ldexp(1.0, i));
  const int rank = b_.RankOf(x);
  const ValueId reaches = b_.Emit("reaches", OpCode::kGreaterOrEqual,
                                  {EmitUnsqueeze(b_, "for_bits", x, {rank}), Numbers(Shape{32}, powers)});
  ReduceAttrs last;
  last.axes = {rank};
  last.keep_dims = false;
  return b_.Emit("bits", OpCode::kReduceSum, {OneIf(reaches)}, last);
}

ValueId Exact::PowerOfTwo(ValueId exponent) {
  constexpr int kMost = 64;
  std::vector<double> powers;
  for (int i = -kMost; i <= kMost; ++i) powers.push_back(std::ldexp(1.0, i));
  return LookUp(Numbers(Shape{2 * kMost + 1}, powers), Plus(exponent, kMost));
}

ValueId Exact::LookUp(ValueId table, ValueId index) {
  return b_.Emit("entry", OpCode::kGather, {table, b_.CastTo("index", index, DType::kI64)}, AxisAttrs{0});
}

}  // namespace skiff
