/// RandomOpenGraph's templates.
#pragma once

#include <algorithm>

#include "tests/fuzz/random_open_graph.h"

namespace skiff::testing {

template <class A>
RandomOpenGraph::Values RandomOpenGraph::Emit(OpCode op, const Values& inputs, const A& attrs,
                                              size_t outputs) {
  AttrStorage storage;
  storage.as<A>() = attrs;
  return EmitWithStorage(op, inputs, storage, outputs);
}

template <class A>
ValueId RandomOpenGraph::One(OpCode op, const Values& inputs, const A& attrs) {
  if (std::find(inputs.begin(), inputs.end(), kNoValue) != inputs.end()) return kNoValue;
  const Values made = Emit(op, inputs, attrs);
  return made.empty() ? kNoValue : made[0];
}

template <class A>
void RandomOpenGraph::Keep(OpCode op, const Values& inputs, const A& attrs) {
  const Values made = Emit(op, inputs, attrs);
  if (!made.empty()) pool_.push_back(made[0]);
}

}  // namespace skiff::testing
