// TreeEnsemble and Det: values, and trees that no file should have.
#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

Tensor I32(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Make(DType::kI32, std::move(shape), values);
}

/// Two trees over two features; target 1 has votes of the second one alone.
std::vector<Tensor> TwoTrees(const Tensor& x) {
  return {x,
          I32({6, 4}, {0, kTreeLessOrEqual,
                       1, 2,  // x0 <= 0.5 ?
                       0, 0,
                       0, 1,  //   1 for target 0
                       0, 0,
                       1, 2,  //   2
                       1, kTreeEqual | kTreeNaNIsYes,
                       4, 5,  // x1 == 3 ?
                       0, 0,
                       2, 4,  //   10 and 20 for both
                       0, 0,
                       4, 4}),  //   nothing
          F32({6}, {0.5, 0, 0, 3, 0, 0}),
          I32({2}, {0, 3}),
          I32({4}, {0, 0, 0, 1}),
          F32({4}, {1, 2, 10, 20})};
}

TEST(TreeEnsemble, VotesAndAggregates) {
  const Tensor x = F32({4, 2}, {0.5, 3, 0.6, 3, kNan, kNan, -kInf, 4});
  const auto run = [&](TreeAggregate aggregate) {
    return RunOp(OpCode::kTreeEnsemble, TwoTrees(x), TreeEnsembleAttrs{2, aggregate});
  };
  ExpectTensor(run(TreeAggregate::kSum), {4, 2}, {11, 20, 12, 20, 12, 20, 1, 0});
  ExpectValues(run(TreeAggregate::kAverage), {5.5, 10, 6, 10, 6, 10, 0.5, 0});
  ExpectValues(run(TreeAggregate::kMin), {1, 20, 2, 20, 2, 20, 1, 0});
  ExpectValues(run(TreeAggregate::kMax), {10, 20, 10, 20, 10, 20, 1, 0});
}

TEST(TreeEnsemble, MoreTargetsThanFitTheStack) {
  std::vector<double> targets, votes;
  for (int i = 0; i < 300; ++i) {
    targets.push_back(299 - i);
    votes.push_back(i);
  }
  const Tensor y = RunOp(OpCode::kTreeEnsemble,
                         {F32({1, 1}, {0}), I32({1, 4}, {0, 0, 0, 300}), F32({1}, {0}), I32({1}, {0}),
                          I32({300}, targets), F32({300}, votes)},
                         TreeEnsembleAttrs{.targets = 300});
  std::vector<double> expected(votes.rbegin(), votes.rend());
  ExpectValues(y, expected);
}

TEST(TreeEnsemble, UnsoundTreesAreRefused) {
  const Tensor x = F32({1, 2}, {0, 0});
  struct Damage {
    size_t input;
    size_t word;
    int32_t value;
    const char* says;
  };
  for (const Damage& damage :
       {Damage{1, 2, 0, "further behind"}, Damage{1, 2, 6, "further behind"},
        Damage{1, 2, -1, "further behind"}, Damage{1, 0, 2, "feature"}, Damage{1, 0, -1, "feature"},
        Damage{1, 6, -1, "leaf"}, Damage{1, 7, 5, "leaf"}, Damage{1, 6, 2, "leaf"}, Damage{3, 0, 6, "root"},
        Damage{3, 1, -1, "root"}, Damage{4, 0, 2, "target"}, Damage{4, 0, -1, "target"}}) {
    std::vector<Tensor> inputs = TwoTrees(x);
    std::memcpy(inputs[damage.input].bytes.data() + 4 * damage.word, &damage.value, 4);
    const Outcome outcome = Op(OpCode::kTreeEnsemble, inputs, TreeEnsembleAttrs{.targets = 2}).Run();
    EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument) << damage.says;
    const std::string message(outcome.status.message().c_str());
    EXPECT_NE(message.find(damage.says), std::string::npos) << message;
  }
}

TEST(TreeEnsemble, TypesAreChecked) {
  const auto with = [](size_t i, const Tensor& other) {
    std::vector<Tensor> inputs = TwoTrees(F32({1, 2}, {0, 0}));
    inputs[i] = other;
    return Op(OpCode::kTreeEnsemble, inputs, TreeEnsembleAttrs{.targets = 2});
  };
  ExpectError(with(0, F32({2}, {0, 0})), "rank 2");
  ExpectError(with(1, I32({8, 3}, std::vector<double>(24, 0))), "4 numbers");
  ExpectError(with(2, F32({5}, {0, 0, 0, 0, 0})), "as many thresholds");
  ExpectError(with(3, F32({1}, {0})), "the roots");
  ExpectError(with(5, F32({3}, {0, 0, 0})), "as many votes");
  ExpectError(Op(OpCode::kTreeEnsemble, TwoTrees(F32({1, 2}, {0, 0})), TreeEnsembleAttrs{.targets = 0}),
              "targets");
}

Tensor Det(const Tensor& x) { return Op(OpCode::kDet, {x}, NoAttrs{}, 2).Run().outputs.at(0); }

TEST(Det, Values) {
  ExpectTensor(Det(F32({2, 2}, {1, 2, 3, 4})), {}, {-2});
  ExpectTensor(Det(F32({3, 2, 2}, {0, 1, 1, 0, 2, 0, 0, 2, 1, 1, 1, 1})), {3}, {-1, 4, 0});
  ExpectTensor(Det(Make(DType::kF64, {3, 3}, {0, 2, 0, 0, 0, 3, 4, 0, 0})), {}, {24});
  ExpectTensor(Det(F32({0, 0}, {})), {}, {1});
  ExpectTensor(Det(F32({1, 1}, {kInf})), {}, {kInf});
  EXPECT_TRUE(std::isnan(Values(Det(F32({2, 2}, {kNan, 1, 1, 1})))[0]));
  ExpectError(Op(OpCode::kDet, {F32({2, 3}, {1, 2, 3, 4, 5, 6})}, NoAttrs{}, 2), "not square");
  ExpectError(Op(OpCode::kDet, {F32({3}, {1, 2, 3})}, NoAttrs{}, 2), "rank 2");
}

}  // namespace
}  // namespace skiff::test
