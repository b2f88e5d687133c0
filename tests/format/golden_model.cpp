#include "tests/format/golden_model.h"

#include "convert.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "state.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// A picture in, probabilities of labelled classes out; also for the GPU.
constexpr const char* kClassify = R"(graph classify {
  input picture: f32[1, 8, 8, 3]
  const stem_weights: f32[8, 3, 3, 3] = seed 1
  const stem_bias: f32[8] = seed 2
  const depthwise_weights: f32[8, 3, 3, 1] = seed 3
  const class_weights: f32[4, 16] = seed 4
  const flat: i64[2] = [1, 16]
  stem = Conv2d(picture, stem_weights, stem_bias) {strides=[2, 2], pads=[1, 1, 1, 1], min=0}
  depthwise = Conv2d(stem, depthwise_weights, _) {pads=[1, 1, 1, 1], groups=8, min=0, max=6}
  sum = Add(stem, depthwise)
  active = HardSwish(sum)
  joined = Concat(sum, active) {axis=3}
  pooled = MaxPool2d(joined) {kernel=[2, 2], strides=[2, 2]}
  mean = ReduceMean(pooled) {axes=[1, 2]}
  row = Reshape(mean, flat)
  scores = FullyConnected(row, class_weights, _)
  probabilities = Softmax(scores) {axis=1}
  output probabilities
})";

/// Open dimensions with contracts, an exact bucket beside the range, and arithmetic of shapes.
constexpr const char* kTokens = R"(graph tokens {
  symbol batch: 1..4
  symbol length: 2..16 multiple 2
  input ids: i64[batch, length]
  const table: f32[10, 8] = seed 11
  const gain: f32[8] = seed 12
  const mix: f32[8, 8] = seed 13
  const pair: i64[2] = [-1, 16]
  rows = Gather(table, ids)
  normal = LayerNorm(rows, gain, _)
  query = MatMul(normal, mix)
  key = Transpose(normal) {perm=[0, 2, 1]}
  likeness = MatMul(query, key)
  share = Softmax(likeness) {axis=2}
  mixed = MatMul(share, normal)
  count = Shape(ids) {end=1}
  target = Concat(count, pair) {axis=0}
  pairs = Reshape(mixed, target)
  output pairs
})";

/// Nothing bounds n, and the elements of an input decide a shape.
constexpr const char* kRepeat = R"(graph repeat {
  input x: f32[n, 3]
  input repeats: i64[2]
  const factors: f32[3] = [0.5, -1, 2]
  scaled = Mul(x, factors)
  tiled = Tile(scaled, repeats)
  half = Cast(tiled) {to=f16}
  output tiled
  output half
})";

/// Bodies that choose, and a variable: the last input and the last output.
constexpr const char* kCount = R"(graph count {
  input x: f32[4]
  input add: bool[]
  input total: f32[4]
  const two: f32[] = 2
  next = If(add, x, total) then {
    input x
    input total
    sum = Add(total, x)
    output sum
  } else {
    input x
    input total
    difference = Sub(total, x)
    output difference
  }
  twice = Mul(next, two)
  output twice
  output total = next
})";

/// Bodies that repeat.
constexpr const char* kSwap = R"(graph swap {
  input times: i64[]
  input a: f32[5]
  input b: f32[5]
  const zero: i64[] = 0
  i, p, q = While(zero, a, b, times) condition {
    input i
    input a
    input b
    input times
    go = Less(i, times)
    output go
  } body {
    input i
    input a
    input b
    input times
    const one: i64[] = 1
    next = Add(i, one)
    output next
    output b
    output a
  }
  output p
  output q
})";

/// Quantised tensors: per tensor, per channel, in blocks, and in half a byte.
constexpr const char* kQuantized = R"(graph quantized {
  input image: u8[1, 6, 6, 3] {scale=0.0078125, zero_point=128}
  const stem_weights: i8[4, 3, 3, 3] {scale=[0.01, 0.02, 0.005, 0.013], axis=0} = seed 31
  const stem_bias: i32[4] {scale=[0.000078125, 0.00015625, 0.0000390625, 0.0001015625], axis=0} = [10, -20, 3000, 4]
  const class_weights: i4[5, 4] {scale=[0.1, 0.2, 0.05, 0.07, 0.3], zero_point=[0, 1, 0, -1, 0], axis=0} = seed 32
  const mix_weights: u8[4, 5] {scale=[0.5, 0.25, 0.5, 1, 2, 0.125, 0.5, 0.25, 1, 1], zero_point=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], axis=0, block=2} = seed 33
  const flat: i64[2] = [1, 4]
  stem: u8[1, 6, 6, 4] {scale=0.011, zero_point=120} = Conv2d(image, stem_weights, stem_bias) {pads=[1, 1, 1, 1]}
  mean: u8[1, 1, 1, 4] {scale=0.011, zero_point=120} = AveragePool2d(stem) {kernel=[6, 6]}
  row = Reshape(mean, flat)
  scores: i8[1, 5] {scale=0.05, zero_point=-3} = FullyConnected(row, class_weights, _)
  narrow: i8[1, 5] {scale=0.1} = Requantize(scores)
  likely: u8[1, 5] {scale=0.00390625} = Softmax(narrow)
  mix = Dequantize(mix_weights)
  mixed = MatMul(row, mix)
  output likely
  output mixed
})";

/// Weights that are narrower in the file than in memory: halves, and blocks of integers of four bits.
constexpr const char* kNarrow = R"(graph narrow {
  input x: f32[2, 8]
  const halves: f16[128, 8] = seed 41
  const codes: i4[128, 10] {scale=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.05], zero_point=[0, 1, 2, 3, 4, 5, 6, 7, 0, -1, -2, -3, -4, -5, -6, -7, -8, 0, 1, 2], axis=0, block=64} = seed 42
  wide = Cast(halves) {to=f32}
  numbers = Dequantize(codes)
  rows = FullyConnected(x, wide, _)
  y = MatMul(rows, numbers)
  output y
})";

