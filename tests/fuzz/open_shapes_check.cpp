#include "tests/fuzz/open_shapes_check.h"

#include <algorithm>

#include "core/error_capture.h"

namespace skiff::testing {

OpenedPlans::OpenedPlans(const ConvertResult& converted, Span<const Delegate* const> delegates)
    : bytes(converted.file) {
  ErrorCapture capture;
  ModelOptions options;
  options.delegates = delegates;
  Result<std::unique_ptr<Model>> opened = Model::Open(bytes.span(), options);
  if (!opened.ok()) Throw(opened.status().code(), "{}", capture.message());
  model = std::move(opened.value());
}

std::set<std::string> AnyPasses(RandomOpenGraph& random) {
  std::set<std::string> disabled;
  const bool all = std::uniform_int_distribution<int>(0, 2)(random.random()) == 0;
  for (const Pass& pass : Pipeline()) {
    if (!pass.required && (all || random.random()() % 3 == 0)) disabled.insert(pass.name);
  }
  return disabled;
}

Graph AtFirstSize(const RandomOpenGraph& random, ConvertOptions& options) {
  for (const auto& [name, size] : random.sizes(0)) options.dims[name] = DimRange(size);
  Graph graph = random.graph();
  FixShapes(graph, options);
  return graph;
}

std::vector<size_t> AnyOrder(RandomOpenGraph& random) {
  std::vector<size_t> order;
  for (size_t at = 0; at < RandomOpenGraph::kSizes; ++at) order.push_back(at);
  std::shuffle(order.begin(), order.end(), random.random());
  order.push_back(order[0]);
  return order;
}

std::unique_ptr<Session> MustCreate(Model& model, const SessionOptions& options) {
  ErrorCapture capture;
  auto session = Session::Create(model, options);
  if (!session.ok()) Throw(session.status().code(), "{}", capture.message());
  return std::move(session.value());
}

void CheckSame(const RandomOpenGraph& random, const Tensors& got, const Tensors& expected, double inexact) {
  for (const auto& [name, data] : expected) {
    if (!(got.at(name).shape() == data.shape())) {
      Throw(StatusCode::kInternal, "{} is {}, not {}", name, ShapeText(got.at(name).shape()).c_str(),
            ShapeText(data.shape()).c_str());
    }
    const Difference difference = Compare(got.at(name), data);
    const double allowed = random.IsInexact(name) ? inexact * std::max(difference.largest, 1.0) : 0.0;
    if (!(difference.difference <= allowed))
      Throw(StatusCode::kInternal, "{} differs by {}", name, difference.difference);
  }
}

}  // namespace skiff::testing
