// Lstm, Gru, Rnn: one unit of the state at a time. The state of the step before is read from where it was
// stored.
#include <algorithm>
#include <cmath>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

template <class T>
struct Layer {
  const RecurrentAttrs* attrs;
  int64_t steps, batch, hidden, gates;
  const T* x;        ///< [steps, batch, gates, hidden].
  const T* weights;  ///< [gates, hidden, hidden].
  const T* bias;     ///< [gates, hidden], or null, as are the next two.
  const T* first_state;
  const T* first_cell;
  const T* peepholes;  ///< Of input, output and forget gate.
  T* states;
  T* last_state;
  T* last_cell;

  double Bias(int64_t gate, int64_t unit) const {
    return bias == nullptr ? 0.0 : ToDouble(bias[gate * hidden + unit]);
  }
  /// The recurrent product of a gate's unit with a state, which is 0 where it is null.
  double Product(int64_t gate, int64_t unit, const T* state) const {
    if (state == nullptr) return 0.0;
    const T* row = weights + (gate * hidden + unit) * hidden;
    double sum = 0;
    for (int64_t i = 0; i < hidden; ++i) sum += ToDouble(row[i]) * ToDouble(state[i]);
    return sum;
  }
  double Peephole(int64_t gate, int64_t unit, double cell) const {
    return peepholes == nullptr ? 0.0 : ToDouble(peepholes[gate * hidden + unit]) * cell;
  }

  struct Row {
    const T* x;
    const T* before;  ///< The state of the step before; null: zeros.
    T* state;
    T* cell;     ///< Lstm: of the step before, and then of this one.
    T* scratch;  ///< `hidden` elements that nobody reads before the layer is done.
  };
  double Gate(const Row& row, int64_t gate, int64_t unit) const {
    return ToDouble(row.x[gate * hidden + unit]) + Product(gate, unit, row.before) + Bias(gate, unit);
  }

  void LstmStep(const Row& row) const {
    const auto clip = static_cast<double>(attrs->cell_clip);
    for (int64_t i = 0; i < hidden; ++i) {
      const double before = ToDouble(row.cell[i]);
      const double input = Sigmoid(Gate(row, 0, i) + Peephole(0, i, before));
      const double forget = Sigmoid(Gate(row, 2, i) + Peephole(2, i, before));
      const double cell = std::clamp(forget * before + input * std::tanh(Gate(row, 3, i)), -clip, clip);
      const double output = Sigmoid(Gate(row, 1, i) + Peephole(1, i, cell));
      row.cell[i] = Store<T>(cell);
      row.state[i] = Store<T>(output * std::tanh(cell));
    }
  }

  void GruStep(const Row& row) const {
    const auto before = [&](int64_t i) { return row.before == nullptr ? 0.0 : ToDouble(row.before[i]); };
    if (!attrs->reset_after) {
      for (int64_t i = 0; i < hidden; ++i) row.scratch[i] = Store<T>(Sigmoid(Gate(row, 1, i)) * before(i));
    }
    for (int64_t i = 0; i < hidden; ++i) {
      const double recurrent = attrs->reset_after
                                   ? Sigmoid(Gate(row, 1, i)) * (Product(2, i, row.before) + Bias(2, i))
                                   : Product(2, i, row.scratch) + Bias(2, i);
      const double candidate = std::tanh(ToDouble(row.x[2 * hidden + i]) + recurrent);
      const double update = Sigmoid(Gate(row, 0, i));
      row.state[i] = Store<T>((1.0 - update) * candidate + update * before(i));
    }
  }

  void RnnStep(const Row& row) const {
    for (int64_t i = 0; i < hidden; ++i) {
      const double sum = Gate(row, 0, i);
      row.state[i] = Store<T>(attrs->relu ? (sum < 0.0 ? 0.0 : sum) : std::tanh(sum));
    }
  }

  /// One sequence of `length` steps.
  void Run(OpCode op, int64_t sequence, int64_t length) const {
    const int64_t at = sequence * hidden;
    T* const last = last_state + at;
    T* const cell = last_cell == nullptr ? nullptr : last_cell + at;
    const T* before = first_state == nullptr ? nullptr : first_state + at;
    if (cell != nullptr && first_cell != nullptr) std::copy_n(first_cell + at, hidden, cell);
    if (cell != nullptr && first_cell == nullptr) std::fill_n(cell, hidden, Store<T>(0.0));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t row = (attrs->reverse ? length - 1 - i : i) * batch + sequence;
      T* const state = states + row * hidden;
      const Row step{x + row * gates * hidden, before, state, cell, last};
      if (op == OpCode::kLstm) LstmStep(step);
      if (op == OpCode::kGru) GruStep(step);
      if (op == OpCode::kRnn) RnnStep(step);
      before = state;
    }
    for (int64_t t = length; t < steps; ++t)
      std::fill_n(states + (t * batch + sequence) * hidden, hidden, Store<T>(0.0));
    if (before == nullptr) {
      std::fill_n(last, hidden, Store<T>(0.0));
    } else {
      std::copy_n(before, hidden, last);
    }
  }
};

}  // namespace

Status KernelRecurrent(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& weights = args.inputs[1];
  const int64_t steps = x.shape[0];
  if (args.Has(4)) SKIFF_RETURN_IF_ERROR(CheckLengths(args.op, args.inputs[4], steps));
  return VisitFloat(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto optional = [&](size_t i) { return args.Has(i) ? args.inputs[i].as<const T>() : nullptr; };
    const Layer<T> layer{&args.As<RecurrentAttrs>(),
                         steps,
                         x.shape[1],
                         weights.shape[1],
                         GatesOf(args.op),
                         x.as<const T>(),
                         weights.as<const T>(),
                         optional(2),
                         optional(3),
                         optional(5),
                         optional(6),
                         args.outputs[0].as<T>(),
                         args.outputs[1].as<T>(),
                         args.op == OpCode::kLstm ? args.outputs[2].as<T>() : nullptr};
    for (int64_t i = 0; i < layer.batch; ++i)
      layer.Run(args.op, i, args.Has(4) ? IntegerAt(args.inputs[4], i) : steps);
    return OkStatus();
  });
}

}  // namespace skiff
