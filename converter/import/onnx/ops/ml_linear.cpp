// ONNX rows of ai.onnx.ml: linear models and support vector machines, as matrix products.
#include <algorithm>
#include <numeric>

#include "import/emit.h"
#include "import/onnx/ml.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

TensorData Matrix(DType dtype, size_t rows, size_t columns, const std::vector<double>& numbers) {
  return MakeConstant(dtype, Shape{static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, numbers);
}

std::vector<double> Floats(const OnnxBuilder& b, const char* name) {
  const auto list = b.FloatList(name).value_or(std::vector<float>{});
  return {list.begin(), list.end()};
}

/// x times the transposed rows of `weights`, each as long as x, plus an intercept for each where there are
/// any.
ValueId EmitLinear(OnnxBuilder& b, ValueId x, const std::vector<double>& weights, size_t rows,
                   const std::vector<double>& intercepts) {
  const DType dtype = b.DTypeOf(x);
  if (rows == 0 || weights.empty() || weights.size() % rows != 0)
    b.Invalid("attribute 'coefficients' has {} elements for {} results", weights.size(), rows);
  std::vector<ValueId> inputs = {
      x, b.Constant("coefficients", Matrix(dtype, rows, weights.size() / rows, weights))};
  if (!intercepts.empty()) {
    CheckCount(b, "intercepts", intercepts.size(), rows, "one for each result");
    inputs.push_back(
        b.Constant("intercepts", MakeConstant(dtype, Shape{static_cast<int64_t>(rows)}, intercepts)));
  }
  return b.Emit("product", OpCode::kFullyConnected, inputs, ClampAttrs{});
}

/// x of rank 2; one row where it is a vector.
ValueId RowsOf(OnnxBuilder& b) {
  const ValueId x = EmitFeatures(b, b.Input(0));
  return b.HasRank(x, 1) ? EmitReshape(b, "rows", x, {1, -1}) : x;
}

void BuildLinearRegressor(OnnxBuilder& b) {
  const int64_t targets = b.Int("targets", 1);
  if (targets < 1) b.Invalid("attribute 'targets' is {}; at least 1 was expected", targets);
  const ValueId scores = EmitLinear(b, RowsOf(b), Floats(b, "coefficients"), static_cast<size_t>(targets),
                                    Floats(b, "intercepts"));
  b.Output(
      OpCode::kIdentity,
      {b.CastTo("result", EmitPostTransform(b, scores, b.String("post_transform", "NONE")), DType::kF32)});
}

/// The second of two classes where the score is above the border.
ValueId EmitSecondClass(OnnxBuilder& b, ValueId score, double border) {
  const ValueId chosen =
      b.Emit("chosen", OpCode::kGreater, {score, b.Scalar("border", b.DTypeOf(score), border)});
  return b.Emit("index", OpCode::kSqueeze, {b.CastTo("number", chosen, DType::kI64)}, AxesAttrs{{1}});
}

void BuildLinearClassifier(OnnxBuilder& b) {
  const OnnxClasses classes = ClassesOf(b);
  const std::vector<double> intercepts = Floats(b, "intercepts");
  const std::string transform = b.String("post_transform", "NONE");
  const size_t rows = intercepts.empty() ? classes.numbers.size() : intercepts.size();
  const ValueId scores = EmitLinear(b, RowsOf(b), Floats(b, "coefficients"), rows, intercepts);
  if (rows == classes.numbers.size())
    return OutputClasses(b, classes, EmitBestClass(b, scores), EmitPostTransform(b, scores, transform));
  if (rows != 1 || classes.count() != 2) b.Invalid("it has {} scores for {} classes", rows, classes.count());
  OutputClasses(b, classes, EmitSecondClass(b, scores, 0),
                EmitTwoClasses(b, scores, transform != "LOGISTIC", transform));
}

/// Attributes kernel_type and kernel_params: gamma, coef0, degree.
struct Kernel {
  std::string type;
  std::vector<double> params;
};

/// What x has in common with each of the `count` support vectors: [rows, count].
ValueId EmitKernel(OnnxBuilder& b, ValueId x, const std::vector<double>& vectors, size_t count,
                   const Kernel& kernel) {
  const DType dtype = b.DTypeOf(x);
  if (kernel.type == "LINEAR") return EmitLinear(b, x, vectors, count, {});
  if (kernel.params.size() != 3)
    b.Invalid("attribute 'kernel_params' has {} elements; gamma, coef0 and degree were expected",
              kernel.params.size());
  const auto number = [&](const char* suffix, double value) { return b.Scalar(suffix, dtype, value); };
  const double gamma = kernel.params[0];
  if (kernel.type == "RBF") {
    if (count == 0 || vectors.size() % count != 0)
      b.Invalid("attribute 'support_vectors' has {} elements for {} vectors", vectors.size(), count);
    const ValueId others =
        b.Constant("support_vectors", Matrix(DType::kF64, count, vectors.size() / count, vectors));
    const ValueId distance = b.CastTo("distance", EmitSquaredDistances(b, x, others), dtype);
    return b.Emit("kernel", OpCode::kExp, {EmitMul(b, "scaled", distance, number("gamma", -gamma))});
  }
  const ValueId product = EmitLinear(b, x, vectors, count, {});
  const ValueId sum = EmitAdd(b, "shifted", EmitMul(b, "scaled", product, number("gamma", gamma)),
                              number("coef0", kernel.params[1]));
  if (kernel.type == "SIGMOID") return b.Emit("kernel", OpCode::kTanh, {sum});
  if (kernel.type == "POLY") return b.Emit("kernel", OpCode::kPow, {sum, number("degree", kernel.params[2])});
  b.Invalid("attribute 'kernel_type' is '{}'; LINEAR, POLY, RBF or SIGMOID was expected", kernel.type);
}

Kernel KernelOf(const OnnxBuilder& b) {
  return {b.String("kernel_type", "LINEAR"), Floats(b, "kernel_params")};
}

/// A sum over many vectors, behind which a sigmoid or a border is: in f64, as it was trained.
ValueId WideRowsOf(OnnxBuilder& b) { return b.CastTo("wide", RowsOf(b), DType::kF64); }

void BuildSvmRegressor(OnnxBuilder& b) {
  const ValueId x = WideRowsOf(b);
  const std::vector<double> vectors = Floats(b, "support_vectors");
  const std::vector<double> coefficients = Floats(b, "coefficients");
  const std::vector<double> rho = Floats(b, "rho");
  const auto count = static_cast<size_t>(std::max<int64_t>(b.Int("n_supports", 0), 0));
  CheckCount(b, "rho", rho.size(), 1, "the constant term");
  ValueId score = kNoValue;
  if (count > 0) {
    CheckCount(b, "coefficients", coefficients.size(), count, "one for each support vector");
    score = EmitLinear(b, EmitKernel(b, x, vectors, count, KernelOf(b)), coefficients, 1, rho);
  } else {
    score = EmitLinear(b, x, coefficients, 1, rho);
  }
  if (b.Flag("one_class"))
    score = b.Emit("one_class", OpCode::kWhere,
                   {b.Emit("inside", OpCode::kGreater, {score, b.Scalar("zero", b.DTypeOf(score), 0)}),
                    b.Scalar("in", b.DTypeOf(score), 1), b.Scalar("out", b.DTypeOf(score), -1)});
  b.Output(
      OpCode::kIdentity,
      {b.CastTo("result", EmitPostTransform(b, score, b.String("post_transform", "NONE")), DType::kF32)});
}

/// A machine of one classifier for each pair of classes.
struct Pairs {
  size_t classes;
  size_t count() const { return classes * (classes - 1) / 2; }
  template <class Visit>
  void Each(const Visit& visit) const {
    size_t pair = 0;
    for (size_t i = 0; i < classes; ++i) {
      for (size_t j = i + 1; j < classes; ++j) visit(pair++, i, j);
    }
  }
};

/// Of each pair, which weights the support vectors have: those of the pair's classes alone.
std::vector<double> PairWeights(const Pairs& pairs, const std::vector<double>& coefficients,
                                const std::vector<int64_t>& of_class, size_t vectors) {
  std::vector<size_t> first(pairs.classes + 1, 0);
  for (size_t i = 0; i < pairs.classes; ++i) first[i + 1] = first[i] + static_cast<size_t>(of_class[i]);
  std::vector<double> weights(pairs.count() * vectors, 0.0);
  pairs.Each([&](size_t pair, size_t i, size_t j) {
    for (size_t m = first[i]; m < first[i + 1]; ++m)
      weights[pair * vectors + m] = coefficients[(j - 1) * vectors + m];
    for (size_t m = first[j]; m < first[j + 1]; ++m)
      weights[pair * vectors + m] = coefficients[i * vectors + m];
  });
  return weights;
}

/// [pairs, classes]: +1 at the first class of a pair, -1 or 0 at the second.
ValueId PairMatrix(OnnxBuilder& b, const char* suffix, DType dtype, const Pairs& pairs, double second) {
  std::vector<double> numbers(pairs.count() * pairs.classes, 0.0);
  pairs.Each([&](size_t pair, size_t i, size_t j) {
    numbers[pair * pairs.classes + i] = 1;
    numbers[pair * pairs.classes + j] = second;
  });
  return b.Constant(suffix, Matrix(dtype, pairs.count(), pairs.classes, numbers));
}

/// The class that wins most pairs; the first one of equals.
ValueId EmitMostPairs(OnnxBuilder& b, ValueId decisions, const Pairs& pairs) {
  const DType dtype = b.DTypeOf(decisions);
  const ValueId wins =
      b.CastTo("wins", b.Emit("won", OpCode::kGreater, {decisions, b.Scalar("zero", dtype, 0)}), dtype);
  // A pair is a vote for the first class where it is won, else for the second.
  const ValueId matrix = PairMatrix(b, "pairs", dtype, pairs, -1);
  std::vector<double> lost(pairs.classes, 0.0);
  pairs.Each([&](size_t, size_t, size_t j) { lost[j] += 1; });
  const ValueId votes =
      EmitAdd(b, "votes", b.Emit("balance", OpCode::kMatMul, {wins, matrix}, MatMulAttrs{}),
              b.Constant("lost", MakeConstant(dtype, Shape{static_cast<int64_t>(pairs.classes)}, lost)));
  return EmitBestClass(b, votes);
}

/// One step of libsvm's search for probabilities that suit those of the pairs (Wu, Lin, Weng 2004, its second
/// method): p [rows, classes], Q [rows, classes x classes]. Rows that have converged stay.
struct CouplingStep {
  ValueId p;
  ValueId going;  ///< Whether some row has not converged.
};
CouplingStep EmitCouplingStep(NodeBuilder& b, ValueId p, ValueId q, int64_t classes) {
  const auto scalar = [&](const char* suffix, double number) {
    return b.Scalar(suffix, DType::kF64, number);
  };
  const auto row_sum = [&](const char* suffix, ValueId x) {
    return b.Emit(suffix, OpCode::kReduceSum, {x}, ReduceAttrs{.axes = {1}});
  };
  const auto product = [&](const char* suffix, ValueId now) {
    const ValueId column = EmitUnsqueeze(b, "column", now, {2});
    return b.Emit(suffix, OpCode::kSqueeze, {b.Emit("q_p", OpCode::kMatMul, {q, column}, MatMulAttrs{})},
                  AxesAttrs{{2}});
  };
  ValueId qp = product("qp", p);
  ValueId pqp = row_sum("pqp", EmitMul(b, "p_qp", p, qp));
  const ValueId error =
      b.Emit("error", OpCode::kReduceMax, {b.Emit("errors", OpCode::kAbs, {EmitSub(b, "off", qp, pqp)})},
             ReduceAttrs{.axes = {1}});
  const ValueId done =
      b.Emit("done", OpCode::kLess, {error, scalar("enough", 0.005 / static_cast<double>(classes))});
  ValueId next = p;
  for (int64_t t = 0; t < classes; ++t) {
    const ValueId row = EmitSlice(b, "q_row", q, 1, t, t + 1);
    const ValueId q_row = b.Emit("q_t", OpCode::kSqueeze, {row}, AxesAttrs{{1}});
    const ValueId q_tt = EmitSlice(b, "q_tt", q_row, 1, t, t + 1);
    const ValueId qp_t = EmitSlice(b, "qp_t", qp, 1, t, t + 1);
    const ValueId diff = EmitDiv(b, "diff", EmitSub(b, "gap", pqp, qp_t), q_tt);
    std::vector<double> unit(static_cast<size_t>(classes), 0.0);
    unit[static_cast<size_t>(t)] = 1;
    const ValueId at_t = b.Constant("unit", MakeConstant(DType::kF64, Shape{1, classes}, unit));
    const ValueId grown = EmitAdd(b, "grown", scalar("one", 1), diff);
    next = EmitDiv(b, "p_t", EmitAdd(b, "p_moved", next, EmitMul(b, "step", diff, at_t)), grown);
    // (pQp + diff (diff Q_tt + 2 Qp_t)) / (1 + diff)^2
    const ValueId inner =
        EmitAdd(b, "inner", EmitMul(b, "diff_q", diff, q_tt), EmitMul(b, "twice", scalar("two", 2), qp_t));
    pqp = EmitDiv(
        b, "pqp_t",
        EmitDiv(b, "pqp_half", EmitAdd(b, "pqp_sum", pqp, EmitMul(b, "change", diff, inner)), grown), grown);
    qp = EmitDiv(b, "qp_next", EmitAdd(b, "qp_moved", qp, EmitMul(b, "q_step", diff, q_row)), grown);
  }
  const ValueId open = b.CastTo("open", b.Emit("not_done", OpCode::kNot, {done}), DType::kI32);
  const ValueId any = b.Emit("any", OpCode::kReduceMax, {open}, ReduceAttrs{.keep_dims = false});
  return {b.Emit("kept", OpCode::kWhere, {done, p, next}), b.CastTo("going", any, DType::kBool)};
}

/// Probabilities of the classes, from the pairs' as Platt's sigmoids a, b tell them of the decisions. As in
/// libsvm, whose loop ends where all is nearly right: so it has to be followed step by step.
ValueId EmitProbabilities(OnnxBuilder& b, ValueId decisions, const Pairs& pairs, const std::vector<double>& a,
                          const std::vector<double>& c) {
  constexpr double kLeast = 1e-7;
  constexpr int kSteps = 100;
  const auto classes = static_cast<int64_t>(pairs.classes);
  const auto count = static_cast<int64_t>(pairs.count());
  const auto vector = [&](const char* suffix, const std::vector<double>& numbers) {
    return b.Constant(suffix,
                      MakeConstant(DType::kF64, Shape{static_cast<int64_t>(numbers.size())}, numbers));
  };
  const ValueId wide = b.CastTo("wide", decisions, DType::kF64);
  const ValueId argument =
      EmitAdd(b, "argument", EmitMul(b, "slope", wide, vector("prob_a", a)), vector("prob_b", c));
  const ValueId shares = b.Emit("shares", OpCode::kSigmoid, {b.Emit("minus", OpCode::kNeg, {argument})});
  const ValueId least = b.Emit("least", OpCode::kMax, {shares, b.Scalar("low", DType::kF64, kLeast)});
  const ValueId r = b.Emit("r", OpCode::kMin, {least, b.Scalar("high", DType::kF64, 1 - kLeast)});
  // Of a pair i, j: r[i,j] = r, r[j,i] = 1 - r.
  const ValueId other = EmitSub(b, "s", b.Scalar("one", DType::kF64, 1), r);
  const ValueId nothing =
      EmitMul(b, "nothing", EmitSlice(b, "one_each", r, 1, 0, 1), b.Scalar("zero", DType::kF64, 0));
  std::vector<int64_t> places(pairs.classes * pairs.classes, 2 * count);
  pairs.Each([&](size_t pair, size_t i, size_t j) {
    places[i * pairs.classes + j] = static_cast<int64_t>(pair);
    places[j * pairs.classes + i] = count + static_cast<int64_t>(pair);
  });
  const ValueId all = b.Emit("shares_or_none", OpCode::kConcat, {r, other, nothing}, AxisAttrs{1});
  const ValueId cells =
      b.Emit("cells", OpCode::kGather, {all, b.ConstantInts("places", places)}, AxisAttrs{1});
  const ValueId square = EmitReshape(b, "square", cells, {0, classes, classes});
  // Q[t,t] = sum over j of r[j,t]^2, Q[t,j] = -r[j,t] r[t,j].
  const ValueId crossed = EmitMul(b, "crossed", square, EmitTranspose(b, "turned", square, {0, 2, 1}));
  const ValueId sums = b.Emit("sums", OpCode::kReduceSum, {EmitMul(b, "squares", square, square)},
                              ReduceAttrs{.axes = {1}, .keep_dims = true});
  std::vector<double> diagonal(pairs.classes * pairs.classes, 0.0);
  for (size_t t = 0; t < pairs.classes; ++t) diagonal[t * pairs.classes + t] = 1;
  const ValueId own = b.Constant("diagonal", Matrix(DType::kF64, pairs.classes, pairs.classes, diagonal));
  const ValueId q = EmitSub(b, "q", EmitMul(b, "own", sums, own), crossed);
  ValueId p = EmitAdd(
      b, "p", nothing,
      b.Constant("start",
                 MakeConstant(DType::kF64, Shape{1, classes},
                              std::vector<double>(pairs.classes, 1.0 / static_cast<double>(classes)))));
  // The step, p, whether to go on; Q is the same in each iteration.
  constexpr int kVariables = 3;
  const std::vector<ValueId> inputs = {b.Scalar("step", DType::kI64, 0), p,
                                       b.Scalar("going", DType::kBool, 1), q};
  Graph condition = b.NewBody(inputs);
  OnnxBuilder::UntypedReasons untyped;
  {
    NodeBuilder in = b.In(condition, untyped);
    const ValueId left = in.Emit("left", OpCode::kLess,
                                 {condition.inputs()[0].value, in.Scalar("steps", DType::kI64, kSteps)});
    condition.AddOutput("go_on", in.Emit("go_on", OpCode::kAnd, {left, condition.inputs()[2].value}));
  }
  Graph body = b.NewBody(inputs);
  {
    NodeBuilder in = b.In(body, untyped);
    const ValueId step = EmitAdd(in, "next_step", body.inputs()[0].value, in.Scalar("one", DType::kI64, 1));
    const CouplingStep next = EmitCouplingStep(in, body.inputs()[1].value, body.inputs()[3].value, classes);
    body.AddOutput("step", step);
    body.AddOutput("p", next.p);
    body.AddOutput("going", next.going);
  }
  std::vector<OnnxBuilder::PartialType> types;
  for (size_t i = 0; i < kVariables; ++i) types.push_back(b.TypeOf(inputs[i]));
  std::vector<Graph> bodies;
  bodies.push_back(std::move(condition));
  bodies.push_back(std::move(body));
  return b.OutputBodies(OpCode::kWhile, inputs, std::move(bodies), types,
                        std::vector<int>(kVariables, -1))[1];
}

void BuildSvmClassifier(OnnxBuilder& b) {
  const OnnxClasses classes = ClassesOf(b);
  const ValueId x = WideRowsOf(b);
  const std::vector<int64_t> of_class = b.IntList("vectors_per_class").value_or(std::vector<int64_t>{});
  const std::vector<double> coefficients = Floats(b, "coefficients");
  const std::vector<double> rho = Floats(b, "rho");
  const std::string transform = b.String("post_transform", "NONE");
  if (of_class.empty()) {
    // A linear machine with a score for each class.
    const std::vector<double> shift(classes.numbers.size(), rho.empty() ? 0.0 : rho[0]);
    const ValueId scores =
        EmitLinear(b, x, coefficients, classes.numbers.size(), rho.size() > 1 ? rho : shift);
    return OutputClasses(b, classes, EmitBestClass(b, scores), EmitPostTransform(b, scores, transform));
  }
  const Pairs pairs{of_class.size()};
  constexpr size_t kMostWeights = size_t{1} << 25;
  if (pairs.classes < 2 || pairs.classes > 1000 || classes.numbers.size() != pairs.classes)
    b.Invalid("attribute 'vectors_per_class' has {} elements for {} classes", pairs.classes, classes.count());
  size_t vectors = 0;
  for (const int64_t count : of_class) {
    if (count < 0 || count > 1'000'000'000)
      b.Invalid("attribute 'vectors_per_class' has the element {}", count);
    vectors += static_cast<size_t>(count);
  }
  CheckCount(b, "coefficients", coefficients.size(), vectors * (pairs.classes - 1),
             "a weight for each pair's vectors");
  CheckCount(b, "rho", rho.size(), pairs.count(), "one for each pair of classes");
  if (pairs.count() > kMostWeights / std::max(vectors, pairs.classes))
    b.Unsupported(
        "compares {} pairs of classes by {} support vectors; at most {} weights of them are supported",
        pairs.count(), vectors, kMostWeights);
  const ValueId kernel = EmitKernel(b, x, Floats(b, "support_vectors"), vectors, KernelOf(b));
  const ValueId decisions =
      EmitLinear(b, kernel, PairWeights(pairs, coefficients, of_class, vectors), pairs.count(), rho);
  // Whatever the probabilities are, which come from a model of their own.
  const ValueId index = EmitMostPairs(b, decisions, pairs);
  const std::vector<double> a = Floats(b, "prob_a");
  const std::vector<double> c = Floats(b, "prob_b");
  if (!a.empty()) {
    CheckCount(b, "prob_a", a.size(), pairs.count(), "one for each pair of classes");
    CheckCount(b, "prob_b", c.size(), pairs.count(), "one for each pair of classes");
    const ValueId shares = EmitProbabilities(b, decisions, pairs, a, c);
    return OutputClasses(b, classes, index, EmitPostTransform(b, shares, transform));
  }
  const bool logistic = transform == "NONE" || transform == "LOGISTIC";
  OutputClasses(b, classes, index,
                pairs.classes > 2 ? EmitPostTransform(b, decisions, transform)
                                  : EmitTwoClasses(b, decisions, !logistic, transform));
}

constexpr OnnxOp kRows[] = {
    {"LinearRegressor", 1, kNewestMlOpset, BuildLinearRegressor},
    {"LinearClassifier", 1, kNewestMlOpset, BuildLinearClassifier},
    {"SVMRegressor", 1, kNewestMlOpset, BuildSvmRegressor},
    {"SVMClassifier", 1, kNewestMlOpset, BuildSvmClassifier},
};

}  // namespace

std::span<const OnnxOp> OnnxLinearModelOps() { return kRows; }

}  // namespace skiff
