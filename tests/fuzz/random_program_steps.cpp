// The operators that a random program is made of. A step that cannot run adds nothing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tests/fuzz/random_program.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

/// What a function's operand is moved into first, so that it is defined there and does not magnify errors.
enum class Domain { kAny, kSmall, kUnit, kModerate, kPositive, kAboveOne, kHalves };

Tensor Into(Domain domain, const Tensor& x) {
  switch (domain) {
    case Domain::kSmall:
      return Clamp(x, -1.5f, 1.5f);
    case Domain::kUnit:
      return Clamp(x, -0.75f, 0.75f);
    case Domain::kModerate:
      return Clamp(x, -16.0f, 16.0f);
    case Domain::kPositive:
      return Abs(x) + 0.5f;
    case Domain::kAboveOne:
      return Abs(x) + 1.5f;
    case Domain::kHalves:
      return x * 0.5f;
    case Domain::kAny:
      break;
  }
  return x;
}

struct UnaryRow {
  const char* name;
  Tensor (*apply)(const Operand&);
  Domain domain;
  bool keeps_whole;  ///< Whole numbers become whole numbers.
};

constexpr UnaryRow kUnary[] = {
    {"Abs", Abs, Domain::kAny, true},
    {"Neg", Neg, Domain::kAny, true},
    {"Relu", Relu, Domain::kAny, true},
    {"Clamp", [](const Operand& x) { return Clamp(x, -2.0f, 6.0f); }, Domain::kAny, true},
    {"Identity", Identity, Domain::kAny, true},
    {"Exp", Exp, Domain::kSmall, false},
    {"Log", Log, Domain::kPositive, false},
    {"Sqrt", Sqrt, Domain::kPositive, false},
    {"Reciprocal", Reciprocal, Domain::kPositive, false},
    {"Sigmoid", Sigmoid, Domain::kAny, false},
    {"Tanh", Tanh, Domain::kAny, false},
    {"Erf", Erf, Domain::kAny, false},
    {"Sin", Sin, Domain::kSmall, false},
    {"Cos", Cos, Domain::kSmall, false},
    {"Softplus", Softplus, Domain::kAny, false},
    {"HardSwish", HardSwish, Domain::kAny, false},
    {"HardSigmoid", [](const Operand& x) { return HardSigmoid(x); }, Domain::kAny, false},
    {"Silu", Silu, Domain::kAny, false},
    {"Gelu", [](const Operand& x) { return Gelu(x); }, Domain::kAny, false},
    {"LeakyRelu", [](const Operand& x) { return LeakyRelu(x, 0.3f); }, Domain::kAny, false},
    {"Elu", [](const Operand& x) { return Elu(x, 0.7f); }, Domain::kAny, false},
    {"Tan", Tan, Domain::kUnit, false},
    {"Asin", Asin, Domain::kUnit, false},
    {"Acos", Acos, Domain::kUnit, false},
    {"Atan", Atan, Domain::kAny, false},
    {"Sinh", Sinh, Domain::kSmall, false},
    {"Cosh", Cosh, Domain::kSmall, false},
    {"Asinh", Asinh, Domain::kAny, false},
    {"Acosh", Acosh, Domain::kAboveOne, false},
    {"Atanh", Atanh, Domain::kUnit, false},
};

/// These step, and so they read whole numbers, or halves of them.
constexpr UnaryRow kStepping[] = {
    {"Floor", Floor, Domain::kHalves, true},
    {"Ceil", Ceil, Domain::kHalves, true},
    {"Round", Round, Domain::kHalves, true},
    {"Sign", Sign, Domain::kAny, true},
};

void AddUnary(Drawer& draw, Scope& scope, const UnaryRow& row, size_t x) {
  draw.AddOne(scope, fmt::format("{}(v{})", row.name, x), row.keeps_whole && scope.whole[x],
              [&row, x](const Tensors& v) { return row.apply(Into(row.domain, v[x])); });
}

void DrawUnary(Drawer& draw, Scope& scope) {
  if (const Ref x = draw.AnyOf(scope, DType::kF32))
    AddUnary(draw, scope, kUnary[draw.Int(0, std::size(kUnary) - 1)], *x);
}

void DrawStepping(Drawer& draw, Scope& scope) {
  const Ref x = draw.AnyOf(scope, DType::kF32);
  if (x && scope.whole[*x]) AddUnary(draw, scope, kStepping[draw.Int(0, std::size(kStepping) - 1)], *x);
}

