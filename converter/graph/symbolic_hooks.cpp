#include "graph/symbolic_hooks.h"

#include <algorithm>

#include "ops/op_codes.h"

namespace skiff {
namespace {

/// In the order of the operators' numbers.
constexpr SymbolicHooks kHooks[] = {
    {.op = OpCode::kCast, .elements = CastElements},
    {.op = OpCode::kAdd, .elements = CombinedElements},
    {.op = OpCode::kSub, .elements = CombinedElements},
    {.op = OpCode::kMul, .elements = CombinedElements},
    {.op = OpCode::kDiv, .elements = CombinedElements},
    {.op = OpCode::kMin, .elements = CombinedElements},
    {.op = OpCode::kMax, .elements = CombinedElements},
    {.op = OpCode::kEqual, .elements = CombinedElements},
    {.op = OpCode::kLess, .elements = CombinedElements},
    {.op = OpCode::kGreater, .elements = CombinedElements},
    {.op = OpCode::kWhere, .elements = WhereElements},
    {.op = OpCode::kMod, .elements = CombinedElements},
    {.op = OpCode::kResize2d, .rank = RankOfResize2d},
    {.op = OpCode::kReduceSum, .elements = ReducedElements},
    {.op = OpCode::kReduceMax, .elements = ReducedElements},
    {.op = OpCode::kReduceMin, .elements = ReducedElements},
    {.op = OpCode::kReduceProd, .elements = ReducedElements},
    {.op = OpCode::kTopK, .rank = RankOfTopK, .extent = ExtentOfBest},
    {.op = OpCode::kNonZero, .rank = RankOfPlaces, .extent = ExtentOfPlaces},
    {.op = OpCode::kShape, .elements = ElementsOfShape},
    {.op = OpCode::kReshape, .elements = SameElements, .rank = RankOfReshape, .extent = ReshapedExtent},
    {.op = OpCode::kFlatten, .elements = SameElements},
    {.op = OpCode::kSqueeze, .elements = SameElements},
    {.op = OpCode::kUnsqueeze, .elements = SameElements},
    {.op = OpCode::kIdentity, .elements = SameElements},
    {.op = OpCode::kConcat, .elements = ConcatElements},
    {.op = OpCode::kSplit, .rank = RankOfSplit, .extent = ExtentOfPart},
    {.op = OpCode::kSlice, .elements = SliceElements, .rank = RankOfSlice, .extent = ExtentOfPart},
    {.op = OpCode::kGather, .elements = GatherElements},
    {.op = OpCode::kPad, .rank = RankOfPad},
    {.op = OpCode::kExpand, .elements = RepeatedElement, .rank = RankOfExpand, .extent = ExpandedExtent},
    {.op = OpCode::kTile, .elements = RepeatedElement, .rank = RankOfTile},
    {.op = OpCode::kFill, .elements = FilledElements, .rank = RankOfFill},
    {.op = OpCode::kRange, .rank = RankOfVector},
    {.op = OpCode::kRandom, .rank = RankOfFill},
};

static_assert(std::is_sorted(std::begin(kHooks), std::end(kHooks),
                             [](const SymbolicHooks& a, const SymbolicHooks& b) { return a.op < b.op; }));

}  // namespace

const SymbolicHooks* FindSymbolicHooks(OpCode op) {
  const auto* row = std::lower_bound(std::begin(kHooks), std::end(kHooks), op,
                                     [](const SymbolicHooks& a, OpCode wanted) { return a.op < wanted; });
  return row != std::end(kHooks) && row->op == op ? row : nullptr;
}

}  // namespace skiff
