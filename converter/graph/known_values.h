/// The elements of tensors that are fixed although nodes compute them: axes and sizes that exporters derive
/// from ranks and constants, matrices that a composition needs.
#pragma once

#include <map>
#include <optional>

#include "graph/graph.h"

namespace skiff {

/// What may be spent on finding values; what is left goes on to who asks next.
struct KnownValueBudget {
  int64_t bytes;  ///< Of what is computed on the way.
  int64_t steps;  ///< Those of StepsOf(), and some for each node that is looked at.
};

/// Remembers what it found, and what it did not: for who asks of all nodes of a graph, in their order.
class KnownValues {
 public:
  /// The graph may get other nodes in the meantime, but no other ones before those that were asked of.
  explicit KnownValues(const Graph& graph);
  /// As FindKnownValue() of kMaxShapeElements.
  std::optional<TensorData> Find(ValueId value);

 private:
  const Graph& graph_;
  KnownValueBudget left_;
  std::map<ValueId, std::optional<TensorData>> found_;
};

/// What shape inference knows, or else what the reference kernels make of it. Nothing where the elements
/// depend on an input's elements or on open extents, where a node on the way has an effect or bodies, or much
/// to do, where a tensor on the way has more than `max_elements`, and where Graph::known_value_steps are used
/// up.
std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements = 1024);
/// The same of large tensors and nodes with much to do; nothing where the budget is not enough.
std::optional<TensorData> FindKnownValue(const Graph& graph, ValueId value, int64_t max_elements,
                                         KnownValueBudget& left);

}  // namespace skiff
