// Text to graph. The grammar is described in text.h.
#include <charconv>
#include <cstring>
#include <iterator>
#include <set>
#include <type_traits>
#include <utility>

#include "core/code_range.h"
#include "core/extents.h"
#include "core/half.h"
#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "graph/symbol_index.h"
#include "graph/text.h"
#include "graph/text_grammar.h"
#include "graph/text_lexer.h"
#include "graph/verify.h"
#include "ops/build_ops.h"
#include "plan/limits.h"

namespace skiff {
namespace {

using text::Lexer;
using text::Token;
using text::TokenKind;

struct Type {
  DType dtype = DType::kInvalid;
  bool has_shape = false;
  std::vector<Dim> dims;
  QuantizationPtr quantization;
};

/// A number as it was written; which of the two is used depends on the element type.
struct Number {
  double real = 0;
  int64_t integer = 0;
  bool whole = false;  ///< Written as an integer of 64 bits,
  bool large = false;  ///< as a u64 that is beyond i64: `integer` has its bits.
};

void StoreNibble(TensorData& data, int64_t i, int64_t code) {
  auto& byte = static_cast<uint8_t*>(data.mutable_data())[i / 2];
  const int shift = i % 2 == 0 ? 0 : 4;
  byte = static_cast<uint8_t>((byte & ~(15 << shift)) | (static_cast<int>(code & 15) << shift));
}

bool Fits(DType dtype, const Number& number) {
  if (IsFloat(dtype) || dtype == DType::kBool) return true;
  if (!number.whole || number.large) return number.whole && dtype == DType::kU64;
  if (const CodeRange* const range = CodeRangeOf(dtype))
    return number.integer >= range->low && number.integer <= range->high;
  if (dtype == DType::kI64) return true;
  return number.integer >= 0 && (dtype == DType::kU64 || number.integer <= UINT32_MAX);
}

void StoreElement(TensorData& data, int64_t i, const Number& number) {
  if (DTypeBits(data.dtype()) == 4) return StoreNibble(data, i, number.integer);
  void* to = static_cast<std::byte*>(data.mutable_data()) + i * DTypeSize(data.dtype());
  const auto store = [to](auto value) { std::memcpy(to, &value, sizeof(value)); };
  switch (data.dtype()) {
    case DType::kF32:
      return store(static_cast<float>(number.real));
    case DType::kF64:
      return store(number.real);
    case DType::kF16:
      return store(Half(static_cast<float>(number.real)));
    case DType::kBool:
      return store(static_cast<uint8_t>(number.integer != 0));
    default:
      std::memcpy(to, &number.integer, static_cast<size_t>(DTypeSize(data.dtype())));
  }
}

/// SplitMix64, written out so that every platform draws the same values.
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A line of text can ask for any number of them.
constexpr int64_t kMostDrawnBytes = int64_t{1} << 30;
/// Each body has all Symbols of the graphs around it.
constexpr int64_t kMostBodySymbols = 1 << 20;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Graph Run() {
    Expect("graph");
    graph_.name = TakeName("the graph's name").text;
    Expect("{");
    while (!TakeIf("}")) Statement();
    if (lexer_.next().kind != TokenKind::kEnd)
      Lexer::Fail(lexer_.next(), "text after the graph's closing brace");
    return std::move(graph_);
  }

 private:
  // Tokens.
  bool TakeIf(std::string_view wanted) {
    if (!lexer_.next().Is(wanted)) return false;
    lexer_.Take();
    return true;
  }
  Token Expect(std::string_view wanted) {
    if (!lexer_.next().Is(wanted)) {
      const std::string got =
          lexer_.next().kind == TokenKind::kEnd ? "the end" : "'" + lexer_.next().text + "'";
      Lexer::Fail(lexer_.next(), fmt::format("'{}' was expected, got {}", wanted, got));
    }
    return lexer_.Take();
  }
  Token TakeName(const char* what) {
    if (lexer_.next().kind != TokenKind::kName) {
      Lexer::Fail(lexer_.next(), fmt::format("{} was expected, got '{}'", what, lexer_.next().text));
    }
    return lexer_.Take();
  }
  template <class Element>
  void List(std::string_view open, std::string_view close, Element&& element) {
    Expect(open);
    if (TakeIf(close)) return;
    do {
      element();
    } while (TakeIf(","));
    Expect(close);
  }

