/// What tests with random open graphs share: plans at several sizes in one Session, against eager mode.
#pragma once

#include "graph/error.h"
#include "tests/fuzz/random_open_graph.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {

/// A converted graph as a Model. The delegates must outlive it.
struct OpenedPlans {
  OpenedPlans(const ConvertResult& converted, Span<const Delegate* const> delegates);
  AlignedBytes bytes;
  std::unique_ptr<Model> model;
};

/// Passes to turn off, so that their work cannot hide what others leave.
std::set<std::string> AnyPasses(RandomOpenGraph& random);

/// The graph with the first of its sizes for good.
Graph AtFirstSize(const RandomOpenGraph& random, ConvertOptions& options);

/// All sizes in a random order, the first one again at the end.
std::vector<size_t> AnyOrder(RandomOpenGraph& random);

/// Throws Error where there is none.
std::unique_ptr<Session> MustCreate(Model& model, const SessionOptions& options);

/// Throws Error where an output is not as expected: those that are no whole numbers by more than `inexact` of
/// the largest number, or of 1 where all are smaller; others at all.
void CheckSame(const RandomOpenGraph& random, const Tensors& got, const Tensors& expected, double inexact);

}  // namespace skiff::testing
