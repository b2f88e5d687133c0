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

}  // namespace skiff