struct BinaryRow {
  const char* name;
  Tensor (*apply)(const Operand&, const Operand&);
  bool keeps_whole;
};

constexpr BinaryRow kBinary[] = {
    {"Add", Add, true},
    {"Sub", Sub, true},
    {"Mul", Mul, true},
    {"Min", Min, true},
    {"Max", Max, true},
    {"Div", [](const Operand& a, const Operand& b) { return Div(a, Abs(b) + 1); }, false},
    {"PRelu", PRelu, true},
    {"Pow", [](const Operand& a, const Operand& b) { return Pow(Abs(a) + 0.5f, Clamp(b, -1.5f, 1.5f)); },
     false},
};
constexpr BinaryRow kIntegerBinary[] = {
    {"Add", Add, true},
    {"Sub", Sub, true},
    {"Mul", Mul, true},
    {"Min", Min, true},
    {"Max", Max, true},
    {"Div", [](const Operand& a, const Operand& b) { return Div(a, b); }, true},
    {"Mod",
     [](const Operand& a, const Operand& b) {
       return Mod(a, BitwiseOr(Abs(b), b.As(b.tensor().dtype()) * 0 + 1));
     },
     true},
    {"BitwiseAnd", BitwiseAnd, true},
    {"BitwiseOr", BitwiseOr, true},
    {"BitwiseXor", BitwiseXor, true},
};
constexpr BinaryRow kLogic[] = {{"And", And, true}, {"Or", Or, true}, {"Xor", Xor, true}};
constexpr BinaryRow kComparison[] = {
    {"Equal", Equal, true},
    {"Less", Less, true},
    {"LessOrEqual", LessOrEqual, true},
    {"Greater", Greater, true},
    {"GreaterOrEqual", GreaterOrEqual, true},
};

template <size_t N>
void AddBinary(Drawer& draw, Scope& scope, const BinaryRow (&rows)[N], size_t a, size_t b) {
  const BinaryRow& row = rows[draw.Int(0, static_cast<int>(N) - 1)];
  if (draw.Chance(50)) std::swap(a, b);
  draw.AddOne(scope, fmt::format("{}(v{}, v{})", row.name, a, b),
              row.keeps_whole && scope.whole[a] && scope.whole[b],
              [&row, a, b](const Tensors& v) { return row.apply(v[a], v[b]); });
}

void DrawBinary(Drawer& draw, Scope& scope) {
  const Ref a = draw.Any(scope, [](size_t) { return true; });
  const Ref b = a ? draw.PartnerOf(scope, *a) : a;
  if (!b) return;
  const DType dtype = scope.At(*a).dtype();
  if (dtype == DType::kF32) return AddBinary(draw, scope, kBinary, *a, *b);
  if (dtype == DType::kBool) return AddBinary(draw, scope, kLogic, *a, *b);
  AddBinary(draw, scope, kIntegerBinary, *a, *b);
}

/// With a C++ number, which takes the tensor's dtype.
void DrawNumber(Drawer& draw, Scope& scope) {
  const Ref x = draw.Any(scope, [&](size_t value) { return scope.At(value).dtype() != DType::kBool; });
  if (!x) return;
  const int number = draw.Int(-3, 3);
  const BinaryRow& row = kBinary[draw.Int(0, 4)];
  draw.AddOne(scope, fmt::format("{}(v{}, {})", row.name, *x, number), scope.whole[*x],
              [&row, x = *x, number](const Tensors& v) { return row.apply(v[x], number); });
}

void DrawComparison(Drawer& draw, Scope& scope) {
  const Ref a = draw.AnyWhole(scope);
  const Ref b = a ? draw.PartnerOf(scope, *a) : a;
  if (b && scope.whole[*b]) AddBinary(draw, scope, kComparison, *a, *b);
}

void DrawWhere(Drawer& draw, Scope& scope) {
  const Ref a = draw.AnyWhole(scope);
  const Ref x = a ? draw.Any(scope, [](size_t) { return true; }) : a;
  const Ref y = x ? draw.PartnerOf(scope, *x) : x;
  if (!y) return;
  draw.AddOne(scope, fmt::format("Where(v{} > 0, v{}, v{})", *a, *x, *y), scope.whole[*x] && scope.whole[*y],
              [a = *a, x = *x, y = *y](const Tensors& v) { return Where(v[a] > 0, v[x], v[y]); });
}

