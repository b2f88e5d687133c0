// Damages the FlatBuffer part of .skiff files by bytes and by fields, opens them and, where that succeeds,
// runs them on every backend. 1,000 of each kind per sample file, half as many on the GPU.
#include <gtest/gtest.h>

#include <random>

#include "tests/fuzz/counting_graph.h"
#include "tests/fuzz/mutate_skiff.h"
#include "tests/fuzz/outcomes.h"
#include "tests/fuzz/quantized_graph.h"
#include "tests/fuzz/skiff_parts.h"
#include "tests/support/state_nets.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

constexpr int kMutationsPerFile = 1000;
constexpr int kMutationsOnGpu = kMutationsPerFile / 2;

const char* const kAttention = R"(graph attention {
  input x: f32[1, 6, 8]
  input ids: i64[4]
  const w: f32[8, 8] = seed 1
  const table: f32[10, 8] = seed 2
  const scale: f32[8] = seed 3
  const bias: f32[8] = seed 4
  const starts: i64[1] = [1]
  const ends: i64[1] = [5]
  const axes: i64[1] = [1]
  const steps: i64[1] = [1]
  const pads: i64[6] = [0, 1, 0, 0, 1, 0]
  q: f32[1, 6, 8] = FullyConnected(x, w, _)
  scores: f32[1, 6, 6] = MatMul(q, x) {transpose_b=true}
  weights: f32[1, 6, 6] = Softmax(scores) {axis=-1}
  mixed: f32[1, 6, 8] = MatMul(weights, x)
  normed: f32[1, 6, 8] = LayerNorm(mixed, scale, bias)
  cut: f32[1, 4, 8] = Slice(normed, starts, ends, axes, steps)
  rows: f32[4, 8] = Gather(table, ids)
  both: f32[1, 4, 8] = Add(cut, rows)
  padded: f32[1, 6, 8] = Pad(both, pads)
  turned: f32[1, 8, 6] = Transpose(padded) {perm=[0, 2, 1]}
  output turned = turned
}
)";

const char* const kLoop = R"(graph loop {
  input n: i64[]
  input x: f32[1, 6, 6, 4]
  const w: f32[4, 3, 3, 4] = seed 1
  const zero: i64[] = 0
  i, y, z = While(zero, x, x, n, w) condition {
    input i input y input z input n input w
    go: bool[] = Less(i, n)
    output go
  } body {
    input i input y input z input n input w
    const one: i64[] = 1
    next = Add(i, one)
    first = Equal(i, one)
    a = If(first, y, w) then {
      input y input w
      c = Conv2d(y, w, _) {pads=[1, 1, 1, 1]}
      output c
    } else {
      input y input w
      t = Tanh(y)
      s = Add(t, y)
      output s
    }
    output next
    output z
    output a
  }
  s = Add(y, z)
  output s
}
)";

/// A sample file: a graph in text form, or the sample model.
struct Sample {
  const char* name;
  const char* graph;   ///< Null: the trained classifier of samples/characters.
  bool cache = false;  ///< It is kCacheNet, whose caches are variables.

  std::vector<uint8_t> File(std::vector<Target> targets = {}) const {
    ConvertOptions options;
    if (graph != nullptr) options = AsWritten();
    options.targets = std::move(targets);
    if (cache) return OpenedModel(WithStates(graph, kCachePairs), options).converted->file;
    return graph != nullptr
               ? OpenedModel(graph, options).converted->file
               : ConvertFile(SKIFF_SOURCE_DIR "/samples/characters/characters.onnx", options)->file;
  }
};

class MutateSkiff : public ::testing::TestWithParam<Sample> {
 protected:
  const Parts parts_{GetParam().File()};
};

/// Without the plans for the CPU, so that each change is one of those for the GPU.
std::unique_ptr<format::ModelT> GpuPlans(const Parts& parts) {
  std::unique_ptr<format::ModelT> model = parts.Unpack();
  for (const auto& signature : model->signatures) {
    std::erase_if(signature->plans,
                  [](const auto& plan) { return plan->target != static_cast<uint8_t>(Target::kVulkan); });
  }
  return model;
}

void Check(const Outcomes& outcomes, const char* title) {
  outcomes.Print(title);
  const int past = outcomes.total() - outcomes.Matching("FlatBuffer part is malformed");
  std::printf("%.1f %% got past the FlatBuffers verifier, %.1f %% ran\n", 100.0 * past / outcomes.total(),
              100.0 * outcomes.ran() / outcomes.total());
  EXPECT_EQ(outcomes.total(), kMutationsPerFile);
  EXPECT_GT(past, kMutationsPerFile / 20) << "the mutations never reach our own checks";
}

TEST_P(MutateSkiff, ByBytes) {
  Outcomes outcomes;
  for (int seed = 0; seed < kMutationsPerFile; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    std::vector<uint8_t> model = parts_.flatbuffer;
    const uint32_t changes = 1 + random() % 4;
    for (uint32_t i = 0; i < changes; ++i) {
      uint8_t& byte = model[random() % model.size()];
      byte = static_cast<uint8_t>(random() % 3 == 0 ? byte ^ (1u << random() % 8) : random());
    }
    SCOPED_TRACE(seed);
    outcomes.Add(OpenAndRun(parts_.Assemble(model.data(), model.size())));
  }
  Check(outcomes, "by bytes");
}

TEST_P(MutateSkiff, ByFields) {
  Outcomes outcomes;
  for (int seed = 0; seed < kMutationsPerFile; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    const std::unique_ptr<format::ModelT> model = parts_.Unpack();
    const uint32_t changes = 1 + random() % 2;
    for (uint32_t i = 0; i < changes; ++i) MutateFields(random, *model);
    SCOPED_TRACE(seed);
    outcomes.Add(OpenAndRun(parts_.Assemble(*model)));
  }
  Check(outcomes, "by fields");
}

TEST_P(MutateSkiff, ByFieldsOnTheGpu) {
  if (!HasVulkan()) GTEST_SKIP() << "there is no Vulkan device here";
  const Parts parts(GetParam().File({Target::kVulkan}));
  const uint64_t messages = VulkanMessages();
  ASSERT_EQ(OpenAndRun(parts.Assemble(*GpuPlans(parts)), false, kOnGpu), "");
  Outcomes outcomes;
  for (int seed = 0; seed < kMutationsOnGpu; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    const std::unique_ptr<format::ModelT> model = GpuPlans(parts);
    MutateFields(random, *model);
    SCOPED_TRACE(seed);
    outcomes.Add(OpenAndRun(parts.Assemble(*model), false, kOnGpu));
  }
  outcomes.Print("on the GPU");
  EXPECT_GT(outcomes.ran(), kMutationsOnGpu / 20);
  EXPECT_EQ(VulkanMessages(), messages) << "the validation layer had something to say";
}

INSTANTIATE_TEST_SUITE_P(Samples, MutateSkiff,
                         ::testing::Values(Sample{"small", kSmallNet}, Sample{"attention", kAttention},
                                           Sample{"loop", kLoop}, Sample{"counting", kCountingGraph},
                                           Sample{"quantized", kQuantizedGraph},
                                           Sample{"narrow", kNarrowGraph}, Sample{"state", kCacheNet, true},
                                           Sample{"characters", nullptr}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace skiff::testing
