// ToNhwc on random graphs of everything that it has a rule for: the numbers stay, bit for bit, the graph
// stays well formed, source names stay true, and no more elements are moved than before.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "tests/converter/passes/layout_count.h"

namespace skiff {
namespace {

/// Small whole numbers, so that no order of summation can be told from another.
TensorData WholeNumbers(std::mt19937& random, const Shape& shape, int limit) {
  TensorData data(DType::kF32, shape);
  std::uniform_int_distribution<int> draw(-limit, limit);
  for (int64_t i = 0; i < data.elements(); ++i) {
    static_cast<float*>(data.mutable_data())[i] = static_cast<float>(draw(random));
  }
  return data;
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    graph_.name = "random";
    for (const char* name : {"a", "b"})
      pool_.push_back(
          graph_.AddInput(name, DType::kF32, {Pick({1, 2}), Pick({1, 2, 4}), Pick({1, 3, 4}), Pick({2, 6})}));
    const int steps = Draw(6, 24);
    for (int i = 0; i < steps; ++i) AddStep();
    for (int i = 0; i < 3; ++i)
      graph_.AddOutput("last" + std::to_string(i), pool_[pool_.size() - 1 - static_cast<size_t>(i)]);
    // Every value holds a source, some of them permuted, so that the pass has names to keep.
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      Value& value = graph_.value(id);
      value.source = value.name;
      if (value.producer != kNoNode && Draw(0, 1) == 0)
        value.source_perm = AnyPerm(static_cast<int>(value.dims.size()));
    }
  }

  Graph& graph() { return graph_; }
  std::mt19937& random() { return random_; }

 private:
  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int64_t Pick(const std::vector<int64_t>& from) {
    return from[static_cast<size_t>(Draw(0, static_cast<int>(from.size()) - 1))];
  }
  Shape ShapeOf(ValueId value) const { return graph_.value(value).shape(); }
  ValueId AnyValue() {
    // Late values more often: chains get long.
    const int last = static_cast<int>(pool_.size()) - 1;
    return pool_[static_cast<size_t>(std::max(Draw(0, last), Draw(0, last)))];
  }
  ValueId Ints(const std::vector<int64_t>& values) {
    return graph_.AddConstant("", TensorData::OfInts(values));
  }
  ValueId Constant(const Shape& shape) { return graph_.AddConstant("", WholeNumbers(random_, shape, 3)); }

  template <class A = NoAttrs>
  void Add(OpCode op, std::vector<ValueId> inputs, const A& attrs = {}) {
    const ValueId result = graph_.Emit(op, std::move(inputs), attrs);
    InferNode(graph_, graph_.value(result).producer);
    const Shape shape = ShapeOf(result);
    if (shape.elements() > 0 && shape.elements() <= 4096) pool_.push_back(result);
  }

  skiff::Ints AnyPerm(int rank) {
    skiff::Ints perm;
    for (int i = 0; i < rank; ++i) perm[perm.size++] = i;
    std::shuffle(perm.values, perm.values + rank, random_);
    return perm;
  }

  /// A value or a constant that broadcasts with this shape.
  ValueId Partner(const Shape& shape) {
    for (int i = 0; i < 6 && Draw(0, 3) > 0; ++i) {
      const ValueId value = AnyValue();
      const Shape other = ShapeOf(value);
      bool fits = true;
      for (int axis = 1; axis <= std::min(shape.rank(), other.rank()); ++axis) {
        const int64_t a = shape[shape.rank() - axis];
        const int64_t b = other[other.rank() - axis];
        fits &= a == b || a == 1 || b == 1;
      }
      if (fits) return value;
    }
    Shape constant;
    for (int axis = Draw(0, shape.rank()); axis < shape.rank(); ++axis)
      constant.Append(Draw(0, 1) == 0 ? 1 : shape[axis]);
    return Constant(constant);
  }

  Shape RandomReshape(const Shape& shape) {
    std::vector<int64_t> primes;
    for (int64_t extent : shape) {
      for (int64_t p = 2; p <= extent; ++p) {
        for (; extent % p == 0; extent /= p) primes.push_back(p);
      }
    }
    if (Draw(0, 3) == 0) std::shuffle(primes.begin(), primes.end(), random_);
    Shape result;
    for (int64_t prime : primes) {
      if (result.rank() > 0 && (result.rank() >= 5 || Draw(0, 1) == 0)) {
        result[result.rank() - 1] *= prime;
      } else {
        result.Append(prime);
      }
      if (result.rank() < 5 && Draw(0, 5) == 0) result.Append(1);
    }
    return result;
  }

