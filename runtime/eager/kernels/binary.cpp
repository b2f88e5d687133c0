// Binary elementwise kernels with broadcasting.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/index.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using namespace eager;

/// a = f(a, b).
template <class Lane>
using BinaryFn = void (*)(int64_t count, Lane* a, const Lane* b);

template <class Lane>
struct BinaryRow {
  OpCode op;
  BinaryFn<Lane> apply;
};

template <class Lane, auto kFunction>
void Map(int64_t count, Lane* a, const Lane* b) {
  for (int64_t i = 0; i < count; ++i) a[i] = kFunction(a[i], b[i]);
}

/// The remainder of a truncated quotient, with the dividend's sign. x % 0 is 0, as x / 0 is: no input may
/// stop the program.
template <class Lane>
Lane Remainder(Lane a, Lane b) {
  if constexpr (std::is_same_v<Lane, double>) {
    return std::fmod(a, b);
  } else {
    // -1 divides everything; the most negative integer by it would trap.
    if (b == Lane(0) || (std::is_signed_v<Lane> && b == static_cast<Lane>(-1))) return 0;
    return a % b;
  }
}

/// The remainder of a floored quotient: it has the divisor's sign.
template <class Lane>
Lane Modulo(Lane a, Lane b) {
  const Lane rest = Remainder(a, b);
  return rest != Lane(0) && (rest < Lane(0)) != (b < Lane(0)) ? rest + b : rest;
}

constexpr BinaryRow<double> kFloatRows[] = {
    {OpCode::kAdd, Map<double, [](double a, double b) { return a + b; }>},
    {OpCode::kSub, Map<double, [](double a, double b) { return a - b; }>},
    {OpCode::kMul, Map<double, [](double a, double b) { return a * b; }>},
    {OpCode::kDiv, Map<double, [](double a, double b) { return a / b; }>},
    // Comparisons with NaN are false, so a NaN in b falls through to b and one in a must be asked for.
    {OpCode::kMin, Map<double, [](double a, double b) { return a < b || std::isnan(a) ? a : b; }>},
    {OpCode::kMax, Map<double, [](double a, double b) { return b < a || std::isnan(a) ? a : b; }>},
    {OpCode::kPow, Map<double, [](double a, double b) { return std::pow(a, b); }>},
    {OpCode::kPRelu, Map<double, [](double a, double b) { return a < 0 ? a * b : a; }>},
    {OpCode::kMod, Map<double, Modulo<double>>},
};

/// Wrapping arithmetic, in the unsigned type because signed overflow is undefined.
template <class Lane, auto kFunction>
void MapWrapped(int64_t count, Lane* a, const Lane* b) {
  for (int64_t i = 0; i < count; ++i) {
    a[i] = static_cast<Lane>(kFunction(static_cast<uint64_t>(a[i]), static_cast<uint64_t>(b[i])));
  }
}

/// Truncates toward zero. x / 0 is 0, and the one quotient that overflows wraps: no input may stop the
/// program.
template <class Lane>
Lane Quotient(Lane a, Lane b) {
  if (b == Lane(0)) return 0;
  if (std::is_signed_v<Lane> && b == static_cast<Lane>(-1)) {
    return static_cast<Lane>(uint64_t{0} - static_cast<uint64_t>(a));
  }
  return a / b;
}

/// Wrapping power. A negative exponent leaves 0, unless the base is 1 or -1.
template <class Lane>
Lane Power(Lane base, Lane exponent) {
  if (exponent < Lane(0)) {
    if (base == Lane(1)) return 1;
    if (base == static_cast<Lane>(-1)) return exponent % 2 == 0 ? Lane(1) : base;
    return 0;
  }
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (auto bits = static_cast<uint64_t>(exponent); bits != 0; bits >>= 1) {
    if ((bits & 1u) != 0) result *= square;
    square *= square;
  }
  return static_cast<Lane>(result);
}

template <class Lane>
constexpr BinaryRow<Lane> kIntegerRows[] = {
    {OpCode::kAdd, MapWrapped<Lane, [](uint64_t a, uint64_t b) { return a + b; }>},
    {OpCode::kSub, MapWrapped<Lane, [](uint64_t a, uint64_t b) { return a - b; }>},
    {OpCode::kMul, MapWrapped<Lane, [](uint64_t a, uint64_t b) { return a * b; }>},
    {OpCode::kDiv, Map<Lane, Quotient<Lane>>},
    {OpCode::kMin, Map<Lane, [](Lane a, Lane b) { return a < b ? a : b; }>},
    {OpCode::kMax, Map<Lane, [](Lane a, Lane b) { return b < a ? a : b; }>},
    {OpCode::kPow, Map<Lane, Power<Lane>>},
    {OpCode::kPRelu,
     MapWrapped<Lane, [](uint64_t a, uint64_t b) { return static_cast<Lane>(a) < Lane(0) ? a * b : a; }>},
    {OpCode::kMod, Map<Lane, Modulo<Lane>>},
    {OpCode::kBitwiseAnd, Map<Lane, [](Lane a, Lane b) { return static_cast<Lane>(a & b); }>},
    {OpCode::kBitwiseOr, Map<Lane, [](Lane a, Lane b) { return static_cast<Lane>(a | b); }>},
    {OpCode::kBitwiseXor, Map<Lane, [](Lane a, Lane b) { return static_cast<Lane>(a ^ b); }>},
};

