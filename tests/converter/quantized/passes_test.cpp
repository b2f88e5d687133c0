// Passes and plans keep what quantised tensors mean.
#include <gtest/gtest.h>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "passes/passes.h"
#include "skiff/delegates.h"
#include "tests/converter/quantized/exact.h"
#include "tests/converter/quantized/random_graph.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using Tensors = std::map<std::string, TensorData>;
using Batch = RandomQuantizedGraph::Batch;

/// The elements as they are stored: who knows the scale of a Session's output is its port.
TensorData Codes(const TensorData& data) { return TensorData(data.dtype(), data.shape(), data.data()); }

void CheckSame(const Tensors& got, const Tensors& expected, const std::string& what) {
  for (const auto& [name, data] : expected) {
    const TensorData& other = got.at(name);
    if (other.dtype() != data.dtype() || !(other.shape() == data.shape()))
      Throw(StatusCode::kInternal, "{}: {} is {}{}", what, name, DTypeName(other.dtype()),
            ShapeText(other.shape()).c_str());
    if (Codes(other).ToDoubles() != Codes(data).ToDoubles())
      Throw(StatusCode::kInternal, "{}: {} differs", what, name);
  }
}

/// Kernels may round the other way what is half way between two codes, or nearly so, and what is computed
/// from that differs, too: a window spreads one over its neighbours. Such elements are few: half of one
/// output, a thousandth of all.
struct Near {
  size_t elements = 0;
  size_t different = 0;

  void Check(const Tensors& got, const Tensors& expected) {
    for (const auto& [name, data] : expected) {
      const std::vector<double> a = Codes(data).ToDoubles();
      const std::vector<double> b = Codes(got.at(name)).ToDoubles();
      if (a.size() != b.size()) Throw(StatusCode::kInternal, "{} has {} elements", name, b.size());
      size_t count = 0;
      for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
      if (count * 2 > a.size())
        Throw(StatusCode::kInternal, "planned: {} of {} elements of {} differ", count, a.size(), name);
      elements += a.size();
      different += count;
    }
  }
};

std::set<std::string> AllPassesBut(const std::string& kept) {
  std::set<std::string> disabled;
  for (const Pass& pass : Pipeline()) {
    if (!pass.required && pass.name != kept) disabled.insert(pass.name);
  }
  return disabled;
}

void CheckPipeline(const std::string& text, const Tensors& inputs, const Tensors& expected,
                   const std::set<std::string>& disabled, const std::string& what) {
  Graph graph = ParseGraph(text);
  PipelineOptions options;
  options.disabled = disabled;
  options.verify = true;
  try {
    RunPipeline(graph, options);
  } catch (const Error& error) {
    Throw(StatusCode::kInternal, "{}: {}", what, error.what());
  }
  Tensors got;
  try {
    got = Evaluate(graph, inputs);
  } catch (const Error& error) {
    Throw(StatusCode::kInternal, "{}: {}\n{}", what, error.what(), PrintGraph(graph));
  }
  CheckSame(got, expected, what);
}

BucketKind CheckPlans(const RandomQuantizedGraph& random, const std::vector<int64_t>& sizes, Near& near) {
  ConvertOptions options;
  options.pipeline.verify = true;
  const OpenedModel model(random.text(), options);
  const Graph graph = ParseGraph(random.text());
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions session_options;
    session_options.backend = backend;
    session_options.threads = 1;
    session_options.poison = true;
    auto session = Session::Create(*model.model, session_options);
    if (!session.ok()) Throw(StatusCode::kInternal, "no session");
    for (const int64_t n : sizes) {
      const Tensors inputs = random.Inputs(n, static_cast<uint32_t>(n));
      const Tensors got = RunSession(**session, inputs);
      const Tensors expected = Evaluate(graph, inputs);
      if (backend == Backend::kReference) {
        CheckSame(got, expected, "reference plan");
      } else {
        near.Check(got, expected);
      }
    }
  }
  return model.model->plan(0, 0).kind;
}

