// Rows of com.microsoft: products with what ONNX Runtime's optimiser puts behind them, and forms of Gelu.
#include <algorithm>

#include "import/emit.h"
#include "import/onnx/nested.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// An operator of ai.onnx behind another one. Its attributes, in the order of a list of parameters.
struct Activation {
  const char* name;
  std::vector<const char*> parameters;
};

const Activation* FindActivation(const std::string& name) {
  static const Activation kActivations[] = {
      {"Relu", {}},
      {"Tanh", {}},
      {"Sigmoid", {}},
      {"LeakyRelu", {"alpha"}},
      {"Elu", {"alpha"}},
      {"HardSwish", {}},
      {"Softplus", {}},
      {"Softsign", {}},
      {"Clip", {"min", "max"}},
      {"Abs", {}},
      {"Neg", {}},
      {"Exp", {}},
      {"Sqrt", {}},
      {"Erf", {}},
      {"HardSigmoid", {"alpha", "beta"}},
      {"ThresholdedRelu", {"alpha"}},
  };
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& row) { return name == row.name; });
  return found == std::end(kActivations) ? nullptr : found;
}

/// The newest opset in which Clip's bounds are attributes; nothing else here has changed since. Younger
/// operators have no attributes.
int64_t OpsetOf(const std::string& name) { return name == "Clip" ? 10 : kNewestOnnxOpset; }

/// The node's output: y behind what the attribute `activation` names.
void OutputActivated(OnnxBuilder& b, ValueId y, const std::vector<std::optional<float>>& parameters) {
  const std::string name = b.String("activation", "");
  if (name.empty()) return b.Output(OpCode::kIdentity, {y});
  const Activation* activation = FindActivation(name);
  if (activation == nullptr) b.Unsupported("has the activation {}", name);
  OnnxAttributes attributes;
  for (size_t i = 0; i < std::min(parameters.size(), activation->parameters.size()); ++i) {
    if (parameters[i]) attributes.push_back(OnnxAttribute(activation->parameters[i], *parameters[i]));
  }
  EmitOnnx(b, nullptr, name, OpsetOf(name), {y}, attributes);
}

/// Parameters as attributes of their own.
std::vector<std::optional<float>> NamedParameters(OnnxBuilder& b) {
  std::vector<std::optional<float>> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    parameters.push_back(b.HasAttribute(name) ? std::optional(b.Float(name, 0)) : std::nullopt);
  }
  return parameters;
}

/// Inputs: those of Conv, and what is added to its result.
void BuildFusedConv(OnnxBuilder& b) {
  ValueId y = EmitOnnx(b, "conv", "Conv", kNewestOnnxOpset, {b.Input(0), b.Input(1), b.OptionalInput(2)},
                       NodeAttributes(b));
  if (b.HasInput(3)) y = EmitAdd(b, "sum", y, b.Input(3));
  const std::vector<float> listed = b.FloatList("activation_params").value_or(std::vector<float>{});
  OutputActivated(b, y, {listed.begin(), listed.end()});
}

void BuildFusedGemm(OnnxBuilder& b) {
  const ValueId y = EmitOnnx(b, "gemm", "Gemm", kNewestOnnxOpset,
                             {b.Input(0), b.Input(1), b.OptionalInput(2)}, NodeAttributes(b));
  OutputActivated(b, y, NamedParameters(b));
}

/// The last two axes swapped; `batch`: the first axis is where the one before the last belongs, as in a
/// factor whose rows are its batch.
ValueId Transposed(OnnxBuilder& b, const char* suffix, ValueId x, bool swap, bool batch) {
  const int rank = b.RankOf(x);
  if (rank < 2 || (!swap && !batch)) return x;
  Ints perm;
  for (int axis = 0; axis < rank; ++axis) perm[perm.size++] = axis;
  if (batch) {
    for (int axis = 0; axis + 2 < rank; ++axis) perm[axis] = axis + 1;
    perm[rank - 2] = 0;
  }
  if (swap) std::swap(perm[rank - 2], perm[rank - 1]);
  return EmitTranspose(b, suffix, x, perm);
}

/// alpha * A' * B'.
ValueId EmitFusedMatMul(OnnxBuilder& b) {
  const ValueId x = Transposed(b, "a", b.Input(0), b.Flag("transA"), b.Flag("transBatchA"));
  const ValueId y = Transposed(b, "b", b.Input(1), false, b.Flag("transBatchB"));
  const bool by_rows = b.Flag("transB") && b.RankOf(y) >= 2;
  const ValueId product = b.Emit("product", OpCode::kMatMul, {x, y}, MatMulAttrs{.transpose_b = by_rows});
  const float alpha = b.Float("alpha", 1.0f);
  if (alpha == 1.0f) return product;
  return EmitMul(b, "scaled", product, b.Scalar("alpha", b.DTypeOf(product), static_cast<double>(alpha)));
}

void BuildFusedMatMul(OnnxBuilder& b) { b.Output(OpCode::kIdentity, {EmitFusedMatMul(b)}); }
void BuildFusedMatMulActivation(OnnxBuilder& b) {
  OutputActivated(b, EmitFusedMatMul(b), NamedParameters(b));
}

/// x, plus input 1 where it is there.
ValueId Biased(OnnxBuilder& b) {
  return b.HasInput(1) ? EmitAdd(b, "biased", b.Input(0), b.Input(1)) : b.Input(0);
}
void BuildGelu(OnnxBuilder& b) { b.Output(OpCode::kGelu, {Biased(b)}, GeluAttrs{GeluKind::kErf}); }
void BuildFastGelu(OnnxBuilder& b) { b.Output(OpCode::kGelu, {Biased(b)}, GeluAttrs{GeluKind::kTanh}); }

void BuildQuickGelu(OnnxBuilder& b) {
  EmitOnnx(b, nullptr, "Swish", kNewestOnnxOpset, {b.Input(0)},
           NodeAttributes(b, {OnnxAttribute("alpha", 1.702f)}));
}

constexpr OnnxOp kRows[] = {
    {"FusedConv", 1, kAnyOpset, BuildFusedConv},
    {"FusedGemm", 1, kAnyOpset, BuildFusedGemm},
    {"FusedMatMul", 1, kAnyOpset, BuildFusedMatMul},
    {"FusedMatMulActivation", 1, kAnyOpset, BuildFusedMatMulActivation},
    {"Gelu", 1, kAnyOpset, BuildGelu},
    {"BiasGelu", 1, kAnyOpset, BuildGelu},
    {"FastGelu", 1, kAnyOpset, BuildFastGelu},
    {"QuickGelu", 1, kAnyOpset, BuildQuickGelu},
};

}  // namespace

std::span<const OnnxOp> MicrosoftFusedOps() { return kRows; }

}  // namespace skiff
