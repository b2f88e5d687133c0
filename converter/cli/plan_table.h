/// The plans of a model and the contracts of its dimensions, as conversion and inspection show them.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "run/model_signature.h"

namespace skiff::cli {

/// "seq 1..512, batch 1..8"; "" for a plan of a model whose dimensions are all fixed.
std::string RangesText(const ModelData& model, const PlanData& plan);
/// "batch 1..8, seq 8..512,multiple=8" of a signature's Symbols; "" without any.
std::string ContractText(const ModelSignature& signature);

/// Who runs a node: "xnnpack"; "application 130" where only an application knows its delegate's name.
std::string DelegateText(DelegateKind kind);

/// Who runs a node of a plan.
DelegateKind DelegateOf(const PlanData& plan, size_t node);

/// How many nodes of a plan run at every call, and how many of those by the reference kernels.
struct NodeCounts {
  size_t shape_program = 0;
  size_t data_program = 0;
  size_t reference = 0;
};
NodeCounts CountNodes(const PlanData& plan);

/// A maximum that there is none of is null.
Json MaximumJson(int64_t max);
/// Target, kind, ranges, arena, nodes of both programs, delegates.
Json PlanJson(const ModelData& model, const PlanData& plan);

/// One row for each plan: target, kind, sizes, arena, nodes of both programs; and whose it is, where there
/// are several signatures.
std::string PlansTable(const ModelData& model, Span<const SignatureData> signatures);

/// "xnnpack 21, reference 1": how many nodes of a plan each delegate runs.
std::string DelegateCounts(Span<const SegmentData> segments);

}  // namespace skiff::cli
