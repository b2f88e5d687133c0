// Shape arithmetic that is drawn, with numbers up to the ends of i64 and i32: what the passes know of sizes,
// decide and fold is what eager mode computes, at several sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "passes/passes.h"

namespace skiff {
namespace {

constexpr size_t kMostElements = 6;

/// Lists of integers that are made of the extents of x [a, b, 4].
class RandomArithmetic {
 public:
  explicit RandomArithmetic(uint32_t seed) : random_(seed) {
    graph_.name = "random";
    std::vector<Dim> dims;
    for (const char* name : {"a", "b"}) dims.push_back(Dim::OfSymbol(graph_.AddSymbol(name)));
    dims.emplace_back(4);
    x_ = graph_.AddInput("x", DType::kF32, dims);
    lists_.push_back({graph_.Emit(OpCode::kShape, {x_}, ShapeAttrs{0, 3}), DType::kI64, 3});
    for (int left = Draw(3, 14); left > 0; --left) AddStep();
    for (size_t i = 0; i < std::min<size_t>(3, lists_.size()); ++i)
      graph_.AddOutput("list" + std::to_string(i), lists_[lists_.size() - 1 - i].value);
    AddUses();
  }

  const Graph& graph() const { return graph_; }

 private:
  struct List {
    ValueId value = kNoValue;
    DType dtype = DType::kI64;
    size_t count = 0;
  };

  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  template <class T>
  T Pick(std::initializer_list<T> from) {
    return from.begin()[Draw(0, static_cast<int>(from.size()) - 1)];
  }
  /// One of the last ones.
  List AnyList() {
    return lists_[lists_.size() - 1 - static_cast<size_t>(Draw(0, std::min<int>(3, Last())))];
  }
  int Last() const { return static_cast<int>(lists_.size()) - 1; }
  int64_t AnyNumber(DType dtype) {
    if (Draw(0, 2) > 0) return Draw(-3, 8);
    return dtype == DType::kI32 ? Pick<int64_t>({100, INT32_MAX, INT32_MIN, 65536})
                                : Pick<int64_t>({255, 65536, INT32_MAX, int64_t{1} << 31, int64_t{1} << 40,
                                                 int64_t{1} << 62, INT64_MAX, INT64_MIN});
  }
  ValueId Constant(DType dtype, const std::vector<int64_t>& numbers) {
    TensorData data(dtype, Shape{static_cast<int64_t>(numbers.size())});
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (dtype == DType::kI32) {
        static_cast<int32_t*>(data.mutable_data())[i] = static_cast<int32_t>(numbers[i]);
      } else {
        static_cast<int64_t*>(data.mutable_data())[i] = numbers[i];
      }
    }
    return graph_.AddConstant("", data);
  }
  List Numbers(DType dtype, size_t count, bool positive) {
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(positive ? Draw(1, 9) : AnyNumber(dtype));
    return {Constant(dtype, numbers), dtype, count};
  }
  /// Another list that can be broadcast with this one, or numbers.
  List Partner(const List& list) {
    for (int i = 0; i < 4; ++i) {
      const List other = AnyList();
      if (other.dtype == list.dtype && (other.count == list.count || other.count == 1 || list.count == 1))
        return other;
    }
    return Numbers(list.dtype, Draw(0, 1) == 0 ? 1 : list.count, /*positive=*/false);
  }

  template <class A = NoAttrs>
  void Add(OpCode op, std::vector<ValueId> inputs, DType dtype, size_t count, const A& attrs = {}) {
    lists_.push_back({graph_.Emit(op, std::move(inputs), attrs), dtype, count});
  }

