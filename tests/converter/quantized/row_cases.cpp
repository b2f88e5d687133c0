// Operators that see many elements at once: rows, pictures, places.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/op_codes.h"
#include "tests/converter/quantized/operator_cases.h"

namespace skiff::testing {
namespace {

using Real = long double;

/// Elements [outer][row][inner] of an axis.
struct Rows {
  Rows(const Shape& shape, int along)
      : outer(shape.ElementsBetween(0, along)),
        length(shape[along]),
        inner(shape.ElementsBetween(along + 1, shape.rank())) {}
  size_t At(int64_t row, int64_t i) const {
    return static_cast<size_t>((row / inner * length + i) * inner + row % inner);
  }
  int64_t count() const { return outer * inner; }

  int64_t outer;
  int64_t length;
  int64_t inner;
};

Expected Softmax(const Operands& o) {
  Reals y = RealsOf(o.inputs[0]);
  const auto axis = static_cast<int>(o.As<AxisAttrs>().axis);
  const Rows rows(y.shape, axis);
  for (int64_t row = 0; row < rows.count(); ++row) {
    Real largest = y.numbers[rows.At(row, 0)];
    for (int64_t i = 1; i < rows.length; ++i) largest = std::fmax(largest, y.numbers[rows.At(row, i)]);
    Real sum = 0;
    for (int64_t i = 0; i < rows.length; ++i) sum += std::exp(y.numbers[rows.At(row, i)] - largest);
    for (int64_t i = 0; i < rows.length; ++i) {
      Real& number = y.numbers[rows.At(row, i)];
      number -= largest;
      number = o.op == OpCode::kSoftmax ? std::exp(number) / sum : number - std::log(sum);
    }
  }
  return y;
}

Expected LayerNorm(const Operands& o) {
  Reals y = RealsOf(o.inputs[0]);
  const Reals factors = RealsOf(o.inputs[1]);
  const size_t length = factors.numbers.size();
  const Reals addends = o.Has(2) ? RealsOf(o.inputs[2]) : Reals{{}, std::vector<Real>(length, 0)};
  for (size_t first = 0; first < y.numbers.size(); first += length) {
    Real mean = 0;
    Real variance = 0;
    for (size_t i = 0; i < length; ++i) mean += y.numbers[first + i] / Real(length);
    for (size_t i = 0; i < length; ++i) variance += std::pow(y.numbers[first + i] - mean, 2) / Real(length);
    const Real deviation = std::sqrt(variance + Real(o.As<NormAttrs>().epsilon));
    for (size_t i = 0; i < length; ++i) {
      Real& number = y.numbers[first + i];
      number = (number - mean) / deviation * factors.numbers[i] + addends.numbers[i];
    }
  }
  return y;
}

Expected BatchNorm(const Operands& o) {
  Reals y = RealsOf(o.inputs[0]);
  const Reals factors = RealsOf(o.inputs[1]);
  const Reals addends = RealsOf(o.inputs[2]);
  const Reals means = RealsOf(o.inputs[3]);
  const Reals variances = RealsOf(o.inputs[4]);
  const Rows rows(y.shape, static_cast<int>(o.As<NormAttrs>().axis));
  for (int64_t row = 0; row < rows.count(); ++row) {
    for (int64_t i = 0; i < rows.length; ++i) {
      Real& number = y.numbers[rows.At(row, i)];
      const auto c = static_cast<size_t>(i);
      number = (number - means.numbers[c]) /
                   std::sqrt(variances.numbers[c] + Real(o.As<NormAttrs>().epsilon)) * factors.numbers[c] +
               addends.numbers[c];
    }
  }
  return y;
}

Shape Without(const Shape& shape, int axis) {
  Shape rest;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) rest.Append(shape[i]);
  }
  return rest;
}

Expected ReduceProd(const Operands& o) {
  const Reals x = RealsOf(o.inputs[0]);
  const auto axis = static_cast<int>(o.As<ReduceAttrs>().axes[0]);
  const Rows rows(x.shape, axis);
  Reals y{Without(x.shape, axis), {}};
  for (int64_t row = 0; row < rows.count(); ++row) {
    Real product = 1;
    for (int64_t i = 0; i < rows.length; ++i) product *= x.numbers[rows.At(row, i)];
    y.numbers.push_back(product);
  }
  return y;
}

