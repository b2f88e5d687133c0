// Plans for open shapes never lie: random graphs, compiled once, at several sizes in one Session, on each
// backend, with memory that nobody has written full of NaN, against eager mode.
#include <gtest/gtest.h>

#include <cstdlib>

#include "skiff/delegates.h"
#include "tests/fuzz/open_shapes_check.h"
#include "tests/fuzz/seeds.h"

namespace skiff::testing {
namespace {

/// What fast paths of Softmax, Sigmoid, LayerNorm and means may differ by.
constexpr double kInexact = 4e-6;

void RunAll(RandomOpenGraph& random, Model& model, Backend backend, const std::vector<size_t>& order) {
  SessionOptions options;
  options.backend = backend;
  options.threads = 1;
  options.poison = true;
  options.kept_shapes = 1 + static_cast<int>(random.random()() % 3);
  const auto session = MustCreate(model, options);
  for (const size_t at : order) {
    try {
      CheckSame(random, RunSession(*session, random.inputs(at)), random.Expected(at), kInexact);
    } catch (const Error& error) {
      Throw(StatusCode::kInternal, "{}, size {}: {}",
            backend == Backend::kReference ? "reference" : "planned", at, error.what());
    }
  }
}

/// What kind of plan it was.
BucketKind CheckOpen(RandomOpenGraph& random, const ConvertOptions& options) {
  const auto converted = ConvertGraph(random.graph(), options);
  OpenedPlans opened(*converted, BuiltinDelegates());
  const std::vector<size_t> order = AnyOrder(random);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned})
    RunAll(random, *opened.model, backend, order);
  return opened.model->plan(0, 0).kind;
}

void CheckExact(RandomOpenGraph& random, ConvertOptions options) {
  Graph graph = AtFirstSize(random, options);
  const auto converted = ConvertGraph(std::move(graph), options);
  OpenedPlans opened(*converted, BuiltinDelegates());
  for (const Backend backend : {Backend::kReference, Backend::kPlanned})
    RunAll(random, *opened.model, backend, {0, 0});
}

/// How many plans there were of each kind.
struct Kinds {
  int exact = 0;
  int relaxed = 0;
  int unbounded = 0;
  int counted = 0;               ///< Of any kind: elements that they compute decide shapes.
  int needlessly_unbounded = 0;  ///< Though every dimension of the inputs has a maximum.
};

void CheckSeed(uint32_t seed, std::string& text, Kinds& kinds) {
  RandomOpenGraph random(seed);
  text += random.Text();
  ConvertOptions options;
  if (std::getenv("SKIFF_FUZZ_DUMP") != nullptr) {
    options.pipeline.dump_after = {"all"};
    options.pipeline.dump = [](const std::string& dumped) { std::fputs(dumped.c_str(), stderr); };
  }
  if (seed % 4 == 0) options.pipeline.disabled = AnyPasses(random);
  for (const std::string& pass : options.pipeline.disabled) text += "without " + pass + "\n";
  const BucketKind kind = CheckOpen(random, options);
  kinds.exact += kind == BucketKind::kExact ? 1 : 0;
  kinds.relaxed += kind == BucketKind::kRelaxed ? 1 : 0;
  kinds.unbounded += kind == BucketKind::kUnbounded ? 1 : 0;
  const bool needless = !random.unbounded() && !random.ReadsCounts() && !random.Counts();
  kinds.counted += random.Counts() ? 1 : 0;
  kinds.needlessly_unbounded += kind == BucketKind::kUnbounded && needless ? 1 : 0;
  if (seed % 2 == 0) {
    text += "exact\n";
    CheckExact(random, options);
  }
}

TEST(OpenShapesFuzz, PlansComputeWhatEagerModeComputes) {
  Kinds kinds;
  const bool whole =
      CheckSeeds(2000, [&](uint32_t seed, std::string& text) { CheckSeed(seed, text, kinds); });
  std::printf(
      "%d exact, %d relaxed, %d unbounded plans, %d of them count elements; %d are unbounded though all "
      "dimensions "
      "have a maximum\n",
      kinds.exact, kinds.relaxed, kinds.unbounded, kinds.counted, kinds.needlessly_unbounded);
  if (!whole) return;
  EXPECT_GT(kinds.relaxed, 800);
  EXPECT_GT(kinds.unbounded, 200);
  EXPECT_GT(kinds.counted, 300);
  EXPECT_EQ(kinds.needlessly_unbounded, 0);
}

}  // namespace
}  // namespace skiff::testing
