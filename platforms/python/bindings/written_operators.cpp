// The functions of skiff.ops that no row describes.
#include <fmt/format.h>

#include <cmath>

#include "graph/error.h"
#include "graph/quantization.h"
#include "platforms/python/bindings/operators.h"
#include "platforms/python/bindings/tensors.h"
#include "trace/ops.h"

namespace skiff::python {
namespace {

using eager::Location;
using eager::Operand;
using eager::Tensor;
using eager::Tensors;

Operand Given(nb::handle object, const char* name) {
  const Location where = Here();
  return {ToOperand(object, DType::kInvalid, name, where), where};
}
Tensor Other(nb::handle object, DType dtype, const char* name) {
  return object.is_none() ? Tensor() : ToOperand(object, dtype, name, Here());
}

template <class T>
std::vector<T> Numbers(nb::handle given, const char* what) {
  if (PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr())) return {As<T>(given, what)};
  std::vector<T> list;
  for (const nb::handle one : nb::iter(given))
    list.push_back(As<T>(nb::object(nb::getattr(one, "real", one)), what));
  return list;
}

/// Of a tensor like x; a negative axis counts from its last.
QuantizationPtr ToQuantization(const Tensor& x, nb::handle scale, nb::handle zero_point, nb::handle axis) {
  const auto scales = Numbers<float>(scale, "scale");
  const auto zero_points = Numbers<int32_t>(zero_point, "zero_point");
  if (!axis.is_none()) {
    const auto given = As<int64_t>(axis, "axis");
    const int64_t counted = given < 0 ? given + x.rank() : given;
    if (counted < 0 || counted >= x.rank())
      Throw(StatusCode::kInvalidArgument, "axis is {}, which {} does not have", given, x.TypeText());
    const bool shared = zero_points.size() == 1;
    return PerAxis(static_cast<int>(counted), scales,
                   shared ? std::vector<int32_t>(scales.size(), zero_points[0]) : zero_points);
  }
  if (scales.size() != 1 || zero_points.size() != 1)
    Throw(StatusCode::kInvalidArgument,
          "{} scales and {} zero points were given without an axis; expected one of each", scales.size(),
          zero_points.size());
  return PerTensor(scales[0], zero_points[0]);
}

using Quantizing = Tensor (*)(const Operand&, DType, const QuantizationPtr&);
struct QuantizingRow {
  const char* name;
  Quantizing function;
  const char* doc;
};
constexpr QuantizingRow kQuantizing[] = {
    {"quantize", &eager::Quantize,
     "Rounds real numbers to integers that stand for them: real = scale * (integer - zero_point)."},
    {"requantize", &eager::Requantize, "Other integers for the same numbers, rounded once."},
    {"from_codes", &eager::FromCodes, "Plain integers as a tensor that is quantised like this."},
};

using Recurrent = eager::RecurrentResults (*)(const Operand&, const Tensor&, const eager::RecurrentInputs&,
                                              const RecurrentAttrs&);
struct RecurrentRow {
  const char* name;
  Recurrent function;
  const char* doc;
};
constexpr RecurrentRow kRecurrent[] = {
    {"lstm", &eager::Lstm,
     "x: the sequence times the input weights, [T, B, 4 * H]; weights: [4 * H, H]; gates: input, output, "
     "forget, cell. "
     "Returns the states [T, B, H], the last state and the last cell state [B, H]."},
    {"gru", &eager::Gru,
     "x: [T, B, 3 * H]; weights: [3 * H, H]; gates: update, reset, hidden. Returns the states [T, B, H] and "
     "the last one."},
    {"rnn", &eager::Rnn, "x: [T, B, H]; weights: [H, H]. Returns the states [T, B, H] and the last one."},
};

void DefineQuantizing(nb::module_& ops) {
  for (const QuantizingRow& row : kQuantizing) {
    ops.def(
        row.name,
        [&row](nb::handle x, nb::handle dtype, nb::handle scale, nb::handle zero_point, nb::handle axis) {
          const Operand operand = Given(x, "x");
          return row.function(operand, ToDType(dtype),
                              ToQuantization(operand.tensor(), scale, zero_point, axis));
        },
        nb::arg("x"), nb::arg("dtype"), nb::arg("scale"), nb::arg("zero_point") = 0,
        nb::arg("axis").none() = nb::none(),
        nb::sig(fmt::format("def {}(x: typing.Any, dtype: typing.Any, scale: typing.Any, zero_point: "
                            "typing.Any = 0, axis: int | None = "
                            "None) -> skiff._skiff.Tensor",
                            row.name)
                    .c_str()),
        row.doc);
  }
  ops.def(
      "to_codes", [](nb::handle x) { return eager::ToCodes(Given(x, "x")); }, nb::arg("x"),
      nb::sig("def to_codes(x: typing.Any) -> skiff._skiff.Tensor"),
      "The integers of a quantised tensor as plain numbers.");
}

void DefineRecurrent(nb::module_& ops) {
  for (const RecurrentRow& row : kRecurrent) {
    const bool has_cell = row.function == &eager::Lstm;
    const char* cell = has_cell ? "cell: typing.Any = None, peepholes: typing.Any = None, " : "";
    ops.def(
        row.name,
        [&row, has_cell](nb::handle x, nb::handle weights, nb::handle bias, nb::handle state,
                         nb::handle lengths, nb::handle cell, nb::handle peepholes, bool reverse,
                         bool reset_after, bool relu, double cell_clip) {
          const Operand sequence = Given(x, "x");
          const DType dtype = sequence.tensor().dtype();
          const eager::RecurrentInputs inputs{Other(bias, dtype, "bias"), Other(state, dtype, "state"),
                                              Other(lengths, DType::kI64, "lengths"),
                                              Other(cell, dtype, "cell"),
                                              Other(peepholes, dtype, "peepholes")};
          const RecurrentAttrs attrs{reverse, reset_after, relu, static_cast<float>(cell_clip)};
          const eager::RecurrentResults results =
              row.function(sequence, Other(weights, dtype, "weights"), inputs, attrs);
          return has_cell ? nb::make_tuple(results.states, results.state, results.cell)
                          : nb::make_tuple(results.states, results.state);
        },
        nb::arg("x"), nb::arg("weights"), nb::arg("bias").none() = nb::none(),
        nb::arg("state").none() = nb::none(), nb::arg("lengths").none() = nb::none(),
        nb::arg("cell").none() = nb::none(), nb::arg("peepholes").none() = nb::none(),
        nb::arg("reverse") = false, nb::arg("reset_after") = false, nb::arg("relu") = false,
        nb::arg("cell_clip") = HUGE_VAL,
        nb::sig(fmt::format("def {}(x: typing.Any, weights: typing.Any, bias: typing.Any = None, state: "
                            "typing.Any = None, lengths: "
                            "typing.Any = None, {}reverse: bool = False, reset_after: bool = False, relu: "
                            "bool = False, cell_clip: float = "
                            "float('inf')) -> tuple[skiff._skiff.Tensor, ...]",
                            row.name, cell)
                    .c_str()),
        row.doc);
  }
}

void DefineOthers(nb::module_& ops) {
  ops.def(
         "relu", [](nb::handle x) { return eager::Relu(Given(x, "x")); }, nb::arg("x"),
         nb::sig("def relu(x: typing.Any) -> skiff._skiff.Tensor"), "x where it is positive, else 0.")
      .def(
          "concat",
          [](nb::handle parts, int64_t axis) {
            const Location where = Here();
            DType type = DType::kInvalid;
            for (const nb::handle part : nb::iter(parts))
              type = type == DType::kInvalid ? OwnType(part) : type;
            Tensors tensors;
            for (const nb::handle part : nb::iter(parts))
              tensors.push_back(ToOperand(part, type, "a part of concat", where));
            return eager::Concat(tensors, axis, where);
          },
          nb::arg("parts"), nb::arg("axis"),
          nb::sig(
              "def concat(parts: collections.abc.Sequence[typing.Any], axis: int) -> skiff._skiff.Tensor"),
          "One behind the other along the axis.")
      .def(
          "split",
          [](nb::handle x, const std::vector<int64_t>& sizes, int64_t axis) {
            return ToList(eager::Split(Given(x, "x"), sizes, axis));
          },
          nb::arg("x"), nb::arg("sizes"), nb::arg("axis") = 0,
          nb::sig("def split(x: typing.Any, sizes: collections.abc.Sequence[int], axis: int = 0) -> "
                  "list[skiff._skiff.Tensor]"),
          "Parts of these sizes along the axis.")
      .def(
          "top_k",
          [](nb::handle x, int64_t k, int64_t axis, bool largest) {
            const auto [values, indices] = eager::TopK(Given(x, "x"), k, {axis, largest});
            return nb::make_tuple(values, indices);
          },
          nb::arg("x"), nb::arg("k"), nb::arg("axis") = -1, nb::arg("largest") = true,
          nb::sig("def top_k(x: typing.Any, k: int, axis: int = -1, largest: bool = True) -> "
                  "tuple[skiff._skiff.Tensor, "
                  "skiff._skiff.Tensor]"),
          "The k largest elements along the axis, and their indices.")
      .def(
          "fill",
          [](nb::handle shape, nb::handle dtype, double value) {
            const Location where = Here();
            return eager::Fill(ToIntList(shape, "shape", where), ToDType(dtype), value, where);
          },
          nb::arg("shape"), nb::arg("dtype"), nb::arg("value") = 0.0,
          nb::sig(
              "def fill(shape: typing.Any, dtype: typing.Any, value: float = 0.0) -> skiff._skiff.Tensor"),
          "A tensor of this shape with one value.")
      .def(
          "det", [](nb::handle x) { return eager::Det(Given(x, "x")); }, nb::arg("x"),
          nb::sig("def det(x: typing.Any) -> skiff._skiff.Tensor"),
          "Determinants of square matrices, the last two axes.")
      .def(
          "non_zero", [](nb::handle x) { return eager::NonZero(Given(x, "x")); }, nb::arg("x"),
          nb::sig("def non_zero(x: typing.Any) -> skiff._skiff.Tensor"),
          "The indices of what is not 0, by axis: int64 [rank, count].")
      .def(
          "non_max_suppression",
          [](nb::handle boxes, nb::handle scores, int64_t most, float most_overlap, double least_score,
             bool centers) {
            return eager::NonMaxSuppression(Given(boxes, "boxes"), Given(scores, "scores").tensor(), most,
                                            most_overlap, static_cast<float>(least_score), {centers});
          },
          nb::arg("boxes"), nb::arg("scores"), nb::arg("most"), nb::arg("most_overlap"),
          nb::arg("least_score") = -HUGE_VAL, nb::arg("centers") = false,
          nb::sig("def non_max_suppression(boxes: typing.Any, scores: typing.Any, most: int, most_overlap: "
                  "float, least_score: float = "
                  "float('-inf'), centers: bool = False) -> skiff._skiff.Tensor"),
          "Which boxes stay, as int64 [count, 3] of batch, class and box. boxes: [batch, boxes, 4]; scores: "
          "[batch, classes, boxes].")
      .def(
          "unique",
          [](nb::handle x, nb::handle axis, bool sorted) {
            const int64_t along = axis.is_none() ? 0 : nb::cast<int64_t>(axis);
            const eager::UniqueParts parts = eager::Unique(Given(x, "x"), {!axis.is_none(), along, sorted});
            return nb::make_tuple(parts.values, parts.first, parts.of, parts.counts);
          },
          nb::arg("x"), nb::arg("axis").none() = nb::none(), nb::arg("sorted") = true,
          nb::sig("def unique(x: typing.Any, axis: int | None = None, sorted: bool = True) -> "
                  "tuple[skiff._skiff.Tensor, ...]"),
          "Each element (or slice along the axis) once, where each occurs first, which of them each is, how "
          "often each occurs.");
}

}  // namespace

void DefineWrittenOut(nb::module_& ops) {
  DefineQuantizing(ops);
  DefineRecurrent(ops);
  DefineOthers(ops);
}

}  // namespace skiff::python
