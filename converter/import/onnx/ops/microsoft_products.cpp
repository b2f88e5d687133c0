// Rows of com.microsoft: matrix products whose weights, or both factors, are integers; distances.
#include "import/emit.h"
#include "import/onnx/dynamic_product.h"
#include "import/onnx/integer_product.h"
#include "import/onnx/ml.h"
#include "import/onnx/nested.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantize.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// y + bias, where input `bias` is there, as the node's output.
void OutputBiased(OnnxBuilder& b, ValueId y, size_t bias) {
  if (!b.HasInput(bias)) return b.Output(OpCode::kIdentity, {y});
  b.Output(OpCode::kAdd, {y, b.Input(bias)}, ClampAttrs{});
}

/// The product of integers, in units of the product of their scales.
void OutputScaledProduct(OnnxBuilder& b, const OnnxIntegers& x, ValueId x_scale, const OnnxIntegers& y,
                         ValueId y_scale, size_t bias) {
  const ValueId product = b.CastTo("product_f32", EmitIntegerMatMul(b, "product_i32", x, y), DType::kF32);
  const ValueId scale = EmitMul(b, "scale_of_product", x_scale, y_scale);
  OutputBiased(b, EmitMul(b, "scaled", product, scale), bias);
}

/// Inputs: A, codes of B, their scale and zero point, a bias.
void BuildDynamicQuantizeMatMul(OnnxBuilder& b) {
  OnnxDynamicValue product;
  product.x = b.Input(0);
  product.weights = b.Input(1);
  product.weights_zero_point = b.OptionalInput(3);
  if (IsDynamicProduct(b, product, b.Input(2)))
    return OutputBiased(b, EmitDynamicProduct(b, "product", product, b.Input(2)), 4);
  const DynamicCodes a = EmitDynamicCodes(b, "a", b.Input(0));
  OutputScaledProduct(b, {a.codes, a.zero_point}, a.scale, {b.Input(1), b.OptionalInput(3)}, b.Input(2), 4);
}

/// Inputs: A, B, their scales, their zero points, a bias.
void BuildMatMulIntegerToFloat(OnnxBuilder& b) {
  const OnnxQuantization a{b.Input(2), b.OptionalInput(4), -2};
  const OnnxQuantization y{b.Input(3), b.OptionalInput(5), -1};
  const auto known = [&](size_t codes, const OnnxQuantization& q) {
    return KnownQuantization(b, b.Input(codes), b.DTypeOf(b.Input(codes)), q) != nullptr;
  };
  if (!known(0, a) || !known(1, y)) {
    return OutputScaledProduct(b, {b.Input(0), a.zero_point}, a.scale, {b.Input(1), y.zero_point}, y.scale,
                               6);
  }
  const std::vector<ValueId> factors = {EmitReal(b, "a", b.Input(0), a), EmitReal(b, "b", b.Input(1), y)};
  OutputBiased(b, b.Emit("product", OpCode::kMatMul, factors, MatMulAttrs{}), 6);
}

/// C in units of the product, one for all or for each column: it may be the same number in every column.
ValueId EmitBiasOfProduct(OnnxBuilder& b, ValueId c, ValueId unit) {
  const int rank = b.RankOf(c);
  const bool one_column = rank == 0 || b.ExtentOf(c, rank - 1) == 1;
  if (one_column && b.RankOf(unit) == 1 && b.ExtentOf(unit, 0) != 1)
    return EmitMul(b, "c", b.CastTo("c_units", c, DType::kF32), unit);
  return EmitReal(b, "c", c, {unit, kNoValue, -1});
}

/// A Gemm whose C is in units of the product. Without a scale of the result, that is a float.
void BuildQGemm(OnnxBuilder& b) {
  const ValueId b_scale = b.Input(4);
  const int64_t columns = b.Flag("transB") ? 0 : 1;
  std::vector<ValueId> inputs = {
      EmitReal(b, "a", b.Input(0), {b.Input(1), b.OptionalInput(2)}),
      EmitReal(b, "b", b.Input(3), {b_scale, b.OptionalInput(5), columns}),
  };
  if (b.HasInput(6)) {
    const ValueId unit = EmitProductOfScales(b, "c_scale", b.Input(1), b_scale, b.Float("alpha", 1.0f));
    inputs.push_back(EmitBiasOfProduct(b, b.Input(6), unit));
  }
  if (!b.HasInput(7)) {
    EmitOnnx(b, nullptr, "Gemm", kNewestOnnxOpset, std::move(inputs), NodeAttributes(b));
    return;
  }
  const ValueId y = EmitOnnx(b, "y", "Gemm", kNewestOnnxOpset, std::move(inputs), NodeAttributes(b));
  const DType dtype = b.HasInput(8) ? b.DTypeOf(b.Input(8)) : b.DTypeOf(b.Input(0));
  EmitCodes(b, nullptr, y, dtype, {b.Input(7), b.OptionalInput(8)});
}