  Number TakeNumber() {
    const Token token = lexer_.Take();
    Number number;
    const char* begin = token.text.data();
    const char* end = begin + token.text.size();
    const auto real = std::from_chars(begin, end, number.real);
    if (token.quoted || real.ec != std::errc() || real.ptr != end) {
      Lexer::Fail(token, fmt::format("a number was expected, got '{}'", token.text));
    }
    // A u64 beyond the range of i64 keeps its bits.
    const auto whole = std::from_chars(begin, end, number.integer);
    number.whole = whole.ec == std::errc() && whole.ptr == end;
    if (uint64_t large = 0; whole.ec == std::errc::result_out_of_range) {
      number.large = std::from_chars(begin, end, large).ec == std::errc();
      number.whole = number.large;
      number.integer = static_cast<int64_t>(large);
    }
    return number;
  }
  int64_t TakeInteger() {
    const Token at = lexer_.next();
    const Number number = TakeNumber();
    if (at.text.find_first_not_of("-0123456789") != std::string::npos) {
      Lexer::Fail(at, fmt::format("an integer was expected, got '{}'", at.text));
    }
    if (!number.whole) Lexer::Fail(at, fmt::format("{} does not fit 64 bits", at.text));
    return number.integer;
  }

  // Types.
  DType TakeDType() {
    const Token token = TakeName("a dtype");
    const DType dtype = DTypeFromName(token.text.c_str());
    if (dtype == DType::kInvalid) Lexer::Fail(token, fmt::format("'{}' is no dtype", token.text));
    return dtype;
  }

  Dim TakeDim() {
    if (lexer_.next().kind == TokenKind::kName) {
      const SymbolId symbol = symbols_.Add(graph_, lexer_.Take().text);
      return Dim::OfSymbol(symbol, graph_.symbols()[static_cast<size_t>(symbol)]);
    }
    const Token at = lexer_.next();
    const int64_t extent = TakeInteger();
    if (extent < 0) Lexer::Fail(at, "an extent cannot be negative");
    return Dim(extent);
  }

  Type TakeType() {
    Type type;
    const Token at = lexer_.next();
    type.dtype = TakeDType();
    if (lexer_.next().Is("[")) {
      const Token extents = lexer_.next();
      type.has_shape = true;
      List("[", "]", [&] {
        if (type.dims.size() == kMaxRank)
          Lexer::Fail(extents, fmt::format("no tensor has more than {} dimensions", kMaxRank));
        type.dims.push_back(TakeDim());
      });
    }
    if (lexer_.next().Is("{")) {
      if (!CanBeQuantized(type.dtype))
        Lexer::Fail(at, fmt::format("{} cannot be quantised", DTypeName(type.dtype)));
      const Token brace = lexer_.next();
      type.quantization = TakeQuantization();
      if (type.has_shape) CheckQuantization(type, brace);
    }
    return type;
  }

  void CheckQuantization(const Type& type, const Token& at) const {
    Shape shape;
    for (const Dim& dim : type.dims) shape.Append(dim.constant() ? dim.value : -1);
    const char* defect = QuantizationDefect(*type.quantization, type.dtype, shape);
    if (defect == nullptr) return;
    Lexer::Fail(at, fmt::format("the quantisation of {}{} is wrong: {}", DTypeName(type.dtype),
                                DimsText(graph_, type.dims), defect));
  }

  /// One element, or a list of them.
  template <class Element>
  void OneOrList(Element&& element) {
    if (lexer_.next().Is("[")) {
      List("[", "]", element);
    } else {
      element();
    }
  }

  std::vector<Number> TakeNumbers() {
    std::vector<Number> numbers;
    OneOrList([&] { numbers.push_back(TakeNumber()); });
    return numbers;
  }

  /// `what` says in which range it must be.
  int64_t TakeIntegerIn(int64_t low, int64_t high, const char* what) {
    const Token at = lexer_.next();
    const int64_t integer = TakeInteger();
    if (integer < low || integer > high) Lexer::Fail(at, fmt::format("{}, got '{}'", what, at.text));
    return integer;
  }

