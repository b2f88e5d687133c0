// Converts a small function with a delegate of the application's own, and runs it from its file: usage:
// skiff-delegate MODEL.skiff, which is written.
#include <cmath>
#include <cstdio>
#include <vector>

#include "graph/error.h"
#include "sample_delegate.h"
#include "skiff/delegates.h"
#include "skiff/session.h"
#include "trace/function.h"
#include "trace/ops.h"
#include "trace/save.h"

namespace {

using namespace skiff::eager;  // NOLINT: the operators, as a user's program has them

/// Mul, Add and Clamp are the sample delegate's, Sigmoid is XNNPACK's.
Tensor Layer(const Tensor& x, const Tensor& y) { return Sigmoid(Relu(x * y + x)) * x; }

/// With the delegates given, or null and a sentence on standard error.
std::unique_ptr<skiff::Session> NewSession(skiff::Model& model) {
  auto session = skiff::Session::Create(model);
  return session.ok() ? std::move(session.value()) : nullptr;
}

int Run(const char* path) {
  const Tensor x = Tensor::Of<float>({-2, -0.5f, 0.25f, 3});
  const Tensor y = Tensor::Of<float>({1, 2, -3, 0.5f});
  FunctionOptions options;
  options.name = "layer";
  options.delegates = {&sample::SampleDelegate()};
  Function<Tensor(const Tensor&, const Tensor&)> layer(Layer, options);
  SaveFunctions(path, {{"layer", layer.Concrete({"f32[4]", "f32[4]"})}});

  // The file needs the delegate, and says so to whoever has it not.
  auto without = skiff::Model::Open(path, {skiff::BuiltinDelegates()});
  if (!without.ok() || NewSession(**without) != nullptr) return 1;

  const auto builtin = skiff::BuiltinDelegates();
  std::vector<const skiff::Delegate*> delegates(builtin.begin(), builtin.end());
  delegates.push_back(&sample::SampleDelegate());
  auto model = skiff::Model::Open(path, {{delegates.data(), delegates.size()}});
  if (!model.ok()) return 1;
  const auto session = NewSession(**model);
  if (!session) return 1;
  if (!session->SetInput(0, x.data().view()).ok() || !session->SetInput(1, y.data().view()).ok()) return 1;
  if (!session->Run().ok()) return 1;
  int of_sample = 0;
  for (int i = 0; i < session->node_count(); ++i) {
    const skiff::NodeInfo node = session->node(i);
    std::printf("%-10s on %s\n", node.op, node.delegate_name);
    of_sample += node.delegate == sample::kKind ? 1 : 0;
  }
  auto got = session->Output(0);
  const Tensor expected = Layer(x, y);  // Eagerly.
  if (!got.ok()) return 1;
  for (int i = 0; i < 4; ++i) {
    const float a = got->as<const float>()[i];
    const float b = expected.as<float>()[i];
    std::printf("%g, eagerly %g\n", a, b);
    if (!(std::fabs(a - b) <= 1e-6f)) return 1;
  }
  return of_sample > 0 && sample::NodesRun() == of_sample ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: skiff-delegate MODEL.skiff\n");
    return 2;
  }
  try {
    return Run(argv[1]);
  } catch (const skiff::Error& error) {
    std::fprintf(stderr, "skiff-delegate: %s\n", error.what());
    return 1;
  }
}