Expected Arg(const Operands& o) {
  const Exact x = ExactOf(o.inputs[0]);
  const auto& attrs = o.As<ArgAttrs>();
  const auto axis = static_cast<int>(attrs.axis);
  const Rows rows(x.shape, axis);
  Stored places{Without(x.shape, axis), {}};
  for (int64_t row = 0; row < rows.count(); ++row) {
    int64_t best = 0;
    for (int64_t i = 1; i < rows.length; ++i) {
      const Wide now = x.numbers[rows.At(row, i)];
      const Wide before = x.numbers[rows.At(row, best)];
      const bool better = o.op == OpCode::kArgMax ? now > before : now < before;
      if (better || (now == before && attrs.select_last)) best = i;
    }
    places.elements.push_back(best);
  }
  return places;
}

void AddRows(CaseTable& table) {
  const auto softmax = [&](const char* op, const char* name, const char* x, const char* result, int axis) {
    table.push_back({fmt::format("{}_{}", op, name),
                     fmt::format("input x: {} y{} = {}(x) {{axis={}}}", x, result, op, axis), Softmax});
  };
  const char* const codes = "i8[6, 11] {scale=0.05, zero_point=5}";
  const char* const channels =
      "u8[3, 7, 4] {scale=[0.1, 0.02, 0.05, 0.01], zero_point=[1, 20, 3, 100], axis=2}";
  softmax("Softmax", "last", codes, ": u8 {scale=0.00390625}", 1);
  softmax("Softmax", "i8", codes, ": i8 {scale=0.00390625, zero_point=-128}", 1);
  softmax("Softmax", "channels", channels, ": i16 {scale=0.00003}", 1);
  softmax("Softmax", "to_floats", codes, "", 0);
  softmax("LogSoftmax", "last", codes, ": i8 {scale=0.0625, zero_point=127}", 1);
  softmax("LogSoftmax", "channels", channels, ": i16 {scale=0.001, zero_point=9}", 1);

  const char* const factors = "const f: f32[12] = [1, -0.5, 2, 0.25, 1, 3, 1.5, -1, 0.75, 1, 2, 0.5]";
  table.push_back({"LayerNorm_rows",
                   fmt::format("input x: u8[5, 12] {{scale=0.03, zero_point=100}} {} y: i8 {{scale=0.04, "
                               "zero_point=-3}} = LayerNorm(x, f, _)",
                               factors),
                   LayerNorm});
  table.push_back(
      {"LayerNorm_quantised_parameters",
       "input x: i8[5, 3, 4] {scale=[0.1, 0.02, 0.05, 0.3], axis=2} input f: i8[3, 4] {scale=0.0078125} "
       "input b: u8[3, 4] {scale=0.03125, zero_point=128} y: i16 {scale=0.001, zero_point=77} = "
       "LayerNorm(x, f, b) {axis=1, epsilon=0.01}",
       LayerNorm});
  const char* const statistics =
      "const f: f32[3] = [1, -0.5, 2] const a: f32[3] = [0.25, 0, -1] const m: i8[3] {scale=0.25} = [3, -1, "
      "0] "
      "const v: u8[3] {scale=0.125} = [8, 2, 25]";
  const char* const norm = "BatchNorm(x, f, a, m, v)";
  table.push_back({"BatchNorm_channels_last",
                   fmt::format("input x: u8[2, 4, 3] {{scale=0.05, zero_point=100}} {} y: i8 {{scale=0.07, "
                               "zero_point=-3}} = {} {{axis=2}}",
                               statistics, norm),
                   BatchNorm});
  table.push_back(
      {"BatchNorm_channels_first",
       fmt::format("input x: i8[2, 3, 7] {{scale=[0.05, 0.1, 0.2], axis=1}} {} y: u8 {{scale=0.07, "
                   "zero_point=100}} = {} {{axis=1, epsilon=0.25}}",
                   statistics, norm),
       BatchNorm});

  table.push_back({"ReduceProd_ties",
                   "input x: i8[40, 3] {scale=0.125, zero_point=5} y: i16 {scale=0.25, zero_point=3} = "
                   "ReduceProd(x) {axes=[1], keep_dims=false}",
                   ReduceProd});
  table.push_back(
      {"ReduceProd_channels",
       "input x: u8[3, 2, 4] {scale=[0.1, 0.02, 0.05, 0.07], zero_point=[1, 20, 3, 100], axis=2} y: i8 "
       "{scale=1.1} = ReduceProd(x) {axes=[0], keep_dims=false}",
       ReduceProd});
}