  void AddStep() {
    const List list = AnyList();
    switch (Draw(0, 9)) {
      case 0:
      case 1:
      case 2: {
        const OpCode op = Pick({OpCode::kAdd, OpCode::kSub, OpCode::kMul, OpCode::kMin, OpCode::kMax});
        const List other = Partner(list);
        return Add(op, {list.value, other.value}, list.dtype, std::max(list.count, other.count),
                   ClampAttrs());
      }
      case 3: {
        const List divisor = Numbers(list.dtype, list.count, /*positive=*/true);
        return Add(OpCode::kDiv, {list.value, divisor.value}, list.dtype, list.count, ClampAttrs());
      }
      case 4: {
        const List divisor = Numbers(list.dtype, list.count, /*positive=*/true);
        return Add(OpCode::kMod, {list.value, divisor.value}, list.dtype, list.count,
                   ModAttrs{Draw(0, 1) == 0});
      }
      case 5: {
        const DType to = Pick({DType::kI64, DType::kI32});
        return Add(OpCode::kCast, {list.value}, to, list.count, CastAttrs{static_cast<int64_t>(to)});
      }
      case 6: {
        const auto place = static_cast<int64_t>(Draw(0, static_cast<int>(list.count) - 1));
        return Add(OpCode::kGather, {list.value, Constant(DType::kI64, {place, -1})}, list.dtype, 2,
                   AxisAttrs{0});
      }
      case 7: {
        const List other = Partner(list);
        if (list.count + other.count > kMostElements) return;
        return Add(OpCode::kConcat, {list.value, other.value}, list.dtype, list.count + other.count,
                   AxisAttrs{0});
      }
      case 8: {
        const OpCode op =
            Pick({OpCode::kReduceSum, OpCode::kReduceProd, OpCode::kReduceMin, OpCode::kReduceMax});
        ReduceAttrs attrs;
        attrs.axes = Ints{0};
        attrs.keep_dims = true;
        return Add(op, {list.value}, list.dtype, 1, attrs);
      }
      default: {
        const List other = Numbers(list.dtype, list.count, /*positive=*/false);
        const ValueId which =
            graph_.Emit(Pick({OpCode::kLess, OpCode::kGreater, OpCode::kEqual}), {list.value, other.value});
        const List third = Numbers(list.dtype, 1, /*positive=*/false);
        return Add(OpCode::kWhere, {which, list.value, third.value}, list.dtype, list.count);
      }
    }
  }

  /// As extents, cut to small ones, and as a condition.
  void AddUses() {
    const List list = AnyList();
    const ValueId wide =
        graph_.Emit(OpCode::kCast, {list.value}, CastAttrs{static_cast<int64_t>(DType::kI64)});
    const ValueId least = graph_.Emit(OpCode::kMax, {wide, Constant(DType::kI64, {0})}, ClampAttrs());
    const ValueId small = graph_.Emit(OpCode::kMin, {least, Constant(DType::kI64, {5})}, ClampAttrs());
    graph_.AddOutput("filled",
                     graph_.Emit(OpCode::kFill, {small},
                                 FillAttrs{.dtype = static_cast<int64_t>(DType::kF32), .value = 2.5}));
    ReduceAttrs all;
    all.axes = Ints{0};
    all.keep_dims = false;
    const ValueId first = graph_.Emit(OpCode::kReduceMin, {wide}, all);
    const int64_t number = Draw(-1, 6);
    const ValueId limit = graph_.AddConstant("", TensorData(DType::kI64, Shape{}, &number));
    const ValueId condition = graph_.Emit(OpCode::kLess, {first, limit});
    graph_.AddOutput("chosen", graph_.Emit(OpCode::kWhere, {condition, x_, graph_.Emit(OpCode::kNeg, {x_})}));
  }

  std::mt19937 random_;
  Graph graph_;
  ValueId x_ = kNoValue;
  std::vector<List> lists_;
};

TEST(ShapeArithmetic, IsWhatEagerModeComputes) {
  constexpr uint32_t kDraws = 400;
  for (uint32_t seed = 0; seed < kDraws; ++seed) {
    const RandomArithmetic random(seed);
    Graph optimised = random.graph();
    RunPipeline(optimised);
    for (const Shape& shape : {Shape{1, 1, 4}, Shape{3, 2, 4}, Shape{5, 7, 4}}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", x " << ShapeText(shape).c_str() << "\n"
                                      << PrintGraph(random.graph()));
      TensorData x(DType::kF32, shape);
      std::fill_n(static_cast<float*>(x.mutable_data()), x.elements(), 1.0f);
      const auto expected = Evaluate(random.graph(), {{"x", x}});
      const auto computed = Evaluate(optimised, {{"x", x}});
      for (const auto& [name, want] : expected) {
        const TensorData& have = computed.at(name);
        ASSERT_EQ(have.dtype(), want.dtype()) << name;
        ASSERT_EQ(have.shape(), want.shape()) << name;
        ASSERT_EQ(std::memcmp(have.data(), want.data(), want.size_bytes()), 0) << name;
      }
    }
  }
}

}  // namespace
}  // namespace skiff
