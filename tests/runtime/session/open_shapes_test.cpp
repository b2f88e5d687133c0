// Plans that serve many shapes: one file, one Session, compared with the eager interpreter at each size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error_capture.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

struct OpenGraph {
  const char* name;
  const char* text;
  std::vector<std::map<std::string, int64_t>> sizes;
  BucketKind kind = BucketKind::kRelaxed;
};

void PrintTo(const OpenGraph& graph, std::ostream* out) { *out << graph.name; }

const OpenGraph kGraphs[] = {
    {"elementwise",
     R"(graph g {
       symbol n: 1..64
       input x: f32[n, 6]
       const b: f32[6] = seed 1
       a = Add(x, b)
       y = Tanh(a)
       output y = y
     })",
     {{{"n", 1}}, {{"n", 7}}, {{"n", 64}}, {{"n", 7}}}},
    {"convolutions",
     R"(graph g {
       symbol batch: 1..4
       symbol h: 8..40
       symbol w: 8..40
       input image: f32[batch, h, w, 3]
       const w1: f32[8, 3, 3, 3] = seed 1
       const w2: f32[8, 3, 3, 8] = seed 2
       const w3: f32[8, 1, 1, 16] = seed 3
       a = Conv2d(image, w1, _) {strides=[2, 2], pads=[1, 1, 1, 1], min=0}
       b = Conv2d(a, w2, _) {pads=[1, 1, 1, 1], min=0}
       c = Concat(a, b) {axis=3}
       d = Conv2d(c, w3, _)
       e = Add(d, a)
       f = MaxPool2d(e) {kernel=[2, 2], strides=[2, 2]}
       y = ReduceMean(f) {axes=[1, 2]}
       output y = y
       output e = e
     })",
     {{{"batch", 1}, {"h", 8}, {"w", 8}},
      {{"batch", 4}, {"h", 40}, {"w", 40}},
      {{"batch", 3}, {"h", 17}, {"w", 9}},
      {{"batch", 1}, {"h", 39}, {"w", 8}}}},
    {"attention",
     R"(graph g {
       symbol batch: 1..3
       symbol seq: 1..20
       input x: f32[batch, seq, 16]
       const wq: f32[16, 16] = seed 1
       const wk: f32[16, 16] = seed 2
       const wv: f32[16, 16] = seed 3
       const zero: i64[1] = [0]
       const one: i64[1] = [1]
       const heads: i64[2] = [4, 4]
       const whole: i64[1] = [16]
       q = FullyConnected(x, wq, _)
       k = FullyConnected(x, wk, _)
       v = FullyConnected(x, wv, _)
       shape = Shape(x)
       batch = Gather(shape, zero) {axis=0}
       length = Gather(shape, one) {axis=0}
       split = Concat(batch, length, heads) {axis=0}
       join = Concat(batch, length, whole) {axis=0}
       q4 = Reshape(q, split)
       k4 = Reshape(k, split)
       v4 = Reshape(v, split)
       qt = Transpose(q4) {perm=[0, 2, 1, 3]}
       kt = Transpose(k4) {perm=[0, 2, 3, 1]}
       vt = Transpose(v4) {perm=[0, 2, 1, 3]}
       s = MatMul(qt, kt)
       p = Softmax(s) {axis=-1}
       o = MatMul(p, vt)
       ot = Transpose(o) {perm=[0, 2, 1, 3]}
       y = Reshape(ot, join)
       output y = y
     })",
     {{{"batch", 1}, {"seq", 1}},
      {{"batch", 3}, {"seq", 20}},
      {{"batch", 2}, {"seq", 5}},
      {{"batch", 1}, {"seq", 13}}}},
    {"positions",
     R"(graph g {
       symbol seq: 1..30
       input x: f32[1, seq, 4]
       const table: f32[30, 4] = seed 1
       const zero: i64[] = 0
       const one: i64[] = 1
       const axis: i64[1] = [0]
       const start: i64[1] = [0]
       shape = Shape(x)
       length = Gather(shape, one) {axis=0}
       end = Unsqueeze(length) {axes=[0]}
       rows = Slice(table, start, end, axis)
       y = Add(x, rows)
       output y = y
     })",
     {{{"seq", 1}}, {{"seq", 30}}, {{"seq", 11}}}},
    {"reshape_to_what_may_be_zero",
     R"(graph g {
       symbol n: 0..5
       input x: f32[n, 6]
       const zero: i64[1] = [0]
       const six: i64[1] = [6]
       shape = Shape(x)
       rows = Gather(shape, zero) {axis=0}
       target = Concat(six, rows) {axis=0}
       turned = Reshape(x, target)
       y = Tanh(turned)
       output y = y
     })",
     {{{"n", 1}}, {{"n", 5}}, {{"n", 3}}}},
    {"slice_to_a_computed_end",
     R"(graph g {
       symbol n: 1..64
       input x: f32[1, n, 4]
       const start: i64[1] = [1]
       const axis: i64[1] = [2]
       const one: i64[1] = [1]
       const four: i64[1] = [4]
       shape = Shape(x)
       rows = Gather(shape, one) {axis=0}
       end = Mul(rows, four)
       part = Slice(x, start, end, axis)
       y = Tanh(part)
       output y = y
     })",
     {{{"n", 1}}, {{"n", 64}}, {{"n", 5}}}},
    {"slice_to_the_end_of_the_contract",
     R"(graph g {
       symbol n: 1..64
       input x: f32[2, 4, n, 5]
       const start: i64[1] = [-64]
       const end: i64[1] = [64]
       const axis: i64[1] = [2]
       const target: i64[3] = [0, 4, -1]
       turned = Transpose(x) {perm=[0, 2, 3, 1]}
       a = Tanh(turned)
       back = Transpose(a) {perm=[0, 3, 1, 2]}
       part = Slice(back, start, end, axis)
       flat = Reshape(part, target)
       rows = Transpose(flat) {perm=[0, 2, 1]}
       y = Tanh(rows)
       output y = y
     })",
     {{{"n", 1}}, {{"n", 64}}, {{"n", 5}}}},
    {"the_last_element",
     R"(graph g {
       symbol n: 1..3
       symbol m: 1..4000
       input x: f32[n, m, 4]
       const last: i64[] = -1
       turned = Transpose(x) {perm=[1, 0, 2]}
       a = Tanh(turned)
       b = Gather(a, last) {axis=0}
       y = Tanh(b)
       output y = y
     })",
     {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 2500}}, {{"n", 3}, {"m", 2003}}}},
    {"elements_from_the_end",
     R"(graph g {
       symbol n: 1..3
       symbol m: 3..4000
       input x: f32[n, m, 4]
       const second: i64[] = -2
       const third: i64[1] = [-3]
       turned = Transpose(x) {perm=[1, 0, 2]}
       a = Tanh(turned)
       b = Gather(a, second) {axis=0}
       c = Gather(a, third) {axis=0}
       y = Tanh(b)
       z = Tanh(c)
       output y = y
       output z = z
     })",
     {{{"n", 1}, {"m", 3}}, {{"n", 2}, {"m", 2500}}, {{"n", 3}, {"m", 2003}}}},
    {"unbounded",
     R"(graph g {
       symbol n: 1..
       input x: f32[n, 6]
       const w: f32[5, 6] = seed 1
       a = FullyConnected(x, w, _)
       b = Tanh(a)
       c = Concat(x, b) {axis=1}
       y = Transpose(c)
       output y = y
       output b = b
     })",
     {{{"n", 1}}, {{"n", 9}}, {{"n", 300}}, {{"n", 2}}},
     BucketKind::kUnbounded},
};

