// Recurrent layers: at each step XNNPACK's product of the state with the recurrent weights, then elementwise
// kernels over the gates.
#include <algorithm>
#include <limits>

#include "delegates/xnnpack/lower/lowerings.h"
#include "delegates/xnnpack/lower/operator.h"
#include "delegates/xnnpack/weights/packed_weights.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Threads that wait for each other at every step must have this much to read in between.
constexpr size_t kSharedBytes = 1024 * 1024;

class RecurrentStep final : public Step {
 public:
  RecurrentStep(const NodeView& node, const Environment& environment)
      : Step(node, environment),
        attrs_(node.As<RecurrentAttrs>()),
        gates_(static_cast<size_t>(GatesOf(node.op()))),
        first_(environment.weights),
        second_(environment.weights) {}

  Status Reshape() override {
    const Shape& x = node_.in(0).shape;
    for (size_t i = 0; i < node_.inputs(); ++i) {
      if (node_.Has(i) && !node_.in(i).dense()) return Refuse();
    }
    for (size_t i = 0; i < node_.outputs(); ++i) {
      if (!node_.out(i).dense()) return Refuse();
    }
    steps_ = static_cast<size_t>(x[0]);
    batch_ = static_cast<size_t>(x[1]);
    hidden_ = static_cast<size_t>(node_.in(1).shape[1]);
    pool_ = gates_ * hidden_ * hidden_ * sizeof(float) < kSharedBytes ? nullptr : environment_.pool;
    if (!first_.op) {
      SKIFF_RETURN_IF_ERROR(Create(first_, 0, ResetsBefore() ? 2 : gates_));
      if (ResetsBefore()) SKIFF_RETURN_IF_ERROR(Create(second_, 2, 1));
    }
    for (Product* product : {&first_, &second_}) {
      if (product->op)
        SKIFF_RETURN_IF_ERROR(FromXnn(xnn_reshape_fully_connected_nc_f32(product->op.get(), batch_, pool_)));
    }
    workspace_bytes_ = batch_ * (gates_ + (ResetsBefore() ? 1 : 0)) * hidden_ * sizeof(float);
    return OkStatus();
  }

  Status Bind(void* workspace) override {
    gate_values_ = static_cast<float*>(workspace);
    state_ = node_.out(1).as<float>();
    cell_ = node_.op() == OpCode::kLstm ? node_.out(2).as<float>() : nullptr;
    return OkStatus();
  }

  Status Run() override {
    if (node_.Has(4)) SKIFF_RETURN_IF_ERROR(CheckLengths(node_.op(), node_.in(4), node_.in(0).shape[0]));
    Start(3, state_);
    if (cell_ != nullptr) Start(5, cell_);
    for (size_t i = 0; i < steps_; ++i) {
      const size_t step = attrs_.reverse ? steps_ - 1 - i : i;
      SKIFF_RETURN_IF_ERROR(Multiply(first_, state_, gate_values_));
      if (ResetsBefore()) SKIFF_RETURN_IF_ERROR(MultiplyReset(step));
      for (size_t row = 0; row < batch_; ++row) Update(step, row);
    }
    return OkStatus();
  }

 private:
  struct Product {
    explicit Product(PackedWeights* weights) : provider(weights) {}
    WeightsProvider provider;  // Before the operator, which uses it as long as it lives.
    Operator op;
    size_t outputs = 0;
  };

  /// Gru in its first definition: the candidate's product is with the state that the reset gate has
  /// multiplied.
  bool ResetsBefore() const { return node_.op() == OpCode::kGru && !attrs_.reset_after; }

  /// The product with the weights of `count` gates. Its key is that of the same rows of a fully connected
  /// layer.
  Status Create(Product& product, size_t gate, size_t count) {
    const size_t first = gate * hidden_;
    const size_t outputs = count * hidden_;
    product.outputs = outputs;
    PackingKey key;
    key.kind = PackingKind::kLinear;
    key.dtype = DType::kF32;
    key.has_bias = node_.Has(2);
    key.weights = node_.input(1).hash;
    if (key.has_bias) key.bias = node_.input(2).hash;
    key.parameters[0] = hidden_;
    key.parameters[1] = outputs;
    key.parameters[2] = first;
    const float* const weights = node_.in(1).as<const float>() + first * hidden_;
    const float* const bias = key.has_bias ? node_.in(2).as<const float>() + first : nullptr;
    const PackedExtents extents{hidden_, outputs};
    return product.provider.Make(
        product.op, key, extents, [&](xnn_weights_cache_t cache, xnn_operator_t* made) {
          return xnn_create_fully_connected_nc_f32(hidden_, outputs, hidden_, gates_ * hidden_, weights, bias,
                                                   -kInfinity, kInfinity, /*flags=*/0, nullptr, cache, made);
        });
  }

  Status Multiply(const Product& product, const float* state, float* to) {
    SKIFF_RETURN_IF_ERROR(FromXnn(xnn_setup_fully_connected_nc_f32(product.op.get(), state, to)));
    SKIFF_RETURN_IF_ERROR(product.op.Run(pool_));
    KeepNan(product, state, to);
    return OkStatus();
  }

  /// Of a NaN some of XNNPACK's kernels make an infinity, and the activation a number as good as any.
  void KeepNan(const Product& product, const float* state, float* to) const {
    for (size_t row = 0; row < batch_; ++row) {
      bool nan = false;
      for (size_t i = 0; i < hidden_; ++i) nan |= state[row * hidden_ + i] != state[row * hidden_ + i];
      if (nan)
        std::fill_n(to + row * gates_ * hidden_, product.outputs, std::numeric_limits<float>::quiet_NaN());
    }
  }

