// Rows of com.microsoft: normalisations and attention, as ONNX Runtime's optimiser writes them for
// transformers.
#include "import/emit.h"
#include "import/onnx/nested.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantize.h"
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

/// 1 for the first keys of each batch, of which there are `counts`, else 0: [batch, keys].
ValueId EmitFirst(OnnxBuilder& b, ValueId counts, ValueId keys) {
  const ValueId places = b.CastTo("places", EmitCount(b, "count", keys), b.DTypeOf(counts));
  return b.Emit("first", OpCode::kLess, {places, EmitUnsqueeze(b, "counts", counts, {1})});
}

/// How many keys there are, as a scalar: those of the past and those of x.
ValueId EmitKeyCount(OnnxBuilder& b, ValueId x, ValueId past) {
  const ValueId own = EmitExtent(b, "own_keys", x, 1);
  return past == kNoValue ? own : EmitAdd(b, "keys", own, EmitExtent(b, "past_keys", past, 3));
}

/// 0 where the mask [batch, keys] or [batch, queries, keys] is 1, else the attribute mask_filter_value; with
/// an axis for the heads. A vector says how many keys each batch has.
ValueId EmitMask(OnnxBuilder& b, ValueId mask, ValueId x, ValueId past) {
  const DType dtype = b.DTypeOf(x);
  const int rank = b.RankOf(mask);
  const std::optional<int64_t> counts = b.ExtentOf(mask, 0);
  const std::optional<int64_t> batch = b.ExtentOf(x, 0);
  if (rank == 1 && (!counts || !batch || *counts == *batch)) {
    mask = EmitSameExtent(b, "mask_counts", mask, 0, x, 0);
    mask = EmitFirst(b, mask, EmitKeyCount(b, x, past));
  } else if (rank != 2 && rank != 3) {
    b.Unsupported("has a mask of rank {}; [batch], [batch, keys] and [batch, queries, keys] are supported",
                  rank);
  }
  const ValueId hidden = EmitSub(b, "hidden", b.Scalar("one", dtype, 1), b.CastTo("mask_float", mask, dtype));
  const double filter = static_cast<double>(b.Float("mask_filter_value", -10000.0f));
  const ValueId bias = EmitMul(b, "mask_bias", hidden, b.Scalar("filter", dtype, filter));
  return EmitUnsqueeze(b, "mask_of_heads", bias, rank == 3 ? Ints{1} : Ints{1, 2});
}

/// Attention whose input is multiplied with the weights of query, key and value in one product.
struct PackedAttention {
  ValueId input = kNoValue;
  ValueId weights = kNoValue;
  ValueId bias = kNoValue;
  ValueId mask = kNoValue;
  ValueId past = kNoValue;  ///< [2, batch, heads, keys, head size]
  ValueId scores_bias = kNoValue;
};

/// Query, key and value behind each other in the last axis of x.
std::vector<ValueId> SplitProjections(OnnxBuilder& b, ValueId x) {
  std::vector<int64_t> sizes = b.IntList("qkv_hidden_sizes").value_or(std::vector<int64_t>{});
  if (sizes.empty()) {
    const std::optional<int64_t> all = b.ExtentOf(x, b.RankOf(x) - 1);
    if (!all) OnnxBuilder::Unsupported("needs to know the size of its weights; export them as constants");
    if (*all % 3 != 0) b.Invalid("{} columns of weights cannot be divided by 3", *all);
    sizes.assign(3, *all / 3);
  }
  if (sizes.size() != 3)
    b.Invalid("attribute 'qkv_hidden_sizes' has {} values; 3 were expected", sizes.size());
  b.CheckRange("qkv_hidden_sizes", b.ToInts(sizes, "qkv_hidden_sizes"), 0);
  const std::optional<int64_t> columns = b.ExtentOf(x, b.RankOf(x) - 1);
  const int64_t sum = sizes[0] + sizes[1] + sizes[2];
  if (columns && *columns != sum)
    b.Invalid("the sum of attribute 'qkv_hidden_sizes' is {}; the weights have {} columns", sum, *columns);
  std::vector<ValueId> parts;
  int64_t at = 0;
  for (const char* name : {"query", "key", "value"}) {
    const int64_t size = sizes[parts.size()];
    parts.push_back(EmitSlice(b, name, x, 2, at, at + size));
    at += size;
  }
  return parts;
}