  void AddStep() {
    const ValueId x = AnyValue();
    const Shape shape = ShapeOf(x);
    const int rank = shape.rank();
    const int axis = rank == 0 ? 0 : Draw(0, rank - 1);
    switch (Draw(0, rank == 0 ? 3 : 23)) {
      case 0:
        return Add(OpCode::kClamp, {x}, ClampAttrs{-50.0f, 50.0f});
      case 1:
        return Add(Draw(0, 1) == 0 ? OpCode::kAdd : OpCode::kMax, {x, Partner(shape)}, ClampAttrs());
      case 2:
        return Add(OpCode::kSub, {Partner(shape), x}, ClampAttrs());
      case 3:
        return Add(OpCode::kNeg, {x});
      case 4:
      case 5:
      case 6:
      case 7: {
        skiff::Ints perm = AnyPerm(rank);
        if (rank == 4 && Draw(0, 1) == 0) {
          perm = Draw(0, 1) == 0 ? skiff::Ints{0, 2, 3, 1} : skiff::Ints{0, 3, 1, 2};
        }
        return Add(OpCode::kTranspose, {x}, TransposeAttrs{perm});
      }
      case 8:
      case 9: {
        const Shape target = RandomReshape(shape);
        return Add(OpCode::kReshape, {x, Ints({target.begin(), target.end()})});
      }
      case 10: {
        std::vector<ValueId> parts{x};
        Shape other = shape;
        other[axis] = Draw(1, 3);
        parts.insert(Draw(0, 1) == 0 ? parts.begin() : parts.end(), Constant(other));
        for (ValueId value : pool_) {
          Shape same = ShapeOf(value);
          if (parts.size() >= 4 || same.rank() != rank) continue;
          same[axis] = shape[axis];
          if (same == shape) parts.push_back(value);
        }
        return Add(OpCode::kConcat, parts, AxisAttrs{axis});
      }
      case 11: {
        if (shape[axis] < 2) return;
        const NodeId id = graph_.AddNode(OpCode::kSplit, {x, Ints({1, shape[axis] - 1})}, {"", ""});
        graph_.node(id).As<SplitAttrs>().axis = axis - rank;
        InferNode(graph_, id);
        for (ValueId output : graph_.node(id).outputs) pool_.push_back(output);
        return;
      }
      case 12:
      case 13: {
        const int64_t start = Draw(0, static_cast<int>(shape[axis]) - 1);
        if (Draw(0, 2) == 0)
          return Add(OpCode::kSlice, {x, Ints({-1}), Ints({INT64_MIN}), Ints({axis}), Ints({-Draw(1, 2)})});
        if (rank > 1 && Draw(0, 1) == 0)
          return Add(OpCode::kSlice, {x, Ints({start, 0}), Ints({shape[axis], INT64_MAX}),
                                      Ints({axis, (axis + 1) % rank}), Ints({Draw(1, 2), 1})});
        return Add(OpCode::kSlice, {x, Ints({start}), Ints({start + 1}), Ints({axis})});
      }
      case 14: {
        TensorData indices = TensorData::OfInts({Draw(0, static_cast<int>(shape[axis]) - 1), -1});
        const int kind = Draw(0, 2);
        if (kind < 2) indices = TensorData(DType::kI64, kind == 0 ? Shape{} : Shape{1}, indices.data());
        return Add(OpCode::kGather, {x, graph_.AddConstant("", indices)}, AxisAttrs{axis});
      }
      case 15: {
        std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
        pads[static_cast<size_t>(axis)] = Draw(0, 2);
        pads[static_cast<size_t>(axis + rank)] = Draw(0, 1);
        return Add(OpCode::kPad, {x, Ints(pads)});
      }
      case 16: {
        std::vector<int64_t> target{shape.begin(), shape.end()};
        if (target[static_cast<size_t>(axis)] == 1) target[static_cast<size_t>(axis)] = 2;
        if (rank < 5 && Draw(0, 2) == 0) target.insert(target.begin(), 2);
        return Add(OpCode::kExpand, {x, Ints(target)});
      }
      case 17: {
        std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
        repeats[static_cast<size_t>(axis)] = 2;
        return Add(OpCode::kTile, {x, Ints(repeats)});
      }
      case 18: {
        ReduceAttrs attrs{{axis}, Draw(0, 1) == 0, false};
        if (Draw(0, 1) == 0 && rank > 1) attrs.axes = {axis, (axis + 1) % rank};
        return Add(Draw(0, 1) == 0 ? OpCode::kReduceSum : OpCode::kReduceMax, {x}, attrs);
      }
      case 19: {
        if (rank < 2) return;
        const bool swapped = Draw(0, 1) == 0;
        const int64_t columns = shape[rank - 1];
        if (Draw(0, 2) == 0)
          return Add(OpCode::kFullyConnected, {x, Constant({3, columns}), Constant({3})}, ClampAttrs());
        if (Draw(0, 1) == 0)
          return Add(OpCode::kMatMul, {x, Constant(swapped ? Shape{3, columns} : Shape{columns, 3})},
                     MatMulAttrs{swapped});
        const ValueId right = graph_.Emit(OpCode::kTranspose, {x}, TransposeAttrs{LastTwoSwapped(rank)});
        InferNode(graph_, graph_.value(right).producer);
        return Add(OpCode::kMatMul, {x, right}, MatMulAttrs());
      }
      case 20: {
        if (rank != 4) return;
        return Add(OpCode::kConv2d, {x, Constant({Pick({1, 4}), 1, 1, shape[3]}), kNoValue}, Conv2dAttrs());
      }
      case 21: {
        const ValueId less = graph_.Emit(OpCode::kLess, {x, Partner(shape)});
        InferNode(graph_, graph_.value(less).producer);
        return Add(OpCode::kWhere, {less, x, Partner(ShapeOf(less))});
      }
      case 22: {
        // The results are no whole numbers, so nothing is computed from them.
        ValueId result = kNoValue;
        if (Draw(0, 1) == 0) {
          result = graph_.Emit(OpCode::kSoftmax, {x}, AxisAttrs{axis});
        } else {
          Shape normalised;
          for (int i = axis; i < rank; ++i) normalised.Append(shape[i]);
          result = graph_.Emit(OpCode::kLayerNorm, {x, Constant(normalised), Constant(normalised)},
                               NormAttrs{axis, 1e-5f});
        }
        InferNode(graph_, graph_.value(result).producer);
        graph_.AddOutput("end" + std::to_string(graph_.outputs().size()), result);
        return;
      }
      default: {
        if (Draw(0, 1) == 0) {
          std::vector<ValueId> inputs{x};
          for (int i = 0; i < 4; ++i)
            inputs.push_back(graph_.AddConstant("", TensorData(DType::kF32, {shape[axis]})));
          // Variance 1, no epsilon: the result is whole.
          TensorData ones(DType::kF32, {shape[axis]});
          std::fill_n(static_cast<float*>(ones.mutable_data()), ones.elements(), 1.0f);
          inputs[1] = Constant({shape[axis]});
          inputs[4] = graph_.AddConstant("", ones);
          return Add(OpCode::kBatchNorm, inputs, NormAttrs{axis, 0.0f});
        }
        return Add(OpCode::kChannelShuffle, {x}, GroupsAttrs{shape[rank - 1] % 2 == 0 ? 2 : 1});
      }
    }
  }

