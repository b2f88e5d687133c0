#include "tests/runtime/session/counted_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error_capture.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "skiff/delegates.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {

void PrintTo(const CountedGraph& graph, std::ostream* out) { *out << graph.name; }

TensorData Elements(uint32_t seed) {
  TensorData x = RandomTensor(DType::kF32, Shape{6, 5}, seed);
  auto* elements = static_cast<float*>(x.mutable_data());
  for (uint32_t i = 0; i < 30; ++i) {
    if (seed % 4 == 1) elements[i] = -std::abs(elements[i]) - 0.01f;
    if (seed % 4 == 2) elements[i] = std::abs(elements[i]) + 0.01f;
  }
  return x;
}

void ExpectEagerResults(const char* graph) {
  const Graph source = ParseGraph(graph);
  OpenedModel opened(graph);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    options.poison = true;
    ErrorCapture capture;
    auto session = Session::Create(*opened.model, options);
    ASSERT_TRUE(session.ok()) << capture.message();
    for (const uint32_t seed : {1u, 3u, 2u, 7u, 3u, 5u, 4u, 8u, 1u}) {
      const std::map<std::string, TensorData> inputs = {{"x", Elements(seed)}};
      const auto expected = Evaluate(source, inputs);
      const auto got = RunSession(**session, inputs);
      for (const auto& [name, data] : expected) {
        ASSERT_TRUE(got.at(name).shape() == data.shape())
            << name << " is " << ShapeText(got.at(name).shape()).c_str() << ", eager mode says "
            << ShapeText(data.shape()).c_str();
        const Difference difference = Compare(got.at(name), data);
        EXPECT_LE(difference.difference, 4e-6 * std::max(difference.largest, 1e-3))
            << name << ", reference " << (backend == Backend::kReference) << ", seed " << seed;
      }
    }
  }
}

}  // namespace skiff::testing
