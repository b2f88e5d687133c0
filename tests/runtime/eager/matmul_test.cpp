#include "ops/op_codes.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

std::vector<double> NaiveProduct(const std::vector<double>& a, const std::vector<double>& b, int m, int k,
                                 int n) {
  std::vector<double> out;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
      out.push_back(sum);
    }
  }
  return out;
}

TEST(MatMul, SmallAndTransposed) {
  const Tensor a = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectTensor(RunOp(OpCode::kMatMul, {a, F32({3, 2}, {1, 2, 3, 4, 5, 6})}, MatMulAttrs{}), {2, 2},
               {22, 28, 49, 64});
  MatMulAttrs attrs;
  attrs.transpose_b = true;
  ExpectTensor(RunOp(OpCode::kMatMul, {a, F32({2, 3}, {1, 3, 5, 2, 4, 6})}, attrs), {2, 2}, {22, 28, 49, 64});
  attrs = MatMulAttrs{};
  attrs.min = 25;
  attrs.max = 50;
  ExpectValues(RunOp(OpCode::kMatMul, {a, F32({3, 2}, {1, 2, 3, 4, 5, 6})}, attrs), {25, 28, 49, 50});
}

TEST(MatMul, SizesThatDoNotFillABlock) {
  for (const auto& [m, k, n] :
       {std::array<int, 3>{1, 1, 1}, {5, 7, 3}, {4, 513, 5}, {3, 20, 259}, {9, 600, 300}}) {
    const Tensor a = Random(DType::kF32, {m, k}, 1);
    const Tensor b = Random(DType::kF32, {k, n}, 2);
    ExpectTensor(RunOp(OpCode::kMatMul, {a, b}, MatMulAttrs{}), {m, n},
                 NaiveProduct(Values(a), Values(b), m, k, n), 2e-6);
  }
}

TEST(MatMul, VectorsAndBatches) {
  const Tensor v = F32({3}, {1, 2, 3});
  ExpectTensor(RunOp(OpCode::kMatMul, {v, v}, MatMulAttrs{}), {}, {14});
  ExpectTensor(RunOp(OpCode::kMatMul, {v, Iota(DType::kF32, {2, 3, 2}, 0)}, MatMulAttrs{}), {2, 2},
               {16, 22, 52, 58});
  ExpectTensor(RunOp(OpCode::kMatMul, {Iota(DType::kF32, {2, 2, 3}, 0), v}, MatMulAttrs{}), {2, 2},
               {8, 26, 44, 62});
  ExpectTensor(RunOp(OpCode::kMatMul, {Iota(DType::kF32, {2, 1, 1, 2}, 1), Iota(DType::kF32, {3, 2, 1}, 1)},
                     MatMulAttrs{}),
               {2, 3, 1, 1}, {5, 11, 17, 11, 25, 39});
}

TEST(MatMul, Empty) {
  ExpectTensor(RunOp(OpCode::kMatMul, {F32({2, 0}, {}), F32({0, 2}, {})}, MatMulAttrs{}), {2, 2},
               {0, 0, 0, 0});
  ExpectTensor(RunOp(OpCode::kMatMul, {F32({0, 2}, {}), F32({2, 3}, {1, 2, 3, 4, 5, 6})}, MatMulAttrs{}),
               {0, 3}, {});
  ExpectTensor(RunOp(OpCode::kMatMul, {F32({0, 2, 2}, {}), F32({2, 2}, {1, 2, 3, 4})}, MatMulAttrs{}),
               {0, 2, 2}, {});
}

TEST(MatMul, IntegersAreExactAndWrap) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(RunOp(OpCode::kMatMul, {I64({1, 2}, {big, 1}), I64({2, 1}, {1, 1})}, MatMulAttrs{}).bytes,
            List({big + 1}).bytes);
  const Tensor a = Make(DType::kI32, {1, 2}, {65536, 3});
  ExpectValues(RunOp(OpCode::kMatMul, {a, Make(DType::kI32, {2, 1}, {65536, 5})}, MatMulAttrs{}), {15});
  MatMulAttrs attrs;
  attrs.max = 10;
  ExpectValues(RunOp(OpCode::kMatMul, {a, Make(DType::kI32, {2, 1}, {65536, 5})}, attrs), {10});
  const Tensor wide =
      RunOp(OpCode::kMatMul, {Iota(DType::kI32, {2, 3}, 1), Iota(DType::kI32, {3, 300}, 0)}, MatMulAttrs{});
  EXPECT_EQ(Values(wide)[299], 299 + 2 * 599 + 3 * 899);
}

TEST(MatMul, NanReachesItsRowOnly) {
  ExpectValues(
      RunOp(OpCode::kMatMul, {F32({2, 2}, {kNan, 1, 2, 3}), F32({2, 2}, {0, 1, 1, 0})}, MatMulAttrs{}),
      {kNan, kNan, 3, 2});
}

TEST(FullyConnected, BiasBatchAndClamp) {
  const Tensor w = F32({2, 3}, {1, 0, 0, 1, 1, 1});
  const Tensor x = Iota(DType::kF32, {2, 2, 3}, 0);
  ExpectTensor(RunOp(OpCode::kFullyConnected, {x, w, F32({2}, {100, 200})}, ClampAttrs{}), {2, 2, 2},
               {100, 203, 103, 212, 106, 221, 109, 230});
  ExpectTensor(RunOp(OpCode::kFullyConnected, {x, w}, ClampAttrs{1.0f, 20.0f}), {2, 2, 2},
               {1, 3, 3, 12, 6, 20, 9, 20});
  ExpectTensor(RunOp(OpCode::kFullyConnected, {F32({3}, {1, 2, 3}), w}, ClampAttrs{}), {2}, {1, 6});
  ExpectTensor(RunOp(OpCode::kFullyConnected, {F32({0, 3}, {}), w}, ClampAttrs{}), {0, 2}, {});
}

}  // namespace
}  // namespace skiff::test