  static skiff::Ints LastTwoSwapped(int rank) {
    skiff::Ints perm;
    for (int i = 0; i < rank; ++i) perm[perm.size++] = i;
    std::swap(perm[rank - 1], perm[rank - 2]);
    return perm;
  }

  Graph graph_;
  std::mt19937 random_;
  std::vector<ValueId> pool_;
};

TensorData Permuted(const TensorData& data, const Ints& perm) {
  if (perm.size == 0) return data;
  AttrStorage attrs;
  attrs.as<TransposeAttrs>() = {perm};
  return EvaluateOp(OpCode::kTranspose, attrs, {&data}, 1, "permuted")[0];
}

Ints Inverse(const Ints& perm) {
  Ints inverse = perm;
  for (int64_t i = 0; i < perm.size; ++i) inverse[perm[i]] = i;
  return inverse;
}

bool Same(const TensorData& a, const TensorData& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.ToDoubles() == b.ToDoubles();
}

TEST(ToNhwcRandom, KeepsTheNumbersAndMovesNoMore) {
  int changed = 0;
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    RandomGraph random(seed);
    const Graph before = random.graph();
    ASSERT_NO_THROW(Verify(before)) << PrintGraph(before);
    Graph after = before;
    ToNhwc(after);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + PrintGraph(before) + PrintGraph(after));
    ASSERT_NO_THROW(Verify(after));
    ASSERT_LE(CountLayoutTransposes(after).elements, CountLayoutTransposes(before).elements);
    changed += PrintGraph(before) != PrintGraph(after) ? 1 : 0;
    std::map<std::string, TensorData> inputs;
    for (const GraphPort& port : before.inputs()) {
      inputs[port.name] = WholeNumbers(random.random(), before.value(port.value).shape(), 3);
    }
    std::map<std::string, TensorData> sources = inputs;
    EvaluateOptions options;
    options.observe = [&](ValueId id, const TensorData& data) {
      sources[before.value(id).name] = Permuted(data, Inverse(before.value(id).source_perm));
    };
    const std::map<std::string, TensorData> expected = Evaluate(before, inputs, options);
    options.observe = [&](ValueId id, const TensorData& data) {
      const Value& value = after.value(id);
      if (value.source.empty()) return;
      EXPECT_TRUE(Same(Permuted(sources.at(value.source), value.source_perm), data))
          << value.name << " is not " << value.source;
    };
    const std::map<std::string, TensorData> got = Evaluate(after, inputs, options);
    for (const auto& [name, data] : expected) ASSERT_TRUE(Same(data, got.at(name))) << name;
    ASSERT_FALSE(HasFailure());
  }
  // Most graphs have something to gain; a pass that does nothing would be right, too.
  EXPECT_GT(changed, 500);
}

}  // namespace
}  // namespace skiff
