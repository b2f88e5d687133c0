/// What an operator can tell beyond its shape rule, by operator; most need nothing of this. The elements of
/// its result as expressions over those of the inputs, which is shape arithmetic, and what is certain of a
/// result whose extents the rule cannot tell for want of numbers.
#pragma once

#include <optional>
#include <vector>

#include "graph/dim.h"
#include "graph/symbolic_rules.h"

namespace skiff {

/// Of a list of integers.
using Elements = std::vector<Dim>;
/// By input; null: unknown, or absent.
using KnownInputs = std::vector<const Elements*>;

/// What is known of an extent that a rule refused to tell: all of it, or its largest value.
struct PartlyKnown {
  std::optional<Dim> extent;
  int64_t most = Symbol::kUnbounded;
};

struct SymbolicHooks {
  OpCode op{};
  /// The elements of the only result, when those of all present inputs are known; of Shape, always.
  std::optional<Elements> (*elements)(const InferContext<Dim>& context, const KnownInputs& known) = nullptr;
  /// The rank of the results; -1 where even that is not certain, and where no number that is open could make
  /// the node valid: its axes and the lengths of its lists are wrong. Without it the rule's refusal stands.
  int (*rank)(const InferContext<Dim>& context) = nullptr;
  /// What is known of one extent. Without it: nothing.
  PartlyKnown (*extent)(const InferContext<Dim>& context, int rank, int axis) = nullptr;
};

/// Null for an operator without hooks.
const SymbolicHooks* FindSymbolicHooks(OpCode op);

// Elements (symbolic_elements.cpp).
std::optional<Elements> ElementsOfShape(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> SameElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> CastElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> ConcatElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> GatherElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> SliceElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> WhereElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> RepeatedElement(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> FilledElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> ReducedElements(const InferContext<Dim>& context, const KnownInputs& known);
std::optional<Elements> CombinedElements(const InferContext<Dim>& context, const KnownInputs& known);

// Ranks and extents (symbolic_extents.cpp).
int RankOfResize2d(const InferContext<Dim>& context);
int RankOfTopK(const InferContext<Dim>& context);
int RankOfSplit(const InferContext<Dim>& context);
int RankOfSlice(const InferContext<Dim>& context);
int RankOfPad(const InferContext<Dim>& context);
int RankOfTile(const InferContext<Dim>& context);
int RankOfVector(const InferContext<Dim>& context);
int RankOfReshape(const InferContext<Dim>& context);
int RankOfExpand(const InferContext<Dim>& context);
int RankOfFill(const InferContext<Dim>& context);
int RankOfPlaces(const InferContext<Dim>& context);
PartlyKnown ExtentOfPart(const InferContext<Dim>& context, int rank, int axis);
PartlyKnown ReshapedExtent(const InferContext<Dim>& context, int rank, int axis);
PartlyKnown ExtentOfBest(const InferContext<Dim>& context, int rank, int axis);
PartlyKnown ExtentOfPlaces(const InferContext<Dim>& context, int rank, int axis);
PartlyKnown ExpandedExtent(const InferContext<Dim>& context, int rank, int axis);

}  // namespace skiff