TEST(QuantizedPasses, ChangeNoBit) {
  CheckSeeds(400, [](uint32_t seed, std::string& text) {
    const RandomQuantizedGraph random(seed, Batch::kOne);
    text = random.text();
    const Tensors inputs = random.Inputs(2, seed);
    const Tensors expected = Evaluate(ParseGraph(text), inputs);
    CheckPipeline(text, inputs, expected, {}, "the whole pipeline");
    std::set<std::string> seen;
    for (const Pass& pass : Pipeline()) {
      if (seen.insert(pass.name).second)
        CheckPipeline(text, inputs, expected, AllPassesBut(pass.name), pass.name);
    }
  });
}

TEST(QuantizedPlans, ComputeWhatEagerModeComputes) {
  std::map<BucketKind, int> kinds;
  Near near;
  const bool whole = CheckSeeds(300, [&](uint32_t seed, std::string& text) {
    for (const Batch batch : {Batch::kOne, Batch::kBounded, Batch::kUnbounded}) {
      const RandomQuantizedGraph random(seed, batch);
      text = random.text();
      const std::vector<int64_t> sizes =
          batch == Batch::kOne ? std::vector<int64_t>{2} : std::vector<int64_t>{3, 1, 4};
      ++kinds[CheckPlans(random, sizes, near)];
    }
  });
  // These scales have few digits, so that sums are half way between two codes often. A kernel's factor in f32
  // may take the other one, of which the next product makes several. Weights of 4 bits have kernels, too.
  EXPECT_LE(near.different * 1000, near.elements * 3) << near.different << " of " << near.elements;
  if (!whole) return;
  EXPECT_GE(kinds[BucketKind::kExact], 300);
  EXPECT_GE(kinds[BucketKind::kRelaxed], 200);
  EXPECT_GE(kinds[BucketKind::kUnbounded], 200);
}

std::string AfterPasses(const std::string& text, const std::set<std::string>& disabled = {}) {
  Graph graph = ParseGraph(text);
  PipelineOptions options;
  options.disabled = disabled;
  options.verify = true;
  RunPipeline(graph, options);
  return PrintGraph(graph);
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(QuantizedPasses, EqualNodesOfDifferentTypesStayTwo) {
  const std::string text = AfterPasses(R"(graph g {
    input x: i8[4] {scale=1}
    a: i8 {scale=0.5} = Neg(x)
    b: i8 {scale=0.25} = Neg(x)
    c: u8 {scale=0.5} = Neg(x)
    d = Neg(x)
    e: i8 {scale=0.5} = Neg(x)
    s: i16 {scale=1} = Add(a, b)
    t: i16 {scale=1} = Add(c, e)
    u: i16 {scale=1} = Add(s, t)
    v: i16 {scale=1} = Add(u, d)
    output v
  })");
  EXPECT_EQ(Count(text, "= Neg("), 4) << text;  // a and e are one.
}

TEST(QuantizedPasses, EqualConstantsOfDifferentMeaningStayTwo) {
  const std::string text = AfterPasses(R"(graph g {
    input x: i8[4] {scale=1}
    const a: i8[4] {scale=0.5} = [1, 2, 3, 4]
    const b: i8[4] {scale=0.25} = [1, 2, 3, 4]
    const c: i8[4] {scale=0.5} = [1, 2, 3, 4]
    p: i8 {scale=1} = Add(x, a)
    q: i8 {scale=1} = Add(p, b)
    r: i8 {scale=1} = Add(q, c)
    output r
  })");
  EXPECT_EQ(Count(text, "const "), 2) << text;
}