/// Bits of numbers of `width` bits each, from the lowest of the first byte on.
int64_t Unpack(const uint8_t* bytes, int64_t index, int64_t width) {
  return width == 8 ? bytes[index] : bytes[index / 2] >> (index % 2 * 4) & 15;
}

/// Weights [N, K] in blocks along K, each block of N starting at a byte: as a constant without gaps.
class BlockedWeights {
 public:
  explicit BlockedWeights(OnnxBuilder& b)
      : b_(b),
        n_(b.RequiredInt("N")),
        k_(b.RequiredInt("K")),
        bits_(b.Int("bits", 4)),
        block_(b.RequiredInt("block_size")) {
    if (bits_ != 4 && bits_ != 8) b.Unsupported("has weights of {} bits; 4 and 8 are supported", bits_);
    b.CheckRange("N", {n_}, 1);
    b.CheckRange("K", {k_}, 1);
    b.CheckRange("block_size", {block_}, 2);
    blocks_ = (k_ + block_ - 1) / block_;
  }

  /// Inputs 1, 2 and 3 as one constant.
  ValueId Emit() {
    const TensorData& packed = Read(1, "weights", n_ * blocks_ * BytesOf(block_));
    TensorData codes(bits_ == 4 ? DType::kU4 : DType::kU8, Shape{n_, k_});
    auto* to = static_cast<uint8_t*>(codes.mutable_data());
    for (int64_t row = 0; row < n_; ++row) {
      const uint8_t* from = packed.as<uint8_t>() + row * blocks_ * BytesOf(block_);
      for (int64_t k = 0; k < k_; ++k) Pack(to, row * k_ + k, Unpack(from, k, bits_));
    }
    const std::vector<float> scales = Factors(2, "scales");
    if (b_.HasInput(3) && IsFloat(b_.DTypeOf(b_.Input(3)))) return b_.Constant("b", Reals(codes, scales));
    const QuantizationPtr blocks = PerAxis(1, scales, ZeroPoints(), block_);
    const std::optional<TensorData> quantized = QuantizedConstant(codes, blocks);
    if (!quantized)
      OnnxBuilder::Unsupported("has weights that cannot be quantised as they say: {}",
                               QuantizationDefect(*blocks, codes.dtype(), codes.shape()));
    return b_.Emit("b", OpCode::kDequantize, {b_.Constant("b_quantized", *quantized)});
  }

 private:
  int64_t BytesOf(int64_t count) const { return (count * bits_ + 7) / 8; }

  void Pack(uint8_t* bytes, int64_t index, int64_t code) const {
    if (bits_ == 8) {
      bytes[index] = static_cast<uint8_t>(code);
    } else {
      bytes[index / 2] = static_cast<uint8_t>(bytes[index / 2] | code << (index % 2 * 4));
    }
  }

  const TensorData& Read(size_t input, const char* what, int64_t bytes) const {
    const TensorData* data = b_.ConstantOf(b_.Input(input));
    if (data == nullptr) OnnxBuilder::Unsupported("computes its {}; export them as constants", what);
    if (data->dtype() != DType::kU8)
      OnnxBuilder::Unsupported("has {} of {}; packed u8 are supported", what, DTypeName(data->dtype()));
    if (data->elements() != bytes)
      b_.Invalid("the {} have {} bytes; {} were expected", what, data->elements(), bytes);
    return *data;
  }

  /// One for each block.
  std::vector<float> Factors(size_t input, const char* what) const {
    const TensorData* data = b_.ConstantOf(b_.Input(input));
    if (data == nullptr) OnnxBuilder::Unsupported("computes its {}; export them as constants", what);
    if (data->elements() != n_ * blocks_)
      b_.Invalid("there are {} {}; {} were expected", data->elements(), what, n_ * blocks_);
    const std::vector<double> numbers = data->ToDoubles();
    return {numbers.begin(), numbers.end()};
  }

