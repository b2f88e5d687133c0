// The application's own operators: hands over to their kernels.
#include <cstdio>

#include "core/error_capture.h"
#include "eager/kernels.h"
#include "ops/custom.h"

namespace skiff {
namespace {

/// Runs the kernel. What it says goes to `sentence`.
Status Call(const CustomOperator& op, const CustomCall& call, char* sentence, size_t size) {
  ErrorCapture capture;
  const Status status = op.run(op.user, call);
  if (!status.ok())
    std::snprintf(sentence, size, "%.*s", static_cast<int>(size - 1),
                  *capture.message() != '\0' ? capture.message() : StatusCodeName(status.code()));
  return status;
}

}  // namespace

Status KernelCustom(const KernelArgs& args) {
  const CustomOperator* op = args.As<CustomAttrs>().registered;
  if (op == nullptr) {
    const CustomText name = CustomNameOf(args.inputs[kCustomName]);
    return Fail(StatusCode::kUnsupported, "no kernel of the custom operator '%.*s' is registered",
                static_cast<int>(name.size), name.data);
  }
  TensorView outputs[CustomOperator::kMaxOperands];
  for (size_t i = 0; i < args.outputs.size(); ++i) outputs[i] = args.outputs[i];
  const TensorView& options = args.inputs[kCustomOptions];
  const CustomCall call = {{options.as<const uint8_t>(), static_cast<size_t>(options.shape[0])},
                           {args.inputs.data() + kCustomFirst, CustomOperands(args.inputs.size())},
                           {outputs, args.outputs.size()}};
  char sentence[512];
  const Status status = Call(*op, call, sentence, sizeof(sentence));
  return status.ok() ? status : Fail(status.code(), "custom operator '%s': %s", op->name, sentence);
}

}  // namespace skiff
