// Rows of com.microsoft: attention, as ONNX Runtime's optimiser and its exporters of decoders write it.
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/emit.h"
#include "import/onnx/nested.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantize.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// 1 for the first keys of each batch, of which there are `counts`, else 0: [batch, keys].
ValueId EmitFirst(OnnxBuilder& b, ValueId counts, ValueId keys) {
  const ValueId places = b.CastTo("places", EmitCount(b, "count", keys), b.DTypeOf(counts));
  return b.Emit("first", OpCode::kLess, {places, EmitUnsqueeze(b, "counts", counts, {1})});
}

/// How many keys there are, as a scalar: those of the past and those of x, along these axes.
ValueId EmitKeyCount(OnnxBuilder& b, ValueId x, int axis, ValueId past, int past_axis) {
  const ValueId own = EmitExtent(b, "own_keys", x, axis);
  return past == kNoValue ? own : EmitAdd(b, "keys", own, EmitExtent(b, "past_keys", past, past_axis));
}

/// 0 where the mask [batch, keys] or [batch, queries, keys] is 1, else the attribute mask_filter_value; with
/// an axis for the heads. A vector says how many keys each batch of x has, of the scalar `keys`.
ValueId EmitMask(OnnxBuilder& b, ValueId mask, ValueId x, const std::function<ValueId()>& keys) {
  const DType dtype = b.DTypeOf(x);
  const int rank = b.RankOf(mask);
  const std::optional<int64_t> counts = b.ExtentOf(mask, 0);
  const std::optional<int64_t> batch = b.ExtentOf(x, 0);
  if (rank == 1 && (!counts || !batch || *counts == *batch)) {
    mask = EmitSameExtent(b, "mask_counts", mask, 0, x, 0);
    mask = EmitFirst(b, mask, keys());
  } else if (rank != 2 && rank != 3) {
    b.Unsupported("has a mask of rank {}; [batch], [batch, keys] and [batch, queries, keys] are supported",
                  rank);
  }
  const ValueId hidden = EmitSub(b, "hidden", b.Scalar("one", dtype, 1), b.CastTo("mask_float", mask, dtype));
  const double filter = static_cast<double>(b.Float("mask_filter_value", -10000.0f));
  const ValueId bias = EmitMul(b, "mask_bias", hidden, b.Scalar("filter", dtype, filter));
  return EmitUnsqueeze(b, "mask_of_heads", bias, rank == 3 ? Ints{1} : Ints{1, 2});
}

/// What is added to the scores: of two, where they are not kNoValue, the sum.
ValueId EmitScoresBias(OnnxBuilder& b, ValueId mask, ValueId bias) {
  if (mask == kNoValue || bias == kNoValue) return mask == kNoValue ? bias : mask;
  return EmitAdd(b, "scores_bias", mask, bias);
}

