#include "passes/canonicalize/polynomial.h"

#include <algorithm>
#include <cmath>

#include "core/half.h"
#include "ops/op_codes.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

/// Longer chains are no activation that anybody writes.
constexpr int kMaxDepth = 10;

Polynomial Scaled(Polynomial p, double factor) {
  for (auto& row : p.coefficients) {
    for (double& coefficient : row) coefficient *= factor;
  }
  return p;
}

Polynomial Sum(Polynomial a, const Polynomial& b) {
  for (size_t i = 0; i <= Polynomial::kMaxX; ++i) {
    for (size_t j = 0; j <= Polynomial::kMaxE; ++j) a.coefficients[i][j] += b.coefficients[i][j];
  }
  return a;
}

std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (size_t i = 0; i <= Polynomial::kMaxX; ++i) {
    for (size_t j = 0; j <= Polynomial::kMaxE; ++j) {
      if (a.coefficients[i][j] == 0) continue;
      for (size_t k = 0; k <= Polynomial::kMaxX; ++k) {
        for (size_t l = 0; l <= Polynomial::kMaxE; ++l) {
          if (b.coefficients[k][l] == 0) continue;
          if (i + k > Polynomial::kMaxX || j + l > Polynomial::kMaxE) return {};
          result.coefficients[i + k][j + l] += a.coefficients[i][j] * b.coefficients[k][l];
        }
      }
    }
  }
  return result;
}

class Reader {
 public:
  Reader(const Graph& graph, ValueId x, ValueId e, int& reads_left)
      : graph_(graph), x_(x), e_(e), reads_left_(reads_left) {}

  std::optional<Polynomial> Read(ValueId value, int depth) {
    if (--reads_left_ < 0) return {};
    if (graph_.value(value).quantization) return {};  // A rounding is no polynomial.
    if (value == x_) return Polynomial::X();
    if (value == e_) return Polynomial::E();
    if (const auto number = ScalarConstant(graph_, value)) return Polynomial::Constant(*number);
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || depth == 0) return {};
    const Node& node = graph_.node(producer);
    switch (node.op) {
      case OpCode::kAdd:
      case OpCode::kSub:
      case OpCode::kMul:
      case OpCode::kDiv:
        return ReadBinary(node, depth - 1);
      case OpCode::kPow:
        return ReadPower(node, depth - 1);
      case OpCode::kNeg:
        if (const auto p = Read(node.inputs[0], depth - 1)) return Scaled(*p, -1);
        return {};
      default:
        return {};
    }
  }

 private:
  std::optional<Polynomial> ReadBinary(const Node& node, int depth) {
    const auto& clamp = node.As<ClampAttrs>();
    const auto left = Read(node.inputs[0], depth);
    const auto right = left ? Read(node.inputs[1], depth) : std::nullopt;
    if (!right || !IsUnbounded(clamp.min, clamp.max)) return {};
    if (node.op == OpCode::kAdd) return Sum(*left, *right);
    if (node.op == OpCode::kSub) return Sum(*left, Scaled(*right, -1));
    if (node.op == OpCode::kMul) return Product(*left, *right);
    const auto divisor = ScalarConstant(graph_, node.inputs[1]);
    if (!divisor || *divisor == 0) return {};
    return Scaled(*left, 1 / *divisor);
  }

  std::optional<Polynomial> ReadPower(const Node& node, int depth) {
    const auto exponent = ScalarConstant(graph_, node.inputs[1]);
    const auto base = Read(node.inputs[0], depth);
    if (!exponent || !base || (*exponent != 2 && *exponent != 3)) return {};
    const auto square = Product(*base, *base);
    if (!square || *exponent == 2) return square;
    return Product(*square, *base);
  }

  const Graph& graph_;
  ValueId x_;
  ValueId e_;
  int& reads_left_;
};

}  // namespace

Polynomial Polynomial::Constant(double number) {
  Polynomial p;
  p.coefficients[0][0] = number;
  return p;
}

Polynomial Polynomial::X() {
  Polynomial p;
  p.coefficients[1][0] = 1;
  return p;
}

Polynomial Polynomial::E() {
  Polynomial p;
  p.coefficients[0][1] = 1;
  return p;
}

double CoefficientTolerance(DType dtype, double wanted) {
  const auto single = static_cast<float>(wanted);
  const bool exact = HalfToFloat(FloatToHalf(single)) == single;
  return dtype == DType::kF16 && !exact ? 6e-4 : 1e-5;
}

bool IsClose(const Polynomial& given, const Polynomial& wanted, DType dtype) {
  for (size_t i = 0; i <= Polynomial::kMaxX; ++i) {
    for (size_t j = 0; j <= Polynomial::kMaxE; ++j) {
      const double left = given.coefficients[i][j];
      const double right = wanted.coefficients[i][j];
      const double tolerance = CoefficientTolerance(dtype, right);
      if (!(std::abs(left - right) <= tolerance * std::max(std::abs(left), std::abs(right)))) return false;
    }
  }
  return true;
}

std::optional<Polynomial> ReadPolynomial(const Graph& graph, ValueId value, ValueId x, ValueId e,
                                         int& reads_left) {
  return Reader(graph, x, e, reads_left).Read(value, kMaxDepth);
}

}  // namespace skiff
