// TensorFlow Lite rows: matrix products.
#include "import/tflite/ops.h"
#include "import/tflite/window.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// Unless keep_num_dims, the axes in front become one, whatever their number: [-1, inputs].
void BuildFullyConnected(TfliteBuilder& b) {
  const auto options = b.Options<tflite::FullyConnectedOptions>();
  if (options.weights_format != 0)
    b.Unsupported("has weights in the shuffled format of old Arm kernels; convert the net again");
  auto [x, weights] = ProductOperands(b, 0, 1);
  const std::optional<int64_t> inputs = b.ExtentOf(weights, 1);
  if (!options.keep_num_dims && !b.HasRank(x, 2)) {
    if (!inputs) b.Unsupported("needs to know the size of its weights");
    x = EmitReshape(b, "rows", x, {-1, *inputs});
  } else if (!options.keep_num_dims && inputs && b.ExtentOf(x, 1) != inputs) {
    x = EmitReshape(b, "rows", x, {-1, *inputs});
  }
  b.OutputActivated(OpCode::kFullyConnected, {x, weights, BiasOf(b, 2, x, weights)}, ClampAttrs{},
                    options.activation);
}

ValueId SwapLastAxes(TfliteBuilder& b, const char* suffix, ValueId x) {
  const int rank = b.RankOf(x);
  if (rank < 2) b.Invalid("an operand has rank {}; at least 2 was expected", rank);
  Ints perm;
  for (int axis = 0; axis < rank; ++axis) perm[perm.size++] = axis;
  std::swap(perm[rank - 1], perm[rank - 2]);
  return PermutedWeights(b, suffix, x, perm);
}

bool IsPlain(const TfliteBuilder& b, size_t i) {
  return b.TypeOf(b.Input(i)).dtype == DType::kI8 && !b.IsQuantized(b.Input(i));
}

void BuildBatchMatMul(TfliteBuilder& b) {
  const auto options = b.Options<tflite::BatchMatMulOptions>();
  // The exact sums, of integers that stand for themselves.
  if (!b.OutputIsQuantized() && b.DTypeOfOutput() == DType::kI32 && IsPlain(b, 0) && IsPlain(b, 1)) {
    const auto codes = [&](const char* suffix, size_t i) {
      return b.EmitQuantized(suffix, OpCode::kFromCodes, {b.Input(i)}, DType::kI8, PerTensor(1));
    };
    ValueId x = codes("x", 0);
    if (options.adjoint_x) x = SwapLastAxes(b, "x_transposed", x);
    const ValueId sums =
        b.EmitQuantized("sums", OpCode::kMatMul, {x, codes("y", 1)},
                        MatMulAttrs{.transpose_b = options.adjoint_y}, DType::kI32, PerTensor(1));
    return b.OutputCodes(b.Codes("plain", sums));
  }
  auto [x, y] = ProductOperands(b, 0, 1);
  if (!b.OutputIsQuantized() && !IsFloat(b.DTypeOfOutput()))
    b.Unsupported("makes plain {}, which are in no unit; convert the net with a scale for its output",
                  DTypeName(b.DTypeOfOutput()));
  if (options.adjoint_x) x = SwapLastAxes(b, "x_transposed", x);
  b.Output(OpCode::kMatMul, {x, y}, MatMulAttrs{.transpose_b = options.adjoint_y});
}

constexpr TfliteOp kRows[] = {
    {Op::FULLY_CONNECTED, BuildFullyConnected, OpCode::kFullyConnected},
    {Op::BATCH_MATMUL, BuildBatchMatMul, OpCode::kMatMul},
};

}  // namespace

std::span<const TfliteOp> TfliteProductOps() { return kRows; }

}  // namespace skiff
