// Plans for open shapes never lie: random graphs, compiled once, at several sizes in one Session, on each
// backend, with memory that nobody has written full of NaN, against eager mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/error_capture.h"
#include "delegates/registry.h"
#include "graph/error.h"
#include "tests/fuzz/random_open_graph.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

struct Opened {
  explicit Opened(const ConvertResult& converted) : bytes(converted.file) {
    ErrorCapture capture;
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    Result<std::unique_ptr<Model>> opened = Model::Open(bytes.span(), options);
    if (!opened.ok()) Throw(opened.status().code(), "{}", capture.message());
    model = std::move(opened.value());
  }
  AlignedBytes bytes;
  std::unique_ptr<Model> model;
};

/// Some passes off, so that their work cannot hide what others leave.
std::set<std::string> AnyPasses(RandomOpenGraph& random) {
  std::set<std::string> disabled;
  const bool all = std::uniform_int_distribution<int>(0, 2)(random.random()) == 0;
  for (const Pass& pass : Pipeline()) {
    if (!pass.required && (all || random.random()() % 3 == 0)) disabled.insert(pass.name);
  }
  return disabled;
}

void CheckSame(const RandomOpenGraph& random, const Tensors& got, const Tensors& expected) {
  for (const auto& [name, data] : expected) {
    if (!(got.at(name).shape() == data.shape())) {
      Throw(StatusCode::kInternal, "{} is {}, not {}", name, ShapeText(got.at(name).shape()).c_str(),
            ShapeText(data.shape()).c_str());
    }
    const Difference difference = Compare(got.at(name), data);
    // What fast paths of Softmax, Sigmoid, LayerNorm and means may differ by; all else is exact.
    const double allowed = random.IsInexact(name) ? 4e-6 * std::max(difference.largest, 1.0) : 0.0;
    if (!(difference.difference <= allowed))
      Throw(StatusCode::kInternal, "{} differs by {}", name, difference.difference);
  }
}

void RunAll(RandomOpenGraph& random, Model& model, Backend backend, const std::vector<size_t>& order) {
  SessionOptions options;
  options.backend = backend;
  options.threads = 1;
  options.poison = true;
  options.kept_shapes = 1 + static_cast<int>(random.random()() % 3);
  ErrorCapture capture;
  auto session = Session::Create(model, options);
  if (!session.ok()) Throw(session.status().code(), "{}", capture.message());
  for (const size_t at : order) {
    try {
      CheckSame(random, RunSession(**session, random.inputs(at)), random.Expected(at));
    } catch (const Error& error) {
      Throw(StatusCode::kInternal, "{}, size {}: {}",
            backend == Backend::kReference ? "reference" : "planned", at, error.what());
    }
  }
}

/// The sizes in a random order, the first one again at the end. What kind of plan it was.
BucketKind CheckOpen(RandomOpenGraph& random, const ConvertOptions& options) {
  const auto converted = ConvertGraph(random.graph(), options);
  Opened opened(*converted);
  std::vector<size_t> order;
  for (size_t at = 0; at < RandomOpenGraph::kSizes; ++at) order.push_back(at);
  std::shuffle(order.begin(), order.end(), random.random());
  order.push_back(order[0]);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned})
    RunAll(random, *opened.model, backend, order);
  return opened.model->plan(0, 0).kind;
}

void CheckExact(RandomOpenGraph& random, ConvertOptions options) {
  for (const auto& [name, size] : random.sizes(0)) options.dims[name] = DimRange(size);
  Graph graph = random.graph();
  FixShapes(graph, options);
  const auto converted = ConvertGraph(std::move(graph), options);
  Opened opened(*converted);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned})
    RunAll(random, *opened.model, backend, {0, 0});
}

/// How many plans there were of each kind.
struct Kinds {
  int exact = 0;
  int relaxed = 0;
  int unbounded = 0;
  int needlessly_unbounded = 0;  ///< Though every dimension of the inputs has a maximum.
};

/// What is wrong with this graph's plans; "" when nothing is.
std::string CheckSeed(uint32_t seed, Kinds& kinds) {
  std::string text = fmt::format("SKIFF_FUZZ_SEED={}\n", seed);
  try {
    RandomOpenGraph random(seed);
    text += random.Text();
    ConvertOptions options;
    if (std::getenv("SKIFF_FUZZ_DUMP") != nullptr) options.pipeline.dump_after = {"all"};
    if (seed % 4 == 0) options.pipeline.disabled = AnyPasses(random);
    for (const std::string& pass : options.pipeline.disabled) text += "without " + pass + "\n";
    const BucketKind kind = CheckOpen(random, options);
    kinds.exact += kind == BucketKind::kExact ? 1 : 0;
    kinds.relaxed += kind == BucketKind::kRelaxed ? 1 : 0;
    kinds.unbounded += kind == BucketKind::kUnbounded ? 1 : 0;
    const bool needless = !random.unbounded() && !random.ReadsCounts();
    kinds.needlessly_unbounded += kind == BucketKind::kUnbounded && needless ? 1 : 0;
    if (seed % 2 == 0) {
      text += "exact\n";
      CheckExact(random, options);
    }
  } catch (const Error& error) {
    return error.what() + std::string("\n") + text;
  }
  return "";
}

TEST(OpenShapesFuzz, PlansComputeWhatEagerModeComputes) {
  constexpr int kMostFailures = 10;
  const char* const only = std::getenv("SKIFF_FUZZ_SEED");
  const auto first = static_cast<uint32_t>(only == nullptr ? 1 : std::strtoul(only, nullptr, 10));
  const char* const count = std::getenv("SKIFF_FUZZ_COUNT");
  const auto graphs = static_cast<uint32_t>(count != nullptr ? std::strtoul(count, nullptr, 10) : 2000);
  const uint32_t last = only != nullptr && count == nullptr ? first : first + graphs - 1;
  Kinds kinds;
  int failures = 0;
  for (uint32_t seed = first; seed <= last && failures < kMostFailures; ++seed) {
    const std::string wrong = CheckSeed(seed, kinds);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << wrong;
  }
  std::printf("%d exact, %d relaxed, %d unbounded plans; %d of these though all dimensions have a maximum\n",
              kinds.exact, kinds.relaxed, kinds.unbounded, kinds.needlessly_unbounded);
  if (only != nullptr || count != nullptr || failures > 0) return;
  EXPECT_GT(kinds.relaxed, 800);
  EXPECT_GT(kinds.unbounded, 200);
  EXPECT_EQ(kinds.needlessly_unbounded, 0);
}

}  // namespace
}  // namespace skiff::testing
