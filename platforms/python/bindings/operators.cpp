// skiff.ops: the operators as functions of tensors, from the table of operators and from operators.def.
// Names, attributes and their defaults are data here, so that a new operator is a row.
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "graph/error.h"
#include "graph/quantization.h"
#include "ops/op.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tensors.h"
#include "trace/apply.h"
#include "trace/ops.h"

namespace skiff::python {
namespace {

using eager::Location;
using eager::Operand;
using eager::Tensor;
using eager::Tensors;

enum class Kind : uint8_t { kTensor, kInts, kInteger, kIndices, kCondition, kAttribute };

struct Parameter {
  std::string name;
  Kind kind = Kind::kTensor;
  bool required = true;
  std::string fallback;  ///< As Python writes it.
  std::string type;
};

struct Operator {
  OpCode op = OpCode{};
  std::string name;
  std::vector<Parameter> parameters;  ///< Operands, then attributes.
  size_t operands = 0;
  AttrStorage defaults;
};

/// The attribute is a DType, which has no type of its own in files.
bool IsDType(const char* attribute) {
  return std::strcmp(attribute, "dtype") == 0 || std::strcmp(attribute, "to") == 0;
}

Ints ToInts(nb::handle value, const std::string& what) {
  Ints ints;
  if (PyLong_Check(value.ptr())) return {nb::cast<int64_t>(value)};
  for (const nb::handle one : nb::iter(value)) {
    if (ints.size == kMaxRank)
      Throw(StatusCode::kInvalidArgument, "{} has more than {} numbers", what, kMaxRank);
    ints[ints.size++] = nb::cast<int64_t>(one);
  }
  return ints;
}

template <class E>
E ToEnum(nb::handle value, const std::string& what) {
  const auto text = nb::cast<std::string>(value);
  constexpr auto& names = EnumNames<E>::kNames;
  for (size_t i = 0; i < std::size(names); ++i) {
    if (text == names[i]) return static_cast<E>(i);
  }
  Throw(StatusCode::kInvalidArgument, "{} is '{}'; expected one of '{}'", what, text,
        fmt::join(names, "', '"));
}

/// What Python passes for an attribute.
template <class T>
void Set(T& member, nb::handle value, const char* name, const std::string& what) {
  if constexpr (std::is_same_v<T, Ints>) {
    member = ToInts(value, what);
  } else if constexpr (std::is_enum_v<T>) {
    member = ToEnum<T>(value, what);
  } else if constexpr (std::is_same_v<T, float>) {
    member = static_cast<float>(nb::cast<double>(value));
  } else if (std::is_same_v<T, int64_t> && IsDType(name)) {
    member = static_cast<T>(ToDType(value));
  } else {
    member = nb::cast<T>(value);
  }
}

std::string NumberText(double number) {
  if (std::isinf(number)) return number > 0 ? "float('inf')" : "float('-inf')";
  return fmt::format("{}", number);
}

/// The type of an attribute, and its default, as Python writes them.
template <class T>
std::pair<std::string, std::string> Describe(const T& member, const char* name) {
  if constexpr (std::is_same_v<T, Ints>) {
    const char* end = member.size == 1 ? ",)" : ")";
    return {"int | collections.abc.Sequence[int]", fmt::format("({}{}", fmt::join(member, ", "), end)};
  } else if constexpr (std::is_enum_v<T>) {
    return {"str", fmt::format("'{}'", EnumNames<T>::kNames[static_cast<size_t>(member)])};
  } else if constexpr (std::is_same_v<T, float>) {
    return {"float", NumberText(static_cast<double>(member))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {"bool", member ? "True" : "False"};
  } else {
    if (IsDType(name)) return {"typing.Any", fmt::format("'{}'", DTypeName(static_cast<DType>(member)))};
    return {"int", std::to_string(member)};
  }
}

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

constexpr std::pair<char, Kind> kKinds[] = {
    {'*', Kind::kInts}, {'#', Kind::kInteger}, {'@', Kind::kIndices}, {'!', Kind::kCondition}};

/// A word of operators.def.
Parameter OperandOf(const std::string& word) {
  Parameter parameter{word.substr(0, word.find_first_of("*#@!?=")), Kind::kTensor, true, "", "typing.Any"};
  for (const auto& [mark, kind] : kKinds) {
    if (word.find(mark) != std::string::npos) parameter.kind = kind;
  }
  const size_t equals = word.find('=');
  if (equals != std::string::npos) parameter.fallback = word.substr(equals + 1);
  if (word.back() == '?') parameter.fallback = "None";
  parameter.required = parameter.fallback.empty();
  return parameter;
}

Operator OperatorOf(OpCode op, std::string name, const std::string& operands, bool attributes,
                    const std::string& defaults) {
  Operator made{op, std::move(name), {}, 0, {}};
  InitAttrs(op, made.defaults);
  for (const std::string& word : Words(operands)) made.parameters.push_back(OperandOf(word));
  made.operands = made.parameters.size();
  if (!attributes) return made;
  std::map<std::string, std::string> own;
  for (const std::string& word : Words(defaults)) {
    const size_t equals = std::min(word.find('='), word.size());
    own[word.substr(0, equals)] = equals == word.size() ? "" : word.substr(equals + 1);
  }
  VisitAttrs(op, made.defaults, [&](int, const char* attribute, auto& member) {
    const auto [type, fallback] = Describe(member, attribute);
    const auto found = own.find(attribute);
    const std::string& text = found == own.end() ? fallback : found->second;
    made.parameters.push_back({attribute, Kind::kAttribute, text.empty(), text, type});
    if (found == own.end() || text.empty()) return;
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(member)>>)
      member = static_cast<std::remove_cvref_t<decltype(member)>>(std::stod(text));
  });
  // What the caller must say comes before what may be left out.
  std::stable_partition(made.parameters.begin() + static_cast<std::ptrdiff_t>(made.operands),
                        made.parameters.end(), [](const Parameter& parameter) { return parameter.required; });
  return made;
}

std::string SignatureOf(const Operator& op) {
  std::vector<std::string> parameters;
  bool optional = false;
  for (const Parameter& parameter : op.parameters) {
    optional = optional || !parameter.required;
    std::string text = fmt::format("{}: {}", parameter.name, parameter.type);
    // A required attribute behind an operand that may be left out is said by its name.
    if (parameter.required && optional)
      Throw(StatusCode::kInternal, "{}: '{}' follows an optional parameter", op.name, parameter.name);
    parameters.push_back(parameter.required ? text : text + " = " + parameter.fallback);
  }
  return fmt::format("def {}({}) -> skiff._skiff.Tensor", op.name, fmt::join(parameters, ", "));
}

/// Arguments by the places of their parameters, as Python itself finds them.
std::vector<nb::handle> Bind(const Operator& op, const nb::args& args, const nb::kwargs& kwargs) {
  std::vector<nb::handle> given(op.parameters.size());
  if (args.size() > given.size())
    throw nb::type_error(
        fmt::format("{}() takes {} arguments but {} were given", op.name, given.size(), args.size()).c_str());
  for (size_t i = 0; i < args.size(); ++i) given[i] = args[i];
  for (const auto& [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    size_t at = 0;
    while (at < given.size() && op.parameters[at].name != name) ++at;
    if (at == given.size())
      throw nb::type_error(
          fmt::format("{}() got an unexpected keyword argument '{}'", op.name, name).c_str());
    if (given[at].is_valid())
      throw nb::type_error(fmt::format("{}() got multiple values for argument '{}'", op.name, name).c_str());
    given[at] = value;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].is_valid() && op.parameters[i].required)
      throw nb::type_error(
          fmt::format("{}() misses the argument '{}'", op.name, op.parameters[i].name).c_str());
  }
  return given;
}

Tensor OperandTensor(const Operator& op, const Parameter& parameter, nb::handle given, DType shared,
                     const Location& where) {
  const bool absent = !given.is_valid() || given.is_none();
  if (absent && parameter.required)
    eager::ThrowAt(where, StatusCode::kInvalidArgument, "{}: '{}' is None; it cannot be left out", op.name,
                   parameter.name);
  const auto what = [&] { return fmt::format("{}: '{}'", op.name, parameter.name); };
  switch (parameter.kind) {
    case Kind::kInts:
      return absent ? Tensor() : ToIntList(given, what(), where);
    case Kind::kInteger:
      return absent ? Tensor::Scalar<int64_t>(std::stoll(parameter.fallback))
                    : ToOperand(given, DType::kI64, what(), where);
    case Kind::kIndices:
      return ToOperand(given, DType::kI64, what(), where);
    case Kind::kCondition:
      return ToOperand(given, DType::kBool, what(), where);
    case Kind::kTensor:
    case Kind::kAttribute:
      break;
  }
  return absent ? Tensor() : ToOperand(given, shared, what(), where);
}

/// The dtype that numbers and lists take: of the first operand that has one.
DType SharedType(const Operator& op, const std::vector<nb::handle>& given) {
  DType type = DType::kInvalid;
  for (size_t i = 0; i < op.operands && type == DType::kInvalid; ++i) {
    if (op.parameters[i].kind == Kind::kTensor && given[i].is_valid() && !given[i].is_none())
      type = OwnType(given[i]);
  }
  return type;
}

nb::object CallOperator(const Operator& op, const nb::args& args, const nb::kwargs& kwargs) {
  const Location where = Here();
  const std::vector<nb::handle> given = Bind(op, args, kwargs);
  const DType shared = SharedType(op, given);
  Tensors operands;
  for (size_t i = 0; i < op.operands; ++i)
    operands.push_back(OperandTensor(op, op.parameters[i], given[i], shared, where));
  AttrStorage attrs = op.defaults;
  VisitAttrs(op.op, attrs, [&](int, const char* name, auto& member) {
    for (size_t i = op.operands; i < op.parameters.size(); ++i) {
      if (!given[i].is_valid() || op.parameters[i].name != name) continue;
      const std::string what = fmt::format("{}: '{}'", op.name, name);
      try {
        Set(member, given[i], name, what);
      } catch (const nb::cast_error&) {
        eager::ThrowAt(where, StatusCode::kInvalidArgument, "{} is {}; expected {}", what,
                       nb::cast<std::string>(nb::str(nb::repr(given[i]))), op.parameters[i].type);
      }
    }
  });
  Tensor result;
  {
    const MaybeUnlocked unlocked(TakesTime(operands));
    result = eager::Apply(op.op, attrs, operands, static_cast<size_t>(FindOp(op.op)->outputs), where)[0];
  }
  return nb::cast(result);
}

void Define(nb::module_& module, Operator&& op, const std::string& doc) {
  const std::string name = op.name, signature = SignatureOf(op);
  module.def(
      name.c_str(),
      [op = std::make_shared<const Operator>(std::move(op))](const nb::args& args, const nb::kwargs& kwargs) {
        return CallOperator(*op, args, kwargs);
      },
      nb::sig(signature.c_str()), doc.c_str());
}

/// Names that the rule would spell otherwise than people do, and Python's keywords.
constexpr std::pair<const char*, const char*> kNames[] = {
    {"IsNaN", "is_nan"}, {"PRelu", "prelu"}, {"And", "and_"}, {"Or", "or_"}, {"Not", "not_"}};

std::string PythonName(const std::string& name) {
  for (const auto& [ours, theirs] : kNames) {
    if (name == ours) return theirs;
  }
  std::string text;
  for (const char letter : name) {
    if (std::isupper(static_cast<unsigned char>(letter)) && !text.empty()) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

struct Element {
  OpCode op;
  const char* name;
  const char* operands;
};
constexpr Element kElementwise[] = {
#define SKIFF_UNARY(Name) {OpCode::k##Name, #Name, "x"},
#define SKIFF_BINARY(Name) {OpCode::k##Name, #Name, "a b"},
#include "trace/elementwise.inc"
};

struct Row {
  OpCode op;
  const char* name;
  const char* operands;
  const char* defaults;
  const char* doc;
};
constexpr Row kRows[] = {
#define SKIFF_OPERATOR(Op, name, operands, defaults, doc) {OpCode::k##Op, #name, operands, defaults, doc},
#include "platforms/python/bindings/operators.def"
#undef SKIFF_OPERATOR
};

Operand Given(nb::handle object, const char* name) {
  const Location where = Here();
  return {ToOperand(object, DType::kInvalid, name, where), where};
}
Tensor Other(nb::handle object, DType dtype, const char* name) {
  return object.is_none() ? Tensor() : ToOperand(object, dtype, name, Here());
}

QuantizationPtr ToQuantization(nb::handle scale, nb::handle zero_point, nb::handle axis) {
  const auto numbers = []<class T>(nb::handle given, T) {
    if (PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr())) return std::vector<T>{nb::cast<T>(given)};
    std::vector<T> list;
    for (const nb::handle one : nb::iter(given))
      list.push_back(nb::cast<T>(nb::object(nb::getattr(one, "real", one))));
    return list;
  };
  const std::vector<float> scales = numbers(scale, 0.0f);
  const std::vector<int32_t> zero_points = numbers(zero_point, int32_t{0});
  if (!axis.is_none()) {
    const bool shared = zero_points.size() == 1;
    return PerAxis(nb::cast<int>(axis), scales,
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
          return row.function(Given(x, "x"), ToDType(dtype), ToQuantization(scale, zero_point, axis));
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

/// Those whose results are several, or follow from elements.
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

void BindOperators(nb::module_& module) {
  nb::module_ ops = module.def_submodule(
      "ops",
      "The operators as functions of tensors: at once outside of a trace, a node inside.\n\n"
      "Two-dimensional convolution, pooling and resize take [N, height, width, channels], weights are [out, "
      "height, width, in]. "
      "Errors begin with the line that called.");
  for (const Element& element : kElementwise) {
    const bool two = std::strlen(element.operands) > 1;
    Define(ops, OperatorOf(element.op, PythonName(element.name), element.operands, false, ""),
           fmt::format("{}, element by element{}.", element.name, two ? "; the two broadcast" : ""));
  }
  for (const Row& row : kRows)
    Define(ops, OperatorOf(row.op, row.name, row.operands, true, row.defaults), row.doc);
  DefineQuantizing(ops);
  DefineRecurrent(ops);
  DefineOthers(ops);
}

}  // namespace skiff::python
