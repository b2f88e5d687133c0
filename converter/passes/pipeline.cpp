// The order of the passes.
#include <chrono>
#include <cstdio>

#include "graph/error.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "passes/passes.h"
#include "passes/release_constants.h"

namespace skiff {
namespace {

#ifdef NDEBUG
constexpr bool kAlwaysVerify = false;
#else
constexpr bool kAlwaysVerify = true;
#endif

void CheckDisabled(const PipelineOptions& options) {
  for (const std::string& name : options.disabled) {
    const Pass* found = nullptr;
    for (const Pass& pass : Pipeline()) {
      if (name == pass.name) found = &pass;
    }
    if (found == nullptr)
      Throw(StatusCode::kInvalidArgument, "there is no pass '{}'; --list-passes shows them all", name);
    if (found->required)
      Throw(StatusCode::kInvalidArgument, "the pass '{}' cannot be disabled: what follows relies on it",
            name);
  }
}

void CheckDumps(const PipelineOptions& options) {
  for (const std::string& name : options.dump_after) {
    bool known = name == "all";
    for (const Pass& pass : Pipeline()) known = known || name == pass.name;
    if (!known)
      Throw(StatusCode::kInvalidArgument, "there is no pass '{}' to dump after; --list-passes shows them all",
            name);
  }
}

}  // namespace

const std::vector<Pass>& Pipeline() {
  static const std::vector<Pass> passes = {
      {"sink-constants", "constants around a body become constants in it", SinkConstants},
      {"infer-shapes", "dtype and shape of every value; constants behind shape inputs", InferShapes, true},
      {"fold-constants", "evaluates what depends on constants and shapes only", FoldConstants},
      {"canonicalize", "one spelling for each thing; identities vanish", Canonicalize},
      {"fold-constants", "what canonicalisation has made constant", FoldConstants},
      {"unfold-words", "quantised integers of 16 bits: operators over floats between roundings", UnfoldWords},
      {"simplify-qdq", "values are quantised where they are rounded, and nowhere else", SimplifyQdq},
      {"shape-quantized-weights", "quantised constants as operators want their weights",
       ShapeQuantizedWeights},
      {"recognize-composites", "HardSwish, Silu, Gelu, LayerNorm, ChannelShuffle out of their parts",
       RecognizeComposites},
      {"to-nhwc", "pushes transposes through the graph until they meet and cancel", ToNhwc},
      {"spell-transposes-as-reshapes", "transposes that only move extents of 1 move nothing",
       SpellTransposesAsReshapes},
      {"canonicalize", "what the layout change has brought together", Canonicalize},
      {"fold-constants", "transposed constants", FoldConstants},
      {"recognize-composites", "what transposes stood between", RecognizeComposites},
      {"shuffle-strided-slices", "every n-th channel: one ChannelShuffle and slices of neighbours",
       ShuffleStridedSlices},
      {"fold-batch-norm", "BatchNorm into the convolution before it, or Mul and Add, or one among integers",
       FoldBatchNorm},
      {"fuse-linear", "FullyConnected; constants and parallel convolutions into weights and bias",
       FuseLinear},
      {"fuse-pad", "padding into the window operator behind it", FusePad},
      {"fuse-activation", "Clamp into the operator before it", FuseActivation},
      {"canonicalize", "what fusion has brought together", Canonicalize},
      {"fold-qdq", "Dequantize, operator, Quantize: one operator over integers", FoldQdq},
      {"signed-codes", "quantised u8 as i8, whose kernels are faster", SignedCodes},
      {"fold-constants", "what quantised constants have become", FoldConstants},
      {"compose-tables", "what depends on the codes of one tensor alone: a table of 256", ComposeTables},
      {"eliminate-common-subexpressions", "equal nodes and equal constants become one",
       EliminateCommonSubexpressions},
      {"sink-constants", "what has become constant around a body", SinkConstants},
      {"eliminate-dead-code", "nodes that no output needs", EliminateDeadCode},
      {"order-attention", "scores right before what they weigh, which is computed first", OrderAttention},
  };
  return passes;
}

void RunPipeline(Graph& graph, const PipelineOptions& options) {
  CheckDisabled(options);
  CheckDumps(options);
  for (const Pass& pass : Pipeline()) {
    if (options.until == pass.name) break;
    if (options.disabled.contains(pass.name)) continue;
    const auto start = std::chrono::steady_clock::now();
    pass.run(graph);
    ReleaseUnusedConstants(graph);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    if (options.timings_ms != nullptr) options.timings_ms->emplace_back(pass.name, elapsed.count());
    if (options.verify || kAlwaysVerify) Verify(graph);
    if (options.dump && (options.dump_after.contains(pass.name) || options.dump_after.contains("all")))
      options.dump(fmt::format("# after {}\n{}", pass.name, PrintGraph(graph)));
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (graph.node(id).removed) continue;
    for (Graph& body : graph.node(id).bodies) {
      body.folding = graph.folding;
      // A Symbol that is made in one body is no other body's.
      if (body.symbols().size() < graph.symbols().size()) body.symbols() = graph.symbols();
      RunPipeline(body, options);
      if (body.symbols().size() > graph.symbols().size()) graph.symbols() = body.symbols();
      graph.folding = body.folding;
    }
  }
}

}  // namespace skiff
