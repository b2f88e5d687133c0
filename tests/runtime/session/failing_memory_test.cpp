// Each allocation in turn fails, once or from then on; what is left goes on without failures. A program of
// its own: it stands between the runtime and its allocators (see --wrap in CMakeLists.txt), beside which a
// sanitizer keeps its own.
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <string>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace {

/// Which allocation fails, counted from 1 from the moment that it is set; 0: none does.
int fail_at = 0;
bool fail_later_ones = false;
int counted = 0;

bool Fails() {
  if (fail_at == 0) return false;
  ++counted;
  return counted == fail_at || (fail_later_ones && counted > fail_at);
}

}  // namespace

extern "C" {
void* __real_calloc(size_t count, size_t size);
void* __wrap_calloc(size_t count, size_t size) { return Fails() ? nullptr : __real_calloc(count, size); }
void* REAL_NEW(size_t size, const std::nothrow_t& tag);
void* WRAP_NEW(size_t size, const std::nothrow_t& tag) { return Fails() ? nullptr : REAL_NEW(size, tag); }
void* REAL_ALIGNED(uint64_t bytes);
void* WRAP_ALIGNED(uint64_t bytes) { return Fails() ? nullptr : REAL_ALIGNED(bytes); }
}

namespace skiff::testing {
namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<Shape> shapes;  ///< Of the first input, in the order of the runs.
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const Case kCases[] = {
    {"exact",
     "graph g { input x: f32[3, 6] const w: f32[5, 6] = seed 1 a = FullyConnected(x, w, _) y = Exp(a) output "
     "y }",
     {Shape{3, 6}, Shape{3, 6}}},
    {"relaxed",
     "graph g { symbol n: 1..40 input x: f32[n, 6] const w: f32[5, 6] = seed 1 a = FullyConnected(x, w, _) b "
     "= Tanh(a) "
     "y = Transpose(b) output y }",
     {Shape{3, 6}, Shape{40, 6}, Shape{7, 6}, Shape{3, 6}}},
    {"unbounded",
     "graph g { symbol n: 1.. input x: f32[n, 6] const w: f32[5, 6] = seed 1 a = FullyConnected(x, w, _) b = "
     "Tanh(a) "
     "c = Concat(x, b) {axis=1} y = Transpose(c) output y output b }",
     {Shape{3, 6}, Shape{400, 6}, Shape{7, 6}, Shape{3, 6}, Shape{900, 6}}},
    {"shape_program",
     "graph g { symbol n: 1.. input x: f32[n, 6] const six: i64[1] = [6] const zero: i64[1] = [0] shape = "
     "Shape(x) "
     "rows = Gather(shape, zero) {axis=0} target = Concat(six, rows) {axis=0} t = Reshape(x, target) y = "
     "Neg(t) output y }",
     {Shape{3, 6}, Shape{400, 6}, Shape{3, 6}}},
    {"bodies",
     "graph g { symbol n: 1.. input x: f32[n, 6] const c: bool[] = 1 const two: i64[] = 2 const zero: i64[] "
     "= 0 "
     "i, y = While(zero, x, two) condition { input i input y input two go = Less(i, two) output go } body { "
     "input i "
     "input y input two const one: i64[] = 1 next = Add(i, one) t = Tanh(y) u = Add(t, y) output next output "
     "u } "
     "output y }",
     {Shape{3, 6}, Shape{400, 6}, Shape{3, 6}}},
};

class FailingMemory : public ::testing::TestWithParam<std::tuple<Case, Backend>> {
 protected:
  const Case& one() const { return std::get<0>(GetParam()); }

  /// Runs all shapes; whether all went well. Numbers that come out are always right.
  bool RunAll(Session& session) {
    bool all = true;
    for (const Shape& shape : one().shapes) {
      const TensorData x = RandomTensor(DType::kF32, shape, 3);
      Status status = session.SetInput(0, x.view());
      const bool is_set = status.ok();
      if (is_set) status = session.Run();
      const int was = std::exchange(fail_at, 0);
      if (status.ok()) {
        for (const auto& [name, expected] : Evaluate(source_, {{"x", x}})) {
          const TensorView y = session.Output(name.c_str()).value();
          const Difference difference = Compare(TensorData(y.dtype, y.shape, y.data), expected);
          EXPECT_LE(difference.difference, 4e-6 * std::max(difference.largest, 1e-3)) << name;
        }
      } else {
        EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
        EXPECT_TRUE(!is_set || !session.Output(0).ok());
      }
      fail_at = was;
      all = all && status.ok();
    }
    return all;
  }

  /// Opens, creates, runs; then again with what there is, without failures. False when nothing failed.
  bool Try(int at, bool later_ones) {
    ErrorCapture capture;
    counted = 0;
    fail_at = at;
    fail_later_ones = later_ones;
    ModelOptions model_options;
    model_options.delegates = BuiltinDelegates();
    SessionOptions options;
    options.backend = std::get<1>(GetParam());
    options.threads = 1;
    Result<std::unique_ptr<Model>> model = Model::Open(bytes_.span(), model_options);
    std::optional<Result<std::unique_ptr<Session>>> session;
    if (model.ok()) session.emplace(Session::Create(**model, options));
    bool whole = model.ok() && session->ok();
    if (whole) whole = RunAll(***session);
    const bool failed = counted >= at;
    fail_at = 0;
    EXPECT_TRUE(failed || whole) << capture.message();
    if (!model.ok()) {
      EXPECT_EQ(model.status().code(), StatusCode::kOutOfMemory);
      return failed;
    }
    if (!session->ok()) {
      EXPECT_EQ(session->status().code(), StatusCode::kOutOfMemory);
      session.emplace(Session::Create(**model, options));
    }
    EXPECT_TRUE(session->ok()) << capture.message();
    if (session->ok()) {
      EXPECT_TRUE(RunAll(***session)) << capture.message();
    }
    return failed;
  }

  const Graph source_ = ParseGraph(one().text);
  const AlignedBytes bytes_{ConvertGraph(ParseGraph(one().text), {})->file};
};

TEST_P(FailingMemory, LeavesWhatCanGoOn) {
  for (const bool later_ones : {false, true}) {
    int at = 1;
    while (Try(at, later_ones) && !HasFailure()) ++at;
    EXPECT_FALSE(HasFailure()) << "when allocation " << at
                               << (later_ones ? " and all behind it fail" : " fails");
    EXPECT_GT(at, 10) << "too few allocations were seen";
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, FailingMemory,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(Backend::kReference, Backend::kPlanned)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) == Backend::kReference ? "_reference"
                                                                                  : "_planned");
                         });

}  // namespace
}  // namespace skiff::testing