/// The node's own outputs: ONNX's Attention, which has the past and what is kept of it as two tensors each.
void OutputOnnxAttention(OnnxBuilder& b, std::vector<ValueId> inputs, const OnnxAttributes& attributes) {
  if (!b.OutputUsed(1) && !b.OutputUsed(2)) {
    EmitOnnx(b, nullptr, "Attention", kNewestOnnxOpset, std::move(inputs), attributes);
    return;
  }
  const std::vector<ValueId> made = EmitAllOnnx(b, {"context", "present_key", "present_value"}, "Attention",
                                                kNewestOnnxOpset, std::move(inputs), attributes);
  for (size_t i = 0; i < made.size(); ++i) {
    if (b.OutputUsed(i)) b.Output(OpCode::kIdentity, {made[i]}, NoAttrs{}, i);
  }
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
  const auto key_count = [&] { return EmitKeyCount(b, x, 1, from.past, 3); };
  const ValueId mask = from.mask == kNoValue ? kNoValue : EmitMask(b, from.mask, x, key_count);
  inputs.push_back(EmitScoresBias(b, mask, from.scores_bias));
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

/// The parts of x [batch, sequence, heads, parts, head size], each with its heads in one axis.
void AddParts(OnnxBuilder& b, ValueId x, std::initializer_list<const char*> names, std::vector<ValueId>& to) {
  const int rank = b.RankOf(x);
  const auto count = static_cast<int64_t>(names.size());
  if (rank != 5 || b.ExtentOf(x, 3) != count)
    b.Invalid(
        "a tensor of rank {} is to hold {} projections; [batch, sequence, heads, {}, size] was expected",
        rank, count, count);
  int64_t at = 0;
  for (const char* name : names) {
    const ValueId part = EmitSlice(b, fmt::format("{}_part", name).c_str(), x, 3, at, at + 1);
    to.push_back(EmitReshape(b, name, part, {0, 0, -1}));
    ++at;
  }
}

/// Query, key and value, of which all, or the last two, may be one tensor.
std::vector<ValueId> MultiHeadProjections(OnnxBuilder& b) {
  std::vector<ValueId> projections;
  if (!b.HasInput(1)) {
    AddParts(b, b.Input(0), {"query", "key", "value"}, projections);
  } else if (!b.HasInput(2)) {
    projections.push_back(b.Input(0));
    AddParts(b, b.Input(1), {"key", "value"}, projections);
  } else {
    projections = {b.Input(0), b.Input(1), b.Input(2)};
  }
  return projections;
}

/// The parts of `biases`, one behind the other, to the flat projections.
void AddBiases(OnnxBuilder& b, ValueId biases, std::vector<ValueId>& projections) {
  std::vector<int64_t> ends = {0};
  for (const ValueId x : projections) {
    const std::optional<int64_t> size = b.RankOf(x) == 3 ? b.ExtentOf(x, 2) : std::nullopt;
    if (!size) OnnxBuilder::Unsupported("has biases of projections whose sizes are not known");
    ends.push_back(ends.back() + *size);
  }
  const std::optional<int64_t> all = b.ExtentOf(biases, 0);
  if (b.RankOf(biases) != 1 || (all && *all != ends.back()))
    b.Invalid("the biases (input 3) are no vector of {} numbers, as the projections have", ends.back());
  for (size_t i = 0; i < projections.size(); ++i) {
    const ValueId bias = EmitSlice(b, fmt::format("bias_{}", i).c_str(), biases, 0, ends[i], ends[i + 1]);
    projections[i] = EmitAdd(b, fmt::format("biased_{}", i).c_str(), projections[i], bias);
  }
}

/// Inputs: query, key, value, which one tensor may have together; a bias for all three, a mask, what is added
/// to the scores, the past.
void BuildMultiHeadAttention(OnnxBuilder& b) {
  for (const size_t input : {8u, 9u}) {
    if (b.HasInput(input)) b.Unsupported("keeps past and present in one buffer");
  }
  if (b.OutputUsed(3)) b.Unsupported("has its scores as a result");
  std::vector<ValueId> inputs = MultiHeadProjections(b);
  if (b.HasInput(3)) AddBiases(b, b.Input(3), inputs);
  const ValueId past = b.OptionalInput(6);
  const auto keys = [&] { return EmitKeyCount(b, inputs[1], b.RankOf(inputs[1]) == 4 ? 2 : 1, past, 2); };
  const ValueId mask = b.HasInput(4) ? EmitMask(b, b.Input(4), inputs[0], keys) : kNoValue;
  inputs.push_back(EmitScoresBias(b, mask, b.OptionalInput(5)));
  if (past != kNoValue) inputs.insert(inputs.end(), {past, b.Input(7)});
  OnnxAttributes attributes = {OnnxAttribute("q_num_heads", b.RequiredInt("num_heads")),
                               OnnxAttribute("kv_num_heads", b.RequiredInt("num_heads")),
                               OnnxAttribute("is_causal", b.Int("unidirectional", 0))};
  if (b.HasAttribute("scale")) attributes.push_back(OnnxAttribute("scale", b.Float("scale", 0)));
  OutputOnnxAttention(b, std::move(inputs), attributes);
}

/// What decoders have: query, key, value, the past, how many keys each sample has less one and how many there
/// are, cosines and sines, positions, what is added to the scores.
class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(OnnxBuilder& b)
      : b_(b), heads_(b.RequiredInt("num_heads")), key_heads_(b.RequiredInt("kv_num_heads")) {
    b.CheckRange("num_heads", {heads_}, 1);
    b.CheckRange("kv_num_heads", {key_heads_}, 1);
    if (b.Int("smooth_softmax", 0) > 0 || b.HasInput(11)) b.Unsupported("has a head sink");
    if (b.HasInput(12) || b.HasInput(13)) b.Unsupported("keeps its past as integers");
    if (b.OutputUsed(3)) b.Unsupported("has its scores as a result");
  }

  void Output() {
    std::vector<ValueId> inputs = Projections();
    if (b_.Flag("do_rotary")) {
      const ValueId positions = Positions(inputs[0]);
      inputs[0] = Rotated("query_rotated", inputs[0], heads_, positions);
      inputs[1] = Rotated("key_rotated", inputs[1], key_heads_, positions);
    }
    if (b_.HasInput(3)) inputs[0] = Counted(inputs[0]);
    inputs.push_back(b_.OptionalInput(10));
    if (b_.HasInput(3)) inputs.insert(inputs.end(), {b_.Input(3), b_.Input(4)});
    const int64_t window = b_.Int("local_window_size", -1);
    OnnxAttributes attributes = {
        OnnxAttribute("q_num_heads", heads_), OnnxAttribute("kv_num_heads", key_heads_),
        OnnxAttribute("is_causal", int64_t{1}), OnnxAttribute("softcap", b_.Float("softcap", 0.0f)),
        OnnxAttribute("left_window_size", window > 0 ? window - 1 : -1)};
    if (const float scale = b_.Float("scale", 0.0f); scale != 0.0f)
      attributes.push_back(OnnxAttribute("scale", scale));
    OutputOnnxAttention(b_, std::move(inputs), attributes);
  }

 private:
  /// Of one tensor, or three.
  std::vector<ValueId> Projections() {
    const ValueId x = b_.Input(0);
    if (b_.HasInput(1)) return {x, b_.Input(1), b_.Input(2)};
    const std::optional<int64_t> all = b_.ExtentOf(x, 2);
    const int64_t parts = heads_ + 2 * key_heads_;
    if (!all) OnnxBuilder::Unsupported("needs to know the size of its heads; export with that extent fixed");
    if (*all % parts != 0) b_.Invalid("{} columns cannot be divided into {} heads", *all, parts);
    const int64_t size = *all / parts;
    const int64_t keys = heads_ * size;
    const int64_t values = keys + key_heads_ * size;
    return {EmitSlice(b_, "query", x, 2, 0, keys), EmitSlice(b_, "key", x, 2, keys, values),
            EmitSlice(b_, "value", x, 2, values, *all)};
  }

  /// Behind those of the past: [1, steps].
  ValueId Positions(ValueId x) {
    if (b_.HasInput(9)) return b_.Input(9);
    ValueId places = EmitCount(b_, "places", EmitExtent(b_, "steps", x, 1));
    if (b_.HasInput(3))
      places = EmitAdd(b_, "positions", places, EmitExtent(b_, "past_steps", b_.Input(3), 2));
    return EmitUnsqueeze(b_, "positions_of_all", places, {0});
  }

  ValueId Rotated(const char* suffix, ValueId x, int64_t heads, ValueId positions) {
    const std::optional<int64_t> columns = b_.ExtentOf(b_.Input(7), 1);
    const std::optional<int64_t> hidden = b_.ExtentOf(x, 2);
    const bool partial = columns && hidden && 2 * *columns < *hidden / heads;
    return EmitOnnx(
        b_, suffix, "RotaryEmbedding", kNewestOnnxOpset, {x, b_.Input(7), b_.Input(8), positions},
        {OnnxAttribute("num_heads", heads), OnnxAttribute("interleaved", b_.Int("rotary_interleaved", 0)),
         OnnxAttribute("rotary_embedding_dim", partial ? 2 * *columns : int64_t{0})});
  }

  /// Keys lie one behind the other, which samples of different lengths do not beyond the first call: rather
  /// NaN than a number that is wrong.
  ValueId Counted(ValueId query) {
    const ValueId past = EmitExtent(b_, "past_count", b_.Input(3), 2);
    const ValueId last =
        EmitSub(b_, "last_key", EmitAdd(b_, "key_count", past, EmitExtent(b_, "own", query, 1)),
                b_.Scalar("one_key", DType::kI64, 1));
    const ValueId said = EmitSameExtent(
        b_, "last_of_samples",
        EmitReshape(b_, "last_of_sample", b_.CastTo("said", b_.Input(5), DType::kI64), {-1, 1, 1}), 0, query,
        0);
    const ValueId starts = b_.Emit("starts", OpCode::kEqual, {past, b_.Scalar("no_key", DType::kI64, 0)});
    const ValueId known =
        b_.Emit("known", OpCode::kOr, {starts, b_.Emit("as_many", OpCode::kEqual, {said, last})});
    const DType dtype = b_.DTypeOf(query);
    const ValueId alarm = b_.Emit("alarm", OpCode::kWhere,
                                  {known, b_.Scalar("none", dtype, 0),
                                   b_.Scalar("unknown", dtype, std::numeric_limits<double>::quiet_NaN())});
    return EmitAdd(b_, "query_known", query, alarm);
  }

  OnnxBuilder& b_;
  const int64_t heads_;
  const int64_t key_heads_;
};

void BuildGroupQueryAttention(OnnxBuilder& b) { GroupQueryAttention(b).Output(); }

constexpr OnnxOp kRows[] = {
    {"Attention", 1, kAnyOpset, BuildAttention},
    {"QAttention", 1, kAnyOpset, BuildQAttention},
    {"MultiHeadAttention", 1, kAnyOpset, BuildMultiHeadAttention},
    {"GroupQueryAttention", 1, kAnyOpset, BuildGroupQueryAttention},
};

}  // namespace

std::span<const OnnxOp> MicrosoftAttentionOps() { return kRows; }

}  // namespace skiff
