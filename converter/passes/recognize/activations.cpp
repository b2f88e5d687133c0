// Activations that exporters write as several operators. Each has one inner function e of a polynomial of x,
// and is itself a polynomial of x and e.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/op_codes.h"
#include "passes/canonicalize/polynomial.h"
#include "passes/recognize/recognize.h"
#include "passes/rewrite.h"

namespace skiff {
namespace {

constexpr double kInverseSqrt2 = 1 / std::numbers::sqrt2;
constexpr double kTanhScale = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;

struct Activation {
  const char* name;
  OpCode inner;   ///< The operator of e.
  OpCode op;      ///< What the whole is.
  float bound_a;  ///< Clamp: min, max. HardSigmoid: alpha, beta. Else unused.
  float bound_b;
  double argument[4];  ///< e's argument: coefficients of 1, x, x^2, x^3.
  double of_x;         ///< The whole is of_x * x + of_e * e + of_xe * x * e.
  double of_e;
  double of_xe;
};

// The larger of two that share an inner function stands first: HardSigmoid is a part of HardSwish.
constexpr Activation kActivations[] = {
    {"HardSwish", OpCode::kClamp, OpCode::kHardSwish, 0, 6, {3, 1, 0, 0}, 0, 0, 1.0 / 6},
    {"HardSwish", OpCode::kClamp, OpCode::kHardSwish, 0, 1, {0.5, 1.0 / 6, 0, 0}, 0, 0, 1},
    {"HardSwish", OpCode::kHardSigmoid, OpCode::kHardSwish, 1.0f / 6, 0.5f, {0, 1, 0, 0}, 0, 0, 1},
    {"HardSigmoid", OpCode::kClamp, OpCode::kHardSigmoid, 0, 6, {3, 1, 0, 0}, 0, 1.0 / 6, 0},
    {"HardSigmoid", OpCode::kClamp, OpCode::kHardSigmoid, 0, 1, {0.5, 1.0 / 6, 0, 0}, 0, 1, 0},
    {"Silu", OpCode::kSigmoid, OpCode::kSilu, 0, 0, {0, 1, 0, 0}, 0, 0, 1},
    {"Gelu", OpCode::kErf, OpCode::kGelu, 0, 0, {0, kInverseSqrt2, 0, 0}, 0.5, 0, 0.5},
    {"Gelu", OpCode::kTanh, OpCode::kGelu, 0, 0, {0, kTanhScale, 0, kTanhScale* kTanhCubic}, 0.5, 0, 0.5},
};

bool InnerMatches(const Node& node, const Activation& wanted, DType dtype) {
  if (node.op != wanted.inner) return false;
  const auto close = [dtype](double given, double number) {
    return std::abs(given - number) <= CoefficientTolerance(dtype, number) * std::abs(number);
  };
  if (node.op == OpCode::kClamp)
    return node.As<ClampAttrs>().min == wanted.bound_a && node.As<ClampAttrs>().max == wanted.bound_b;
  if (node.op != OpCode::kHardSigmoid) return true;
  return close(node.As<HardSigmoidAttrs>().alpha, wanted.bound_a) &&
         close(node.As<HardSigmoidAttrs>().beta, wanted.bound_b);
}

/// What x can be: the argument of e, and what it is computed from by arithmetic.
void CollectArguments(const Graph& graph, ValueId value, int depth, std::vector<ValueId>& found) {
  if (graph.value(value).constant || std::find(found.begin(), found.end(), value) != found.end()) return;
  found.push_back(value);
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || depth == 0) return;
  const Node& node = graph.node(producer);
  if (!FindOp(node.op)->Is(kBinary)) return;
  for (ValueId input : node.inputs) CollectArguments(graph, input, depth - 1, found);
}

/// What the whole can be: results of arithmetic on e, the farthest first. Looks at no more uses than are
/// left.
void CollectRoots(const Graph& graph, ValueId value, int depth, int& uses_left, std::vector<NodeId>& found) {
  if (depth == 0) return;
  for (const Use& use : graph.value(value).uses) {
    if (--uses_left < 0) return;
    const Node& user = graph.node(use.node);
    if (!FindOp(user.op)->Is(kBinary)) continue;
    CollectRoots(graph, user.outputs[0], depth - 1, uses_left, found);
    if (std::find(found.begin(), found.end(), use.node) == found.end()) found.push_back(use.node);
  }
}

void SetActivation(Graph& graph, NodeId root, ValueId x, const Activation& activation) {
  switch (activation.op) {
    case OpCode::kGelu:
      Become(graph, root, OpCode::kGelu, {x},
             GeluAttrs{activation.inner == OpCode::kErf ? GeluKind::kErf : GeluKind::kTanh});
      break;
    case OpCode::kHardSigmoid:
      Become(graph, root, OpCode::kHardSigmoid, {x}, HardSigmoidAttrs{1.0f / 6, 0.5f});
      break;
    default:
      Become(graph, root, activation.op, {x});
  }
  graph.Note(root, std::string("recognised as a part of ") + activation.name);
}

/// Finds x and the whole for one inner node; the node nearest to the graph's end wins.
bool Match(Graph& graph, NodeId inner, const Activation& activation) {
  constexpr int kMaxArithmetic = 5;
  const ValueId e = graph.node(inner).outputs[0];
  const DType dtype = graph.value(e).dtype;
  if (!IsFloat(dtype) || !InnerMatches(graph.node(inner), activation, dtype)) return false;
  Polynomial argument;
  for (size_t i = 0; i < 4; ++i) argument.coefficients[i][0] = activation.argument[i];
  Polynomial whole;
  whole.coefficients[1][0] = activation.of_x;
  whole.coefficients[0][1] = activation.of_e;
  whole.coefficients[1][1] = activation.of_xe;
  std::vector<ValueId> arguments;
  CollectArguments(graph, graph.node(inner).inputs[0], kMaxArithmetic, arguments);
  std::vector<NodeId> roots;
  // Activations that anybody writes need some dozens.
  int uses_left = 1024;
  int reads_left = 1024;
  CollectRoots(graph, e, kMaxArithmetic, uses_left, roots);
  if (activation.of_e == 1) roots.push_back(inner);
  for (ValueId x : arguments) {
    const auto given = ReadPolynomial(graph, graph.node(inner).inputs[0], x, kNoValue, reads_left);
    if (!given || !IsClose(*given, argument, dtype)) continue;
    for (NodeId root : roots) {
      const ValueId result = graph.node(root).outputs[0];
      const auto computed = ReadPolynomial(graph, result, x, e, reads_left);
      if (!computed || !IsClose(*computed, whole, dtype) || !SameType(graph, result, x)) continue;
      SetActivation(graph, root, x, activation);
      return true;
    }
  }
  return false;
}

}  // namespace

void RecognizeActivations(Graph& graph) {
  for (const Activation& activation : kActivations) {
    ForEachPlainNode(graph, [&](NodeId id) {
      while (!graph.node(id).removed && Match(graph, id, activation)) {
      }
    });
  }
}

}  // namespace skiff
