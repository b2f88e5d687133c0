// ONNX rows: attention and rotary position embeddings, as products, softmax and views.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [batch, heads, sequence, head size] of an input that may be [batch, sequence, heads * head size].
ValueId SplitHeads(OnnxBuilder& b, const char* suffix, ValueId x, const char* heads_attribute) {
  const int rank = b.RankOf(x);
  if (rank == 4) return x;
  if (rank != 3) b.Invalid("an input has rank {}; 3 or 4 was expected", rank);
  const int64_t heads = b.RequiredInt(heads_attribute);
  if (heads < 1) b.Invalid("attribute '{}' is {}; at least 1 was expected", heads_attribute, heads);
  const ValueId split = EmitReshape(b, fmt::format("{}_split", suffix).c_str(), x, {0, 0, heads, -1});
  return EmitTranspose(b, suffix, split, {0, 2, 1, 3});
}

/// How many heads x [batch, heads, ...] has.
int64_t HeadsOf(OnnxBuilder& b, ValueId x) {
  const std::optional<int64_t> heads = b.ExtentOf(x, 1);
  if (!heads) OnnxBuilder::Unsupported("needs to know its number of heads; export with that extent fixed");
  return *heads;
}

ValueId Scaled(OnnxBuilder& b, ValueId query) {
  const DType dtype = b.DTypeOf(query);
  const std::optional<int64_t> head_size = b.ExtentOf(query, 3);
  if (!b.HasAttribute("scale") && !head_size) {
    const ValueId size = b.CastTo("head_size_float", EmitExtent(b, "head_size", query, 3), dtype);
    return EmitDiv(b, "query_scaled", query, b.Emit("head_size_root", OpCode::kSqrt, {size}));
  }
  const double scale = b.HasAttribute("scale") ? static_cast<double>(b.Float("scale", 1.0f))
                                               : 1 / std::sqrt(static_cast<double>(*head_size));
  return EmitMul(b, "query_scaled", query, b.Scalar("scale", dtype, scale));
}

/// past and `x` along the sequence; also ONNX output `present`.
ValueId WithPast(OnnxBuilder& b, const char* suffix, ValueId x, size_t past, size_t present) {
  if (b.HasInput(past)) x = b.Emit(suffix, OpCode::kConcat, {b.Input(past), x}, AxisAttrs{2});
  if (b.OutputUsed(present)) b.Output(OpCode::kIdentity, {x}, NoAttrs{}, present);
  return x;
}

/// 0 where a place takes part, minus infinity elsewhere.
ValueId BiasOf(OnnxBuilder& b, const char* suffix, ValueId allowed, DType dtype) {
  const ValueId zero = b.Scalar(fmt::format("{}_yes", suffix).c_str(), dtype, 0);
  const ValueId never = b.Scalar(fmt::format("{}_no", suffix).c_str(), dtype, kMinusInfinity);
  return b.Emit(suffix, OpCode::kWhere, {allowed, zero, never});
}

/// How many keys of a cache count, [batch, 1, 1, 1].
ValueId UsedKeys(OnnxBuilder& b) {
  return EmitUnsqueeze(b, "used_keys", b.CastTo("used", b.Input(6), DType::kI64), {1, 2, 3});
}

/// The key that each query stands at: i + the length of the past. Where the cache says how many keys count,
/// the last query is at the last of these.
ValueId QueryPlaces(OnnxBuilder& b, ValueId query) {
  const ValueId length = EmitExtent(b, "query_length", query, 2);
  const ValueId rows = EmitCount(b, "query_place", length);
  ValueId places = EmitUnsqueeze(b, "query_column", rows, {1});
  if (b.HasInput(4)) places = EmitAdd(b, "last_key", places, EmitExtent(b, "past_length", b.Input(4), 2));
  if (b.HasInput(6)) places = EmitAdd(b, "last_used", places, EmitSub(b, "offset", UsedKeys(b), length));
  return places;
}

