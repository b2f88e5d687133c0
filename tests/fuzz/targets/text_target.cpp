// A graph in the text form: parsed, printed, converted, opened and run.
#include "graph/error.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/counting_graph.h"
#include "tests/fuzz/quantized_graph.h"
#include "tests/fuzz/targets/target.h"
#include "tests/support/state_nets.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {

std::vector<std::string> FuzzSeeds() {
  return {kSmallNet, kCountingGraph, kQuantizedGraph, kNarrowGraph, kCacheNet};
}

namespace {

/// Texts may say any type of any value: what breaks the rules of the operators from the beginning is no
/// defect of what comes behind.
void CheckTypes(const Graph& graph) {
  try {
    Verify(graph);
  } catch (const Error& error) {
    throw Error(StatusCode::kInvalidModel, error.what());
  }
}

}  // namespace
}  // namespace skiff::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  const std::string outcome = testing::ConvertAndRun([&] {
    std::vector<NamedGraph> graphs;
    graphs.push_back({"main", ParseGraph({reinterpret_cast<const char*>(data), size})});
    static_cast<void>(PrintGraph(graphs.front().graph));
    testing::CheckTypes(graphs.front().graph);
    return graphs;
  });
  testing::Require(!outcome.starts_with(testing::kDefect), outcome);
  return 0;
}
