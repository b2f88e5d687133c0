// Sums of products: exact numbers, rounded once, whatever the weights' scales and the bias are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/converter/quantized/operator_cases.h"

namespace skiff::testing {
namespace {

/// A product of 4 channels of depth 4. Words in capitals wait for an operator: SHAPE; LAST and CHANNELS,
/// axes; PRODUCTS, the scales of the products as a bias can have them.
struct Types {
  const char* name;
  const char* x;
  const char* w;
  const char* bias;
  const char* result;
};

constexpr Types kTypes[] = {
    {"ties", "u8 SHAPE {scale=0.25, zero_point=100}", "input w: i8 SHAPE {scale=0.5}",
     "const b: i32[4] {scale=0.125} = [1, -2000, 3001, 40]", ": i16 {scale=0.25, zero_point=-3}"},
    {"any_scale", "i8 SHAPE {scale=0.1, zero_point=5}", "input w: u8 SHAPE {scale=0.03, zero_point=131}",
     "const b: i32[4] {scale=0.5, zero_point=3} = [1, -20, 30, 40]", ": i8 {scale=4.1, zero_point=9}"},
    {"channels", "i8 SHAPE {scale=0.1, zero_point=5}",
     "input w: i8 SHAPE {scale=[0.1, 0.02, 0.3, 0.05], zero_point=[0, 1, -2, 3], axis=CHANNELS}",
     "const b: i32[4] {scale=PRODUCTS, axis=0} = [90001, -20000, 3000, 4]",
     ": u8 {scale=7.7, zero_point=120}"},
    // So large that the scales of the products, rounded to floats, would give other integers.
    {"large_bias", "i8 SHAPE {scale=0.1, zero_point=5}",
     "input w: i8 SHAPE {scale=[0.1, 0.02, 0.3, 0.05], zero_point=[0, 1, -2, 3], axis=CHANNELS}",
     "const b: i32[4] {scale=PRODUCTS, axis=0} = [900000001, -2000000000, 300000000, 4]",
     ": i32 {scale=0.01, zero_point=7}"},
    {"four_bits", "i8 SHAPE {scale=0.1, zero_point=5}",
     "const w: i4 SHAPE {scale=[0.1, 0.02, 0.3, 0.05], axis=CHANNELS} = seed 5",
     "const b: i32[4] {scale=PRODUCTS, axis=0} = [901, -200, 300, 4]", ": i8 {scale=0.9, zero_point=12}"},
    {"limited", "u8 SHAPE {scale=0.0625, zero_point=128}",
     "const w: u4 SHAPE {scale=0.25, zero_point=3} = seed 6", "",
     ": i8 {scale=[0.5, 0.25, 0.3, 1], zero_point=[1, -2, 3, 0], axis=LAST}"},
    {"blocks", "i8 SHAPE {scale=0.1, zero_point=5}",
     "const w: i4 SHAPE {scale=BLOCKS, axis=LAST, block=2} = seed 8",
     "const b: i32[4] {scale=0.05} = [1, -20, 30, 40]", ": i8 {scale=0.9, zero_point=12}"},
    {"floats", "i16 SHAPE {scale=0.0078125}", "input w: i8 SHAPE {scale=0.25, zero_point=1}",
     "const b: f32[4] = [0.5, -100.25, 7, 0]", ": i16 {scale=8, zero_point=1}"},
    {"to_floats", "u8 SHAPE {scale=0.1, zero_point=100}", "input w: i8 SHAPE {scale=0.3}",
     "const b: f32[4] = [0.5, -1.25, 7, 0]", ""},
    {"x_has_channels", "i8 SHAPE {scale=[0.1, 0.2, 0.3, 0.05], axis=LAST}", "input w: i8 SHAPE {scale=0.5}",
     "const b: i32[4] {scale=0.5} = [1, -20, 300, 40]", ": i8 {scale=9.5}"},
    {"weights_only", "f32 SHAPE", "const w: i8 SHAPE {scale=[0.1, 0.02, 0.3, 0.05], axis=CHANNELS} = seed 7",
     "", ": i8 {scale=0.25, zero_point=5}"},
};

struct Shapes {
  const char* name;
  std::vector<int> x;
  std::vector<int> w;
  const char* attrs;
  int channels = 0;  ///< The axis of the weights that becomes the result's last one.
};

/// "i8 SHAPE {axis=LAST}" -> "i8[7, 4] {axis=1}".
std::string Filled(std::string text, const std::vector<int>& shape, int channels) {
  const auto fill = [&text](std::string_view word, const std::string& filling) {
    const size_t at = text.find(word);
    if (at != std::string::npos) text.replace(at, word.size(), filling);
  };
  fill(" SHAPE", fmt::format("[{}]", fmt::join(shape, ", ")));
  fill("LAST", fmt::format("{}", shape.size() - 1));
  fill("CHANNELS", fmt::format("{}", channels));
  std::vector<float> products;
  for (const float scale : {0.1f, 0.02f, 0.3f, 0.05f}) products.push_back(0.1f * scale);
  fill("PRODUCTS", fmt::format("[{}]", fmt::join(products, ", ")));
  int blocks = 1;
  for (const int extent : shape) blocks *= extent;
  std::vector<float> scales;
  for (int i = 0; i < blocks / 2; ++i) scales.push_back(0.1f + 0.05f * static_cast<float>(i % 5));
  fill("BLOCKS", fmt::format("[{}]", fmt::join(scales, ", ")));
  return text;
}

void Add(CaseTable& table, const char* op, const Shapes& shapes, const Types& types,
         const Expectation& expectation) {
  const bool limited = std::string_view(types.name) == "limited";
  std::string attrs = shapes.attrs;
  if (limited) attrs += std::string(attrs.empty() ? "" : ", ") + "min=-1.9375, max=60.5";
  const bool takes_bias = std::string_view(op) != "MatMul";
  const char* bias = types.bias[0] == '\0' ? ", _" : ", b";
  table.push_back({fmt::format("{}_{}_{}", op, shapes.name, types.name),
                   fmt::format("input x: {} {} {} y{} = {}(x, w{}) {}", Filled(types.x, shapes.x, 0),
                               Filled(types.w, shapes.w, shapes.channels),
                               takes_bias ? Filled(types.bias, {}, 0) : "", Filled(types.result, shapes.x, 0),
                               op, takes_bias ? bias : "", attrs.empty() ? "" : "{" + attrs + "}"),
                   expectation});
}

using Product = Exact (*)(const AttrStorage& attrs, const Exact& x, const Exact& weights, const Exact* bias);

Expectation Biased(Product product) {
  return [product](const Operands& o) -> Expected {
    const Exact x = ExactOf(o.inputs[0]);
    const Exact weights = ExactOf(o.inputs[1]);
    if (!o.Has(2)) return product(o.attrs, x, weights, nullptr);
    const Exact bias = ExactBias(o.inputs[2], o.inputs[0], o.inputs[1]);
    return product(o.attrs, x, weights, &bias);
  };
}

}  // namespace

void AddProductCases(CaseTable& table) {
  const Shapes kConvs[] = {
      {"plain", {2, 5, 4, 4}, {4, 3, 2, 4}, "pads=[1, 0, 1, 1], strides=[2, 1]"},
      {"groups", {1, 5, 6, 4}, {4, 2, 3, 2}, "groups=2, dilations=[1, 2], pads=[0, 1, 0, 1]"},
  };
  const Shapes kTransposed[] = {
      {"plain", {2, 3, 4, 4}, {4, 3, 2, 4}, "strides=[2, 1], pads=[1, 0, 1, 1], output_pads=[1, 0]"},
      {"groups", {1, 3, 4, 4}, {4, 2, 3, 2}, "groups=2, dilations=[2, 1]"},
  };
  const Shapes kConnected[] = {
      {"matrix", {7, 4}, {4, 4}, ""},
      {"batch", {2, 5, 4}, {4, 4}, ""},
  };
  const Shapes kMatrices[] = {
      {"transposed", {7, 4}, {4, 4}, "transpose_b=true"},
      {"columns", {2, 5, 4}, {4, 4}, "", 1},
      {"rows", {7, 4}, {4, 4}, ""},
  };
  const Expectation matrices = [](const Operands& o) -> Expected {
    return ExactMatMul(o.attrs, ExactOf(o.inputs[0]), ExactOf(o.inputs[1]));
  };
  for (const Types& types : kTypes) {
    for (const Shapes& shapes : kConvs) Add(table, "Conv2d", shapes, types, Biased(ExactConv));
    for (const Shapes& shapes : kTransposed)
      Add(table, "ConvTranspose2d", shapes, types, Biased(ExactConvTranspose));
    for (const Shapes& shapes : kConnected)
      Add(table, "FullyConnected", shapes, types, Biased(ExactFullyConnected));
    for (const Shapes& shapes : kMatrices) Add(table, "MatMul", shapes, types, matrices);
  }
}

}  // namespace skiff::testing
