// A row of a table as a function: how Python's arguments become an operator's operands and attributes.
#include <fmt/format.h>

#include <cmath>

#include "graph/error.h"
#include "ops/build_ops.h"
#include "platforms/python/bindings/operators.h"
#include "platforms/python/bindings/support.h"
#include "platforms/python/bindings/tensors.h"
#include "trace/apply.h"
#include "trace/ops.h"

namespace skiff::python {
namespace {

using eager::Location;
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

/// One number is as many of it as the attribute has: strides=2 is (2, 2).
Ints ToInts(nb::handle value, const Ints& before, const std::string& what) {
  Ints ints = ToInts(value, what);
  while (PyLong_Check(value.ptr()) && ints.size < before.size) ints[ints.size++] = ints[0];
  return ints;
}

/// What Python passes for an attribute.
template <class T>
void Set(T& member, nb::handle value, const char* name, const std::string& what) {
  if constexpr (std::is_same_v<T, Ints>) {
    member = ToInts(value, member, what);
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

Operator OperatorOf(const OperatorRow& row) {
  Operator made{row.op, row.name, {}, 0, {}};
  InitAttrs(row.op, made.defaults);
  for (const std::string& word : Words(row.operands)) made.parameters.push_back(OperandOf(word));
  made.operands = made.parameters.size();
  if (!row.attributes) return made;
  std::map<std::string, std::string> own;
  for (const std::string& word : Words(row.defaults)) {
    const size_t equals = std::min(word.find('='), word.size());
    own[word.substr(0, equals)] = equals == word.size() ? "" : word.substr(equals + 1);
  }
  VisitAttrs(row.op, made.defaults, [&](int, const char* attribute, auto& member) {
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

}  // namespace

void DefineRow(nb::module_& ops, const OperatorRow& row) {
  const auto op = std::make_shared<const Operator>(OperatorOf(row));
  const std::string signature = SignatureOf(*op);
  ops.def(
      op->name.c_str(),
      [op](const nb::args& args, const nb::kwargs& kwargs) { return CallOperator(*op, args, kwargs); },
      nb::sig(signature.c_str()), row.doc.c_str());
}

}  // namespace skiff::python