/// The branch's results have the types that they were declared with.
TEST(QuantizedPasses, AKnownBranchKeepsItsTypes) {
  const std::string text = AfterPasses(R"(graph g {
    input x: i8[4] {scale=1}
    const yes: bool[] = 1
    y = If(yes, x) then { input x a: u8 {scale=0.5, zero_point=7} = Abs(x) output a } else { input x b: u8 {scale=0.5, zero_point=7} = Neg(x) output b }
    output y
  })",
                                       {"signed-codes"});
  EXPECT_EQ(Count(text, "u8[4] {scale=0.5, zero_point=7} = Abs(x)"), 1) << text;
}

TEST(QuantizedPasses, TransposesAroundAConvolutionVanish) {
  const std::string text = AfterPasses(R"(graph g {
    input x: u8[1, 3, 8, 8] {scale=0.02, zero_point=128}
    const w: i8[5, 3, 3, 3] {scale=[0.1, 0.2, 0.3, 0.4, 0.5], axis=0} = seed 1
    const w2: i8[2, 1, 1, 5] {scale=0.1} = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    const k: i8[5, 1, 1] {scale=0.1} = [1, 2, 3, 4, 5]
    t = Transpose(x) {perm=[0, 2, 3, 1]}
    c: u8 {scale=0.5, zero_point=100} = Conv2d(t, w, _) {pads=[1, 1, 1, 1]}
    n = Transpose(c) {perm=[0, 3, 1, 2]}
    s: u8 {scale=0.6, zero_point=90} = Add(n, k)
    r: u8 {scale=0.6, zero_point=90} = HardSwish(s)
    u = Transpose(r) {perm=[0, 2, 3, 1]}
    d: i8 {scale=0.5} = Conv2d(u, w2, _)
    output d
  })");
  EXPECT_EQ(Count(text, "Transpose("), 1) << text;  // The input's own.
}

/// A bias or factor behind a quantised convolution is no change of its weights.
TEST(QuantizedPasses, QuantisedWeightsAreNotRescaled) {
  const std::string text = AfterPasses(R"(graph g {
    input x: i8[1, 4, 4, 2] {scale=0.5}
    const w: i8[3, 1, 1, 2] {scale=0.25} = [1, 2, 3, 4, 5, 6]
    const factor: f32[3] = [1, 2, 3]
    const addend: f32[3] = [4, 5, 6]
    y = Conv2d(x, w, _)
    m = Mul(y, factor)
    a = Add(m, addend)
    output a
  })");
  EXPECT_EQ(Count(text, "= Mul("), 1) << text;
  EXPECT_EQ(Count(text, "= Add("), 1) << text;
}

/// A rounding in the middle makes it another function.
TEST(QuantizedPasses, AnActivationThatRoundsInTheMiddleIsNotRecognised) {
  const auto gelu = [](const std::string& type) {
    return AfterPasses(
        "graph g { input x: f32[4] const half: f32[] = 0.5 const root: f32[] = 1.4142135 const one: f32[] = "
        "1 "
        "h" +
        type + " = Mul(x, half) d = Div(x, root) e = Erf(d) s = Add(e, one) y = Mul(h, s) output y }");
  };
  EXPECT_EQ(Count(gelu(""), "Gelu("), 1);
  EXPECT_EQ(Count(gelu(": i8 {scale=0.1}"), "Gelu("), 0);
}

/// Weights keep their size until they are used.
TEST(QuantizedPasses, DequantizedWeightsAreNotFolded) {
  const std::string text = AfterPasses(R"(graph g {
    input x: f32[1, 8]
    const w: i4[8, 8] {scale=0.5} = seed 1
    const c: i8[8] {scale=1} = [1, 2, 3, 4, 5, 6, 7, 8]
    f = Dequantize(w)
    n: i8 {scale=2} = Neg(c)
    y = FullyConnected(x, f, n)
    output y
  })");
  EXPECT_EQ(Count(text, "Dequantize("), 1) << text;
  EXPECT_EQ(Count(text, "Neg("), 0) << text;  // As many bytes as before.
}

}  // namespace
}  // namespace skiff::testing