/// A variable that is updated where it lies.
constexpr const char* kRows = R"(graph rows {
  input at: i64[2, 1]
  input row: f32[2, 3]
  input lines: f32[5, 3]
  written = ScatterND(lines, at, row)
  sum = ReduceSum(written) {axes=[0]}
  output sum
  output written
})";

Graph RowsGraph() {
  Graph graph = ParseGraph(kRows);
  KeepStates(graph, {{"lines", "written"}});
  return graph;
}

/// Plans what it is given, and keeps it until the file is written.
class Maker {
 public:
  /// The last `variables` inputs and outputs of the graph are the file's variables.
  void Add(const char* text, const ConvertOptions& options = {}, const std::vector<int32_t>& variables = {}) {
    Add(ParseGraph(text), options, variables);
  }
  void Add(Graph graph, const ConvertOptions& options, const std::vector<int32_t>& variables) {
    planned_.push_back(PlanGraph(std::move(graph), options));
    SignatureDraft signature = SignatureOf(*planned_.back());
    signature.name = planned_.back()->graph.name;
    signature.read_variables = variables;
    signature.assigned_variables = variables;
    draft.signatures.push_back(std::move(signature));
  }

  FileDraft draft;

 private:
  std::vector<std::unique_ptr<PlannedSignature>> planned_;
};

std::vector<uint8_t> MakeFile(const TensorData& total) {
  Maker maker;
  ConvertOptions both_targets;
  both_targets.targets = {Target::kVulkan};
  maker.Add(kClassify, both_targets);
  ConvertOptions buckets;
  buckets.buckets = {{{"batch", 1}, {"length", 4}}, {{"length", {2, 8, 2}}}};
  maker.Add(kTokens, buckets);
  maker.Add(kRepeat);
  maker.Add(kCount, {}, {0});
  maker.Add(kSwap);
  maker.Add(kQuantized);
  maker.Add(kNarrow);
  maker.Add(RowsGraph(), {}, {1});
  maker.draft.variables.emplace_back("total", total);
  maker.draft.variables.emplace_back("lines", TensorData(DType::kF32, Shape{5, 3}));

  WriteOptions options;
  for (SignatureDraft& signature : maker.draft.signatures) {
    signature.ports.images["picture"] = {
        8, 8, {127.5f, 116.25f, 103.5f}, {0.0078125f, 0.015625f, 0.03125f}, true, true};
    signature.ports.labels["probabilities"] = {"cat", "dog", "bird", "fish"};
  }
  options.metadata = {{"author", "Skiff"}, {"about", "one of everything"}};
  return WriteChecked(maker.draft, options);
}

TensorData Bool(bool value) {
  const auto byte = static_cast<uint8_t>(value);
  return {DType::kBool, Shape{}, &byte};
}

TensorData Places(const std::vector<int64_t>& places) {
  return {DType::kI64, Shape{static_cast<int64_t>(places.size()), 1}, places.data()};
}

TensorData Int(int64_t value) { return {DType::kI64, Shape{}, &value}; }

}  // namespace

GoldenModel MakeGoldenModel() {
  GoldenModel golden;
  const auto call = [&](const char* text, std::map<std::string, TensorData> inputs) {
    const Graph graph = ParseGraph(text);
    golden.calls.push_back({graph.name, inputs, Evaluate(graph, inputs)});
  };
  call(kClassify, {{"picture", RandomTensor(DType::kF32, {1, 8, 8, 3}, 21)}});
  for (const Shape& shape : {Shape{1, 4}, Shape{3, 8}, Shape{4, 16}})
    call(kTokens, {{"ids", RandomTensor(DType::kI64, shape, 22)}});
  call(kRepeat, {{"x", RandomTensor(DType::kF32, {2, 3}, 23)}, {"repeats", TensorData::OfInts({2, 3})}});
  call(kRepeat, {{"x", RandomTensor(DType::kF32, {5, 3}, 24)}, {"repeats", TensorData::OfInts({3, 1})}});
  for (const int64_t times : {3, 0})
    call(kSwap, {{"times", Int(times)},
                 {"a", RandomTensor(DType::kF32, {5}, 25)},
                 {"b", RandomTensor(DType::kF32, {5}, 26)}});

  call(kQuantized, {{"image", RandomTensor(DType::kU8, {1, 6, 6, 3}, 27)}});
  call(kNarrow, {{"x", RandomTensor(DType::kF32, {2, 8}, 28)}});

  // The Session, not the caller, feeds the variable and keeps what it becomes.
  const TensorData initial = TensorData::OfFloats({1, 2, 3, 4});
  TensorData total = initial;
  for (const bool add : {true, true, false}) {
    call(kCount, {{"x", TensorData::OfFloats({0.25f, -1, 8, 0})}, {"add", Bool(add)}, {"total", total}});
    GoldenCall& made = golden.calls.back();
    total = made.outputs.at("total");
    made.inputs.erase("total");
    made.outputs.erase("total");
  }
  TensorData lines = TensorData(DType::kF32, Shape{5, 3});
  for (const uint32_t seed : {29u, 30u, 31u}) {
    call(kRows,
         {{"at", Places({seed % 5, 1})}, {"row", RandomTensor(DType::kF32, {2, 3}, seed)}, {"lines", lines}});
    GoldenCall& made = golden.calls.back();
    lines = made.outputs.at("written");
    made.inputs.erase("lines");
    made.outputs.erase("written");
  }
  golden.file = MakeFile(initial);
  return golden;
}

}  // namespace skiff::testing