int64_t SizeOf(const Graph& graph, const Dim& dim, const std::map<std::string, int64_t>& sizes) {
  return dim
      .Replace([&](SymbolId id) { return Dim(sizes.at(graph.symbols()[static_cast<size_t>(id)].name)); })
      .value;
}

std::map<std::string, TensorData> InputsOf(const Graph& graph, const std::map<std::string, int64_t>& sizes) {
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : graph.inputs()) {
    const Value& value = graph.value(port.value);
    Shape shape;
    for (const Dim& dim : value.dims) shape.Append(SizeOf(graph, dim, sizes));
    inputs[port.name] = RandomTensor(value.dtype, shape, static_cast<uint32_t>(inputs.size()) + 3);
  }
  return inputs;
}

class OpenShapes : public ::testing::TestWithParam<OpenGraph> {};

TEST_P(OpenShapes, MatchEagerAtEachSize) {
  const Graph source = ParseGraph(GetParam().text);
  OpenedModel opened(GetParam().text);
  EXPECT_EQ(opened.model->plan(0, 0).kind, GetParam().kind);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    for (const bool keep : {false, true}) {
      SessionOptions options;
      options.backend = backend;
      options.keep_intermediates = keep;
      ErrorCapture capture;
      auto session = Session::Create(*opened.model, options);
      ASSERT_TRUE(session.ok()) << capture.message();
      for (const auto& sizes : GetParam().sizes) {
        const auto inputs = InputsOf(source, sizes);
        const auto expected = Evaluate(source, inputs);
        const auto got = RunSession(**session, inputs);
        for (const auto& [name, data] : expected) {
          ASSERT_TRUE(got.at(name).shape() == data.shape()) << name;
          const Difference difference = Compare(got.at(name), data);
          EXPECT_LE(difference.difference, 4e-6 * std::max(difference.largest, 1e-3))
              << name << ", reference " << (backend == Backend::kReference) << ", keep " << keep;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, OpenShapes, ::testing::ValuesIn(kGraphs),
                         [](const auto& info) { return std::string(info.param.name); });

/// What is left of the elements beside open extents is a number, and all of them are as many as before.
TEST(OpenArena, OfBlocksBehindAStridedConvolution) {
  const OpenedModel opened(R"(graph g {
    symbol n: 1..2
    symbol h: 8..16
    symbol w: 8..16
    input x: f32[n, h, w, 16]
    const weights: f32[64, 3, 3, 16] = seed 1
    const block: i64[2] = [2, 2]
    const channels: i64[3] = [2, 2, -1]
    const rest: i64[1] = [-1]
    a = Conv2d(x, weights, _) {strides=[2, 2], pads=[1, 1, 1, 1]}
    b = Transpose(a) {perm=[0, 3, 1, 2]}
    batch = Shape(b) {start=0, end=1}
    space = Shape(b) {start=2, end=4}
    larger = Mul(space, block)
    six = Concat(batch, channels, space) {axis=0}
    split = Reshape(b, six)
    moved = Transpose(split) {perm=[0, 3, 4, 1, 5, 2]}
    target = Concat(batch, rest, larger) {axis=0}
    y = Reshape(moved, target)
    output y = y
  })");
  EXPECT_LE(opened.model->plan(0, 0).arena_bytes, 4U * 2 * 8 * 8 * 64 * sizeof(float));
}

/// Sizes at which the specification wants another structure, or nothing at all: eager mode refuses them, and
/// so do the plans, naming the node.
struct GuardedGraph {
  const char* name;
  const char* text;
  std::vector<std::map<std::string, int64_t>> taken;
  std::vector<std::map<std::string, int64_t>> refused;
  const char* node;
};

void PrintTo(const GuardedGraph& graph, std::ostream* out) { *out << graph.name; }

const GuardedGraph kGuards[] = {
    {"squeeze_of_an_open_extent",
     R"(graph g {
       symbol n: 1..4
       symbol m: 1..9
       input x: f32[n, m]
       row = Squeeze(x) {axes=[0]}
       y = Tanh(row)
       output y = y
     })",
     {{{"n", 1}, {"m", 5}}, {{"n", 1}, {"m", 1}}},
     {{{"n", 3}, {"m", 5}}, {{"n", 2}, {"m", 1}}},
     "'row' (Squeeze)"},
    {"squeeze_and_reshape",
     R"(graph g {
       symbol n: 1..4
       symbol m: 1..9
       input x: f32[m, n, 4]
       const pairs: i64[2] = [-1, 2]
       rows = Squeeze(x) {axes=[1]}
       turned = Reshape(rows, pairs)
       y = Tanh(turned)
       output y = y
     })",
     {{{"n", 1}, {"m", 5}}, {{"n", 1}, {"m", 1}}},
     {{{"n", 2}, {"m", 5}}, {{"n", 4}, {"m", 1}}},
     "'rows' (Reshape)"},
    {"a_place_behind_the_end",
     R"(graph g {
       symbol n: 1..9
       symbol m: 1..9
       input x: f32[n, m]
       const start: i64[1] = [5]
       const end: i64[1] = [6]
       const axis: i64[1] = [0]
       part = Slice(x, start, end, axis)
       row = Squeeze(part) {axes=[0]}
       y = Tanh(row)
       output y = y
     })",
     {{{"n", 6}, {"m", 3}}, {{"n", 9}, {"m", 1}}},
     {{{"n", 5}, {"m", 3}}, {{"n", 1}, {"m", 1}}},
     "'row' (Squeeze)"},
    {"channels_of_a_batch_norm",
     R"(graph g {
       symbol c: 1..4
       input x: f32[2, c, 4]
       const scale: f32[3] = [1, 2, 3]
       const bias: f32[3] = [1, 2, 3]
       const mean: f32[3] = [0, 0, 1]
       const variance: f32[3] = [1, 1, 2]
       y = BatchNorm(x, scale, bias, mean, variance) {axis=1}
       output y = y
     })",
     {{{"c", 3}}},
     {{{"c", 1}}, {{"c", 2}}},
     "'y' (BatchNorm)"},
    {"groups_that_do_not_divide",
     R"(graph g {
       symbol n: 1..9
       input x: f32[n, 4]
       const by_eight: i64[2] = [-1, 8]
       const by_four: i64[2] = [-1, 4]
       wide = Reshape(x, by_eight)
       back = Reshape(wide, by_four)
       y = Tanh(back)
       output y = y
     })",
     {{{"n", 2}}, {{"n", 8}}},
     {{{"n", 1}}, {{"n", 3}}},
     "'wide' (Reshape)"},
    {"what_is_broadcast",
     R"(graph g {
       symbol n: 1..9
       symbol m: 1..9
       input x: f32[n, 5]
       input z: f32[m, 5]
       y = Add(x, z)
       output y = y
     })",
     {{{"n", 1}, {"m", 4}}, {{"n", 4}, {"m", 1}}, {{"n", 3}, {"m", 3}}},
     {{{"n", 2}, {"m", 3}}},
     "'y' (Add)"},
    {"what_is_expanded",
     R"(graph g {
       symbol n: 1..9
       symbol m: 1..9
       input x: f32[n, 1]
       input z: f32[m, 5]
       const five: i64[2] = [5, 5]
       wide = Expand(x, five)
       y = Mul(wide, z)
       output y = y
     })",
     {{{"n", 1}, {"m", 5}}, {{"n", 5}, {"m", 5}}, {{"n", 5}, {"m", 1}}},
     {{{"n", 2}, {"m", 5}}},
     "'wide' (Expand)"},
    {"a_squeeze_between_transposes",
     R"(graph g {
       symbol n: 1..4
       symbol h: 2..9
       input x: f32[n, h, 6, 3]
       input z: f32[h, 6, 3]
       a = Transpose(x) {perm=[0, 3, 1, 2]}
       b = Squeeze(a) {axes=[0]}
       c = Transpose(b) {perm=[1, 2, 0]}
       d = Tanh(c)
       y = Add(d, z)
       output y = y
     })",
     {{{"n", 1}, {"h", 5}}, {{"n", 1}, {"h", 2}}},
     {{{"n", 2}, {"h", 5}}, {{"n", 4}, {"h", 2}}},
     "(Squeeze)"},
};

