// What C++ code cannot say in a graph, and how to say it: a choice over a tensor, state, printing, checking.
#include <cstdio>

#include "graph/error.h"
#include "samples/eager_and_graph/examples.h"
#include "skiff/print.h"
#include "trace/control.h"
#include "trace/effects.h"
#include "trace/ops.h"

namespace sample {
namespace {

using namespace skiff::eager;  // NOLINT: the operators, as a user's program has them

void Choice() {
  Function step = [](const Tensor& x) {
    return Cond(
        x > 0, [&] { return x + 1; }, [&] { return x; });
  };
  for (const float x : {2.0f, -2.0f}) {
    const float y = step(Tensor::Scalar(x)).item<float>();
    std::printf("  x > 0 ? x + 1 : x at %g is %g\n", x, y);
    Expect(y == (x > 0 ? x + 1 : x), "Cond");
  }
  Expect(step.trace_count() == 1, "one trace has both branches");
}

template <class Call>
std::string ErrorOf(Call&& call) {
  try {
    call();
  } catch (const skiff::Error& error) {
    return error.what();
  }
  throw std::runtime_error("not as expected: no error");
}

void State() {
  Variable total("total", Tensor::Scalar(int32_t{0}));
  Function add = [&](const Tensor& x) {
    total.AssignAdd(x);
    return total + 0;
  };
  for (const int32_t x : {1, 2, 3}) add(Tensor::Scalar(x));
  std::printf("  a variable that was created outside holds %d after three calls\n",
              total.Read().item<int32_t>());
  Expect(total.Read().item<int32_t>() == 6 && add.trace_count() == 1, "Variable");

  Function create = [](const Tensor& x) {
    Variable inside("inside", Tensor::Scalar(0.0f));
    return x + inside;
  };
  std::printf("  created inside: %s\n", ErrorOf([&] { create(Tensor::Scalar(1.0f)); }).c_str());
}

void Printing() {
  static int printed = 0;
  printed = 0;
  skiff::SetPrintSink([](void*, const char* text) { std::printf("    %s\n", text), ++printed; }, nullptr);
  int code_runs = 0;
  Function shout = [&](const Tensor& x) {
    std::puts("    std::puts: this is a trace");
    ++code_runs;
    Print({"Print: x is", x});
    return x;
  };
  for (int32_t i = 0; i < 5; ++i) shout(Tensor::Scalar(i));
  skiff::SetPrintSink(nullptr, nullptr);
  std::printf("  five calls: std::puts ran %d time, Print %d times\n", code_runs, printed);
  Expect(code_runs == 1 && printed == 5, "Print");
}

void Checks() {
  Function root = [](const Tensor& x) {
    Assert(x >= 0, {"a root needs x >= 0, got", x});
    return CheckNumerics(Log(Sqrt(x)), "log of the root");
  };
  for (const bool eagerly : {true, false}) {
    const ScopedRunEagerly mode(eagerly);
    const char* name = eagerly ? "eager" : "graph";
    std::printf("  %s: %s\n", name, ErrorOf([&] { root(Tensor::Scalar(-1.0f)); }).c_str());
    std::printf("  %s: %s\n", name, ErrorOf([&] { root(Tensor::Scalar(0.0f)); }).c_str());
    Expect(root(Tensor::Scalar(1.0f)).item<float>() == 0, "log of 1");
  }
}

}  // namespace

void ControlAndEffects() {
  std::puts("Control flow, state and effects");
  Choice();
  State();
  Printing();
  Checks();
}

}  // namespace sample