/// How many keys to this side of its own a query sees at most; nothing where there is no bound.
std::optional<int64_t> WindowOf(OnnxBuilder& b, const char* attribute) {
  constexpr int64_t kBeyondAllKeys = int64_t{1} << 40;
  const int64_t keys = b.Int(attribute, -1);
  if (keys < -1) b.Invalid("attribute '{}' is {}; at least -1 was expected", attribute, keys);
  return keys < 0 ? std::nullopt : std::optional(std::min(keys, kBeyondAllKeys));
}

struct Windows {
  std::optional<int64_t> left;
  std::optional<int64_t> right;
};

/// Whether a query sees a key, by their places; kNoValue where each sees all.
ValueId SeenKeys(OnnxBuilder& b, ValueId query, ValueId key, const Windows& windows) {
  const bool causal = b.Flag("is_causal");
  const bool by_place = causal || windows.left || windows.right;
  if (!by_place && !b.HasInput(6)) return kNoValue;
  const ValueId places = by_place ? QueryPlaces(b, query) : kNoValue;
  const ValueId keys = EmitCount(b, "key_place", EmitExtent(b, "key_length", key, 2));
  ValueId seen = kNoValue;
  const auto require = [&](ValueId condition) {
    seen = seen == kNoValue ? condition : b.Emit("seen", OpCode::kAnd, {seen, condition});
  };
  const auto moved = [&](const char* suffix, int64_t by) {
    return EmitAdd(b, suffix, places, b.Scalar(fmt::format("{}_by", suffix).c_str(), DType::kI64, by));
  };
  // No query stands behind the keys that count.
  if (causal) require(b.Emit("causal", OpCode::kLessOrEqual, {keys, places}));
  if (b.HasInput(6) && !causal) require(b.Emit("used_place", OpCode::kLess, {keys, UsedKeys(b)}));
  if (windows.left)
    require(b.Emit("not_before", OpCode::kGreaterOrEqual, {keys, moved("first_seen", -*windows.left)}));
  if (windows.right && !causal)
    require(b.Emit("not_behind", OpCode::kLessOrEqual, {keys, moved("last_seen", *windows.right)}));
  return seen;
}

/// Input 3, which says nothing of the keys behind its end: these take no part.
ValueId MaskBias(OnnxBuilder& b, ValueId key, DType dtype) {
  const ValueId given = b.Input(3);
  const ValueId mask = b.DTypeOf(given) == DType::kBool ? BiasOf(b, "mask_bias", given, dtype)
                                                        : b.CastTo("mask_cast", given, dtype);
  const int64_t axis = b.RankOf(mask) - 1;
  const std::optional<int64_t> stated = b.ExtentOf(mask, axis);
  const std::optional<int64_t> keys = b.ExtentOf(key, 2);
  if (!stated || !keys || *stated == 1 || *stated >= *keys) return mask;
  return b.Emit("mask_filled", OpCode::kPad,
                {mask, b.ConstantInts("mask_pads", {0, *keys - *stated}),
                 b.Scalar("masked", dtype, kMinusInfinity), b.ConstantInts("mask_axis", {axis})},
                PadAttrs{});
}

/// What is added to the scores. `alive` is 0 for queries that may see no key and 1 for others, or kNoValue
/// where every query sees one: their probabilities are 0, and not the NaN that softmax would make of them.
struct Bias {
  ValueId as_given = kNoValue;
  ValueId finite_rows = kNoValue;  ///< 0 in the rows that are not alive.
  ValueId alive = kNoValue;
};