void AddPlaces(CaseTable& table) {
  const struct {
    const char* name;
    const char* x;
    const char* attrs;
  } kRows[] = {
      {"last", "u8[9, 20] {scale=0.1, zero_point=100}", "{axis=1, keep_dims=false}"},
      // The largest integer is not the largest number.
      {"channels", "i8[9, 5, 4] {scale=[0.1, 0.5, 0.25, 0.3], zero_point=[100, 0, -100, 7], axis=2}",
       "{axis=2, keep_dims=false}"},
      // The ends of the dtype come several times.
      {"equal_ones", "u8[3, 900] {scale=0.1, zero_point=100}", "{axis=1, keep_dims=false}"},
      {"last_of_equal_ones", "i8[3, 900] {scale=0.1}", "{axis=1, keep_dims=false, select_last=true}"},
      {"first_axis", "i16[20, 5] {scale=0.5}", "{axis=0, keep_dims=false}"},
  };
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const auto& row : kRows) {
      table.push_back({fmt::format("{}_{}", op, row.name),
                       fmt::format("input x: {} y = {}(x) {}", row.x, op, row.attrs), Arg});
    }
  }
}

/// Two rows or columns of the input that an output row or column mixes, and how much of each, in parts of a
/// whole that is the same everywhere.
struct Mix {
  int64_t first;
  int64_t second;
  int64_t of_first;
  int64_t of_second;
};

/// The parts: twice the output's extent. Then the centre of a pixel is a whole number of them.
int64_t PartsOf(int64_t out) { return 2 * out; }

Mix MixOf(const ResizeAttrs& attrs, int64_t in, int64_t out, int64_t at) {
  const int64_t parts = PartsOf(out);
  if (attrs.mode == ResizeMode::kNearest) return {at * in / out, 0, parts, 0};
  const int64_t source = (2 * at + 1) * in - out;
  const int64_t below = source < 0 ? -1 : source / parts;
  const int64_t share = source - below * parts;
  return {std::clamp<int64_t>(below, 0, in - 1), std::clamp<int64_t>(below + 1, 0, in - 1), parts - share,
          share};
}

/// Exact, although the shares are no binary fractions.
Expected Resize(const Operands& o) {
  const Exact x = ExactOf(o.inputs[0]);
  const std::vector<int64_t> sizes = o.inputs[1].ToInts();
  const int64_t channels = x.shape[3];
  Exact y{
      Shape{x.shape[0], sizes[0], sizes[1], channels}, {}, x.exponent, PartsOf(sizes[0]) * PartsOf(sizes[1])};
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    const int64_t pixel = i / channels;
    const Mix column = MixOf(o.As<ResizeAttrs>(), x.shape[2], sizes[1], pixel % sizes[1]);
    const Mix row = MixOf(o.As<ResizeAttrs>(), x.shape[1], sizes[0], pixel / sizes[1] % sizes[0]);
    const int64_t n = pixel / sizes[1] / sizes[0];
    const auto at = [&](int64_t h, int64_t w) {
      return x
          .numbers[static_cast<size_t>(((n * x.shape[1] + h) * x.shape[2] + w) * channels + i % channels)];
    };
    const auto along = [&](int64_t h) {
      return at(h, column.first) * column.of_first + at(h, column.second) * column.of_second;
    };
    y.numbers.push_back(along(row.first) * row.of_first + along(row.second) * row.of_second);
  }
  return y;
}

