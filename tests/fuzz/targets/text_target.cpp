// A graph in the text form: parsed, printed, converted, opened and run.
#include <algorithm>

#include "graph/error.h"
#include "graph/text.h"
#include "tests/fuzz/convert_and_run.h"
#include "tests/fuzz/counting_graph.h"
#include "tests/fuzz/quantized_graph.h"
#include "tests/fuzz/targets/target.h"
#include "tests/support/state_nets.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {

namespace {

/// What the tests of a pass begin with, and what they end with.
void AppendGraphs(const std::string& cases, std::vector<std::string>& graphs) {
  size_t begin = 0;
  while ((begin = cases.find("\ngraph ", begin)) != std::string::npos) {
    const size_t end = cases.find("\n}\n", begin);
    if (end == std::string::npos) return;
    graphs.push_back(cases.substr(begin + 1, end + 2 - begin));
    begin = end;
  }
}

/// A text may say any type of any value. Where that breaks the rules of the operators, also only for some
/// sizes of its dimensions, the pass that finds out says that the graph is broken; whoever wrote it broke it.
bool IsDefect(const std::string& outcome) {
  return outcome.starts_with(kDefect) && outcome.find("' is broken") == std::string::npos;
}

/// A text cannot say that an input and an output are a variable: those of the net with caches are, when their
/// types still agree.
void KeepCaches(Graph& graph) {
  for (const StatePair& pair : kCachePairs) {
    const auto has = [](const std::vector<GraphPort>& ports, const std::string& name) {
      return std::any_of(ports.begin(), ports.end(),
                         [&](const GraphPort& port) { return port.name == name; });
    };
    if (has(graph.inputs(), pair.input) && has(graph.outputs(), pair.output)) KeepStates(graph, {pair});
  }
}

}  // namespace

/// Nets and pass cases; and what once was a defect.
std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = {kSmallNet, kCountingGraph, kQuantizedGraph, kNarrowGraph, kCacheNet};
  for (const std::string& cases : FilesIn("tests/converter/passes", ".txt", SIZE_MAX))
    AppendGraphs(cases, seeds);
  for (std::string& once : FilesIn("tests/fuzz/seeds/text", ".txt", SIZE_MAX))
    seeds.push_back(std::move(once));
  return seeds;
}

}  // namespace skiff::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  const auto import = [&] {
    std::vector<NamedGraph> graphs;
    graphs.push_back({"main", ParseGraph({reinterpret_cast<const char*>(data), size})});
    static_cast<void>(PrintGraph(graphs.front().graph));
    testing::KeepCaches(graphs.front().graph);
    return graphs;
  };
  const std::string outcome = testing::ConvertAndRun(import, testing::KeepModel);
  testing::Require(!testing::IsDefect(outcome), outcome);
  return 0;
}
