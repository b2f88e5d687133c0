#include "tests/bench/tiny_net.h"

#include "ops/op_codes.h"

namespace skiff::bench {

Graph TinyNet(int nodes) {
  constexpr int64_t kElements = 4;
  Graph graph;
  const ValueId input = graph.AddInput("x", DType::kF32, {Dim(kElements)});
  ValueId value = input;
  for (int i = 0; i < nodes; i += 4) {
    value = graph.Emit(OpCode::kAbs, {value});
    value = graph.Emit(OpCode::kAdd, {value, input}, ClampAttrs());
    value = graph.Emit(OpCode::kNeg, {value});
    value = graph.Emit(OpCode::kSigmoid, {value});
  }
  graph.AddOutput("y", value);
  return graph;
}

}  // namespace skiff::bench
