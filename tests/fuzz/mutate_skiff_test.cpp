// Damages the FlatBuffer part of .skiff files by bytes and by fields, opens them and, where that succeeds,
// runs them on every backend. 1,000 of each kind per sample file.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/fuzz/counting_graph.h"
#include "tests/fuzz/outcomes.h"
#include "tests/fuzz/quantized_graph.h"
#include "tests/fuzz/skiff_parts.h"
#include "tests/support/state_nets.h"

namespace skiff::testing {
namespace {

constexpr int kMutationsPerFile = 1000;

int64_t Unusual(std::mt19937& random, int64_t value) {
  const auto bits = static_cast<uint64_t>(value);  // Neighbours of the ends wrap.
  const int64_t choices[] = {0,
                             1,
                             -1,
                             -2,
                             2,
                             3,
                             7,
                             8,
                             9,
                             static_cast<int64_t>(bits + 1),
                             static_cast<int64_t>(bits - 1),
                             static_cast<int64_t>(bits * 2),
                             static_cast<int64_t>(0 - bits),
                             127,
                             255,
                             65535,
                             int64_t{1} << 31,
                             int64_t{1} << 40,
                             INT64_MAX,
                             INT64_MIN};
  return choices[random() % std::size(choices)];
}

template <class T>
void MutateVector(std::mt19937& random, std::vector<T>& values) {
  const uint32_t action = random() % 8;
  if (values.empty() || action == 0) {
    values.push_back(static_cast<T>(Unusual(random, 1)));
  } else if (action == 1) {
    values.erase(values.begin() + static_cast<long>(random() % values.size()));
  } else {
    T& value = values[random() % values.size()];
    value = static_cast<T>(Unusual(random, static_cast<int64_t>(value)));
  }
}

template <class T>
T* Pick(std::mt19937& random, std::vector<std::unique_ptr<T>>& items) {
  return items.empty() ? nullptr : items[random() % items.size()].get();
}

void MutateNode(std::mt19937& random, format::NodeT& node) {
  switch (random() % 5) {
    case 0:
      node.op = static_cast<uint16_t>(random() % 2 == 0 ? random() % 163 : random());
      break;
    case 1:
      MutateVector(random, node.inputs);
      break;
    case 2:
      MutateVector(random, node.outputs);
      break;
    case 3: {
      auto attr = std::make_unique<format::AttrT>();
      attr->tag = static_cast<uint8_t>(1 + random() % 7);
      attr->ints = {Unusual(random, 2), Unusual(random, 2)};
      node.attrs.push_back(std::move(attr));
      break;
    }
    default:
      if (format::AttrT* attr = Pick(random, node.attrs)) {
        if (random() % 4 == 0) attr->tag = static_cast<uint8_t>(random());
        MutateVector(random, attr->ints);
      }
  }
}

void MutateTensor(std::mt19937& random, format::TensorT& tensor) {
  switch (random() % 10) {
    case 0:
      tensor.dtype = static_cast<uint8_t>(random() % (kDTypeCount + 1));
      break;
    case 1:
      MutateVector(random, tensor.extents);
      break;
    case 2:
      tensor.blob = static_cast<int32_t>(Unusual(random, tensor.blob));
      break;
    case 3:
      tensor.offset = static_cast<uint64_t>(
          random() % 2 == 0 ? Unusual(random, static_cast<int64_t>(tensor.offset)) : (random() % 64) * 64);
      break;
    case 4:
      tensor.view_of = static_cast<int32_t>(Unusual(random, tensor.view_of));
      break;
    case 8:
      tensor.buffer =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 16 : Unusual(random, tensor.buffer));
      break;
    case 5:
      tensor.quantization =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 8 : Unusual(random, tensor.quantization));
      break;
    case 6:
      tensor.stored = static_cast<uint8_t>(random() % (kDTypeCount + 1));
      break;
    case 7:
      tensor.stored_quantization = static_cast<int32_t>(
          random() % 2 == 0 ? random() % 8 : Unusual(random, tensor.stored_quantization));
      break;
    default:
      tensor.row_stride = Unusual(random, tensor.extents.empty() ? 1 : tensor.extents.back());
      break;
  }
}

