/// The sizes that a model's open dimensions have in a call, by Symbol number, and the plan that serves them.
#pragma once

#include <cstdint>
#include <vector>

#include "run/model_signature.h"
#include "run/opened_model.h"
#include "run/sizes.h"

namespace skiff {

/// Whether a plan of the signature serves these sizes.
bool IsServed(const ModelSignature& signature, const std::vector<int64_t>& sizes);
/// The plan that serves them. Throws Error where none does.
const PlanData& PlanAt(const ModelSignature& signature, const std::vector<int64_t>& sizes,
                       Target target = Target::kCpu);

/// Of a Symbol without a largest size: odd, and not 1, at which a broadcast that is wrong may look right.
inline constexpr int64_t kTellingSize = 7;

/// A size for each Symbol of the signature: the largest of its contract, or `unbounded` where there is none.
/// -1 for Symbols of other signatures.
std::vector<int64_t> DefaultSizes(const ModelSignature& signature, int64_t unbounded = kTellingSize);
/// The sizes that are known, and the default of the others.
std::vector<int64_t> ClosedSizes(const ModelSignature& signature, const SymbolSizes& sizes,
                                 int64_t unbounded = kTellingSize);
/// The sizes that these inputs have. Throws Error where two inputs disagree.
std::vector<int64_t> SizesOf(const ModelSignature& signature, const NamedTensors& inputs);
/// What a plan of the signature gets for a call: the caller's inputs, and the variables' first values.
std::vector<TensorView> PlanInputs(const ModelSignature& signature, const NamedTensors& inputs);
/// Sizes near `sizes` that differ in each Symbol whose contract allows it.
std::vector<int64_t> OtherSizes(const ModelSignature& signature, const std::vector<int64_t>& sizes);
/// The port's shape at these sizes.
Shape SizedShape(const Model& model, const PortInfo& port, const std::vector<int64_t>& sizes);

}  // namespace skiff
