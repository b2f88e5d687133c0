#include "tests/converter/quantized/random_graph.h"

#include <fmt/format.h>

#include "graph/text.h"
#include "tests/converter/quantized/exact.h"

namespace skiff::testing {
namespace {

constexpr int kSteps = 9;

}  // namespace

RandomQuantizedGraph::RandomQuantizedGraph(uint32_t seed, Batch batch)
    : random_(seed), dyadic_(seed % 2 == 0) {
  text_ = "graph random {\n";
  if (batch == Batch::kBounded) text_ += "  symbol n: 1..4\n";
  const char* n = batch == Batch::kOne ? "2" : "n";
  for (const char* name : {"a", "b"}) {
    const std::string type = Type();
    const size_t brace = type.find(' ');
    text_ +=
        fmt::format("  input {}: {}[{}, 4, 4, 4]{}\n", name, type.substr(0, brace), n, type.substr(brace));
    streams_.push_back({name, type});
  }
  text_ += "  input choice: bool[]\n";
  if (dyadic_) {
    text_ += fmt::format("  input f: f32[{}, 4, 4, 4]\n", n);
    streams_.push_back({"f", "", 1});
  }
  for (int i = 0; i < kSteps; ++i) Step();
  // What comes last, and something from the middle.
  for (size_t i = 0; i < 3; ++i) {
    const Stream& stream =
        i < 2 ? streams_[streams_.size() - 1 - i] : streams_[3 + random_() % (streams_.size() - 3)];
    text_ += fmt::format("  output out{} = {}\n", i, stream.name);
  }
  text_ += "}\n";
}

std::map<std::string, TensorData> RandomQuantizedGraph::Inputs(int64_t n, uint32_t seed) const {
  std::mt19937 random(seed);
  std::map<std::string, TensorData> inputs;
  const Graph graph = ParseGraph(text_);
  for (const GraphPort& port : graph.inputs()) {
    const Value& value = graph.value(port.value);
    Shape shape;
    for (const Dim& dim : value.dims) shape.Append(dim.constant() ? dim.value : n);
    TensorData data(value.dtype, shape);
    if (value.dtype == DType::kBool) {
      *static_cast<uint8_t*>(data.mutable_data()) = static_cast<uint8_t>(random() % 2);
    } else if (IsFloat(value.dtype)) {
      for (int64_t i = 0; i < data.elements(); ++i)
        static_cast<float*>(data.mutable_data())[i] =
            static_cast<float>(static_cast<int>(random() % 128) - 64) * 0.125f;
    } else {
      for (int64_t i = 0; i < data.elements(); ++i)
        static_cast<uint8_t*>(data.mutable_data())[i] = static_cast<uint8_t>(random());
    }
    inputs[port.name] = data;
  }
  return inputs;
}

std::string RandomQuantizedGraph::Scale() {
  constexpr const char* kPowers[] = {"0.0625", "0.125", "0.25", "0.5"};
  constexpr const char* kOthers[] = {"0.0625", "0.1", "0.07", "0.3", "0.011", "0.25"};
  return dyadic_ ? kPowers[Below(4)] : kOthers[Below(6)];
}

std::string RandomQuantizedGraph::Type() {
  const bool is_signed = Below(2) == 0;
  const int zero_point = Below(3) == 0 ? 0 : (is_signed ? Below(60) - 30 : Below(200));
  return fmt::format("{} {{scale={}, zero_point={}}}", is_signed ? "i8" : "u8", Scale(), zero_point);
}

std::string RandomQuantizedGraph::ResultType() { return dyadic_ && Below(4) == 0 ? "" : Type(); }

const RandomQuantizedGraph::Stream& RandomQuantizedGraph::Any() {
  return streams_[random_() % streams_.size()];
}

const RandomQuantizedGraph::Stream& RandomQuantizedGraph::Quantised() {
  while (true) {
    const Stream& stream = Any();
    if (!stream.type.empty()) return stream;
  }
}

/// Few bits have been used yet: what is computed with them stays exact.
RandomQuantizedGraph::Stream RandomQuantizedGraph::Floats() {
  Stream stream = Any();
  if (stream.type.empty() && stream.floats < 2) return stream;
  const Stream from = Quantised();
  return Emit("", fmt::format("Dequantize({})", from.name));
}

std::string RandomQuantizedGraph::Constant(const std::string& type_and_elements) {
  std::string name = Fresh("k");
  text_ += fmt::format("  const {}: {}\n", name, type_and_elements);
  return name;
}

std::string RandomQuantizedGraph::Weights(const std::string& shape) {
  constexpr const char* kTypes[] = {"i8", "i4", "u8", "u4"};
  const char* type = kTypes[Below(4)];
  const std::string quantization =
      Below(2) == 0 ? fmt::format("{{scale={}, zero_point=1}}", Scale())
                    : fmt::format("{{scale=[{}, {}, {}, {}], axis=0}}", Scale(), Scale(), Scale(), Scale());
  return Constant(fmt::format("{}{} {} = seed {}", type, shape, quantization, Below(100)));
}

RandomQuantizedGraph::Stream RandomQuantizedGraph::Emit(const std::string& type, const std::string& call) {
  last_call_ = call;
  Stream result{Fresh("v"), type, type.empty() ? 1 : 0};
  text_ += fmt::format("  {}{}{} = {}\n", result.name, type.empty() ? "" : ": ", type, call);
  streams_.push_back(result);
  return result;
}

/// The result has the type of x.
RandomQuantizedGraph::Stream RandomQuantizedGraph::Move(const Stream& x, const std::string& call) {
  Stream result{Fresh("m"), x.type, x.floats};
  text_ += fmt::format("  {} = {}\n", result.name, call);
  return result;
}

void RandomQuantizedGraph::Step() {
  switch (Below(16)) {
    case 0:
    case 1:
      return Convolve(Quantised());
    case 2:
    case 3:
      return ConvolveTransposed();
    case 4:
      return Pad();
    case 5:
    case 6:
      return Combine();
    case 7:
      return Activate();
    case 8:
      return Transpose();
    case 9:
      return ReshapeAndBack();
    case 10:
      return JoinAndCut();
    case 11:
      return Pool();
    case 12:
      return dyadic_ ? FloatIsland() : Convolve(Quantised());
    case 13:
      return dyadic_ ? FloatLinear() : Activate();
    case 14:
      return Below(2) == 0 ? Choose() : AddPacked();
    default:
      return Repeat();
  }
}

void RandomQuantizedGraph::Convolve(const Stream& from) {
  const Stream x = from;
  const bool depthwise = Below(3) == 0;
  const std::string weights = Weights(depthwise ? "[4, 3, 3, 1]" : "[4, 3, 3, 4]");
  const std::string bias =
      Below(2) == 0 ? "_" : Constant(fmt::format("i32[4] {{scale={}}} = [1, -20, 3, 40]", Scale()));
  Emit(ResultType(), fmt::format("Conv2d({}, {}, {}) {{pads=[1, 1, 1, 1]{}{}}}", x.name, weights, bias,
                                 depthwise ? ", groups=4" : "", Below(3) == 0 ? ", min=0, max=6" : ""));
}

/// As NCHW importers write it.
void RandomQuantizedGraph::ConvolveTransposed() {
  const Stream x = Quantised();
  const Stream turned = Move(x, fmt::format("Transpose({}) {{perm=[0, 2, 3, 1]}}", x.name));
  Convolve(turned);
  const Stream y = streams_.back();
  const Stream back = Move(y, fmt::format("Transpose({}) {{perm=[0, 3, 1, 2]}}", y.name));
  streams_.back() = back;
}

void RandomQuantizedGraph::Pad() {
  const Stream x = Any();
  const std::string pads = Constant("i64[8] = [0, 1, 1, 0, 0, 1, 1, 0]");
  const std::string padded = Fresh("p");
  const std::string type = dyadic_ && (x.type.empty() || Below(3) == 0) ? "" : Type();
  text_ += fmt::format("  {}{}{} = Pad({}, {})\n", padded, type.empty() ? "" : ": ", type, x.name, pads);
  if (Below(2) == 0) {
    Emit(Type(), fmt::format("Conv2d({}, {}, _)", padded, Weights("[4, 3, 3, 4]")));
  } else {
    Emit(Type(),
         fmt::format("{}({}) {{kernel=[3, 3]}}", Below(2) == 0 ? "MaxPool2d" : "AveragePool2d", padded));
  }
}

void RandomQuantizedGraph::Combine() {
  constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Min", "Max"};
  const Stream a = Quantised();
  const Stream b = Any();
  const std::string op = kOps[Below(5)];
  Emit(Type(), fmt::format("{}({}, {})", op, a.name, b.name));
}

void RandomQuantizedGraph::Activate() {
  constexpr const char* kOps[] = {"HardSwish", "Sigmoid", "Neg",        "Abs",
                                  "LeakyRelu", "Tanh",    "Requantize", "Clamp"};
  const std::string op = kOps[Below(8)];
  const Stream x = Quantised();
  Emit(Type(), fmt::format("{}({}){}", op, x.name, op == "Clamp" ? " {min=-0.5, max=3}" : ""));
}

void RandomQuantizedGraph::Transpose() {
  constexpr const char* kPerms[] = {"[0, 3, 1, 2]", "[0, 2, 3, 1]", "[0, 2, 1, 3]"};
  const Stream x = Any();
  streams_.push_back(Move(x, fmt::format("Transpose({}) {{perm={}}}", x.name, kPerms[Below(3)])));
}

void RandomQuantizedGraph::ReshapeAndBack() {
  const Stream x = Any();
  const std::string flat = Constant("i64[3] = [0, -1, 4]");
  const std::string image = Constant("i64[4] = [0, 4, 4, 4]");
  Stream rows = Move(x, fmt::format("Reshape({}, {})", x.name, flat));
  if (Below(2) == 0 && !x.type.empty()) {
    // The others are pictures, and so is what is repeated.
    const std::string before = last_call_;
    rows = Emit(Type(), fmt::format("Neg({})", rows.name));
    streams_.pop_back();
    last_call_ = before;
  }
  const Stream back = Move(rows, fmt::format("Reshape({}, {})", rows.name, image));
  streams_.push_back(back);
}

void RandomQuantizedGraph::JoinAndCut() {
  const Stream x = Quantised();
  const Stream other = Quantised();
  const Stream y = other.type == x.type ? other : Emit(x.type, fmt::format("Requantize({})", other.name));
  const int axis = 1 + Below(3);
  const Stream joined = Move(x, fmt::format("Concat({}, {}) {{axis={}}}", x.name, y.name, axis));
  if (Below(2) == 0) {
    const std::string left = Fresh("l");
    const std::string right = Fresh("r");
    text_ += fmt::format("  {}, {} = Split({}, _) {{axis={}, parts=2}}\n", left, right, joined.name, axis);
    streams_.push_back({left, x.type});
    streams_.push_back({right, x.type});
    return;
  }
  const std::string starts = Constant("i64[1] = [2]");
  const std::string ends = Constant("i64[1] = [6]");
  const std::string axes = Constant(fmt::format("i64[1] = [{}]", axis));
  streams_.push_back(Move(x, fmt::format("Slice({}, {}, {}, {})", joined.name, starts, ends, axes)));
}

void RandomQuantizedGraph::Pool() {
  const Stream x = Quantised();
  Emit(Type(), fmt::format("{}({}) {{kernel=[3, 3], pads=[1, 1, 1, 1]}}",
                           Below(2) == 0 ? "MaxPool2d" : "AveragePool2d", x.name));
}

void RandomQuantizedGraph::FloatIsland() {
  Stream x = Floats();
  for (int i = 0; i <= Below(2); ++i) {
    switch (Below(5)) {
      case 0:
        x = Emit("", fmt::format("Add({}, {})", x.name, Constant("f32[4] = [0.5, -1, 2, 0]")));
        break;
      case 1:
        x = Emit("", fmt::format("Mul({}, {})", x.name, Constant("f32[] = 2")));
        break;
      case 2:
        x = Emit("", fmt::format("Clamp({}) {{min=0, max=4}}", x.name));
        break;
      case 3:
        x = Emit("", fmt::format("Neg({})", x.name));
        break;
      default: {
        const std::string factor = Constant("f32[4] = [1, 2, 0.5, 1]");
        const std::string addend = Constant("f32[4] = [0, 1, -1, 0.5]");
        const std::string mean = Constant("f32[4] = [0.5, 0, 1, -2]");
        const std::string variance = Constant("f32[4] = [4, 1, 0.25, 1]");
        x = Emit("", fmt::format("BatchNorm({}, {}, {}, {}, {}) {{axis=3, epsilon=0}}", x.name, factor,
                                 addend, mean, variance));
      }
    }
    streams_.back().floats = 2;
  }
  Emit(Type(), fmt::format("Quantize({})", x.name));
}

/// What float passes would fold into the weights of a quantised convolution.
void RandomQuantizedGraph::FloatLinear() {
  const Stream x = Quantised();
  const std::string y = Fresh("c");
  text_ +=
      fmt::format("  {} = Conv2d({}, {}, _) {{pads=[1, 1, 1, 1]}}\n", y, x.name, Weights("[4, 3, 3, 4]"));
  const std::string scaled = Fresh("s");
  text_ += fmt::format("  {} = {}({}, {})\n", scaled, Below(2) == 0 ? "Mul" : "Add", y,
                       Constant("f32[4] = [2, 0.5, 1, 4]"));
  Emit(Type(), fmt::format("{}({})", Below(2) == 0 ? "Quantize" : "Neg", scaled));
}

void RandomQuantizedGraph::Choose() {
  const Stream x = Quantised();
  const Stream y = Quantised();
  const std::string type = Type();
  const std::string weights = Constant("i8[4, 3, 3, 4] {scale=0.125} = seed 7");
  const std::string name = Fresh("v");
  text_ += fmt::format(
      "  {} = If(choice, {}, {}, {}) then {{ input p input q input w t: {} = Conv2d(p, w, _) {{pads=[1, 1, "
      "1, 1]}} output t }} "
      "else {{ input p input q input w e: {} = Add(p, q) output e }}\n",
      name, x.name, y.name, weights, type, type);
  streams_.push_back({name, type});
}

/// The same operator on the same operands, into another type or the same.
void RandomQuantizedGraph::Repeat() {
  if (last_call_.empty() || last_call_.starts_with("Dequantize")) return Activate();
  Emit(Below(3) == 0 && !streams_.back().type.empty() && streams_.back().name[0] == 'v' ? streams_.back().type
                                                                                        : Type(),
       last_call_);
}

void RandomQuantizedGraph::AddPacked() {
  const Stream x = Quantised();
  const std::string constant =
      Constant(fmt::format("i4[1, 4, 4, 4] {{scale={}, zero_point=-2}} = seed {}", Scale(), Below(100)));
  const Stream turned = Move(x, fmt::format("Transpose({}) {{perm=[0, 3, 1, 2]}}", x.name));
  const Stream sum = Emit(Type(), fmt::format("Add({}, {})", turned.name, constant));
  streams_.back() = Move(sum, fmt::format("Transpose({}) {{perm=[0, 2, 3, 1]}}", sum.name));
}

}  // namespace skiff::testing
