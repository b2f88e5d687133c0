/// What the inputs of a call must be: the contract of each dimension, and that dimensions of one name are
/// equal.
#pragma once

#include "format/model_data.h"

namespace skiff {

/// Dtype, rank, fixed extents and the contracts of the others. kNoMatchingBucket for extents,
/// kInvalidArgument for the rest; the message names the input, the dimension, the value and what is allowed.
Status CheckInput(const ModelData& model, const PortInfo& port, const ConstTensorView& tensor);

/// The size of every Symbol in a call; -1 where no input has it. kInvalidArgument: two inputs disagree.
Status SolveSymbols(const ModelData& model, const SignatureData& signature, Span<const TensorView> inputs,
                    Span<int64_t> sizes);

/// The plan for these sizes: the narrowest bucket that contains them. kNoMatchingBucket: none does.
Result<const PlanData*> ChoosePlan(const ModelData& model, const SignatureData& signature, Target target,
                                   Span<const int64_t> sizes);

}  // namespace skiff
