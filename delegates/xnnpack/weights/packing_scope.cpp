#include "delegates/xnnpack/weights/packing_scope.h"

#include "core/wide_constant.h"
#include "ops/op.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

thread_local PackingScope* current = nullptr;

constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;

/// Whose lowerings get packed weights from PackedWeights alone.
constexpr OpCode kPacking[] = {OpCode::kConv2d,
                               OpCode::kConvTranspose2d,
                               OpCode::kFullyConnected,
                               OpCode::kMatMul,
                               OpCode::kLstm,
                               OpCode::kGru,
                               OpCode::kRnn};

}  // namespace

PackingScope::PackingScope(WideConstant* weights) : weights_(weights) { current = this; }

PackingScope::~PackingScope() {
  current = nullptr;
  if (acquired_) weights_->Release();
}

void PackingScope::WillPack() {
  if (current == nullptr || current->weights_ == nullptr || current->acquired_) return;
  current->weights_->Acquire();
  current->acquired_ = true;
}

size_t PackedInput(const NodeTypes& node) {
  const auto constant = [&](size_t i) { return node.inputs[i] != nullptr && node.inputs[i]->constant; };
  bool packs = false;
  for (const OpCode op : kPacking) packs = packs || node.op->code == op;
  if (!packs || !constant(kWeights)) return 0;
  // Computed biases, and products of batches, go to operators of XNNPACK that have no cache of weights.
  const bool has_bias = node.inputs.size() > kBias && node.inputs[kBias] != nullptr;
  if (has_bias && !constant(kBias)) return 0;
  return node.op->code == OpCode::kMatMul && node.inputs[kWeights]->view.shape.rank() > 2 ? 0 : kWeights;
}

}  // namespace skiff::xnnpack