Bias EmitBias(OnnxBuilder& b, ValueId query, ValueId key) {
  const DType dtype = b.DTypeOf(query);
  Bias bias;
  const Windows windows = {WindowOf(b, "left_window_size"), WindowOf(b, "right_window_size")};
  const ValueId seen = SeenKeys(b, query, key, windows);
  if (seen != kNoValue)
    bias.as_given = BiasOf(b, b.Flag("is_causal") ? "causal_bias" : "used_bias", seen, dtype);
  bias.finite_rows = bias.as_given;
  // Without windows the first key is before every query.
  if (!b.HasInput(3) && !b.HasInput(6) && !windows.left && !windows.right) return bias;
  if (b.HasInput(3)) {
    const ValueId mask = MaskBias(b, key, dtype);
    bias.as_given = bias.as_given == kNoValue ? mask : EmitAdd(b, "bias", mask, bias.as_given);
  }
  const ReduceAttrs last{.axes = {-1}, .keep_dims = true};
  const ValueId highest = b.Emit("bias_max", OpCode::kReduceMax, {bias.as_given}, last);
  const ValueId dead =
      b.Emit("sees_none", OpCode::kEqual, {highest, b.Scalar("never", dtype, kMinusInfinity)});
  const ValueId zero = b.Scalar("no_weight", dtype, 0);
  bias.finite_rows = b.Emit("bias_finite", OpCode::kWhere, {dead, zero, bias.as_given});
  bias.alive = b.Emit("alive", OpCode::kWhere, {dead, zero, b.Scalar("full_weight", dtype, 1)});
  return bias;
}

ValueId Softcapped(OnnxBuilder& b, ValueId scores) {
  const float cap = b.Float("softcap", 0.0f);
  if (!(cap > 0.0f)) return scores;
  const ValueId limit = b.Scalar("softcap", b.DTypeOf(scores), static_cast<double>(cap));
  const ValueId tanh = b.Emit("softcap_tanh", OpCode::kTanh, {EmitDiv(b, "softcap_ratio", scores, limit)});
  return EmitMul(b, "softcapped", tanh, limit);
}

/// ONNX output 3 is the scores after one of the steps.
void OutputScores(OnnxBuilder& b, int64_t step, ValueId scores) {
  if (b.OutputUsed(3) && b.Int("qk_matmul_output_mode", 0) == step) {
    b.Output(OpCode::kIdentity, {scores}, NoAttrs{}, 3);
  }
}

/// They are of one batch, which products would broadcast.
void CheckBatches(OnnxBuilder& b) {
  const std::optional<int64_t> batch = b.ExtentOf(b.Input(0), 0);
  for (const size_t input : {1u, 2u}) {
    const std::optional<int64_t> here = b.ExtentOf(b.Input(input), 0);
    if (batch && here && *here != *batch)
      b.Invalid("input {} has a batch of {}; {} was expected, as the query has", input, *here, *batch);
  }
}

