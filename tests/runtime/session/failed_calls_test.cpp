// What a refused call leaves behind: a Session that goes on, and nothing that lies in memory it does not
// have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/error_capture.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOpenRows = R"(graph g {
  symbol n: 1..
  input x: f32[n, 6]
  a = Tanh(x)
  y = Exp(a)
  output y = y
})";

constexpr Backend kBackends[] = {Backend::kReference, Backend::kPlanned};

std::unique_ptr<Session> NewSession(Model& model, const SessionOptions& options) {
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  EXPECT_TRUE(session.ok());
  return std::move(session.value());
}

/// Sets the only input of kOpenRows to ones and runs.
Status RunRows(Session& session, int64_t rows) {
  SKIFF_ASSIGN_OR_RETURN(const TensorView x, session.InputBuffer(0, Shape{rows, 6}));
  std::fill_n(x.as<float>(), x.shape.elements(), 1.0f);
  return session.Run();
}

void ExpectRows(const Session& session, int64_t rows) {
  const Result<TensorView> y = session.Output(0);
  ASSERT_TRUE(y.ok());
  ASSERT_TRUE(y.value().shape == (Shape{rows, 6}));
  for (int64_t i = 0; i < rows * 6; ++i) ASSERT_NEAR(y.value().as<float>()[i], 2.141f, 1e-3) << i;
}

/// A state whose arena was refused must not be taken for ready.
TEST(MemoryLimit, HoldsForTheSameShapeAgain) {
  const OpenedModel opened(kOpenRows);
  for (const Backend backend : kBackends) {
    for (const bool keep : {false, true}) {
      SessionOptions options;
      options.backend = backend;
      options.threads = 1;
      options.keep_intermediates = keep;
      options.memory_limit = 4000000;  // An input of 100000 rows has 2.4 MB, its arena as many.
      const auto session = NewSession(*opened.model, options);
      ErrorCapture capture;
      ASSERT_TRUE(RunRows(*session, 10).ok()) << capture.message();
      for (int again = 0; again < 3; ++again) {
        EXPECT_EQ(RunRows(*session, 100000).code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(capture.message(), HasSubstr("the memory limit is 4000000"));
        EXPECT_FALSE(session->Output(0).ok());
        EXPECT_EQ(session->node_count(), 0);
      }
      EXPECT_LE(session->memory_usage().arena, options.memory_limit);
      for (const int64_t rows : {10, 11, 10}) {
        ASSERT_TRUE(RunRows(*session, rows).ok()) << capture.message();
        ExpectRows(*session, rows);
      }
    }
  }
}

/// A delegate would make tables of 2^31 numbers for these columns, which takes it minutes.
TEST(MemoryLimit, IsKeptBeforeDelegatesPrepare) {
  const OpenedModel opened(R"(graph g {
    symbol n: 1..
    input x: bool[n, 2, 2, 1]
    const sizes: i64[2] = [1, 2147483648]
    y = Resize2d(x, sizes) {mode=nearest}
    output y = y
  })");
  for (const Backend backend : kBackends) {
    SessionOptions options;
    options.backend = backend;
    options.memory_limit = 4000000;
    const auto session = NewSession(*opened.model, options);
    ErrorCapture capture;
    ASSERT_TRUE(session->InputBuffer(0, Shape{1, 2, 2, 1}).ok()) << capture.message();
    EXPECT_EQ(session->Run().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(capture.message(), HasSubstr("the memory limit is 4000000"));
  }
}

/// What Session::Create() says of a net under a limit in bytes.
std::string Refusal(const std::string& text, uint64_t limit) {
  const OpenedModel opened(text.c_str());
  SessionOptions options;
  options.memory_limit = limit;
  const ErrorCapture capture;
  const Status status = Session::Create(*opened.model, options).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  return capture.message();
}

/// What an operator keeps for its weights is no part of the arena.
TEST(MemoryLimit, IsThatOfTablesOfKernels) {
  std::string text = "graph g { input x: f32[1, 100000]\n";
  for (const char* name : {"s", "b", "m", "v"})
    text += std::string("const ") + name + ": f32[100000] = seed 1\n";
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string at = std::to_string(i);
    text += "n" + at + " = BatchNorm(" + last + ", s, b, m, v)  t" + at + " = Tanh(n" + at + ")\n";
    last = "t" + at;
  }
  EXPECT_THAT(Refusal(text + "output " + last + " }", 16 << 20), HasSubstr("SessionOptions::memory_limit"));
}