/// Of unsigned dtypes alone. A lane is as wide as the widest of them; storing drops what is shifted beyond a
/// narrower one.
template <class Lane>
constexpr BinaryRow<Lane> kShiftRows[] = {
    {OpCode::kShiftLeft, MapWrapped<Lane, [](uint64_t a, uint64_t b) { return b < 64 ? (a << b) : 0; }>},
    {OpCode::kShiftRight, MapWrapped<Lane, [](uint64_t a, uint64_t b) { return b < 64 ? (a >> b) : 0; }>},
};

constexpr BinaryRow<int64_t> kBoolRows[] = {
    {OpCode::kAnd, Map<int64_t, [](int64_t a, int64_t b) { return a & b; }>},
    {OpCode::kOr, Map<int64_t, [](int64_t a, int64_t b) { return a | b; }>},
    {OpCode::kXor, Map<int64_t, [](int64_t a, int64_t b) { return a ^ b; }>},
};

template <class Lane, size_t kRows>
BinaryFn<Lane> FindRow(const BinaryRow<Lane> (&rows)[kRows], OpCode op) {
  for (const BinaryRow<Lane>& row : rows) {
    if (row.op == op) return row.apply;
  }
  return nullptr;
}

template <class Lane>
BinaryFn<Lane> FindFunction(OpCode op, DType dtype) {
  if constexpr (std::is_same_v<Lane, double>) {
    return FindRow(kFloatRows, op);
  } else {
    if constexpr (std::is_same_v<Lane, int64_t>) {
      if (dtype == DType::kBool) return FindRow(kBoolRows, op);
    }
    // Unsigned dtypes are those that hold nothing below 0.
    if (op == OpCode::kShiftLeft || op == OpCode::kShiftRight) {
      return LowestOf<Lane>(dtype) == Lane(0) ? FindRow(kShiftRows<Lane>, op) : nullptr;
    }
    return FindRow(kIntegerRows<Lane>, op);
  }
}

template <class Lane>
BinaryFn<Lane> FunctionOf(const KernelArgs& args) {
  const DType dtype = args.inputs[0].dtype;
  const bool truncates = args.op == OpCode::kMod && args.As<ModAttrs>().truncate && dtype != DType::kBool;
  return truncates ? Map<Lane, Remainder<Lane>> : FindFunction<Lane>(args.op, dtype);
}

bool HasClamp(OpCode op) {
  return op == OpCode::kAdd || op == OpCode::kSub || op == OpCode::kMul || op == OpCode::kDiv;
}

}  // namespace

Status KernelBinary(const KernelArgs& args) {
  const TensorView& a = args.inputs[0];
  const TensorView& b = args.inputs[1];
  const TensorView& out = args.outputs[0];
  return VisitLane(args.op, a.dtype, [&](auto tag) -> Status {
    using Lane = decltype(tag);
    const BinaryFn<Lane> apply = FunctionOf<Lane>(args);
    const LoadFn<Lane> load_a = Loader<Lane>(a.dtype);
    // Pow alone takes an exponent of another dtype. An integer base with a fractional exponent has no row.
    const LoadFn<Lane> load_b = Loader<Lane>(b.dtype);
    if (apply == nullptr) return UnsupportedDType(args.op, a.dtype);
    if (load_b == nullptr) return UnsupportedDType(args.op, b.dtype);
    const StoreFn<Lane> store = Storer<Lane>(out.dtype);
    const LoadFn<Lane> load_out = Loader<Lane>(out.dtype);
    const LaneClamp<Lane> clamp = HasClamp(args.op)
                                      ? LaneClamp<Lane>(args.As<ClampAttrs>().min, args.As<ClampAttrs>().max)
                                      : LaneClamp<Lane>(-kInfinity, kInfinity);
    Lane left[kChunk];
    Lane right[kChunk];
    const auto walk = BroadcastWalk(out.shape, a.shape, b.shape);
    walk.ForEachRun(kChunk, [&](const auto& offsets, int64_t count, const auto& strides) {
      load_a(a.data, offsets[1], strides[1], count, left);
      load_b(b.data, offsets[2], strides[2], count, right);
      apply(count, left, right);
      if (!std::is_same_v<Lane, double> && clamp.active) {  // What wraps around does so before.
        store(out.data, offsets[0], count, left);
        load_out(out.data, offsets[0], 1, count, left);
      }
      clamp.Apply(left, count);
      store(out.data, offsets[0], count, left);
    });
    return OkStatus();
  });
}

}  // namespace skiff