void MutateQuantization(std::mt19937& random, format::QuantizationT& quantization) {
  switch (random() % 6) {
    case 0: {
      constexpr float kScales[] = {0, -1, 1e-38f, 3e38f, 0.25f, std::numeric_limits<float>::quiet_NaN()};
      quantization.scale = kScales[random() % std::size(kScales)];
      break;
    }
    case 1:
      quantization.zero_point = static_cast<int32_t>(Unusual(random, quantization.zero_point));
      break;
    case 2:
      quantization.axis =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 4 : Unusual(random, quantization.axis));
      break;
    case 3:
      quantization.block = Unusual(random, quantization.block);
      break;
    case 4:
      quantization.scales =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 10 : Unusual(random, quantization.scales));
      break;
    default:
      quantization.zero_points =
          static_cast<int32_t>(random() % 2 == 0 ? random() % 10 : Unusual(random, quantization.zero_points));
      break;
  }
}

/// The plan, or one of a body in it.
format::PlanT& SomePlan(std::mt19937& random, format::PlanT& plan) {
  for (const auto& node : plan.nodes) {
    if (!node->bodies.empty() && random() % 2 == 0)
      return SomePlan(random, *node->bodies[random() % node->bodies.size()]);
  }
  return plan;
}

void MutateFields(std::mt19937& random, format::ModelT& model) {
  format::SignatureT& signature = *model.signatures[0];
  format::PlanT& plan = SomePlan(random, *signature.plans[0]);
  if (!model.quantizations.empty() && random() % 4 == 0)
    return MutateQuantization(random, *Pick(random, model.quantizations));
  switch (random() % 10) {
    case 0:
    case 1:
    case 2:
      if (auto* node = Pick(random, plan.nodes)) MutateNode(random, *node);
      break;
    case 3:
    case 4:
    case 5:
      if (auto* tensor = Pick(random, plan.tensors)) MutateTensor(random, *tensor);
      break;
    case 6: {
      if (plan.segments.empty()) break;
      format::Segment& segment = plan.segments[random() % plan.segments.size()];
      segment = format::Segment(static_cast<uint8_t>(random() % 5), segment.begin() + random() % 2,
                                segment.end() - random() % 2);
      break;
    }
    case 7:
      MutateVector(random, random() % 2 == 0 ? plan.inputs : plan.outputs);
      break;
    case 8:
      plan.arena_bytes = static_cast<uint64_t>(Unusual(random, static_cast<int64_t>(plan.arena_bytes)));
      break;
    default: {
      if (model.blobs.empty()) break;
      format::Blob& blob = model.blobs[random() % model.blobs.size()];
      blob = format::Blob(static_cast<uint64_t>(Unusual(random, static_cast<int64_t>(blob.offset()))),
                          static_cast<uint64_t>(Unusual(random, static_cast<int64_t>(blob.size()))),
                          blob.hash_low(), blob.hash_high());
    }
  }
}

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

  std::vector<uint8_t> File() const {
    if (cache) return OpenedModel(WithStates(graph, kCachePairs), AsWritten()).converted->file;
    return graph != nullptr ? OpenedModel(graph, AsWritten()).converted->file
                            : ConvertFile(SKIFF_SOURCE_DIR "/samples/characters/characters.onnx")->file;
  }
};

class MutateSkiff : public ::testing::TestWithParam<Sample> {
 protected:
  const Parts parts_{GetParam().File()};
};

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

INSTANTIATE_TEST_SUITE_P(Samples, MutateSkiff,
                         ::testing::Values(Sample{"small", kSmallNet}, Sample{"attention", kAttention},
                                           Sample{"loop", kLoop}, Sample{"counting", kCountingGraph},
                                           Sample{"quantized", kQuantizedGraph},
                                           Sample{"narrow", kNarrowGraph}, Sample{"state", kCacheNet, true},
                                           Sample{"characters", nullptr}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace skiff::testing
