// Shape rules read untrusted files: whatever the attributes, ranks, extents and values are, a rule returns an
// error or extents that are not negative. Undefined behaviour shows in the sanitizer build.
#include <random>

#include "ops/build_ops.h"
#include "tests/runtime/eager/run_op.h"

namespace skiff::test {
namespace {

using Random = std::mt19937;

int64_t Pick(Random& random, std::initializer_list<int64_t> values) {
  return values.begin()[random() % values.size()];
}

int64_t HostileInteger(Random& random) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  if (random() % 4 != 0) return static_cast<int64_t>(random() % 7) - 2;
  return Pick(random,
              {kHighest, -kHighest - 1, kHighest - 1, int64_t{1} << 32, -(int64_t{1} << 31), 1000, -1000});
}

/// Overwrites attribute fields of any type. Most keep their defaults, so that the checks behind the first one
/// are met.
struct HostileField {
  Random& random;

  void operator()(int, const char*, bool& field) const { field = random() % 2 != 0; }
  void operator()(int, const char*, int64_t& field) const {
    if (random() % 2 == 0) field = HostileInteger(random);
  }
  void operator()(int, const char*, float& field) const {
    field = static_cast<float>(HostileInteger(random));
  }
  void operator()(int, const char*, Ints& field) const {
    if (random() % 3 == 0) field.size = Pick(random, {0, 1, 2, 3, 4, 8});
    for (int64_t i = 0; i < kMaxRank; ++i) {
      if (random() % 4 == 0) field[i] = HostileInteger(random);
      if (random() % 8 == 0) field[i] = int64_t{1} << 30;
    }
  }
  template <class E>
  void operator()(int, const char*, E& field) const {
    if (random() % 2 == 0)
      field = static_cast<E>(random() % 4 == 0 ? HostileInteger(random) : static_cast<int64_t>(random() % 4));
  }
};

struct HostileInput {
  InferInput<int64_t> input;
  std::vector<int64_t> values;
  alignas(8) unsigned char constant[64] = {};
};

void FillInput(Random& random, HostileInput& hostile) {
  InferInput<int64_t>& input = hostile.input;
  input.present = true;
  input.dtype = static_cast<DType>(Pick(random, {1, 1, 1, 7, 9, 9, 11, 12}));
  input.rank = static_cast<int>(random() % 3 != 0 ? random() % 5 : random() % (kMaxRank + 1));
  for (int i = 0; i < input.rank; ++i) {
    input.extents[i] = Pick(random, {0, 1, 1, 2, 2, 3, 4, 6, 64, 1 << 20, int64_t{1} << 40});
  }
  for (unsigned char& byte : hostile.constant) byte = static_cast<unsigned char>(random());
  if (random() % 8 != 0) input.constant = hostile.constant;
  if (IsFloat(input.dtype) || random() % 8 == 0) return;
  if (input.rank <= 1 && random() % 2 == 0) {
    // A short list, as shape inputs are.
    input.rank = 1;
    input.extents[0] = static_cast<int64_t>(random() % 5);
  }
  const int64_t count =
      input.rank == 0 ? 1 : (input.rank == 1 && input.extents[0] < 64 ? input.extents[0] : -1);
  if (count < 0) return;
  for (int64_t i = 0; i < count; ++i) hostile.values.push_back(HostileInteger(random));
  input.values = hostile.values.data();
  input.value_count = count;
}

TEST(ShapeRules, SurviveHostileFiles) {
  Random random(7);
  int accepted = 0;
  for (const OpDef& op : AllOps()) {
    for (int round = 0; round < 4000; ++round) {
      AttrStorage attrs;
      InitAttrs(op.code, attrs);
      if (random() % 4 != 0) VisitAttrs(op.code, attrs, HostileField{random});
      const size_t most = op.max_inputs == kVariadic ? 4 : op.max_inputs;
      std::vector<HostileInput> hostile(op.min_inputs + random() % (most - op.min_inputs + 1));
      std::vector<InferInput<int64_t>> inputs;
      for (size_t i = 0; i < hostile.size(); ++i) {
        if (i > 0 && random() % 2 == 0) {
          hostile[i].input = hostile[0].input;
        } else if (i == 2 && random() % 2 == 0) {
          // The bias of a convolution with as many outputs as inputs.
          hostile[i].input = hostile[0].input;
          hostile[i].input.rank = 1;
        } else {
          FillInput(random, hostile[i]);
        }
        // Only optional inputs may be absent.
        if (i >= op.min_inputs && random() % 4 == 0) hostile[i].input = {};
        inputs.push_back(hostile[i].input);
      }
      std::vector<InferOutput<int64_t>> outputs(op.outputs == kVariadic ? 1 + random() % 4 : op.outputs);
      char message[InferContext<int64_t>::kMessageBytes] = "";
      InferContext<int64_t> context{
          op.code, &attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, message};
      if (!op.infer(context).ok()) {
        EXPECT_NE(message[0], '\0') << op.name << " refuses without a word";
        continue;
      }
      ++accepted;
      for (const InferOutput<int64_t>& output : outputs) {
        ASSERT_TRUE(output.rank >= 0 && output.rank <= kMaxRank) << op.name;
        for (int i = 0; i < output.rank; ++i) ASSERT_GE(output.extents[i], 0) << op.name << ", axis " << i;
      }
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace skiff::test