  /// {scale=[0.5, 0.25], zero_point=[0, 1], axis=0, block=32}
  QuantizationPtr TakeQuantization() {
    const Token at = lexer_.next();
    std::vector<float> scales;
    std::vector<int32_t> zero_points;
    int axis = Quantization::kPerTensor;
    int64_t block = 0;
    std::set<std::string> given;
    List("{", "}", [&] {
      const Token field = TakeName("'scale', 'zero_point', 'axis' or 'block'");
      if (!given.insert(field.text).second)
        Lexer::Fail(field, fmt::format("'{}' is given twice", field.text));
      Expect("=");
      if (field.Is("scale")) {
        for (const Number& number : TakeNumbers()) scales.push_back(static_cast<float>(number.real));
      } else if (field.Is("zero_point")) {
        OneOrList([&] {
          zero_points.push_back(
              static_cast<int32_t>(TakeIntegerIn(INT32_MIN, INT32_MAX, "a zero point has 32 bits")));
        });
      } else if (field.Is("axis")) {
        axis = static_cast<int>(TakeIntegerIn(0, kMaxRank - 1, "an axis is from 0 to 7"));
      } else if (field.Is("block")) {
        block = TakeIntegerIn(1, INT64_MAX, "a block has one element or more");
      } else {
        Lexer::Fail(field, fmt::format("a quantisation has no '{}'", field.text));
      }
    });
    if (!given.contains("scale")) Lexer::Fail(at, "a quantisation needs a scale");
    if (!zero_points.empty() && zero_points.size() != scales.size())
      Lexer::Fail(at, fmt::format("{} zero points for {} scales", zero_points.size(), scales.size()));
    if (axis == Quantization::kPerTensor) {
      if (block != 0) Lexer::Fail(at, "a block needs an axis");
      if (scales.size() != 1) Lexer::Fail(at, "more than one scale needs an axis");
      return PerTensor(scales[0], zero_points.empty() ? 0 : zero_points[0]);
    }
    return PerAxis(axis, std::move(scales), std::move(zero_points), block);
  }

  // Statements.
  void Statement() {
    if (TakeIf("symbol")) return SymbolStatement();
    if (TakeIf("input")) return InputStatement();
    if (TakeIf("const")) return ConstStatement();
    if (TakeIf("output")) return OutputStatement();
    NodeStatement();
  }

  void SymbolStatement() {
    const SymbolId id = symbols_.Add(graph_, TakeName("the symbol's name").text);
    Symbol& symbol = graph_.symbols()[static_cast<size_t>(id)];
    Expect(":");
    symbol.min = TakeInteger();
    Expect(".");
    Expect(".");
    if (lexer_.next().kind == TokenKind::kNumber) symbol.max = TakeInteger();
    if (TakeIf("multiple")) symbol.multiple = TakeInteger();
    if (symbol.max < symbol.min || symbol.multiple < 1)
      Lexer::Fail(lexer_.next(), fmt::format("no size lies in {}..{} and is a multiple of {}", symbol.min,
                                             symbol.max, symbol.multiple));
  }

  /// A name that nothing in the graph has yet.
  std::string TakeFreshName(const char* what) {
    const Token token = TakeName(what);
    if (graph_.FindValue(token.text) != kNoValue) {
      Lexer::Fail(token, fmt::format("the name '{}' is already taken", token.text));
    }
    return token.text;
  }

  void InputStatement() {
    const std::string name = TakeFreshName("the input's name");
    const bool in_body = body_depth_ > 0;
    if (!in_body) Expect(":");
    const Token at = lexer_.next();
    Type type = !in_body || TakeIf(":") ? TakeType() : Type();
    if (!in_body && !type.has_shape) Lexer::Fail(at, "an input needs a shape; [] is that of a scalar");
    const ValueId id = graph_.AddInput(name, type.dtype, std::move(type.dims), type.quantization);
    graph_.value(id).has_shape = type.has_shape;
  }