void OutputAttention(OnnxBuilder& b, const PackedAttention& from) {
  if (b.Flag("do_rotary")) b.Unsupported("rotates its inputs");
  if (b.Flag("past_present_share_buffer")) b.Unsupported("keeps past and present in one buffer");
  ValueId x = b.Emit("projected", OpCode::kMatMul, {from.input, from.weights}, MatMulAttrs{});
  if (from.bias != kNoValue) x = EmitAdd(b, "projected_biased", x, from.bias);
  std::vector<ValueId> inputs = SplitProjections(b, x);
  ValueId mask = from.mask == kNoValue ? kNoValue : EmitMask(b, from.mask, x, from.past);
  if (from.scores_bias != kNoValue)
    mask = mask == kNoValue ? from.scores_bias : EmitAdd(b, "scores_bias", mask, from.scores_bias);
  inputs.push_back(mask);
  if (from.past != kNoValue) {
    for (const char* part : {"past_key", "past_value"}) {
      const int64_t at = static_cast<int64_t>(inputs.size()) - 4;
      const ValueId slice = EmitSlice(b, fmt::format("{}_part", part).c_str(), from.past, 0, at, at + 1);
      inputs.push_back(b.Emit(part, OpCode::kSqueeze, {slice}, AxesAttrs{{0}}));
    }
  }
  OnnxAttributes attributes = {OnnxAttribute("q_num_heads", b.RequiredInt("num_heads")),
                               OnnxAttribute("kv_num_heads", b.RequiredInt("num_heads")),
                               OnnxAttribute("is_causal", b.Int("unidirectional", 0))};
  if (b.HasAttribute("scale")) attributes.push_back(OnnxAttribute("scale", b.Float("scale", 0)));
  if (!b.OutputUsed(1)) {
    EmitOnnx(b, nullptr, "Attention", kNewestOnnxOpset, std::move(inputs), attributes);
    return;
  }
  const std::vector<ValueId> made = EmitAllOnnx(b, {"context", "present_key", "present_value"}, "Attention",
                                                kNewestOnnxOpset, std::move(inputs), attributes);
  b.Output(OpCode::kIdentity, {made[0]});
  const ValueId keys = EmitUnsqueeze(b, "keys", made[1], {0});
  b.Output(OpCode::kConcat, {keys, EmitUnsqueeze(b, "values", made[2], {0})}, AxisAttrs{0}, 1);
}

void BuildAttention(OnnxBuilder& b) {
  OutputAttention(b, {b.Input(0), b.Input(1), b.OptionalInput(2), b.OptionalInput(3), b.OptionalInput(4),
                      b.OptionalInput(5)});
}

/// Input and weights are integers.
void BuildQAttention(OnnxBuilder& b) {
  const ValueId x = EmitReal(b, "x", b.Input(0), {b.Input(3), b.OptionalInput(6)});
  const ValueId w = EmitReal(b, "w", b.Input(1), {b.Input(4), b.OptionalInput(7), 1});
  OutputAttention(b, {x, w, b.OptionalInput(2), b.OptionalInput(5), b.OptionalInput(8), kNoValue});
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
    {"Attention", 1, kAnyOpset, BuildAttention},
    {"QAttention", 1, kAnyOpset, BuildQAttention},
    {"RotaryEmbedding", 1, kAnyOpset, BuildRotaryEmbedding},
};

}  // namespace

std::span<const OnnxOp> MicrosoftTransformerOps() { return kRows; }

}  // namespace skiff
