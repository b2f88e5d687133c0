#include "parity/layers.h"

#include <algorithm>

#include "files/tensor_files.h"
#include "graph/evaluate.h"
#include "ops/op_codes.h"
#include "run/opened_model.h"

namespace skiff {
namespace {

/// Undoes view = Transpose(source, perm).
TensorData ToSourceOrder(const TensorData& view, const Ints& perm, const std::string& name) {
  AttrStorage attrs;
  InitAttrs(OpCode::kTranspose, attrs);
  Ints& inverse = attrs.as<TransposeAttrs>().perm;
  inverse.size = perm.size;
  for (int64_t k = 0; k < perm.size; ++k) inverse[perm[k]] = k;
  return EvaluateOp(OpCode::kTranspose, attrs, {&view}, 1, name)[0];
}

}  // namespace

bool HasSources(const SignatureData& signature) {
  const auto& placements = signature.plans[0].placements;
  return std::any_of(placements.begin(), placements.end(),
                     [](const TensorPlacement& placement) { return *placement.source != '\0'; });
}

void AddLayer(const Graph& source, ValueId value, const TensorData& tensor,
              std::vector<EagerTensor>& layers) {
  const Value& info = source.value(value);
  if (info.source.empty() || info.producer == kNoNode) return;
  const Node& node = source.node(info.producer);
  const std::string op = node.sources.empty() ? FindOp(node.op)->name
                                              : source.sources()[static_cast<size_t>(node.sources[0])].op;
  layers.push_back({info.source, op, tensor});
}

std::unordered_set<std::string_view> LayersOf(const PlanData& plan) {
  std::unordered_set<std::string_view> layers;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (!plan.tensors[i].constant) layers.insert(plan.placements[i].source);
  }
  return layers;
}

std::optional<TensorData> TapLayer(const Session& session, const std::unordered_set<std::string_view>& layers,
                                   const EagerTensor& layer) {
  if (!layers.contains(layer.name)) return std::nullopt;
  Ints perm;
  const TensorView view = Must([&] { return session.Tap(layer.name.c_str(), &perm); });
  TensorData tensor = DenseCopy(view);
  if (perm.size > 0) tensor = ToSourceOrder(tensor, perm, layer.name);
  // A plan may keep the elements under another shape (a flattened matrix, say).
  if (!(tensor.shape() == layer.tensor.shape()) && tensor.elements() == layer.tensor.elements())
    tensor = tensor.Reshaped(layer.tensor.shape());
  return tensor;
}

}  // namespace skiff