  /// Zero points that are no integers are none that quantised values have.
  TensorData Reals(const TensorData& codes, const std::vector<float>& scales) const {
    const std::vector<float> zeros = Factors(3, "zero points");
    b_.CheckRoom(codes.elements() * DTypeSize(DType::kF32));
    TensorData reals(DType::kF32, codes.shape());
    auto* to = static_cast<float*>(reals.mutable_data());
    for (int64_t i = 0; i < codes.elements(); ++i) {
      const auto block = static_cast<size_t>(i / k_ * blocks_ + i % k_ / block_);
      const auto code = static_cast<float>(Unpack(codes.as<uint8_t>(), i, bits_));
      to[i] = (code - zeros[block]) * scales[block];
    }
    return reals;
  }

  std::vector<int32_t> ZeroPoints() const {
    const auto count = static_cast<size_t>(n_ * blocks_);
    if (!b_.HasInput(3)) return std::vector<int32_t>(count, bits_ == 4 ? 8 : 128);
    const TensorData& packed = Read(3, "zero points", n_ * BytesOf(blocks_));
    std::vector<int32_t> zeros;
    for (int64_t row = 0; row < n_; ++row) {
      const uint8_t* from = packed.as<uint8_t>() + row * BytesOf(blocks_);
      for (int64_t i = 0; i < blocks_; ++i) zeros.push_back(static_cast<int32_t>(Unpack(from, i, bits_)));
    }
    return zeros;
  }

  OnnxBuilder& b_;
  int64_t n_;
  int64_t k_;
  int64_t bits_;
  int64_t block_;
  int64_t blocks_ = 0;
};

/// The operator's `accuracy_level` says how exact A has to be, at least: as f32, f16, bfloat16, or integers
/// of 8 bits, which have a scale for each block then, as ONNX Runtime chooses them.
ValueId EmitAccurateEnough(OnnxBuilder& b, ValueId a) {
  constexpr int64_t kIntegers = 4;
  const int64_t block = b.RequiredInt("block_size");
  const bool rounds = b.Int("accuracy_level", 0) == kIntegers && b.RequiredInt("K") % block == 0;
  if (!rounds) return a;
  return b.Emit("rounded", OpCode::kFakeQuantize, {a},
                FakeQuantizeAttrs{.axis = -1, .symmetric = true, .block = block});
}

void BuildMatMulNBits(OnnxBuilder& b) {
  if (b.HasInput(4)) b.Unsupported("has g_idx; export without reordered groups");
  if (b.Int("weight_prepacked", 0) != 0) b.Unsupported("has weights packed for another runtime");
  const ValueId weights = b.CastTo("b_cast", BlockedWeights(b).Emit(), b.DTypeOf(b.Input(0)));
  const ValueId a = EmitAccurateEnough(b, b.Input(0));
  const MatMulAttrs by_rows{.transpose_b = true};
  if (!b.HasInput(5)) return b.Output(OpCode::kMatMul, {a, weights}, by_rows);
  OutputBiased(b, b.Emit("product", OpCode::kMatMul, {a, weights}, by_rows), 5);
}

/// Distances between the rows of two matrices.
void BuildCDist(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const std::string metric = b.String("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    b.Invalid("attribute 'metric' is '{}'; sqeuclidean or euclidean was expected", metric);
  ValueId distance = EmitSquaredDistances(b, x, b.Input(1));
  if (metric == "euclidean") distance = b.Emit("distance", OpCode::kSqrt, {distance});
  b.Output(OpCode::kCast, {distance}, CastAttrs{static_cast<int64_t>(b.DTypeOf(x))});
}

constexpr OnnxOp kRows[] = {
    {"CDist", 1, kAnyOpset, BuildCDist},
    {"QGemm", 1, kAnyOpset, BuildQGemm},
    {"DynamicQuantizeMatMul", 1, kAnyOpset, BuildDynamicQuantizeMatMul},
    {"MatMulIntegerToFloat", 1, kAnyOpset, BuildMatMulIntegerToFloat},
    {"MatMulNBits", 1, kAnyOpset, BuildMatMulNBits},
};

}  // namespace

std::span<const OnnxOp> MicrosoftProductOps() { return kRows; }

}  // namespace skiff
