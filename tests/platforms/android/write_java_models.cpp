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
