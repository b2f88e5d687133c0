/// The conformance cases with other extents and attributes: what somebody thought of, changed by chance. An
/// extent that several tensors share, or that a list of sizes names, changes in all of them, so that most of
/// what is drawn still fits together; the rules refuse the rest.
///
/// SKIFF_RANDOM_CASES=N draws N of each case; those of a smaller N are among them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "conformance_cases.h"

namespace skiff::testing {

/// How many changes of each case.
int ChangesPerCase();

enum class Changes {
  kAll,
  kInputs,  ///< Not what is there when a Session prepares the node: constants, what decides shapes,
            ///< attributes.
};

Case Changed(const Case& original, Changes changes, uint32_t seed);

/// The case in another place than its input, if its result has other extents. Null where the rules refuse it,
/// or where it is so large that the reference takes long.
std::unique_ptr<Node> TryNode(Case description);

/// visit(i, node) for each change of all in each case of the operator that the rules take.
void ForEachChange(OpCode op, const std::function<void(int i, Node& node)>& visit);

/// Nothing where elements are refused.
std::optional<Node::Outcome> TryRun(Node& node, ModelState& state, const DelegateSessionOptions& options);

/// Of the cases.
std::set<OpCode> CasesOperators();

}  // namespace skiff::testing
