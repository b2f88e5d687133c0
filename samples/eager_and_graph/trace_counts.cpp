// When a Function traces again, and when it does not.
#include <cstdio>

#include "samples/eager_and_graph/examples.h"
#include "trace/function.h"
#include "trace/ops.h"

namespace sample {

using namespace skiff::eager;  // NOLINT: the operators, as a user's program has them

void TraceCounts() {
  std::puts("Trace counts");
  const Tensor x = Tensor::Of<float>({1, 2});

  Function by_tensor = [](const Tensor& a, const Tensor& n) { return a * n; };
  Function by_value = [](const Tensor& a, int n) { return a * n; };
  for (const int n : {2, 3}) {
    Expect(by_tensor(x, Tensor::Scalar(static_cast<float>(n))).ToVector<float>()[1] == 2.0f * n, "a * n");
    Expect(by_value(x, n).ToVector<float>()[1] == 2.0f * n, "a * n");
  }
  std::printf("  called with 2 and 3: as a tensor %d trace, as a C++ int %d traces\n",
              static_cast<int>(by_tensor.trace_count()), static_cast<int>(by_value.trace_count()));
  Expect(by_tensor.trace_count() == 1 && by_value.trace_count() == 2, "traces of 2 and 3");

  int code_runs = 0;
  Function mean_squared_error = [&](const Tensor& a, const Tensor& b) {
    ++code_runs;
    return ReduceMean((a - b) * (a - b));
  };
  const auto call_three_times = [&](bool eagerly) {
    mean_squared_error.RunEagerly(eagerly);
    code_runs = 0;
    for (int i = 0; i < 3; ++i)
      Expect(mean_squared_error(x, Tensor::Of<float>({3, 5})).item<float>() == 6.5f, "mean squared error");
    return code_runs;
  };
  const int as_graph = call_three_times(false), eagerly = call_three_times(true);
  std::printf("  mean squared error, three calls: its code ran %d time, and %d times with run-eagerly on\n",
              as_graph, eagerly);
  Expect(as_graph == 1 && eagerly == 3, "runs of the code");
}

}  // namespace sample
