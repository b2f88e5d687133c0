/// A graph in text form whose shapes follow from what it computes.
#pragma once

namespace skiff::testing {

/// Elements that are found decide the shape of the rest; so does the branch that is taken.
inline constexpr const char* kCountingGraph = R"(graph g {
  input c: bool[]
  input x: f32[4, 4]
  const zero: f32[] = 0
  m = Greater(x, zero)
  ones = Cast(m) {to=i64}
  n = ReduceSum(ones) {axes=[0, 1], keep_dims=false}
  places = NonZero(m, n)
  tuples = Transpose(places) {perm=[1, 0]}
  found = GatherND(x, tuples)
  part = If(c, x) then {
    input x
    a = Exp(x)
    output a
  } else {
    input x
    const two: i64[2] = [0, 2]
    a = Gather(x, two)
    output a
  }
  y = Tanh(found)
  z = Tanh(part)
  output y = y
  output z = z
  output part = part
  output ones = ones
})";

}  // namespace skiff::testing
