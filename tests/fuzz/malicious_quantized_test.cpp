// Files whose quantised tensors were tampered with: refused when they are opened, with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/text.h"
#include "ops/op.h"
#include "ops/op_codes.h"
#include "tests/fuzz/damaged_file.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

TEST(MaliciousQuantized, TablesOfLies) {
  Expect(
      kQuantizedGraph,
      {{"an index behind the end", [](File& file) { file.tensor("stem").quantization = 1000; },
        "a tensor refers to quantisation 1000 of"},
       {"scales behind the end", [](File& file) { file.quantization("stem_weights").scales = 1000; },
        "has no scales"},
       {"no scales", [](File& file) { file.quantization("stem_weights").scales = -1; }, "has no scales"},
       {"zero points behind the end",
        [](File& file) { file.quantization("class_weights").zero_points = 1000; },
        "refers to weights 1000, which are not in the file"},
       {"an axis behind the rank", [](File& file) { file.quantization("stem_weights").axis = 4; },
        "is not one of its axes"},
       {"a huge axis", [](File& file) { file.quantization("stem_weights").axis = INT32_MAX; },
        "is not one of its axes"},
       {"a negative axis", [](File& file) { file.quantization("stem_weights").axis = -2; }, "has a bad axis"},
       {"another axis", [](File& file) { file.quantization("stem_weights").axis = 1; },
        "another number of scales"},
       {"per tensor with scales", [](File& file) { file.quantization("stem_weights").axis = -1; },
        "has scales along no axis"},
       {"a negative block", [](File& file) { file.quantization("mix_weights").block = -2; },
        "negative length"},
       {"another block", [](File& file) { file.quantization("mix_weights").block = 4; },
        "another number of scales"},
       {"the longest block", [](File& file) { file.quantization("mix_weights").block = INT64_MAX; },
        "another number of scales"},
       {"no block", [](File& file) { file.quantization("mix_weights").block = 0; },
        "another number of scales"},
       {"fewer scales", [](File& file) { file.Shorten(file.quantization("stem_weights").scales, 12); },
        "another number of scales"},
       {"part of a scale", [](File& file) { file.Shorten(file.quantization("stem_weights").scales, 15); },
        "no whole number of scales"},
       {"fewer zero points",
        [](File& file) { file.Shorten(file.quantization("class_weights").zero_points, 4); },
        "another number of zero points than of scales"},
       {"a scale of zero", [](File& file) { file.quantization("stem").scale = 0; },
        "a scale is not a positive number"},
       {"a negative scale", [](File& file) { file.quantization("stem").scale = -1; },
        "a scale is not a positive number"},
       {"a scale that is no number", [](File& file) { file.quantization("stem").scale = NAN; },
        "a scale is not a positive number"},
       {"an infinite scale", [](File& file) { file.quantization("stem").scale = INFINITY; },
        "a scale is not a positive number"},
       {"a zero among scales", [](File& file) { file.scales("stem_weights")[2] = 0; },
        "a scale is not a positive number"},
       {"no number among scales", [](File& file) { file.scales("mix_weights")[9] = NAN; },
        "a scale is not a positive number"},
       {"a zero point beyond the dtype", [](File& file) { file.quantization("stem").zero_point = 256; },
        "outside of its dtype"},
       {"a zero point beyond half a byte", [](File& file) { file.zero_points("class_weights")[1] = 8; },
        "outside of its dtype"}});
}

/// Each tensor's scales are checked, and all may have the same.
TEST(MaliciousQuantized, ScalesOfManyTensors) {
  File file(kQuantizedGraph);
  constexpr size_t kScales = 100000;
  const size_t begin = (file.parts.weights.size() + 63) / 64 * 64;
  file.parts.weights.resize(begin + kScales * sizeof(float) + format::kAlignment);
  const std::vector<float> ones(kScales, 1.0f);
  std::memcpy(file.parts.weights.data() + begin, ones.data(), kScales * sizeof(float));
  file.model->blobs.emplace_back(begin, kScales * sizeof(float), 0, 0);
  const int32_t quantization = file.Add(1, 0);
  file.model->quantizations.back()->axis = 0;
  file.model->quantizations.back()->scales = static_cast<int32_t>(file.model->blobs.size() - 1);
  const auto add = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto tensor = std::make_unique<format::TensorT>();
      tensor->dtype = static_cast<uint8_t>(DType::kI8);
      tensor->extents = {kScales};
      tensor->quantization = quantization;
      file.plan().tensors.push_back(std::move(tensor));
    }
  };
  add(10);
  EXPECT_THAT(file.Outcome(), ::testing::Not(HasSubstr("refers to its scales")));
  add(1000);
  EXPECT_THAT(file.Outcome(), HasSubstr("refers to its scales more than 64 times for each of its bytes"));
}