  void ConstStatement() {
    const std::string name = TakeFreshName("the constant's name");
    Expect(":");
    const Token at = lexer_.next();
    const Type type = TakeType();
    Shape shape;
    for (const Dim& dim : type.dims) {
      if (!dim.constant()) Lexer::Fail(at, "a constant's extents must be numbers");
      shape.Append(dim.value);
    }
    if (!type.has_shape) Lexer::Fail(at, "a constant needs a shape; [] is that of a scalar");
    Expect("=");
    if (const char* why = WhyNoTensor(type.dtype, shape))
      Lexer::Fail(at, fmt::format("the shape {} {}", ShapeText(shape).c_str(), why));
    if (lexer_.next().Is("data"))
      Lexer::Fail(lexer_.next(),
                  "the elements of a large constant are not in the text; write 'seed N' to draw some");
    const TensorData data =
        TakeIf("seed") ? DrawElements(type.dtype, shape, at) : TakeElements(type.dtype, shape, at);
    graph_.AddConstant(name, data.Quantized(type.quantization));
  }

  TensorData DrawElements(DType dtype, const Shape& shape, const Token& at) {
    const int64_t bytes = ElementBytes(dtype, shape.elements());
    if (bytes > bytes_left_to_draw_)
      Lexer::Fail(at, fmt::format("a text draws at most {} MiB of constants", kMostDrawnBytes >> 20));
    bytes_left_to_draw_ -= bytes;
    TensorData data(dtype, shape);
    FillFromSeed(data, static_cast<uint64_t>(TakeInteger()));
    return data;
  }

