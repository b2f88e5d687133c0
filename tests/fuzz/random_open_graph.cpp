// What all steps share: Symbols, inputs, and nodes that are evaluated at each size as they are added.
#include "tests/fuzz/random_open_graph.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "tests/fuzz/random_open_graph_emit.h"

namespace skiff::testing {
namespace {

constexpr int64_t kMostElements = 3000;
/// Sums of products stay exact in f32 while their terms add up to less than 2^24.
constexpr double kLargest = 1 << 10;

TensorData WholeNumbers(std::mt19937& random, DType dtype, const Shape& shape, int low, int high) {
  TensorData data(dtype, shape);
  std::uniform_int_distribution<int> draw(low, high);
  for (int64_t i = 0; i < data.elements(); ++i) {
    if (dtype == DType::kF32) {
      static_cast<float*>(data.mutable_data())[i] = static_cast<float>(draw(random));
    } else {
      static_cast<int64_t*>(data.mutable_data())[i] = draw(random);
    }
  }
  return data;
}

bool Fits(const TensorData& data) {
  if (data.elements() > kMostElements) return false;
  const std::vector<double> elements = data.ToDoubles();
  return std::all_of(elements.begin(), elements.end(),
                     [](double element) { return std::abs(element) <= kLargest; });
}

}  // namespace

RandomOpenGraph::RandomOpenGraph(uint32_t seed) : random_(seed) {
  graph_.name = "random" + std::to_string(seed);
  DrawSymbols();
  DrawInputs();
  const int steps = Draw(4, 24);
  for (int i = 0; i < steps; ++i) AddStep();
  DrawOutputs();
}

void RandomOpenGraph::DrawSymbols() {
  struct Range {
    int64_t min, max, multiple;
    std::vector<int64_t> samples;
  };
  static const std::vector<Range> kRanges = {
      {1, 6, 1, {1, 2, 3, 5, 6}},  {0, 5, 1, {0, 1, 2, 4, 5}}, {2, 9, 1, {2, 3, 5, 8, 9}},
      {4, 12, 4, {4, 8, 12}},      {1, 3, 1, {1, 2, 3}},       {1, Symbol::kUnbounded, 1, {1, 2, 3, 7, 10}},
      {3, 10, 1, {3, 4, 7, 9, 10}}};
  const int count = Draw(1, 3);
  for (int i = 0; i < count; ++i) {
    const Range& range = kRanges[static_cast<size_t>(Draw(0, static_cast<int>(kRanges.size()) - 1))];
    const std::string name(1, static_cast<char>('n' + i));
    const SymbolId id = graph_.AddSymbol(name);
    Symbol& symbol = graph_.symbols()[static_cast<size_t>(id)];
    symbol.min = range.min;
    symbol.max = range.max;
    symbol.multiple = range.multiple;
    unbounded_ = unbounded_ || !symbol.bounded();
    dims_.push_back(Dim::OfSymbol(id, symbol));
    for (auto& sizes : sizes_) sizes[name] = Pick(range.samples);
  }
}

void RandomOpenGraph::DrawInputs() {
  const int count = Draw(1, 3);
  for (int i = 0; i < count; ++i) {
    std::vector<Dim> dims;
    const bool image = Chance(50);
    const int rank = image ? 4 : Draw(1, 3);
    for (int axis = 0; axis < rank; ++axis) {
      const bool open = (i == 0 && axis == 0) || Chance(image && axis == 3 ? 5 : 60);
      dims.push_back(open ? dims_[static_cast<size_t>(Draw(0, static_cast<int>(dims_.size()) - 1))]
                          : Dim(Pick({1, 2, 4, 6})));
    }
    const ValueId input = AddInput("x" + std::to_string(i), DType::kF32, dims, 3);
    if (input != kNoValue) pool_.push_back(input);
  }
  if (pool_.empty()) pool_.push_back(AddInput("x", DType::kF32, {dims_[0]}, 3));
  if (Chance(25)) counts_.push_back(AddInput("count", DType::kI64, {Dim(1)}, 4));
}

ValueId RandomOpenGraph::AddInput(const std::string& name, DType dtype, const std::vector<Dim>& dims,
                                  int limit) {
  skiff::Shape shapes[kSizes];
  for (size_t at = 0; at < kSizes; ++at) {
    for (const Dim& dim : dims) {
      const auto size = [&](SymbolId id) {
        return Dim(sizes_[at].at(graph_.symbols()[static_cast<size_t>(id)].name));
      };
      shapes[at].Append(dim.Replace(size).value);
    }
    if (shapes[at].elements() > kMostElements) return kNoValue;
  }
  const ValueId input = graph_.AddInput(name, dtype, dims);
  for (size_t at = 0; at < kSizes; ++at) {
    const int low = dtype == DType::kF32 ? -limit : 1;
    inputs_[at][name] = WholeNumbers(random_, dtype, shapes[at], low, limit);
    data_[at].resize(static_cast<size_t>(input) + 1);
    data_[at][static_cast<size_t>(input)] = inputs_[at][name];
  }
  return input;
}

/// What nobody reads, and some of what somebody does.
void RandomOpenGraph::DrawOutputs() {
  const auto add = [&](ValueId value) {
    std::string name = "y" + std::to_string(graph_.outputs().size());
    graph_.AddOutput(name, value);
    return name;
  };
  for (const ValueId end : ends_) inexact_.insert(add(end));
  for (const ValueId value : pool_) {
    const bool unused = graph_.value(value).uses.empty();
    if (Chance(unused ? 90 : 8) || (value == pool_.back() && graph_.outputs().empty())) add(value);
  }
}

Tensors RandomOpenGraph::Expected(size_t at) const {
  Tensors expected;
  for (const GraphPort& port : graph_.outputs()) expected[port.name] = At(port.value, at);
  return expected;
}

std::string RandomOpenGraph::Text() const {
  std::string text = PrintGraph(graph_);
  for (size_t at = 0; at < kSizes; ++at) {
    text += fmt::format("size {}:", at);
    for (const auto& [name, size] : sizes_[at]) text += fmt::format(" {}={}", name, size);
    for (const ValueId count : counts_) text += fmt::format(" count={}", At(count, at).ToInts()[0]);
    text += "\n";
  }
  return text;
}

int64_t RandomOpenGraph::Pick(const std::vector<int64_t>& from) {
  return from[static_cast<size_t>(Draw(0, static_cast<int>(from.size()) - 1))];
}

ValueId RandomOpenGraph::AnyValue() {
  // Late values more often: chains get long.
  const int last = static_cast<int>(pool_.size()) - 1;
  return pool_[static_cast<size_t>(std::max(Draw(0, last), Draw(0, last)))];
}

ValueId RandomOpenGraph::AnyOfRank(int rank) {
  for (int i = 0; i < 8; ++i) {
    const ValueId value = AnyValue();
    if (RankOf(value) == rank) return value;
  }
  return kNoValue;
}

Ints RandomOpenGraph::AnyPerm(int rank) {
  Ints perm;
  for (int i = 0; i < rank; ++i) perm[perm.size++] = i;
  std::shuffle(perm.values, perm.values + rank, random_);
  return perm;
}

int64_t RandomOpenGraph::FixedExtent(ValueId value, int axis) const {
  const Dim& dim = graph_.value(value).dims[static_cast<size_t>(axis)];
  return dim.constant() ? dim.value : -1;
}

int64_t RandomOpenGraph::SmallestExtent(ValueId value, int axis) const {
  int64_t smallest = INT64_MAX;
  for (size_t at = 0; at < kSizes; ++at) smallest = std::min(smallest, At(value, at).shape()[axis]);
  return smallest;
}

double RandomOpenGraph::Largest(ValueId value) const {
  double largest = 0;
  for (size_t at = 0; at < kSizes; ++at) {
    for (const double element : At(value, at).ToDoubles()) largest = std::max(largest, std::abs(element));
  }
  return largest;
}

ValueId RandomOpenGraph::Constant(const TensorData& data) {
  const ValueId value = graph_.AddConstant("", data);
  for (auto& values : data_) {
    values.resize(static_cast<size_t>(value) + 1);
    values[static_cast<size_t>(value)] = data;
  }
  return value;
}

ValueId RandomOpenGraph::Weights(const skiff::Shape& shape) {
  return Constant(WholeNumbers(random_, DType::kF32, shape, -2, 2));
}

/// A value, or a constant, that may broadcast with this one.
ValueId RandomOpenGraph::Partner(ValueId value) {
  if (Chance(60)) return AnyValue();
  skiff::Shape constant;
  for (int axis = Draw(0, RankOf(value)); axis < RankOf(value); ++axis) {
    const int64_t extent = FixedExtent(value, axis);
    constant.Append(extent < 0 || Chance(40) ? 1 : extent);
  }
  return Weights(constant);
}

RandomOpenGraph::Values RandomOpenGraph::EmitWithStorage(OpCode op, const Values& inputs,
                                                         const AttrStorage& attrs, size_t outputs) {
  std::vector<TensorData> results[kSizes];
  for (size_t at = 0; at < kSizes; ++at) {
    std::vector<const TensorData*> arguments;
    for (const ValueId input : inputs) arguments.push_back(input == kNoValue ? nullptr : &At(input, at));
    try {
      results[at] = EvaluateOp(op, attrs, arguments, outputs, "random");
    } catch (const Error&) {
      return {};  // Not at this size.
    }
    if (!std::all_of(results[at].begin(), results[at].end(), Fits)) return {};
    const int rank = results[at][0].shape().rank();
    if (rank > 5 || rank != results[0][0].shape().rank()) return {};
  }
  const NodeId id = graph_.AddNode(op, inputs, std::vector<std::string>(outputs));
  graph_.node(id).attrs = attrs;
  try {
    InferNode(graph_, id);
  } catch (const Error& error) {
    graph_.AddOutput("refused", graph_.node(id).outputs[0]);
    Throw(error.code(), "{}\n{}", error.what(), Text());
  }
  Values made = graph_.node(id).outputs;
  for (size_t at = 0; at < kSizes; ++at) {
    data_[at].resize(static_cast<size_t>(graph_.value_count()));
    for (size_t i = 0; i < outputs; ++i) data_[at][static_cast<size_t>(made[i])] = results[at][i];
  }
  return made;
}

void RandomOpenGraph::Keep(ValueId value) {
  if (value != kNoValue) pool_.push_back(value);
}

void RandomOpenGraph::End(ValueId value) {
  if (value != kNoValue) ends_.push_back(value);
}

ValueId RandomOpenGraph::ExtentOf(ValueId value, int axis) {
  const ValueId shape = One(OpCode::kShape, {value}, ShapeAttrs());
  if (Chance(70)) return One(OpCode::kGather, {shape, Numbers({axis})}, AxisAttrs());
  const ValueId scalar =
      One(OpCode::kGather, {shape, Constant(TensorData::OfInts({axis}).Reshaped({}))}, AxisAttrs());
  return One(OpCode::kUnsqueeze, {scalar}, AxesAttrs{{0}});
}

ValueId RandomOpenGraph::Join(const Values& parts) {
  return parts.size() == 1 ? parts[0] : One(OpCode::kConcat, parts, AxisAttrs());
}

void RandomOpenGraph::AddStep() {
  int total = 0;
  for (const Step* step = kSteps; step->add != nullptr; ++step) total += step->weight;
  int drawn = Draw(0, total - 1);
  for (const Step* step = kSteps; step->add != nullptr; ++step) {
    drawn -= step->weight;
    if (drawn < 0) return (this->*step->add)();
  }
}

}  // namespace skiff::testing