void DrawCast(Drawer& draw, Scope& scope) {
  const Ref x = draw.Any(scope, [&](size_t value) { return scope.whole[value]; });
  if (!x) return;
  const DType to = draw.Pick<DType>({DType::kF32, DType::kF32, DType::kI32, DType::kI64, DType::kBool});
  draw.AddOne(scope, fmt::format("Cast(v{}, {})", *x, DTypeName(to)), true,
              [x = *x, to](const Tensors& v) { return Cast(v[x], to); });
}

struct ReduceRow {
  const char* name;
  Tensor (*apply)(const Operand&, const ReduceAttrs&);
  bool keeps_whole;
};
constexpr ReduceRow kReduce[] = {
    {"ReduceSum", ReduceSum, true},
    {"ReduceMean", ReduceMean, false},
    {"ReduceMax", ReduceMax, true},
    {"ReduceMin", ReduceMin, true},
    {"ReduceProd",
     [](const Operand& x, const ReduceAttrs& attrs) { return ReduceProd(Clamp(x, -2, 2), attrs); }, true},
};

void DrawReduce(Drawer& draw, Scope& scope) {
  const Ref x = draw.Any(scope, [&](size_t value) {
    return scope.At(value).dtype() != DType::kBool && scope.At(value).rank() > 0;
  });
  if (!x) return;
  const ReduceRow& row = kReduce[draw.Int(0, std::size(kReduce) - 1)];
  ReduceAttrs attrs;
  attrs.keep_dims = draw.Chance(50);
  for (int axis = 0; axis < scope.At(*x).rank(); ++axis) {
    if (draw.Chance(50)) attrs.axes.values[attrs.axes.size++] = axis;
  }
  const bool whole = scope.whole[*x] && (row.keeps_whole || scope.At(*x).dtype() != DType::kF32);
  draw.AddOne(scope,
              fmt::format("{}(v{}, [{}]{})", row.name, *x, fmt::join(attrs.axes, ", "),
                          attrs.keep_dims ? ", keep" : ""),
              whole, [&row, x = *x, attrs](const Tensors& v) { return row.apply(v[x], attrs); });
}

void DrawAlongAxis(Drawer& draw, Scope& scope) {
  const Ref x = draw.AnyOf(scope, DType::kF32, 1);
  if (!x) return;
  const int64_t axis = draw.Axis(scope, *x);
  const std::string text = fmt::format("(v{}, {})", *x, axis);
  const bool whole = scope.whole[*x];
  switch (draw.Int(0, 6)) {
    case 0:
      draw.AddOne(scope, "Softmax" + text, false, [=](const Tensors& v) { return Softmax(v[*x], axis); });
      return;
    case 1:
      draw.AddOne(scope, "LogSoftmax" + text, false,
                  [=](const Tensors& v) { return LogSoftmax(v[*x], axis); });
      return;
    case 2:
      draw.AddOne(scope, "CumSum" + text, whole, [=](const Tensors& v) { return CumSum(v[*x], axis); });
      return;
    case 3:
      if (whole) {
        draw.AddOne(scope, "ArgMax" + text, true,
                    [=](const Tensors& v) { return ArgMax(v[*x], {.axis = axis}); });
      }
      return;
    case 4:
      draw.AddOne(scope, "TopK" + text, whole,
                  [=](const Tensors& v) { return TopK(v[*x], 1, {.axis = axis}).first; });
      return;
    default: {
      const int64_t width = scope.At(*x).dim(scope.At(*x).rank() - 1);
      const Tensor scale = draw.Elements(DType::kF32, {width}, false);
      const Tensor bias = draw.Elements(DType::kF32, {width}, false);
      // An epsilon that keeps rows of nearly equal elements from magnifying their rounding errors.
      draw.AddOne(scope, fmt::format("LayerNorm(v{})", *x), false, [=](const Tensors& v) {
        return LayerNorm(Into(Domain::kModerate, v[*x]), scale, bias, {.axis = -1, .epsilon = 0.25f});
      });
    }
  }
}

