// Rows of com.microsoft: normalisations and positions, as ONNX Runtime's optimiser writes them for
// transformers.
#include "import/emit.h"
#include "import/onnx/nested.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// What the epsilon of these normalisations is where the node does not say.
constexpr float kEpsilon = 1e-12f;

OnnxAttributes NormAttributes(OnnxBuilder& b) {
  return {OnnxAttribute("epsilon", b.Float("epsilon", kEpsilon)), OnnxAttribute("axis", int64_t{-1})};
}

/// The node's own outputs: x, normalised along the last axis.
void OutputNormal(OnnxBuilder& b, const char* norm, ValueId x, size_t scale, size_t bias) {
  std::vector<ValueId> inputs = {x, b.Input(scale)};
  if (bias != 0) inputs.push_back(b.OptionalInput(bias));
  EmitOnnx(b, nullptr, norm, kNewestOnnxOpset, std::move(inputs), NormAttributes(b));
}

/// Input 0 plus input 1 plus maybe input `bias`; also ONNX output 3.
ValueId EmitSkip(OnnxBuilder& b, size_t bias) {
  const ValueId sum = EmitAdd(b, "sum", b.Input(0), b.Input(1));
  return b.HasInput(bias) ? EmitAdd(b, "sum_biased", sum, b.Input(bias)) : sum;
}

void BuildSkipNorm(OnnxBuilder& b, const char* norm, size_t beta, size_t bias) {
  const ValueId sum = EmitSkip(b, bias);
  OutputNormal(b, norm, sum, 2, beta);
  if (b.OutputUsed(3)) b.Output(OpCode::kIdentity, {sum}, NoAttrs{}, 3);
}

void BuildSkipLayerNormalization(OnnxBuilder& b) { BuildSkipNorm(b, "LayerNormalization", 3, 4); }
void BuildSkipSimplifiedLayerNormalization(OnnxBuilder& b) { BuildSkipNorm(b, "RMSNormalization", 0, 3); }

/// Rows of input `table` that the integers name.
ValueId Embedded(OnnxBuilder& b, const char* suffix, size_t table, ValueId ids) {
  return b.Emit(suffix, OpCode::kGather, {b.Input(table), ids}, AxisAttrs{0});
}

/// Inputs: words, segments, the three tables, scale, bias, a mask, positions.
void BuildEmbedLayerNormalization(OnnxBuilder& b) {
  const ValueId words = b.Input(0);
  const ValueId places =
      b.HasInput(8) ? b.Input(8) : EmitCount(b, "places", EmitExtent(b, "length", words, 1));
  ValueId sum = EmitAdd(b, "sum", Embedded(b, "word", 2, words), Embedded(b, "position", 3, places));
  if (b.HasInput(1)) sum = EmitAdd(b, "sum_segments", sum, Embedded(b, "segment", 4, b.Input(1)));
  const ValueId normal = EmitOnnx(b, "normal", "LayerNormalization", kNewestOnnxOpset,
                                  {sum, b.Input(5), b.Input(6)}, NormAttributes(b));
  b.Output(OpCode::kIdentity, {normal});
  if (b.OutputUsed(1)) {
    if (!b.HasInput(7)) b.Unsupported("makes a mask index without a mask");
    b.Output(OpCode::kReduceSum, {b.Input(7)}, ReduceAttrs{.axes = {1}, .keep_dims = false}, 1);
  }
  if (b.OutputUsed(2)) b.Output(OpCode::kIdentity, {sum}, NoAttrs{}, 2);
}

/// Inputs: x, the positions (or the first one), the cosines and sines of all positions.
void BuildRotaryEmbedding(OnnxBuilder& b) {
  if (b.Float("scale", 1.0f) != 1.0f) b.Unsupported("scales its positions");
  if (b.Flag("is_packed_batching")) b.Unsupported("has batches of different lengths in one");
  const ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  ValueId places = b.Input(1);
  if (b.RankOf(places) == 1) {
    const ValueId count = EmitCount(b, "count", EmitExtent(b, "length", x, rank == 4 ? 2 : 1));
    places = EmitUnsqueeze(b, "places", EmitAdd(b, "counted", count, places), {0});
  } else if (const auto samples = b.ExtentOf(places, 0), batch = b.ExtentOf(x, 0);
             samples && batch && *samples != *batch) {
    b.Invalid("the positions (input 1) have {} samples; {} were expected, as the input has", *samples,
              *batch);
  }
  int64_t heads = b.Int("num_heads", 0);
  if (rank == 3 && heads == 0) {
    const std::optional<int64_t> hidden = b.ExtentOf(x, 2);
    const std::optional<int64_t> half = b.ExtentOf(b.Input(2), 1);
    if (!hidden || !half) OnnxBuilder::Unsupported("needs to know its number of heads");
    if (*half < 1 || *hidden % (2 * *half) != 0)
      b.Invalid("{} elements cannot be divided into heads of {}", *hidden, 2 * *half);
    heads = *hidden / (2 * *half);
  }
  EmitOnnx(b, nullptr, "RotaryEmbedding", kNewestOnnxOpset, {x, b.Input(2), b.Input(3), places},
           {OnnxAttribute("num_heads", heads), OnnxAttribute("interleaved", b.Int("interleaved", 0)),
            OnnxAttribute("rotary_embedding_dim", b.Int("rotary_embedding_dim", 0))});
}

constexpr OnnxOp kRows[] = {
    {"SkipLayerNormalization", 1, kAnyOpset, BuildSkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", 1, kAnyOpset, BuildSkipSimplifiedLayerNormalization},
    {"EmbedLayerNormalization", 1, kAnyOpset, BuildEmbedLayerNormalization},
    {"RotaryEmbedding", 1, kAnyOpset, BuildRotaryEmbedding},
};

}  // namespace

std::span<const OnnxOp> MicrosoftTransformerOps() { return kRows; }

}  // namespace skiff