class Guards : public ::testing::TestWithParam<GuardedGraph> {};

TEST_P(Guards, RefuseWhatEagerRefuses) {
  const Graph source = ParseGraph(GetParam().text);
  OpenedModel opened(GetParam().text);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    ErrorCapture capture;
    auto session = Session::Create(*opened.model, options);
    ASSERT_TRUE(session.ok()) << capture.message();
    const auto refuse = [&](const std::map<std::string, int64_t>& sizes) {
      const auto inputs = InputsOf(source, sizes);
      EXPECT_THROW(Evaluate(source, inputs), Error);
      for (const auto& [name, data] : inputs)
        ASSERT_TRUE((*session)->SetInput(name.c_str(), data.view()).ok());
      EXPECT_EQ((*session)->Run().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(capture.message(), HasSubstr(GetParam().node));
    };
    for (const auto& sizes : GetParam().refused) refuse(sizes);
    for (const auto& sizes : GetParam().taken) {
      const auto inputs = InputsOf(source, sizes);
      const TensorData expected = Evaluate(source, inputs).at("y");
      const TensorData got = RunSession(**session, inputs).at("y");
      ASSERT_TRUE(got.shape() == expected.shape());
      EXPECT_LE(Compare(got, expected).difference, 4e-6);
    }
    for (const auto& sizes : GetParam().refused) refuse(sizes);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, Guards, ::testing::ValuesIn(kGuards),
                         [](const auto& info) { return std::string(info.param.name); });

/// Which axes go depends on the size; a plan has one structure.
TEST(SqueezeWithoutAxes, NeedsToKnowWhichExtentsAreOne) {
  const auto graph = [](const char* range) {
    return ParseGraph(
        fmt::format("graph g {{\n  symbol n: {}\n  input x: f32[n, 1, 2]\n  y = Squeeze(x)\n  "
                    "z = Neg(y)\n  output z = z\n}}\n",
                    range));
  };
  try {
    ConvertGraph(graph("1..8"));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'y' (Squeeze)"));
    EXPECT_THAT(error.what(), HasSubstr("axis 0 has an open extent, which is removed only where it is 1"));
    EXPECT_THAT(error.what(), HasSubstr("--dim NAME=2.."));
  }
  EXPECT_THROW(ConvertGraph(graph("0..")), Error);
  for (const auto& [range, shape] : std::map<std::string, Shape>{{"2..8", Shape{4, 2}}, {"1..1", Shape{2}}}) {
    const Graph source = graph(range.c_str());
    const AlignedBytes bytes(ConvertGraph(source)->file);
    ModelOptions options;
    options.delegates = BuiltinDelegates();
    auto model = Model::Open(bytes.span(), options);
    ASSERT_TRUE(model.ok());
    auto session = Session::Create(**model);
    ASSERT_TRUE(session.ok());
    const auto inputs = InputsOf(source, {{"n", range == "1..1" ? 1 : 4}});
    const TensorData got = RunSession(**session, inputs).at("z");
    EXPECT_TRUE(got.shape() == shape);
    EXPECT_EQ(Compare(got, Evaluate(source, inputs).at("z")).difference, 0);
  }
}

TEST(OpenContract, EachViolationIsNamedAndTheSessionGoesOn) {
  OpenedModel opened(R"(graph g {
    symbol n: 2..8
    symbol m: 1..
    input a: f32[n, m]
    input b: f32[n, m]
    c = Add(a, b)
    output c = c
  })");
  ErrorCapture capture;
  auto session = Session::Create(*opened.model);
  ASSERT_TRUE(session.ok());
  std::vector<float> data(200, 1.0f);
  const auto set = [&](int index, DType dtype, const Shape& shape) {
    return (*session)->SetInput(index, TensorView(data.data(), dtype, shape)).code();
  };
  EXPECT_EQ(set(0, DType::kF32, Shape{9, 3}), StatusCode::kNoMatchingBucket);
  EXPECT_THAT(capture.message(), HasSubstr("'n') is 9; the model was converted for 2 to 8"));
  EXPECT_EQ(set(0, DType::kF32, Shape{1, 3}), StatusCode::kNoMatchingBucket);
  EXPECT_EQ(set(0, DType::kF32, Shape{3}), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("[n, m], got [3]"));
  EXPECT_EQ(set(0, DType::kI32, Shape{3, 3}), StatusCode::kInvalidArgument);
  ASSERT_EQ(set(0, DType::kF32, Shape{3, 3}), StatusCode::kOk);
  ASSERT_EQ(set(1, DType::kF32, Shape{4, 3}), StatusCode::kOk);
  EXPECT_EQ((*session)->Run().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(capture.message(), HasSubstr("'n' is 3 elsewhere"));
  EXPECT_FALSE((*session)->Output(0).ok());
  ASSERT_EQ(set(1, DType::kF32, Shape{3, 3}), StatusCode::kOk);
  ASSERT_TRUE((*session)->Run().ok()) << capture.message();
  EXPECT_EQ((*session)->Output(0).value().as<float>()[8], 2.0f);
}

/// One file, several plans: the narrowest that fits runs, and weights are stored and packed once.
TEST(Buckets, AreChosenAndShareWeights) {
  const char* text = R"(graph g {
    symbol n: 1..64
    input x: f32[n, 32]
    const w1: f32[48, 32] = seed 1
    const w2: f32[8, 48] = seed 2
    a = FullyConnected(x, w1, _)
    b = Tanh(a)
    y = FullyConnected(b, w2, _)
    output y = y
  })";
  ConvertOptions options;
  options.buckets = {{{"n", 16}}, {{"n", DimRange(1, 8)}}};
  const OpenedModel one(text);
  const OpenedModel several(text, options);
  ASSERT_EQ(several.model->plan_count(0), 3);
  EXPECT_EQ(several.model->plan(0, 0).kind, BucketKind::kRelaxed);
  EXPECT_EQ(several.model->plan(0, 1).kind, BucketKind::kExact);
  EXPECT_EQ(several.model->plan(0, 2).kind, BucketKind::kRelaxed);
  EXPECT_LT(several.model->plan(0, 2).arena_bytes, several.model->plan(0, 0).arena_bytes);
  EXPECT_EQ(several.model->weights_bytes(), one.model->weights_bytes());

  const Graph source = ParseGraph(text);
  const auto run = [&](const OpenedModel& opened) {
    auto session = Session::Create(*opened.model);
    for (const int64_t n : {16, 3, 64, 8, 16, 17}) {
      const auto inputs = InputsOf(source, {{"n", n}});
      const Difference difference =
          Compare(RunSession(**session, inputs).at("y"), Evaluate(source, inputs).at("y"));
      EXPECT_LE(difference.difference, 4e-6 * difference.largest) << n;
    }
    return opened.model->packed_bytes().heap;
  };
  EXPECT_EQ(run(several), run(one));
}

