/// How far the fast path of each operator may be from its reference: one rule per operator, with its
/// constant.
#pragma once

#include <string>

#include "node_harness.h"

namespace skiff::testing {

/// Compares the outcome of the fast path with that of the reference; "" or what is wrong. `terms_state` runs
/// the reference on absolute values where the rule needs the sum of absolute terms. `exact` is false where
/// the fast path was free to run Winograd convolutions, whose rounding depends on the pixels around, and
/// products by Strassen's way.
std::string Compare(Node& node, const Node::Outcome& fast, const Node::Outcome& reference,
                    ModelState& terms_state, DelegateKind delegate = DelegateKind::kXnnpack,
                    bool exact = true);

}  // namespace skiff::testing