/// Several query heads share a key head: they become further rows of one product, which is a view.
void BuildAttention(OnnxBuilder& b) {
  const bool flat = b.RankOf(b.Input(0)) == 3;
  const ValueId query = SplitHeads(b, "query", b.Input(0), "q_num_heads");
  const DType dtype = b.DTypeOf(query);
  CheckBatches(b);
  if (!IsFloat(dtype)) b.Invalid("the query is {}; a floating-point type was expected", DTypeName(dtype));
  if (b.HasInput(4) != b.HasInput(5))
    b.Invalid("past_key and past_value belong together, but one is missing");
  if (b.HasInput(4) && b.HasInput(6))
    b.Invalid("nonpad_kv_seqlen counts the keys of a cache, but there is past_key");
  const ValueId key = WithPast(b, "key_cache", SplitHeads(b, "key", b.Input(1), "kv_num_heads"), 4, 1);
  const ValueId value = WithPast(b, "value_cache", SplitHeads(b, "value", b.Input(2), "kv_num_heads"), 5, 2);
  const int64_t heads = HeadsOf(b, query);
  const int64_t key_heads = HeadsOf(b, key);
  if (key_heads < 1 || heads % key_heads != 0) {
    b.Invalid("{} heads of the query cannot share {} heads of the key", heads, key_heads);
  }
  const auto regroup = [&](const char* suffix, ValueId x, int64_t count) {
    return heads == key_heads ? x : EmitReshape(b, suffix, x, {0, count, -1, 0});
  };
  const ValueId product =
      b.Emit("product", OpCode::kMatMul, {regroup("query_rows", Scaled(b, query), key_heads), key},
             MatMulAttrs{.transpose_b = true});
  const ValueId scores = regroup("scores", product, heads);
  OutputScores(b, 0, scores);
  const ValueId capped = Softcapped(b, scores);
  OutputScores(b, 1, capped);
  const Bias bias = EmitBias(b, query, key);
  const bool biased = bias.as_given != kNoValue;
  if (b.OutputUsed(3))
    OutputScores(b, 2, biased ? EmitAdd(b, "scores_biased", capped, bias.as_given) : capped);
  ValueId logits = biased ? EmitAdd(b, "logits", capped, bias.finite_rows) : capped;
  logits = b.CastTo("logits_cast", logits, b.DTypeAttribute("softmax_precision", dtype));
  ValueId weights =
      b.CastTo("weights_cast", b.Emit("weights", OpCode::kSoftmax, {logits}, AxisAttrs{-1}), dtype);
  if (bias.alive != kNoValue) weights = EmitMul(b, "weights_alive", weights, bias.alive);
  OutputScores(b, 3, weights);
  const std::vector<ValueId> factors = {regroup("weight_rows", weights, key_heads),
                                        b.CastTo("value_cast", value, dtype)};
  if (!flat && heads == key_heads) return b.Output(OpCode::kMatMul, factors, MatMulAttrs{});
  const ValueId context = b.Emit("context", OpCode::kMatMul, factors, MatMulAttrs{});
  if (!flat)
    return b.Output(OpCode::kReshape, {context, b.ConstantInts("heads", {0, heads, -1, 0})}, ReshapeAttrs{});
  const ValueId rows =
      EmitTranspose(b, "context_rows", regroup("context_heads", context, heads), {0, 2, 1, 3});
  b.Output(OpCode::kReshape, {rows, b.ConstantInts("flat", {0, 0, -1})}, ReshapeAttrs{});
}

/// The two halves of each rotated pair: neighbours, or the first and second half of the vector.
struct Pair {
  ValueId x = kNoValue;
  ValueId y = kNoValue;
};

Pair SplitPairs(OnnxBuilder& b, ValueId rotated, bool interleaved, int64_t size) {
  const int64_t end = std::numeric_limits<int64_t>::max();
  if (interleaved)
    return {EmitSlice(b, "even", rotated, 3, 0, end, 2), EmitSlice(b, "odd", rotated, 3, 1, end, 2)};
  return {EmitSlice(b, "first", rotated, 3, 0, size / 2), EmitSlice(b, "second", rotated, 3, size / 2, size)};
}

ValueId JoinPairs(OnnxBuilder& b, const Pair& pair, bool interleaved) {
  if (!interleaved) return b.Emit("rotated", OpCode::kConcat, {pair.x, pair.y}, AxisAttrs{3});
  const ValueId joined = b.Emit(
      "pairs", OpCode::kConcat,
      {EmitUnsqueeze(b, "pair_x", pair.x, {4}), EmitUnsqueeze(b, "pair_y", pair.y, {4})}, AxisAttrs{4});
  return EmitReshape(b, "rotated", joined, {0, 0, 0, -1});
}

/// What has a row for each step of each sample of x, by its first two axes.
void CheckSteps(OnnxBuilder& b, const char* what, ValueId rows) {
  const ValueId x = b.Input(0);
  const int64_t axes_of_x[] = {0, b.RankOf(x) == 4 ? 2 : 1};
  // Where the row of another operator asks, one list may be for all samples.
  const bool shared = b.node().input_size() == 0;
  for (int64_t axis = 0; axis < 2; ++axis) {
    const std::optional<int64_t> here = b.ExtentOf(rows, axis);
    const std::optional<int64_t> expected = b.ExtentOf(x, axes_of_x[axis]);
    if (here && expected && *here != *expected && !(shared && axis == 0 && *here == 1))
      b.Invalid("the {} have {} {}; {} were expected, as the input has", what, *here,
                axis == 0 ? "samples" : "steps", *expected);
  }
}