TEST(Buckets, OutsideTheContractAreRefused) {
  const char* text = "graph g {\n  symbol n: 1..64\n  input x: f32[n]\n  y = Neg(x)\n  output y = y\n}\n";
  for (const Bucket& bucket : {Bucket{{"n", 65}}, Bucket{{"m", 3}}, Bucket{{"n", DimRange(0, 3)}}}) {
    ConvertOptions options;
    options.buckets = {bucket};
    EXPECT_THROW(ConvertGraph(ParseGraph(text), options), Error) << BucketText(bucket);
  }
}

/// A graph input whose elements decide a shape.
TEST(ShapeInputs, AreReadAtEachRun) {
  OpenedModel opened(R"(graph g {
    input x: f32[2, 6]
    input target: i64[2]
    a = Reshape(x, target)
    y = Neg(a)
    output y = y
  })");
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    ErrorCapture capture;
    auto session = Session::Create(*opened.model, options);
    ASSERT_TRUE(session.ok()) << capture.message();
    const TensorData x = RandomTensor(DType::kF32, Shape{2, 6}, 1);
    ASSERT_TRUE((*session)->SetInput("x", x.view()).ok());
    for (const auto& [wanted, made] : std::map<std::vector<int64_t>, Shape>{{{3, 4}, Shape{3, 4}},
                                                                            {{-1, 2}, Shape{6, 2}},
                                                                            {{0, -1}, Shape{2, 6}},
                                                                            {{12, 1}, Shape{12, 1}}}) {
      ASSERT_TRUE((*session)->SetInput("target", TensorData::OfInts(wanted).view()).ok());
      ASSERT_TRUE((*session)->Run().ok()) << capture.message();
      EXPECT_TRUE((*session)->Output(0).value().shape == made);
    }
    ASSERT_TRUE((*session)->SetInput("target", TensorData::OfInts({5, 5}).view()).ok());
    EXPECT_EQ((*session)->Run().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(capture.message(), HasSubstr("'a' (Reshape)"));
    ASSERT_TRUE((*session)->SetInput("target", TensorData::OfInts({6, 2}).view()).ok());
    EXPECT_TRUE((*session)->Run().ok());
  }
}

}  // namespace
}  // namespace skiff::testing