  void Start(size_t input, float* state) {
    if (node_.Has(input)) {
      std::copy_n(node_.in(input).as<const float>(), batch_ * hidden_, state);
    } else {
      std::fill_n(state, batch_ * hidden_, 0.0f);
    }
  }

  void Unary(UnaryKernel kernel, size_t n, float* x) const {
    environment_.kernels->unary[static_cast<size_t>(kernel)](n, x, x, params_);
  }
  void Binary(BinaryKernel kernel, size_t n, const float* a, const float* b, float* y) const {
    environment_.kernels->binary[static_cast<size_t>(kernel)][0](n, a, b, y, params_);
  }

  const float* InputOf(size_t step, size_t row) const {
    return node_.in(0).as<const float>() + (step * batch_ + row) * gates_ * hidden_;
  }
  float* GatesOfRow(size_t row) const { return gate_values_ + row * gates_ * hidden_; }

  /// Update and reset gate, and the candidate's product with the state that is left of the reset.
  Status MultiplyReset(size_t step) {
    float* const left = gate_values_ + batch_ * gates_ * hidden_;
    for (size_t row = 0; row < batch_; ++row) {
      float* const gates = GatesOfRow(row);
      Binary(BinaryKernel::kAdd, 2 * hidden_, gates, InputOf(step, row), gates);
      Unary(UnaryKernel::kSigmoid, 2 * hidden_, gates);
      Binary(BinaryKernel::kMul, hidden_, gates + hidden_, state_ + row * hidden_, left + row * hidden_);
    }
    return Multiply(second_, left, gate_values_ + 2 * hidden_);
  }

  /// The state of one sequence after a step, if it has not ended before.
  void Update(size_t step, size_t row) {
    float* const out = node_.out(0).as<float>() + (step * batch_ + row) * hidden_;
    if (node_.Has(4) && IntegerAt(node_.in(4), static_cast<int64_t>(row)) <= static_cast<int64_t>(step)) {
      std::fill_n(out, hidden_, 0.0f);
      return;
    }
    float* const state = state_ + row * hidden_;
    if (node_.op() == OpCode::kLstm) {
      UpdateLstm(InputOf(step, row), GatesOfRow(row), state, cell_ + row * hidden_);
    } else if (node_.op() == OpCode::kGru) {
      UpdateGru(InputOf(step, row), GatesOfRow(row), state);
    } else {
      Binary(BinaryKernel::kAdd, hidden_, GatesOfRow(row), InputOf(step, row), state);
      if (!clamps_) Unary(UnaryKernel::kTanh, hidden_, state);
    }
    std::copy_n(state, hidden_, out);
  }

  void UpdateLstm(const float* x, float* gates, float* state, float* cell) const {
    float* const candidate = gates + 3 * hidden_;
    Binary(BinaryKernel::kAdd, 4 * hidden_, gates, x, gates);
    Unary(UnaryKernel::kSigmoid, 3 * hidden_, gates);
    Unary(UnaryKernel::kTanh, hidden_, candidate);
    Binary(BinaryKernel::kMul, hidden_, gates, candidate, candidate);
    Binary(BinaryKernel::kMul, hidden_, gates + 2 * hidden_, cell, cell);
    Binary(BinaryKernel::kAdd, hidden_, candidate, cell, cell);
    if (attrs_.cell_clip < kInfinity) {
      for (size_t i = 0; i < hidden_; ++i) cell[i] = std::clamp(cell[i], -attrs_.cell_clip, attrs_.cell_clip);
    }
    std::copy_n(cell, hidden_, candidate);
    Unary(UnaryKernel::kTanh, hidden_, candidate);
    Binary(BinaryKernel::kMul, hidden_, gates + hidden_, candidate, state);
  }

  void UpdateGru(const float* x, float* gates, float* state) const {
    float* const candidate = gates + 2 * hidden_;
    if (!ResetsBefore()) {
      Binary(BinaryKernel::kAdd, 2 * hidden_, gates, x, gates);
      Unary(UnaryKernel::kSigmoid, 2 * hidden_, gates);
      Binary(BinaryKernel::kMul, hidden_, gates + hidden_, candidate, candidate);
    }
    Binary(BinaryKernel::kAdd, hidden_, candidate, x + 2 * hidden_, candidate);
    Unary(UnaryKernel::kTanh, hidden_, candidate);
    // (1 - update) * candidate + update * state
    Binary(BinaryKernel::kSub, hidden_, state, candidate, state);
    Binary(BinaryKernel::kMul, hidden_, gates, state, state);
    Binary(BinaryKernel::kAdd, hidden_, candidate, state, state);
  }

  const RecurrentAttrs attrs_;
  const size_t gates_;
  /// The sum of an Rnn with ReLU is clamped; nothing else is.
  const bool clamps_ = node_.op() == OpCode::kRnn && attrs_.relu;
  const KernelParams params_{.min = clamps_ ? 0.0f : -kInfinity, .max = kInfinity};
  size_t steps_ = 0, batch_ = 0, hidden_ = 0;
  Product first_, second_;
  pthreadpool_t pool_ = nullptr;
  float* gate_values_ = nullptr;  ///< [batch, gates, hidden], then what the reset leaves of the states.
  float* state_ = nullptr;        ///< Of the step before, which the last one leaves as output 1.
  float* cell_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerRecurrent(const NodeView& node, const Environment& environment) {
  return MakeStep<RecurrentStep>(node, environment);
}

}  // namespace skiff::xnnpack