/// Inputs: x, the cosines and sines of all positions (or of this call's), the positions or nothing. Works in
/// the given order of axes: heads are axis 1 of an input of rank 4, axis 2 of a flat one.
void BuildRotaryEmbedding(OnnxBuilder& b) {
  ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  if (rank != 3 && rank != 4) b.Invalid("the input has rank {}; 3 or 4 was expected", rank);
  if (rank == 3) {
    const int64_t heads = b.RequiredInt("num_heads");
    if (heads < 1) b.Invalid("attribute 'num_heads' is {}; at least 1 was expected", heads);
    x = EmitReshape(b, "heads", x, {0, 0, heads, -1});
  }
  int64_t size = b.Int("rotary_embedding_dim", 0);
  const std::optional<int64_t> head_size = b.ExtentOf(x, 3);
  const bool partial = size != 0 && size != head_size;
  if (size == 0) {
    if (!head_size)
      OnnxBuilder::Unsupported("needs to know the size of a head; export with that extent fixed");
    size = *head_size;
  }
  if (size < 1 || size % 2 != 0 || (head_size && size > *head_size)) {
    b.Invalid("{} elements of a head{} cannot be rotated in pairs", size,
              head_size ? fmt::format(" of {}", *head_size) : "");
  }
  if (b.HasInput(3) && b.HasRank(b.Input(3), 2)) CheckSteps(b, "positions (input 3)", b.Input(3));
  const auto angles = [&](const char* suffix, size_t input) {
    ValueId cache = b.Input(input);
    const std::string what = fmt::format("{}s (input {})", suffix, input);
    if (!b.HasInput(3) && b.HasRank(cache, 3)) CheckSteps(b, what.c_str(), cache);
    const auto name = [&](const char* step) { return fmt::format("{}_{}", suffix, step); };
    // Caches made for whole heads serve partial rotation too: their first columns count.
    const int last = b.RankOf(cache) - 1;
    const int64_t columns = b.ExtentOf(cache, last).value_or(size / 2);
    if (columns < size / 2)
      b.Invalid("the {} have {} columns; {} were expected, for {} rotated elements", what, columns, size / 2,
                size);
    if (columns > size / 2) cache = EmitSlice(b, name("columns").c_str(), cache, last, 0, size / 2);
    if (b.HasInput(3)) {
      cache = b.Emit(name("of_call").c_str(), OpCode::kGather, {cache, b.Input(3)}, AxisAttrs{0});
    }
    return EmitUnsqueeze(b, suffix, cache, {rank == 3 ? 2 : 1});
  };
  const ValueId cosine = angles("cosine", 1);
  const ValueId sine = angles("sine", 2);
  const bool interleaved = b.Flag("interleaved");
  const Pair in = SplitPairs(b, partial ? EmitSlice(b, "turning", x, 3, 0, size) : x, interleaved, size);
  const Pair out = {
      EmitSub(b, "real", EmitMul(b, "cos_x", cosine, in.x), EmitMul(b, "sin_y", sine, in.y)),
      EmitAdd(b, "imaginary", EmitMul(b, "sin_x", sine, in.x), EmitMul(b, "cos_y", cosine, in.y))};
  ValueId y = JoinPairs(b, out, interleaved);
  if (partial) {
    const ValueId rest = EmitSlice(b, "rest", x, 3, size, std::numeric_limits<int64_t>::max());
    y = b.Emit("joined", OpCode::kConcat, {y, rest}, AxisAttrs{3});
  }
  if (rank == 4) return b.Output(OpCode::kIdentity, {y});
  b.Output(OpCode::kReshape, {y, b.ConstantInts("flat", {0, 0, -1})}, ReshapeAttrs{});
}

constexpr OnnxOp kRows[] = {
    {"Attention", 23, kNewest, BuildAttention},
    {"RotaryEmbedding", 23, kNewest, BuildRotaryEmbedding},
};

}  // namespace

std::span<const OnnxOp> OnnxAttentionOps() { return kRows; }

}  // namespace skiff
