// A program over the installed frontend: computes eagerly and as a graph, and writes a file for the device's
// runtime.
#include <cstdio>

#include "graph/error.h"
#include "skiff/delegates.h"
#include "skiff/model.h"
#include "trace/function.h"
#include "trace/ops.h"
#include "trace/save.h"

using namespace skiff::eager;  // NOLINT: the operators, as a user's program has them

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: traced MODEL.skiff\n");
    return 2;
  }
  try {
    Function<Tensor(const Tensor&)> mean_of_squares = [](const Tensor& x) { return ReduceMean(x * x); };
    const Tensor x = Tensor::Of<float>({1, 2, 3, 4});
    for (const bool eagerly : {true, false}) {
      mean_of_squares.RunEagerly(eagerly);
      if (mean_of_squares(x).item<float>() != 7.5f) return 1;
    }
    SaveFunctions(argv[1], {{"mean", mean_of_squares.Concrete({"f32[4]"})}});
  } catch (const skiff::Error& error) {
    std::fprintf(stderr, "traced: %s\n", error.what());
    return 1;
  }
  skiff::ModelOptions options;
  options.delegates = skiff::BuiltinDelegates();
  return skiff::Model::Open(argv[1], options).ok() ? 0 : 1;
}