/// Weights are constants that the function captures, or other values.
void DrawProduct(Drawer& draw, Scope& scope) {
  const Ref x = draw.AnyOf(scope, DType::kF32, 2);
  if (!x) return;
  const int64_t depth = scope.At(*x).dim(scope.At(*x).rank() - 1);
  const int64_t width = draw.Int(1, 5);
  // Whole numbers may be large, and errors are relative to the terms: their weights are whole, and nothing is
  // rounded.
  const bool exact = scope.whole[*x];
  const bool whole = exact || draw.Chance(30);
  switch (draw.Int(0, 2)) {
    case 0: {
      const Tensor weights = draw.Elements(DType::kF32, {depth, width}, whole);
      draw.AddOne(scope, fmt::format("MatMul(v{}, [{}, {}])", *x, depth, width), exact,
                  [=](const Tensors& v) { return MatMul(v[*x], weights); });
      return;
    }
    case 1: {
      const Tensor weights = draw.Elements(DType::kF32, {width, depth}, whole);
      const Tensor bias = draw.Chance(60) ? draw.Elements(DType::kF32, {width}, whole) : Tensor();
      draw.AddOne(scope, fmt::format("FullyConnected(v{}, [{}, {}])", *x, width, depth), exact,
                  [=](const Tensors& v) { return FullyConnected(v[*x], weights, bias); });
      return;
    }
    default:
      if (const Ref y = draw.AnyOf(scope, DType::kF32, 2); y && (scope.whole[*y] || !exact)) {
        draw.AddOne(scope, fmt::format("MatMul(v{}, v{}^T)", *x, *y), exact,
                    [x = *x, y = *y](const Tensors& v) {
                      return MatMul(v[x], Clamp(v[y], -3, 3), {.transpose_b = true});
                    });
      }
  }
}

void DrawWindow(Drawer& draw, Scope& scope) {
  const Ref x = draw.Any(scope, [&](size_t value) {
    return scope.At(value).dtype() == DType::kF32 && scope.At(value).rank() == 4;
  });
  if (!x) return;
  const int64_t in = scope.At(*x).dim(3), kernel = draw.Int(1, 3), stride = draw.Int(1, 2);
  const int64_t pad = draw.Int(0, static_cast<int>(kernel) - 1);
  const bool exact = scope.whole[*x];
  const bool whole = exact || draw.Chance(30);
  const std::string size = fmt::format("{}x{}, stride {}, pad {}", kernel, kernel, stride, pad);
  const Pool2dAttrs pool{.kernel = {kernel, kernel}, .strides = {stride, stride}, .pads = {pad, pad, 0, 0}};
  switch (draw.Int(0, 5)) {
    case 0:
      draw.AddOne(scope, fmt::format("MaxPool2d(v{}, {})", *x, size), scope.whole[*x],
                  [=](const Tensors& v) { return MaxPool2d(v[*x], pool); });
      return;
    case 1:
      draw.AddOne(scope, fmt::format("AveragePool2d(v{}, {})", *x, size), false,
                  [=](const Tensors& v) { return AveragePool2d(v[*x], pool); });
      return;
    case 2:
      draw.AddOne(scope, fmt::format("Resize2d(v{}, {}, {})", *x, kernel + 2, stride + 3), false,
                  [=](const Tensors& v) {
                    return Resize2d(Into(Domain::kModerate, v[*x]), {kernel + 2, stride + 3},
                                    {.mode = ResizeMode::kLinear});
                  });
      return;
    case 3: {
      const int64_t out = draw.Int(1, 3);
      const Tensor weights = draw.Elements(DType::kF32, {out, kernel, kernel, in}, whole);
      const ConvTranspose2dAttrs attrs{.strides = {stride, stride}, .pads = {pad, pad, 0, 0}};
      draw.AddOne(scope, fmt::format("ConvTranspose2d(v{}, {}, {})", *x, out, size), exact,
                  [=](const Tensors& v) { return ConvTranspose2d(v[*x], weights, {}, attrs); });
      return;
    }
    default: {
      const bool depthwise = draw.Chance(30);
      const int64_t out = depthwise ? in : draw.Int(1, 4);
      const Tensor weights = draw.Elements(DType::kF32, {out, kernel, kernel, depthwise ? 1 : in}, whole);
      const Tensor bias = draw.Chance(60) ? draw.Elements(DType::kF32, {out}, whole) : Tensor();
      const Conv2dAttrs attrs{
          .strides = {stride, stride}, .pads = {pad, pad, pad, 0}, .groups = depthwise ? in : 1};
      draw.AddOne(scope, fmt::format("Conv2d(v{}, {}{}, {})", *x, out, depthwise ? " depthwise" : "", size),
                  exact, [=](const Tensors& v) { return Conv2d(v[*x], weights, bias, attrs); });
    }
  }
}

