/// The operators as functions of eager tensors. docs/operators.md says what each computes and which dtypes it
/// takes; attribute structs are those of runtime/ops/attrs.h. Layout: two-dimensional convolution, pooling
/// and resize take NHWC, weights are OHWI.
///
/// Binary operators broadcast as NumPy's do: shapes are aligned at the last axis, and an extent of 1 (or a
/// missing axis) is repeated. Both operands have the same dtype, and so has the result (bool for
/// comparisons): nothing is promoted, so that a graph has the types that its author wrote; Cast() says a
/// change. A C++ number takes the other operand's dtype.
///
/// Every function throws skiff::Error that begins with the place of the call: kInvalidArgument where shapes,
/// dtypes or values do not fit the operator, kUnsupported where there is no kernel for the dtype.
#pragma once

#include <initializer_list>
#include <utility>

#include "skiff/custom_operator.h"
#include "trace/tensor.h"

namespace skiff::eager {

/// Integers that an operator wants as a tensor (a shape, axes, pads): a list, or a one-dimensional i64
/// Tensor.
class IntList {
 public:
  IntList(std::initializer_list<int64_t> values) : IntList(std::vector<int64_t>(values)) {}
  IntList(const std::vector<int64_t>& values) : tensor_(Tensor::Of(values)) {}  // NOLINT: a list is one
  IntList(const Shape& shape)                                                   // NOLINT
      : IntList(std::vector<int64_t>(shape.begin(), shape.end())) {}
  IntList(const Tensor& tensor) : tensor_(tensor) {}  // NOLINT
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

// Each operator without attributes that works element by element: Abs(x), Exp(x), Not(x), Add(a, b), Less(a,
// b), ... Two operands are broadcast.
#define SKIFF_UNARY(Name) Tensor Name(const Operand& x);
#define SKIFF_BINARY(Name) Tensor Name(const Operand& a, const Operand& b);
#include "trace/elementwise.inc"

// One element in, one out.
Tensor Identity(const Operand& x);
Tensor Relu(const Operand& x);
Tensor Clamp(const Operand& x, float min, float max);
Tensor Gelu(const Operand& x, const GeluAttrs& attrs = {});
Tensor LeakyRelu(const Operand& x, float alpha = 0.01f);
Tensor Elu(const Operand& x, float alpha = 1.0f);
Tensor HardSigmoid(const Operand& x, const HardSigmoidAttrs& attrs = {});
Tensor IsInf(const Operand& x, const IsInfAttrs& attrs = {});
Tensor ReducePrecision(const Operand& x, const ReducePrecisionAttrs& attrs);
Tensor FakeQuantize(const Operand& x, const FakeQuantizeAttrs& attrs = {});
Tensor Cast(const Operand& x, DType to);

/// Rounds real numbers to integers that stand for them: PerTensor(scale, zero_point), or PerAxis(axis,
/// scales). Operators on quantised tensors compute on the numbers that these stand for, and give f32.
Tensor Quantize(const Operand& x, DType dtype, const QuantizationPtr& quantization);
/// f32.
Tensor Dequantize(const Operand& x);
/// Other integers for the same numbers, rounded once.
Tensor Requantize(const Operand& x, DType dtype, const QuantizationPtr& quantization);
/// The integers of a quantised tensor as plain numbers.
Tensor ToCodes(const Operand& x);
/// Integers of `dtype` as a tensor quantised like this.
Tensor FromCodes(const Operand& x, DType dtype, const QuantizationPtr& quantization);
/// Elements of a table of 256, for x of 8 bits; where x is negative, from the table's end, as Gather() has
/// it.
Tensor Lookup(const Operand& x, const Operand& table);

// Two operands, broadcast.
Tensor Mod(const Operand& a, const Operand& b, const ModAttrs& attrs = {});
/// Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast.
Tensor Where(const Tensor& condition, const Operand& a, const Operand& b);

inline Tensor operator+(const Operand& a, const Operand& b) { return Add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return Sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return Mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return Div(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return Mod(a, b); }
inline Tensor operator-(const Operand& x) { return Neg(x); }
inline Tensor operator<(const Operand& a, const Operand& b) { return Less(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return LessOrEqual(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return Greater(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return GreaterOrEqual(a, b); }
inline Tensor operator==(const Operand& a, const Operand& b) { return Equal(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return Not(Equal(a, b)); }
inline Tensor operator&(const Operand& a, const Operand& b) { return And(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return Or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return Xor(a, b); }
inline Tensor operator!(const Operand& x) { return Not(x); }

// Windows and products. An empty bias is none.
Tensor Conv2d(const Operand& x, const Tensor& weights, const Tensor& bias = {},
              const Conv2dAttrs& attrs = {});
Tensor ConvTranspose2d(const Operand& x, const Tensor& weights, const Tensor& bias = {},
                       const ConvTranspose2dAttrs& attrs = {});
Tensor MaxPool2d(const Operand& x, const Pool2dAttrs& attrs);
Tensor AveragePool2d(const Operand& x, const Pool2dAttrs& attrs);
Tensor MaxPool2dIndices(const Operand& x, const Pool2dAttrs& attrs);
/// To (height, width).
Tensor Resize2d(const Operand& x, const IntList& size, const ResizeAttrs& attrs = {});
Tensor GridSample2d(const Operand& x, const Tensor& grid, const GridSampleAttrs& attrs = {});
Tensor RoiAlign(const Operand& x, const Tensor& regions, const Tensor& images, const RoiAlignAttrs& attrs);
Tensor MatMul(const Operand& a, const Tensor& b, const MatMulAttrs& attrs = {});
/// x [.., in] times weights [out, in], plus a bias [out].
Tensor FullyConnected(const Operand& x, const Tensor& weights, const Tensor& bias = {},
                      const ClampAttrs& attrs = {});

// Reductions and normalisations.
#define SKIFF_EAGER_REDUCE(apply) \
  apply(ReduceSum) apply(ReduceMean) apply(ReduceMax) apply(ReduceMin) apply(ReduceProd)
#define SKIFF_EAGER_DECLARE(Name) Tensor Name(const Operand& x, const ReduceAttrs& attrs = {});
SKIFF_EAGER_REDUCE(SKIFF_EAGER_DECLARE)
#undef SKIFF_EAGER_DECLARE
Tensor Softmax(const Operand& x, int64_t axis = -1);
Tensor LogSoftmax(const Operand& x, int64_t axis = -1);
Tensor LayerNorm(const Operand& x, const Tensor& scale, const Tensor& bias = {}, const NormAttrs& attrs = {});
Tensor BatchNorm(const Operand& x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
                 const Tensor& variance, const NormAttrs& attrs = {});
Tensor ArgMax(const Operand& x, const ArgAttrs& attrs = {});
Tensor ArgMin(const Operand& x, const ArgAttrs& attrs = {});
/// The k largest elements along an axis, and their indices.
std::pair<Tensor, Tensor> TopK(const Operand& x, int64_t k, const TopKAttrs& attrs = {});
Tensor CumSum(const Operand& x, int64_t axis, const CumSumAttrs& attrs = {});

// Recurrent layers.
/// What they take where it is there; empty tensors are absent.
struct RecurrentInputs {
  Tensor bias = {};       ///< Of the recurrent product, [gates x H].
  Tensor state = {};      ///< The first, [B, H]; absent: 0.
  Tensor lengths = {};    ///< Steps of each sequence, [B], i32 or i64; absent: all.
  Tensor cell = {};       ///< Lstm: its first cell state, [B, H]; absent: 0.
  Tensor peepholes = {};  ///< Lstm: [3 x H], of the input, output and forget gate.
};
struct RecurrentResults {
  Tensor states;  ///< At each step, [T, B, H].
  Tensor state;   ///< The last, [B, H].
  Tensor cell;    ///< Lstm: its last cell state, [B, H].
};
/// x: the sequence times the input weights, [T, B, gates x H], one FullyConnected for all steps; weights: the
/// recurrent ones, [gates x H, H]. Gates: Lstm input, output, forget, cell; Gru update, reset, hidden; Rnn
/// one.
RecurrentResults Lstm(const Operand& x, const Tensor& weights, const RecurrentInputs& inputs = {},
                      const RecurrentAttrs& attrs = {});
RecurrentResults Gru(const Operand& x, const Tensor& weights, const RecurrentInputs& inputs = {},
                     const RecurrentAttrs& attrs = {});
RecurrentResults Rnn(const Operand& x, const Tensor& weights, const RecurrentInputs& inputs = {},
                     const RecurrentAttrs& attrs = {});

// Shapes and movement.
/// The extents as an i64 vector: what a function uses that must work at every size.
Tensor ShapeOf(const Operand& x, const ShapeAttrs& attrs = {});
/// One extent may be -1, a 0 copies the input's.
Tensor Reshape(const Operand& x, const IntList& shape, const ReshapeAttrs& attrs = {});
Tensor Flatten(const Operand& x, int64_t axis = 1);
Tensor Squeeze(const Operand& x, const Ints& axes = {});
Tensor Unsqueeze(const Operand& x, const Ints& axes);
Tensor Transpose(const Operand& x, const Ints& perm = {});
Tensor Concat(const Tensors& parts, int64_t axis, const Location& where = Location::current());
Tensors Split(const Operand& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// Steps of 1 where there are none; all axes, in order, where none are named.
Tensor Slice(const Operand& x, const IntList& starts, const IntList& ends, const IntList& axes = Tensor(),
             const IntList& steps = Tensor());
Tensor Gather(const Operand& x, const Tensor& indices, int64_t axis = 0);
/// pads: before each axis, then behind each axis; an empty value is 0.
Tensor Pad(const Operand& x, const IntList& pads, const PadAttrs& attrs = {}, const Tensor& value = {});
Tensor Expand(const Operand& x, const IntList& shape);
Tensor Tile(const Operand& x, const IntList& repeats);
Tensor Fill(const IntList& shape, DType dtype, double value, const Location& where = Location::current());
/// start, start + delta, ... below the limit (above it for a negative delta); all of one dtype, rank 0.
Tensor Range(const Operand& start, const Tensor& limit, const Tensor& delta);
Tensor ChannelShuffle(const Operand& x, int64_t groups);
Tensor GatherElements(const Operand& x, const Tensor& indices, int64_t axis = 0);
Tensor GatherND(const Operand& x, const Tensor& indices, const GatherNDAttrs& attrs = {});
Tensor ScatterElements(const Operand& x, const Tensor& indices, const Tensor& updates,
                       const ScatterAttrs& attrs = {});
Tensor ScatterND(const Operand& x, const Tensor& indices, const Tensor& updates,
                 const ScatterAttrs& attrs = {});
Tensor ReverseSequence(const Operand& x, const Tensor& lengths, const ReverseAttrs& attrs = {});
Tensor Trilu(const Operand& x, bool upper, int64_t diagonal = 0);

// How much they return follows from elements.
/// The indices of what is not 0, by axis: i64[rank, count].
Tensor NonZero(const Operand& x);
/// Which boxes stay, as i64[count, 3] of batch, class and box, the best of each class first. boxes:
/// f32[batch, boxes, 4], scores: f32[batch, classes, boxes]; `most` of each class, none that overlaps a
/// better one by more than `most_overlap` (intersection over union), none whose score is not above
/// `least_score`.
Tensor NonMaxSuppression(const Operand& boxes, const Tensor& scores, int64_t most, float most_overlap,
                         float least_score = -kInfinity, const SuppressionAttrs& attrs = {});
struct UniqueParts {
  Tensor values;  ///< Each once.
  Tensor first;   ///< Where each occurs first, i64.
  Tensor of;      ///< Which of them each element (or slice) of x is, i64.
  Tensor counts;  ///< How often each occurs, i64.
};
UniqueParts Unique(const Operand& x, const UniqueAttrs& attrs = {});

/// Of square matrices, the last two axes.
Tensor Det(const Operand& x);
/// Numbers drawn for run number `run`, an i64 of rank 0 (docs/numerics.md): the same for the same one.
Tensor Random(const IntList& shape, const Operand& run, const RandomAttrs& attrs = {});
/// The parts are as TreeEnsembleAttrs says.
Tensor TreeEnsemble(const Operand& x, const Tensor& nodes, const Tensor& thresholds, const Tensor& roots,
                    const Tensor& targets, const Tensor& votes, const TreeEnsembleAttrs& attrs = {});

/// An operator of the program's own; `options` are what its functions get to see beside the operands, of
/// which empty ones are absent. Whoever opens a model that was saved with it registers it again, by its name
/// (ModelOptions::custom_operators).
Tensors Custom(const CustomOperator& op, const Tensors& operands, size_t output_count = 1,
               Span<const uint8_t> options = {}, const Location& where = Location::current());

}  // namespace skiff::eager
