// Writes the models of the Java API's tests: write_java_models FOLDER
#include <cstdio>

#include "convert.h"
#include "emit/write_model.h"
#include "graph/error.h"
#include "graph/text.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

// Two signatures, open dimensions, small integers, and names that are not ASCII.
const char* const kDouble = R"(graph double {
  symbol n: 2..8 multiple 2
  symbol m: 1..
  input x: f32[n, 3]
  input w: i32[m]
  y = Add(x, x)
  z = Add(w, w)
  output y = y
  output z = z
})";
const char* const kFixed = R"(graph fixed {
  input a: f32[4]
  b = Neg(a)
  output b = b
})";
// A variable: the graph's last input is its value before a run, the last output that after it.
const char* const kCounter = R"(graph counter {
  input step: f32[1]
  input count: f32[1]
  sum = Add(count, step)
  negative = Neg(sum)
  output negative = negative
  output count = sum
})";
// An input of each element type, and what comes out is what went in.
const char* const kTypes = R"(graph types {
  symbol n: 1..100
  input f32: f32[n]
  input f16: f16[n]
  input f64: f64[n]
  input i8: i8[n]
  input u8: u8[n]
  input i16: i16[n]
  input u16: u16[n]
  input i32: i32[n]
  input u32: u32[n]
  input i64: i64[n]
  input u64: u64[n]
  input bool: bool[n]
  output of_f32 = f32
  output of_f16 = f16
  output of_f64 = f64
  output of_i8 = i8
  output of_u8 = u8
  output of_i16 = i16
  output of_u16 = u16
  output of_i32 = i32
  output of_u32 = u32
  output of_i64 = i64
  output of_u64 = u64
  output of_bool = bool
})";
// Two open extents, so that a flat array does not say its shape.
const char* const kTwice = R"(graph twice {
  symbol rows: 1..10
  symbol columns: 1..10
  input x: f32[rows, columns]
  y = Add(x, x)
  output y
})";
// Integers that stand for real numbers: one scale, one for each column, and one for two neighbours.
const char* const kQuantized = R"(graph quantized {
  input x: u8[4] {scale=0.5, zero_point=100}
  input table: f32[2, 3]
  rows: i16[2, 3] {scale=[1, 0.5, 2], zero_point=[0, 10, -10], axis=1} = Quantize(table)
  blocks: i8[2, 3] {scale=[1, 2, 3, 4], axis=1, block=2} = Quantize(table)
  y: i8[4] {scale=0.25} = Requantize(x)
  plain: f32[4] = Dequantize(x)
  output rows
  output blocks
  output y
  output plain
})";

void Write(const std::string& folder) {
  const auto small = ConvertGraph(ParseGraph(kSmallNet));
  WriteFileAtomically(folder + "/small.skiff", small->file);

  const auto quantized = ConvertGraph(ParseGraph(kQuantized));
  WriteFileAtomically(folder + "/quantized.skiff", quantized->file);

  const auto types = ConvertGraph(ParseGraph(kTypes));
  WriteFileAtomically(folder + "/types.skiff", types->file);

  const auto twice = ConvertGraph(ParseGraph(kTwice));
  WriteFileAtomically(folder + "/twice.skiff", twice->file);

  const auto doubled = PlanGraph(ParseGraph(kDouble));
  const auto fixed = PlanGraph(ParseGraph(kFixed));
  FileDraft draft{{SignatureOf(*doubled), SignatureOf(*fixed)}, {}};
  draft.signatures[0].name = "double";
  draft.signatures[1].name = "größe 😀";
  WriteOptions options;
  options.metadata = {{"author", "Zoë 😀"}, {"empty", ""}};
  WriteFileAtomically(folder + "/two_signatures.skiff", WriteChecked(draft, options));

  const auto counter = PlanGraph(ParseGraph(kCounter));
  TensorData five(DType::kF32, Shape{1});
  *static_cast<float*>(five.mutable_data()) = 5;
  FileDraft counting{{SignatureOf(*counter)}, {{"count", five}}};
  counting.signatures[0].read_variables = {0};
  counting.signatures[0].assigned_variables = {0};
  WriteFileAtomically(folder + "/counter.skiff", WriteChecked(counting, {}));
}

}  // namespace
}  // namespace skiff::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_java_models FOLDER\n");
    return 2;
  }
  try {
    skiff::testing::Write(argv[1]);
  } catch (const skiff::Error& error) {
    std::fprintf(stderr, "write_java_models: %s\n", error.what());
    return 1;
  }
  return 0;
}
