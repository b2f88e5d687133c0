#include "run/model_signature.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/nearest.h"

namespace skiff {

bool ModelSignature::Has(size_t symbol) const {
  const auto in_port = [&](const PortInfo& port) {
    return std::find(port.symbols, port.symbols + port.shape.rank(), static_cast<int32_t>(symbol)) !=
           port.symbols + port.shape.rank();
  };
  const auto in_plan = [&](const PlanData& plan) {
    return std::any_of(plan.ranges.begin(), plan.ranges.end(),
                       [&](const SymbolRange& range) { return range.symbol == symbol; });
  };
  return std::any_of(data().inputs.begin(), data().inputs.end(), in_port) ||
         std::any_of(data().plans.begin(), data().plans.end(), in_plan);
}

ModelSignature FindSignature(const Model& model, const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i < model.signature_count(); ++i) {
    const ModelSignature signature(model, i);
    if (name.empty() || name == signature.name()) return signature;
    names.emplace_back(signature.name());
  }
  Throw(StatusCode::kInvalidArgument, "--signature {}: the model has no such signature; it has '{}'{}", name,
        fmt::join(names, "', '"), DidYouMean(name, names));
}

}  // namespace skiff