/// Movement of elements of any dtype.
void DrawMovement(Drawer& draw, Scope& scope) {
  const Ref x = draw.Any(scope, [&](size_t value) { return scope.At(value).rank() > 0; });
  if (!x) return;
  const bool whole = scope.whole[*x];
  const Shape shape = scope.At(*x).shape();
  const int64_t axis = draw.Axis(scope, *x);
  const std::string text = fmt::format("(v{}, axis {})", *x, axis);
  const auto add = [&](const char* name, const std::function<Tensor(const Tensor&)>& move) {
    draw.AddOne(scope, name + text, whole, [x = *x, move](const Tensors& v) { return move(v[x]); });
  };
  switch (draw.Int(0, 11)) {
    case 0:
      return add("Reshape [-1]", [](const Tensor& v) { return Reshape(v, {-1}); });
    case 1:
      return add("Reshape [0, -1]", [](const Tensor& v) { return Reshape(v, {0, -1}); });
    case 2:  // The shape as a tensor: works at every size.
      return add("Reshape by ShapeOf", [](const Tensor& v) {
        return Reshape(v, Concat({Tensor::Of<int64_t>({1}), ShapeOf(v)}, 0));
      });
    case 3: {
      Ints perm;
      std::vector<int64_t> order(static_cast<size_t>(shape.rank()));
      std::iota(order.begin(), order.end(), 0);
      for (size_t i = order.size(); i-- > 1;)
        std::swap(order[i], order[static_cast<size_t>(draw.Int(0, static_cast<int>(i)))]);
      for (const int64_t each : order) perm.values[perm.size++] = each;
      return add("Transpose", [perm](const Tensor& v) { return Transpose(v, perm); });
    }
    case 4:
      if (const Ref y = draw.PartnerOf(scope, *x)) {
        draw.AddOne(scope, fmt::format("Concat(v{}, v{}, axis {})", *x, *y, axis), whole && scope.whole[*y],
                    [x = *x, y = *y, axis](const Tensors& v) {
                      return Concat({v[x], v[y]}, axis);
                    });
      }
      return;
    case 5: {
      const int64_t begin = draw.Int(-2, 1), end = draw.Chance(50) ? 100 : draw.Int(-1, 3);
      const int64_t step = draw.Int(1, 2);
      return add("Slice", [=](const Tensor& v) { return Slice(v, {begin}, {end}, {axis}, {step}); });
    }
    case 6: {
      const Tensor indices = Tensor::Of<int64_t>({0, draw.Int(-1, 0)});
      return add("Gather", [=](const Tensor& v) { return Gather(v, indices, axis); });
    }
    case 7: {
      std::vector<int64_t> pads(static_cast<size_t>(2 * shape.rank()));
      for (int64_t& pad : pads) pad = draw.Int(0, 1);
      return add("Pad", [=](const Tensor& v) { return Pad(v, pads); });
    }
    case 8:
      return add("Tile", [rank = shape.rank(), axis](const Tensor& v) {
        std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
        repeats[static_cast<size_t>(axis)] = 2;
        return Tile(v, repeats);
      });
    case 9:
      return add("Unsqueeze", [=](const Tensor& v) { return Unsqueeze(v, {axis}); });
    case 10:
      if (shape[static_cast<int>(axis)] > 1) {
        draw.Add(scope, "Split" + text, whole,
                 [x = *x, axis, size = shape[static_cast<int>(axis)]](const Tensors& v) {
                   return Split(v[x], {1, size - 1}, axis);
                 });
      }
      return;
    default:
      return add("Flatten", [=](const Tensor& v) { return Flatten(v, axis); });
  }
}

struct StepRow {
  int weight;
  void (*draw)(Drawer&, Scope&);
};
constexpr StepRow kSteps[] = {
    {8, DrawUnary},   {3, DrawStepping},  {8, DrawBinary}, {4, DrawNumber},    {3, DrawComparison},
    {3, DrawWhere},   {3, DrawCast},      {6, DrawReduce}, {5, DrawAlongAxis}, {5, DrawProduct},
    {10, DrawWindow}, {10, DrawMovement}, {7, DrawCond},   {7, DrawWhile},
};

}  // namespace

void DrawStep(Drawer& draw, Scope& scope) {
  int total = 0;
  for (const StepRow& row : kSteps) total += row.weight;
  int at = draw.Int(0, total - 1);
  const StepRow* row = kSteps;
  while (at >= row->weight) at -= (row++)->weight;
  row->draw(draw, scope);
}

}  // namespace skiff::eager