TEST(MaliciousQuantized, TensorsOfLies) {
  Expect(
      kQuantizedGraph,
      {{"packed without a quantisation", [](File& file) { file.tensor("class_weights").quantization = -1; },
        "a tensor of i4 has no quantisation"},
       {"a packed activation",
        [](File& file) {
          file.tensor("scores").dtype = static_cast<uint8_t>(DType::kI4);
          file.tensor("scores").quantization = file.Add(1, 0);
        },
        "is i4, which only constants can be"},
       {"fewer packed weights than elements",
        [](File& file) { file.Shorten(file.tensor("class_weights").blob, 9); }, "does not fit"},
       {"a packed port",
        [](File& file) { file.model->signatures[0]->inputs[0]->dtype = static_cast<uint8_t>(DType::kU4); },
        "does not fit a tensor"},
       {"floats that are quantised", [](File& file) { file.tensor("mixed").quantization = file.Add(1, 0); },
        "its dtype cannot be quantised"},
       {"a port of another scale",
        [](File& file) { file.model->signatures[0]->inputs[0]->quantization = file.Add(1, 0); },
        "'image' has another type"},
       {"a port of plain integers",
        [](File& file) { file.model->signatures[0]->inputs[0]->quantization = -1; },
        "'image' has another type"},
       {"an output of another scale",
        [](File& file) { file.model->signatures[0]->outputs[0]->quantization = file.Add(1, 0); },
        "has another type"},
       {"elements moved into another scale",
        [](File& file) { file.tensor("row").quantization = file.Add(1, 0); }, "differ in quantisation"},
       {"elements moved to plain integers", [](File& file) { file.tensor("row").quantization = -1; },
        "differ in quantisation"},
       {"an operator that takes none",
        [](File& file) {
          for (const auto& node : file.plan().nodes) {
            if (node->op == static_cast<uint16_t>(OpCode::kRequantize))
              node->op = static_cast<uint16_t>(OpCode::kTan);
          }
        },
        "Tan takes no quantised tensors"},
       {"plain integers among real numbers", [](File& file) { file.tensor("stem").quantization = -1; },
        "differ in quantisation"},
       {"a format that has none", [](File& file) { file.model->quantizations.clear(); }, "of 0"}});
}

/// What decides a shape is plain integers.
TEST(MaliciousQuantized, ShapesOfRealNumbers) {
  const char* const graph = R"(graph g {
    symbol n: 1..8
    input x: f32[n, 4]
    input s: i32[2]
    const one: i32[2] = [0, 1]
    input q: i8[4] {scale=1}
    t = Add(s, one)
    y = Reshape(x, t)
    r: i8[4] {scale=1} = Neg(q)
    output y
    output r
  })";
  File file(graph);
  ASSERT_GT(file.plan().shape_node_count, 0u);
  const int32_t quantization = file.tensor("q").quantization;
  for (const char* name : {"s", "one", "t"}) file.tensor(name).quantization = quantization;
  file.model->signatures[0]->inputs[1]->quantization = quantization;
  EXPECT_THAT(file.Outcome(), HasSubstr("decides a shape and is quantised"));
}

TEST(MaliciousQuantized, BodiesOfAnotherMeaning) {
  const char* const graph = R"(graph g {
    input c: bool[]
    input x: i8[4] {scale=1}
    y = If(c, x) then { input x a: i8 {scale=0.5} = Neg(x) output a } else { input x b: i8 {scale=0.5} = Abs(x) output b }
    output y
  })";
  for (const bool input : {true, false}) {
    File file(graph);
    for (const auto& node : file.plan().nodes) {
      if (node->bodies.empty()) continue;
      format::PlanT& body = *node->bodies[1];
      body.tensors[static_cast<size_t>(input ? body.inputs[0] : body.outputs[0])]->quantization =
          file.Add(2, 0);
    }
    EXPECT_THAT(file.Outcome(), HasSubstr("has another type"));
  }
}

TEST(MaliciousQuantized, VariablesOfAnotherMeaning) {
  const auto planned = PlanGraph(ParseGraph(R"(graph count {
    input x: i8[4] {scale=1}
    input total: i8[4] {scale=0.5}
    sum: i8[4] {scale=0.5} = Add(x, total)
    output sum
    output total = sum
  })"));
  FileDraft draft;
  draft.signatures.push_back(SignatureOf(*planned));
  draft.signatures[0].read_variables = {0};
  draft.signatures[0].assigned_variables = {0};
  draft.variables.emplace_back("total", TensorData(DType::kI8, Shape{4}).Quantized(PerTensor(0.5f)));
  const std::vector<uint8_t> bytes = WriteChecked(draft, {});
  EXPECT_EQ(File(bytes).Outcome(), "");
  File other(bytes);
  other.model->variables[0]->quantization = other.Add(0.25f, 0);
  EXPECT_THAT(other.Outcome(), HasSubstr("has another type than its variable"));
  File plain(bytes);
  plain.model->variables[0]->quantization = -1;
  EXPECT_THAT(plain.Outcome(), HasSubstr("has another type than its variable"));
  File packed(bytes);
  packed.model->variables[0]->dtype = static_cast<uint8_t>(DType::kI4);
  packed.Shorten(static_cast<int32_t>(packed.model->variables[0]->blob), 2);
  EXPECT_THAT(packed.Outcome(), HasSubstr("variable 'total' is i4"));
}

}  // namespace
}  // namespace skiff::testing