/// Each of them is small.
TEST(MemoryLimit, IsThatOfAllOperatorsOfXnnpack) {
  std::string text = "graph g { input x: f32[1, 60, 60, 1]\nconst w: f32[1, 5, 5, 1] = seed 1\n";
  std::string last = "x";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "y" + std::to_string(i);
    text += next + " = ConvTranspose2d(" + last + ", w) {strides=[1, 1], pads=[2, 2, 2, 2]}\n";
    last = next;
  }
  EXPECT_THAT(Refusal(text + "output " + last + " }", 8 << 20), HasSubstr("XNNPACK needs more for it"));
}

/// Elements that decide shapes are there before anything is placed, in each body.
TEST(MemoryLimit, IsThatOfWhatDecidesShapesInBodies) {
  std::string text = "graph g { symbol n: 1..\ninput c: bool[]\ninput x: f32[n]\n";
  for (int i = 0; i < 8; ++i) {
    text += "y" + std::to_string(i) + " = If(c, x)";
    for (const std::string branch : {" then", " else"}) {
      text += branch + R"( { input x: f32[n]
        const zero: i64[] = 0  const one: i64[] = 1  const first: i64[] = 0
        shape = Shape(x)  count = Gather(shape, first)  all = Range(zero, count, one)
        most = ReduceMax(all) {keep_dims=true}  f = Fill(most) {value=)" +
              std::to_string(2 * i + (branch == " then" ? 1 : 0)) +
              "}  o = ReduceSum(f) {keep_dims=true}  output o }";
    }
    text += "\noutput y" + std::to_string(i) + "\n";
  }
  const OpenedModel opened((text + "}").c_str());
  SessionOptions options;
  options.memory_limit = 12 << 20;
  const auto session = NewSession(*opened.model, options);
  const ErrorCapture capture;
  ASSERT_TRUE(session->InputBuffer(0, Shape{}).ok());
  ASSERT_TRUE(session->InputBuffer(1, Shape{200000}).ok()) << capture.message();
  EXPECT_EQ(session->Run().code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(capture.message(), HasSubstr("SessionOptions::memory_limit"));
}

/// A buffer that grows takes the place of the old one.
TEST(MemoryLimit, CountsAnInputOnce) {
  const OpenedModel opened(kOpenRows);
  SessionOptions options;
  options.memory_limit = 2000000;
  const auto session = NewSession(*opened.model, options);
  ErrorCapture capture;
  ASSERT_TRUE(session->InputBuffer(0, Shape{50000, 6}).ok()) << capture.message();  // 1.2 MB.
  EXPECT_TRUE(session->InputBuffer(0, Shape{80000, 6}).ok()) << capture.message();  // 1.9 MB.
  EXPECT_TRUE(session->InputBuffer(0, Shape{50000, 6}).ok()) << capture.message();
  EXPECT_EQ(session->InputBuffer(0, Shape{90000, 6}).status().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(RunRows(*session, 10).ok()) << capture.message();
}

/// An input stays what it was when another buffer for it is refused.
TEST(MemoryLimit, LeavesARefusedInputAsItWas) {
  const OpenedModel opened(kOpenRows);
  SessionOptions options;
  options.memory_limit = 2000000;
  const auto session = NewSession(*opened.model, options);
  std::vector<float> bound(6 * 20 + 4, 1.0f);
  ASSERT_TRUE(session->BindInput(0, TensorView(bound.data(), DType::kF32, Shape{20, 6})).ok());
  ErrorCapture capture;
  EXPECT_FALSE(session->InputBuffer(0, Shape{90000, 6}).ok());
  ASSERT_TRUE(session->Run().ok()) << capture.message();
  ExpectRows(*session, 20);
}

/// An input that was tapped lies in memory that a larger one may take.
TEST(Taps, EndWhereAnInputMoves) {
  const OpenedModel opened(kOpenRows);
  SessionOptions options;
  options.keep_intermediates = true;
  const auto session = NewSession(*opened.model, options);
  ASSERT_TRUE(RunRows(*session, 10).ok());
  ASSERT_TRUE(session->Tap("x").ok());
  EXPECT_EQ(session->Tap("x").value().as<float>()[59], 1.0f);
  ASSERT_TRUE(session->InputBuffer(0, Shape{100000, 6}).ok());
  EXPECT_EQ(session->Tap("x").status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(RunRows(*session, 100000).ok());
  EXPECT_EQ(session->Tap("x").value().as<float>()[599999], 1.0f);
}

/// A loop variable that grows lies in memory that the run has moved before it failed.
TEST(Taps, AreOfARunThatSucceeds) {
  const OpenedModel opened(R"(graph g {
    input x: f32[20, 4]
    input lim: i64[1]
    const first: i64[1] = [0]
    i, v = While(first, x, lim) condition {
      input i
      input v
      input lim
      const whole: i64[0] = []
      less = Less(i, lim)
      go = Reshape(less, whole)
      output go
    } body {
      input i
      input v
      input lim
      const ones: i64[6] = [1, 1, 1, 1, 1, 1]
      one = Gather(ones, i)
      next = Add(i, one)
      w = Concat(v, v) {axis=0}
      output next
      output w
    }
    y = Tanh(v)
    output y = y
  })");
  SessionOptions options;
  options.keep_intermediates = true;
  const auto session = NewSession(*opened.model, options);
  const auto run = [&](int64_t steps) {
    std::fill_n(session->InputBuffer(0).value().as<float>(), 80, 1.0f);
    *session->InputBuffer(1).value().as<int64_t>() = steps;
    return session->Run();
  };
  ASSERT_TRUE(run(2).ok());
  EXPECT_EQ(session->Tap("v").value().shape[0], 80);
  EXPECT_FALSE(run(20).ok()) << "there are six ones";
  EXPECT_EQ(session->Tap("v").status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(run(3).ok());
  EXPECT_EQ(session->Tap("v").value().shape[0], 160);
}

/// What can be run with one width of the input, and not with another.
TEST(RefusedShapes, StayRefused) {
  const OpenedModel opened(R"(graph g {
    symbol n: 1..
    symbol f: 1..
    input x: f32[n, f]
    const nodes: i32[3, 4] = [100000, 1, 1, 2, 0, 0, 0, 1, 0, 0, 1, 2]
    const thresholds: f32[3] = [0.5, 0, 0]
    const roots: i32[1] = [0]
    const targets: i32[2] = [0, 0]
    const votes: f32[2] = [1, 2]
    y = TreeEnsemble(x, nodes, thresholds, roots, targets, votes) {targets=1}
    output y = y
  })");
  for (const Backend backend : kBackends) {
    SessionOptions options;
    options.backend = backend;
    options.kept_shapes = 1;
    const auto session = NewSession(*opened.model, options);
    const auto run = [&](int64_t rows, int64_t features) {
      const TensorView x = session->InputBuffer(0, Shape{rows, features}).value();
      std::fill_n(x.as<float>(), x.shape.elements(), 0.0f);
      return session->Run().code();
    };
    ErrorCapture capture;
    EXPECT_EQ(run(1, 100001), StatusCode::kOk);
    for (const int64_t rows : {1, 9, 9})
      EXPECT_EQ(run(rows, 2), StatusCode::kInvalidArgument) << capture.message();
    EXPECT_EQ(run(9, 100001), StatusCode::kOk);
  }
}

TEST(Outputs, AreThoseOfTheLastRunOrAnError) {
  const OpenedModel fixed(R"(graph g {
    input x: f32[3]
    input i: i64[1]
    y = Gather(x, i) {axis=0}
    output y = y
  })");
  for (const Backend backend : kBackends) {
    SessionOptions options;
    options.backend = backend;
    const auto session = NewSession(*fixed.model, options);
    ErrorCapture capture;
    EXPECT_EQ(session->Output(0).status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(capture.message(), HasSubstr("the session has not run yet"));
    EXPECT_FALSE(session->Run().ok()) << "no input is set";
    EXPECT_FALSE(session->Output(0).ok());

    const float numbers[] = {1, 2, 3};
    TensorData x(DType::kF32, Shape{3}, numbers);
    const auto run = [&](int64_t index) {
      EXPECT_TRUE(session->SetInput("x", x.view()).ok());
      EXPECT_TRUE(session->SetInput("i", TensorData::OfInts({index}).view()).ok());
      return session->Run().code();
    };
    ASSERT_EQ(run(2), StatusCode::kOk) << capture.message();
    EXPECT_EQ(session->Output(0).value().as<float>()[0], 3.0f);
    EXPECT_EQ(run(7), StatusCode::kInvalidArgument);
    EXPECT_THAT(capture.message(), HasSubstr("node 'y' (Gather): Gather: index 7 "));
    EXPECT_EQ(session->Output("y").status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(capture.message(), HasSubstr("the last run failed"));
    ASSERT_EQ(run(0), StatusCode::kOk) << capture.message();
    EXPECT_EQ(session->Output(0).value().as<float>()[0], 1.0f);
  }
}

/// The kernel knows the numbers, and the segment around it the node.
TEST(Errors, NameTheNodeInABody) {
  const OpenedModel opened(R"(graph g {
    input go: bool[]
    input x: f32[3]
    input i: i64[1]
    y = If(go, x, i) then {
      input x
      input i
      row = Gather(x, i) {axis=0}
      output row
    } else {
      input x
      input i
      const zero: i64[1] = 0
      row = Gather(x, zero) {axis=0}
      output row
    }
    output y = y
  })");
  for (const Backend backend : kBackends) {
    SessionOptions options;
    options.backend = backend;
    const auto session = NewSession(*opened.model, options);
    const float numbers[] = {1, 2, 3};
    const bool go = true;
    ASSERT_TRUE(session->SetInput("go", TensorData(DType::kBool, Shape{}, &go).view()).ok());
    ASSERT_TRUE(session->SetInput("x", TensorData(DType::kF32, Shape{3}, numbers).view()).ok());
    ASSERT_TRUE(session->SetInput("i", TensorData::OfInts({-4}).view()).ok());
    ErrorCapture capture;
    const Status status = session->Run();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(capture.message(), HasSubstr("node 'row' (Gather): Gather: index -4 "));
    EXPECT_STREQ(status.message().c_str(), capture.message());
  }
}

/// The previous result must not pass for that of a run which never began.
TEST(Outputs, AreLostWhereTheShapesAreRefused) {
  const OpenedModel opened(R"(graph g {
    symbol n: 1..8
    input a: f32[n]
    input b: f32[n]
    c = Add(a, b)
    output c = c
  })");
  const auto session = NewSession(*opened.model, {});
  const std::vector<float> ones(8, 1.0f);
  const auto set = [&](int index, int64_t n) {
    return session->SetInput(index, TensorData(DType::kF32, Shape{n}, ones.data()).view()).ok();
  };
  ASSERT_TRUE(set(0, 3) && set(1, 3) && session->Run().ok());
  ErrorCapture capture;
  ASSERT_TRUE(set(0, 4));
  EXPECT_TRUE(session->Output(0).ok()) << "valid until the next run";
  EXPECT_FALSE(session->Run().ok());
  EXPECT_FALSE(session->Output(0).ok());
  EXPECT_THAT(capture.message(), HasSubstr("the last run failed"));
  ASSERT_TRUE(set(1, 4) && session->Run().ok()) << capture.message();
  EXPECT_TRUE(session->Output(0).value().shape == Shape{4});
}

/// Honest models, and shapes whose product is 0, 4 or 16 modulo 2^64.
TEST(HugeShapes, AreRefusedWhereTheyComeIn) {
  const OpenedModel plane(R"(graph g {
    symbol n: 0..
    symbol m: 0..
    input x: f32[n, m]
    const starts: i64[2] = [-1, -1]
    const ends: i64[2] = [9223372036854775807, 9223372036854775807]
    y = Slice(x, starts, ends)
    z = Neg(y)
    output z = z
  })");
  const int64_t kShapes[][2] = {{int64_t{1} << 32, int64_t{1} << 32},
                                {(int64_t{1} << 62) + 1, 1},
                                {int64_t{1} << 61, 8},
                                {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()},
                                {0, int64_t{1} << 62},
                                {int64_t{1} << 40, 0},
                                {int64_t{1} << 30, int64_t{1} << 20}};
  for (const Backend backend : kBackends) {
    SessionOptions options;
    options.backend = backend;
    const auto session = NewSession(*plane.model, options);
    float numbers[16 + 4] = {1, 2, 3, 4};
    ErrorCapture capture;
    for (const auto& extents : kShapes) {
      const Shape shape(extents, 2);
      const TensorView huge(numbers, DType::kF32, shape);
      for (const Status status : {session->SetInput(0, huge), session->BindInput(0, huge),
                                  session->InputBuffer(0, shape).status()}) {
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << ShapeText(shape).c_str();
      }
    }
    EXPECT_FALSE(session->SetInput(0, TensorView(numbers, DType::kF32, Shape(kShapes[0], 2))).ok());
    EXPECT_THAT(capture.message(),
                HasSubstr("input 'x' is f32 [4294967296, 4294967296], which has more than 2^46"));
    ASSERT_TRUE(session->SetInput(0, TensorView(numbers, DType::kF32, Shape{2, 2})).ok());
    ASSERT_TRUE(session->Run().ok()) << capture.message();
    EXPECT_EQ(session->Output(0).value().as<float>()[0], -4.0f);
  }
}

}  // namespace
}  // namespace skiff::testing
