#include "platforms/c/custom.h"

#include "platforms/c/arguments.h"

namespace skiff {
namespace {

/// The operands of a call as C has them.
struct Operands {
  SkiffTensor tensors[CustomOperator::kMaxOperands] = {};
  SkiffQuantization quantizations[CustomOperator::kMaxOperands] = {};
  const SkiffQuantization* pointers[CustomOperator::kMaxOperands] = {};

  Status Fill(Span<const TensorView> views) {
    for (size_t i = 0; i < views.size(); ++i) {
      SKIFF_RETURN_IF_ERROR(FromView(views[i], &tensors[i]));
      const Quantization* from = views[i].quantization;
      if (from == nullptr) continue;
      quantizations[i] = {from->scale, from->zero_point, from->axis,   0,
                          from->block, from->count,      from->scales, from->zero_points};
      pointers[i] = &quantizations[i];
    }
    return OkStatus();
  }
};

Status Call(const SkiffCustomOperator& op, SkiffCustomFunction function, const CustomCall& call,
            Operands& outputs) {
  Operands inputs;
  SKIFF_RETURN_IF_ERROR(inputs.Fill(call.inputs));
  SKIFF_RETURN_IF_ERROR(outputs.Fill({call.outputs.data(), call.outputs.size()}));
  const SkiffCustomCall given = {sizeof(SkiffCustomCall), 0,
                                 call.options.data(),     call.options.size(),
                                 inputs.tensors,          call.inputs.size(),
                                 outputs.tensors,         call.outputs.size(),
                                 inputs.pointers,         outputs.pointers};
  char message[256] = "";
  const SkiffStatus status = function(op.user, &given, message, sizeof(message));
  if (status == SKIFF_OK) return OkStatus();
  const bool known = status > SKIFF_OK && status <= SKIFF_INTERNAL;
  message[sizeof(message) - 1] = '\0';
  return Fail(known ? static_cast<StatusCode>(status) : StatusCode::kInternal, "%s",
              message[0] != '\0' ? message : skiff_status_name(status));
}

Status Infer(void* user, const CustomCall& call) {
  const auto& op = *static_cast<const SkiffCustomOperator*>(user);
  Operands outputs;
  SKIFF_RETURN_IF_ERROR(Call(op, op.infer, call, outputs));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    SkiffTensor& tensor = outputs.tensors[i];
    tensor.data = nullptr;
    SKIFF_RETURN_IF_ERROR(ToView(&tensor, &call.outputs[i]));
  }
  return OkStatus();
}

Status Run(void* user, const CustomCall& call) {
  const auto& op = *static_cast<const SkiffCustomOperator*>(user);
  Operands outputs;
  return Call(op, op.run, call, outputs);
}

}  // namespace

CustomOperator ToCustomOperator(const SkiffCustomOperator& given) {
  return {given.name, given.infer == nullptr ? nullptr : Infer, given.run == nullptr ? nullptr : Run,
          const_cast<SkiffCustomOperator*>(&given)};
}

Status ToCustomOperators(const SkiffCustomOperator* given, uint64_t count,
                         FixedArray<CustomOperator>* operators) {
  constexpr uint64_t kMost = 10'000;
  if (count > kMost)
    return Fail(StatusCode::kInvalidArgument,
                "SkiffModelOptions::custom_operator_count is %llu; it must be 0 to %llu",
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(kMost));
  if (count > 0) SKIFF_RETURN_IF_ERROR(NotNull(given, "SkiffModelOptions::custom_operators"));
  SKIFF_RETURN_IF_ERROR(operators->Allocate(count));
  for (size_t i = 0; i < count; ++i) (*operators)[i] = ToCustomOperator(given[i]);
  return OkStatus();
}

}  // namespace skiff
