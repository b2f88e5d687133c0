#include "import/import_budget.h"

#include "graph/error.h"

namespace skiff {

void ImportBudget::CountBody(size_t symbols, const std::string& node) {
  symbols_left -= static_cast<int64_t>(symbols);
  if (symbols_left >= 0) return;
  spent = true;
  Throw(StatusCode::kUnsupported,
        "node '{}': the bodies of loops and branches up to here have more than {} open sizes together, {} of "
        "them in its own; fix sizes (--dim, --shape), or export the model with fewer loops and branches",
        node, kMostBodySymbols, symbols);
}

void ImportBudget::CountSequence(size_t tensors, const std::string& node) {
  nodes_left -= static_cast<int64_t>(tensors);
  if (nodes_left >= 0) return;
  spent = true;
  Throw(StatusCode::kUnsupported,
        "node '{}': with the {} tensors of a sequence that its sub-graph sees the model becomes more than {} "
        "nodes and tensors, beside {} for each node of the file; export it without such long sequences",
        node, tensors, kFreeNodes, kNodesPerNode);
}

}  // namespace skiff