  TensorData TakeElements(DType dtype, const Shape& shape, const Token& at) {
    const std::vector<Number> numbers = TakeNumbers();
    if (static_cast<int64_t>(numbers.size()) != shape.elements()) {
      Lexer::Fail(at, fmt::format("the shape {} has {} elements, {} are given", ShapeText(shape).c_str(),
                                  shape.elements(), numbers.size()));
    }
    TensorData data(dtype, shape);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!Fits(data.dtype(), numbers[i]))
        Lexer::Fail(at, fmt::format("{} is no {}", numbers[i].real, DTypeName(data.dtype())));
      StoreElement(data, static_cast<int64_t>(i), numbers[i]);
    }
    return data;
  }

  void OutputStatement() {
    const Token name = TakeName("the output's name");
    const ValueId value = TakeIf("=") ? TakeValue() : FindValue(name);
    graph_.AddOutput(name.text, value);
  }

  ValueId FindValue(const Token& name) {
    const ValueId id = graph_.FindValue(name.text);
    if (id == kNoValue) Lexer::Fail(name, fmt::format("there is no value '{}' above this line", name.text));
    return id;
  }
  ValueId TakeValue() { return FindValue(TakeName("a value")); }

  /// a: f32[2], b = Split(x, _) {axis=1}
  void NodeStatement() {
    std::vector<std::string> names;
    std::vector<Type> types;
    do {
      names.push_back(TakeFreshName("a result's name"));
      types.push_back(TakeIf(":") ? TakeType() : Type());
    } while (TakeIf(","));
    Expect("=");
    const Token op = TakeName("an operator");
    const OpDef* def = FindOp(op.text.c_str());
    if (def == nullptr) Lexer::Fail(op, fmt::format("there is no operator '{}'", op.text));
    std::vector<ValueId> inputs;
    List("(", ")", [&] { inputs.push_back(TakeIf("_") ? kNoValue : TakeValue()); });
    if (const std::string defect = DefectOfArity(*def, inputs.size(), names.size()); !defect.empty())
      Lexer::Fail(op, fmt::format("'{}' ({}): {}", names[0], def->name, defect));
    const NodeId id = graph_.AddNode(def->code, std::move(inputs), names);
    Node& node = graph_.node(id);
    node.name = names[0];
    node.sources = {graph_.AddSource(names[0], def->name)};
    if (lexer_.next().Is("{")) TakeAttrs(def->code, node.attrs);
    for (size_t i = 0; i < names.size(); ++i) {
      Value& value = graph_.value(node.outputs[i]);
      if (value.name != names[i]) Lexer::Fail(op, fmt::format("the name '{}' is already taken", names[i]));
      value.source = value.name;
      value.dtype = types[i].dtype;
      value.has_shape = types[i].has_shape;
      value.dims = std::move(types[i].dims);
      value.quantization = std::move(types[i].quantization);
    }
    for (const char* body : BodyNames(def->code)) TakeBody(id, body);
    try {
      CheckBodies(graph_, graph_.node(id));
    } catch (const Error& error) {
      Lexer::Fail(op, error.what());
    }
  }

  /// then {...}
  void TakeBody(NodeId id, const char* name) {
    Expect(name);
    const Token brace = Expect("{");
    if (body_depth_ == kMaxBodyDepth)
      Lexer::Fail(brace, fmt::format("bodies lie in bodies at most {} deep", kMaxBodyDepth));
    body_symbols_left_ -= static_cast<int64_t>(graph_.symbols().size());
    if (body_symbols_left_ < 0)
      Lexer::Fail(brace,
                  fmt::format("the bodies up to here have more than {} open sizes together, {} of them "
                              "in this one",
                              kMostBodySymbols, graph_.symbols().size()));
    ++body_depth_;
    Graph outer = std::exchange(graph_, Graph());
    graph_.name = name;
    graph_.symbols() = outer.symbols();
    while (!TakeIf("}")) Statement();
    outer.symbols() = graph_.symbols();
    Graph body = std::exchange(graph_, std::move(outer));
    graph_.node(id).bodies.push_back(std::move(body));
    --body_depth_;
  }

  // Attributes.
  void TakeAttrs(OpCode op, AttrStorage& attrs) {
    List("{", "}", [&] {
      const Token field = TakeName("an attribute");
      Expect("=");
      bool found = false;
      VisitAttrs(op, attrs, [&](int, const char* name, auto& member) {
        if (field.text != name) return;
        found = true;
        TakeMember(field, member);
      });
      if (!found) Lexer::Fail(field, fmt::format("{} has no attribute '{}'", FindOp(op)->name, field.text));
    });
  }

  template <class T>
  void TakeMember(const Token& field, T& member) {
    if constexpr (std::is_same_v<T, Ints>) {
      member = Ints();
      List("[", "]", [&] {
        if (member.size == kMaxRank) Lexer::Fail(field, fmt::format("more than {} integers", kMaxRank));
        member[member.size] = TakeInteger();
        ++member.size;
      });
    } else if constexpr (std::is_enum_v<T>) {
      const Token word = TakeName("a word");
      for (size_t i = 0; i < std::size(EnumNames<T>::kNames); ++i) {
        if (word.text == EnumNames<T>::kNames[i]) {
          member = static_cast<T>(i);
          return;
        }
      }
      Lexer::Fail(word, fmt::format("'{}' is no value of '{}'", word.text, field.text));
    } else if constexpr (std::is_same_v<T, bool>) {
      const Token word = TakeName("'true' or 'false'");
      if (!word.Is("true") && !word.Is("false")) Lexer::Fail(word, "'true' or 'false' was expected");
      member = word.Is("true");
    } else if constexpr (std::is_floating_point_v<T>) {
      member = static_cast<T>(TakeNumber().real);
    } else if (text::IsDTypeField(field.text)) {
      member = static_cast<int64_t>(TakeDType());
    } else {
      member = TakeInteger();
    }
  }

  /// Floats in [-1, 1), integers in [-8, 8) or [0, 8) where unsigned, bools.
  static void FillFromSeed(TensorData& data, uint64_t seed) {
    uint64_t state = seed;
    const bool is_signed = data.dtype() == DType::kI8 || data.dtype() == DType::kI16 ||
                           data.dtype() == DType::kI32 || data.dtype() == DType::kI64 ||
                           data.dtype() == DType::kI4;
    for (int64_t i = 0; i < data.elements(); ++i) {
      const uint64_t bits = NextRandom(state);
      Number number;
      number.real = static_cast<double>(bits >> 40) * 0x1p-23 - 1.0;
      number.integer = data.dtype() == DType::kBool ? static_cast<int64_t>(bits >> 63)
                       : is_signed                  ? static_cast<int64_t>(bits >> 60) - 8
                                                    : static_cast<int64_t>(bits >> 61);
      StoreElement(data, i, number);
    }
  }

  Lexer lexer_;
  Graph graph_;
  SymbolIndex symbols_;
  int64_t bytes_left_to_draw_ = kMostDrawnBytes;
  int64_t body_symbols_left_ = kMostBodySymbols;
  int body_depth_ = 0;
};

}  // namespace

Graph ParseGraph(std::string_view text) { return Parser(text).Run(); }

}  // namespace skiff
