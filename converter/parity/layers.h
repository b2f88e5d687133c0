/// Intermediate tensors of the source graph, and the same tensors in a plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "format/model_data.h"
#include "graph/graph.h"
#include "skiff/session.h"

namespace skiff {

/// A tensor that a node of the source file makes, as eager mode computed it.
struct EagerTensor {
  std::string name;
  std::string op;  ///< In the source's words.
  TensorData tensor;
};

/// False when the plans were stripped of the source's tensor names.
bool HasSources(const SignatureData& signature);

/// Appends the value when it is a tensor of the source file.
void AddLayer(const Graph& source, ValueId value, const TensorData& tensor, std::vector<EagerTensor>& layers);

/// Names of the source's tensors whose elements a plan has, beside its constants. They are the plan's.
std::unordered_set<std::string_view> LayersOf(const PlanData& plan);

/// The copy of a layer that the plan has, in the source's order of axes; nothing where that is none of its
/// `layers`. The Session keeps intermediates and has just run that plan.
std::optional<TensorData> TapLayer(const Session& session, const std::unordered_set<std::string_view>& layers,
                                   const EagerTensor& layer);

}  // namespace skiff
