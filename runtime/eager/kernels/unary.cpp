// Unary elementwise kernels.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using namespace eager;

/// What the attributes of unary operators amount to.
struct UnaryParams {
  double alpha = 0;
  double beta = 0;
};

template <class Lane>
using UnaryFn = void (*)(const UnaryParams& params, int64_t count, Lane* lanes);

template <class Lane>
struct UnaryRow {
  OpCode op;
  UnaryFn<Lane> apply;
};

template <class Lane, auto kFunction>
void Map(const UnaryParams& params, int64_t count, Lane* lanes) {
  for (int64_t i = 0; i < count; ++i) lanes[i] = kFunction(lanes[i], params);
}

double Clamped(double x, double low, double high) { return x < low ? low : (x > high ? high : x); }

double GeluErf(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
double GeluTanh(double x) {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  return 0.5 * x * (1.0 + std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
}

using P = UnaryParams;

constexpr UnaryRow<double> kFloatRows[] = {
    {OpCode::kAbs, Map<double, [](double x, const P&) { return std::fabs(x); }>},
    {OpCode::kNeg, Map<double, [](double x, const P&) { return -x; }>},
    {OpCode::kExp, Map<double, [](double x, const P&) { return std::exp(x); }>},
    {OpCode::kLog, Map<double, [](double x, const P&) { return std::log(x); }>},
    {OpCode::kSqrt, Map<double, [](double x, const P&) { return std::sqrt(x); }>},
    {OpCode::kReciprocal, Map<double, [](double x, const P&) { return 1.0 / x; }>},
    {OpCode::kSigmoid, Map<double, [](double x, const P&) { return 1.0 / (1.0 + std::exp(-x)); }>},
    {OpCode::kTanh, Map<double, [](double x, const P&) { return std::tanh(x); }>},
    {OpCode::kErf, Map<double, [](double x, const P&) { return std::erf(x); }>},
    {OpCode::kFloor, Map<double, [](double x, const P&) { return std::floor(x); }>},
    {OpCode::kCeil, Map<double, [](double x, const P&) { return std::ceil(x); }>},
    // In the default rounding mode, which Skiff never changes: to nearest, ties to even.
    {OpCode::kRound, Map<double, [](double x, const P&) { return std::nearbyint(x); }>},
    {OpCode::kSign, Map<double, [](double x, const P&) { return x < 0 ? -1.0 : (0 < x ? 1.0 : x); }>},
    {OpCode::kSin, Map<double, [](double x, const P&) { return std::sin(x); }>},
    {OpCode::kCos, Map<double, [](double x, const P&) { return std::cos(x); }>},
    {OpCode::kTan, Map<double, [](double x, const P&) { return std::tan(x); }>},
    {OpCode::kAsin, Map<double, [](double x, const P&) { return std::asin(x); }>},
    {OpCode::kAcos, Map<double, [](double x, const P&) { return std::acos(x); }>},
    {OpCode::kAtan, Map<double, [](double x, const P&) { return std::atan(x); }>},
    {OpCode::kSinh, Map<double, [](double x, const P&) { return std::sinh(x); }>},
    {OpCode::kCosh, Map<double, [](double x, const P&) { return std::cosh(x); }>},
    {OpCode::kAsinh, Map<double, [](double x, const P&) { return std::asinh(x); }>},
    {OpCode::kAcosh, Map<double, [](double x, const P&) { return std::acosh(x); }>},
    {OpCode::kAtanh, Map<double, [](double x, const P&) { return std::atanh(x); }>},
    // log(1 + e^x), written so that the exponential cannot overflow.
    {OpCode::kSoftplus,
     Map<double, [](double x, const P&) { return (x < 0 ? 0.0 : x) + std::log1p(std::exp(-std::fabs(x))); }>},
    {OpCode::kHardSwish,
     Map<double, [](double x, const P&) { return x * Clamped(x / 6.0 + 0.5, 0.0, 1.0); }>},
    {OpCode::kSilu, Map<double, [](double x, const P&) { return x / (1.0 + std::exp(-x)); }>},
    {OpCode::kGelu,
     Map<double, [](double x, const P& p) { return p.alpha == 0 ? GeluErf(x) : GeluTanh(x); }>},
    {OpCode::kLeakyRelu, Map<double, [](double x, const P& p) { return x < 0 ? p.alpha * x : x; }>},
    {OpCode::kElu, Map<double, [](double x, const P& p) { return x < 0 ? p.alpha * std::expm1(x) : x; }>},
    {OpCode::kHardSigmoid,
     Map<double, [](double x, const P& p) { return Clamped(p.alpha * x + p.beta, 0.0, 1.0); }>},
};

/// Arithmetic in the unsigned type, so that the most negative integer negates to itself.
template <class Lane>
Lane Negated(Lane x) {
  return static_cast<Lane>(uint64_t{0} - static_cast<uint64_t>(x));
}

template <class Lane>
constexpr UnaryRow<Lane> kIntegerRows[] = {
    {OpCode::kAbs, Map<Lane, [](Lane x, const P&) { return x < Lane(0) ? Negated(x) : x; }>},
    {OpCode::kNeg, Map<Lane, [](Lane x, const P&) { return Negated(x); }>},
    {OpCode::kBitwiseNot, Map<Lane, [](Lane x, const P&) { return static_cast<Lane>(~x); }>},
    {OpCode::kSign,
     Map<Lane, [](Lane x, const P&) { return static_cast<Lane>((x > Lane(0)) - (x < Lane(0))); }>},
};

constexpr UnaryRow<int64_t> kBoolRows[] = {
    {OpCode::kNot, Map<int64_t, [](int64_t x, const P&) -> int64_t { return x == 0; }>},
};

template <class Lane, size_t kRows>
UnaryFn<Lane> FindRow(const UnaryRow<Lane> (&rows)[kRows], OpCode op) {
  for (const UnaryRow<Lane>& row : rows) {
    if (row.op == op) return row.apply;
  }
  return nullptr;
}

template <class Lane>
UnaryFn<Lane> FindFunction(OpCode op, DType dtype) {
  if constexpr (std::is_same_v<Lane, double>) {
    return FindRow(kFloatRows, op);
  } else {
    if constexpr (std::is_same_v<Lane, int64_t>) {
      if (dtype == DType::kBool) return FindRow(kBoolRows, op);
    }
    return FindRow(kIntegerRows<Lane>, op);
  }
}

UnaryParams ParamsOf(const KernelArgs& args) {
  switch (args.op) {
    case OpCode::kLeakyRelu:
    case OpCode::kElu:
      return {static_cast<double>(args.As<AlphaAttrs>().alpha), 0};
    case OpCode::kHardSigmoid: {
      const auto& attrs = args.As<HardSigmoidAttrs>();
      return {static_cast<double>(attrs.alpha), static_cast<double>(attrs.beta)};
    }
    case OpCode::kGelu:
      return {args.As<GeluAttrs>().approximate == GeluKind::kErf ? 0.0 : 1.0, 0};
    default:
      return {};
  }
}

}  // namespace

Status KernelUnary(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& out = args.outputs[0];
  return VisitLane(args.op, x.dtype, [&](auto tag) -> Status {
    using Lane = decltype(tag);
    const bool is_clamp = args.op == OpCode::kClamp && x.dtype != DType::kBool;
    const UnaryFn<Lane> apply = is_clamp ? nullptr : FindFunction<Lane>(args.op, x.dtype);
    if (!is_clamp && apply == nullptr) return UnsupportedDType(args.op, x.dtype);
    const LaneClamp<Lane> clamp = is_clamp
                                      ? LaneClamp<Lane>(args.As<ClampAttrs>().min, args.As<ClampAttrs>().max)
                                      : LaneClamp<Lane>(-kInfinity, kInfinity);
    const UnaryParams params = ParamsOf(args);
    const LoadFn<Lane> load = Loader<Lane>(x.dtype);
    const StoreFn<Lane> store = Storer<Lane>(out.dtype);
    const int64_t total = out.shape.elements();
    Lane lanes[kChunk];
    for (int64_t done = 0; done < total; done += kChunk) {
      const int64_t count = total - done < kChunk ? total - done : kChunk;
      load(x.data, done, 1, count, lanes);
      if (apply != nullptr) apply(params, count, lanes);
      clamp.Apply(lanes, count);
      store(out.data, done, count, lanes);
    }
    return OkStatus();
  });
}

}  // namespace skiff