/// Of a matrix: the number, or the edge, wherever there is no element of x.
Expected Pad(const Operands& o) {
  const Reals x = RealsOf(o.inputs[0]);
  const std::vector<int64_t> pads = o.inputs[1].ToInts();
  const Real outside = o.Has(2) ? RealsOf(o.inputs[2]).numbers[0] : 0;
  Reals y{Shape{x.shape[0] + pads[0] + pads[2], x.shape[1] + pads[1] + pads[3]}, {}};
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    const int64_t h = i / y.shape[1] - pads[0];
    const int64_t w = i % y.shape[1] - pads[1];
    const int64_t near_h = std::clamp<int64_t>(h, 0, x.shape[0] - 1);
    const int64_t near_w = std::clamp<int64_t>(w, 0, x.shape[1] - 1);
    const bool inside = near_h == h && near_w == w;
    y.numbers.push_back(inside || o.As<PadAttrs>().mode == PadMode::kEdge
                            ? x.numbers[static_cast<size_t>(near_h * x.shape[1] + near_w)]
                            : outside);
  }
  return y;
}

void AddPictures(CaseTable& table) {
  const auto resize = [&](const char* name, const char* x, const char* sizes, const char* result,
                          const char* attrs) {
    table.push_back(
        {fmt::format("Resize2d_{}", name),
         fmt::format("input x: {} const s: i64[2] = {} y{} = Resize2d(x, s) {}", x, sizes, result, attrs),
         Resize});
  };
  const char* const picture = "u8[2, 4, 6, 3] {scale=0.25, zero_point=100}";
  const char* const channels = "i8[2, 4, 6, 3] {scale=[0.1, 0.5, 0.3], zero_point=[1, 2, -3], axis=3}";
  const char* const nearest = "{mode=nearest, coordinates=asymmetric, nearest=floor}";
  resize("nearest", picture, "[7, 4]", ": i8 {scale=0.5, zero_point=-3}", nearest);
  resize("nearest_same", picture, "[7, 4]", ": u8 {scale=0.25, zero_point=100}", nearest);
  resize("nearest_channels", channels, "[3, 8]", ": u8 {scale=0.3, zero_point=128}", nearest);
  // Shares of a quarter and three quarters. Others are rounded by an f64 kernel, and ties with them.
  resize("linear_ties", picture, "[8, 4]", ": i8 {scale=0.5, zero_point=-3}", "{mode=linear}");
  resize("linear_channels", channels, "[8, 12]", ": i8 {scale=[0.1, 0.25, 0.3], axis=3}", "{mode=linear}");
  resize("linear_to_floats", picture, "[8, 12]", "", "{mode=linear}");
  resize("linear_any_size", picture, "[7, 5]", ": u8 {scale=0.27, zero_point=90}", "{mode=linear}");

  const auto pad = [&](const char* name, const char* x, const char* value, const char* result,
                       const char* attrs) {
    table.push_back({fmt::format("Pad_{}", name),
                     fmt::format("input x: {} const p: i64[4] = [1, 0, 2, 3] {} y{} = Pad(x, p, {}) {}", x,
                                 value, result, value[0] == '\0' ? "_" : "v", attrs),
                     Pad});
  };
  const char* const matrix = "u8[3, 5] {scale=0.25, zero_point=100}";
  pad("zeros", matrix, "", ": u8 {scale=0.25, zero_point=100}", "");
  pad("zeros_requantised", matrix, "", ": i8 {scale=0.5, zero_point=-30}", "");
  pad("number", matrix, "const v: f32[] = -2.75", ": i8 {scale=0.5, zero_point=-3}", "");
  pad("quantised_number", matrix, "const v: i8[] {scale=0.7, zero_point=4} = 23", ": u8 {scale=0.25}", "");
  pad("edge", "i8[3, 5] {scale=[0.1, 0.5, 0.3], zero_point=[1, 2, -3], axis=0}", "",
      ": i8 {scale=0.3, zero_point=7}", "{mode=edge}");
  pad("from_floats", "f32[3, 5]", "", ": u8 {scale=0.07, zero_point=120}", "");
}

}  // namespace

void AddRowCases(CaseTable& table) {
  AddRows(table);
  AddPlaces(table);
  AddPictures(table);
}

}  // namespace skiff::testing
