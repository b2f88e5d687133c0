// The shape rule of the application's own operators: theirs, or what the source file states.
#include <cstring>

#include "core/error_capture.h"
#include "ops/custom.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

constexpr size_t kMaxNameBytes = 255;

Status InferDeclared(InferContext<int64_t>& context, const CustomText& name) {
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    const InferInput<int64_t> types =
        context.Has(kCustomTypes) ? context.inputs[kCustomTypes] : InferInput<int64_t>();
    if (!DeclaredCustomType(types.values, types.value_count, i, &context.outputs[i]))
      return context.Error(
          "no shape rule of the custom operator '%.*s' is registered (--custom-library), and the file does "
          "not state "
          "the type of output %zu",
          static_cast<int>(name.size), name.data, i);
    for (int axis = 0; axis < context.outputs[i].rank; ++axis) {
      if (context.outputs[i].extents[axis] < 0)
        return context.Error(
            "no shape rule of the custom operator '%.*s' is registered (--custom-library), and extent %d of "
            "output %zu "
            "is open",
            static_cast<int>(name.size), name.data, axis, i);
    }
  }
  return OkStatus();
}

}  // namespace

bool CustomText::Is(const char* name) const {
  return std::strlen(name) == size && std::memcmp(data, name, size) == 0;
}

CustomText CustomNameOf(const TensorView& constant) {
  if (constant.data == nullptr || constant.dtype != DType::kU8 || constant.shape.rank() != 1) return {};
  const CustomText text = {constant.as<const char>(), static_cast<size_t>(constant.shape[0])};
  const bool good = text.size <= kMaxNameBytes && std::memchr(text.data, 0, text.size) == nullptr;
  return good ? text : CustomText();
}

bool DeclaredCustomType(const int64_t* types, int64_t count, size_t index, InferOutput<int64_t>* type) {
  int64_t at = 0;
  for (size_t i = 0; types != nullptr; ++i) {
    if (count - at < 2 || types[at + 1] < 0 || types[at + 1] > kMaxRank || count - at - 2 < types[at + 1])
      return false;
    if (i < index) {
      at += 2 + types[at + 1];
      continue;
    }
    if (types[at] <= 0 || types[at] >= kDTypeCount) return false;
    type->dtype = static_cast<DType>(types[at]);
    type->rank = static_cast<int>(types[at + 1]);
    for (int axis = 0; axis < type->rank; ++axis) {
      type->extents[axis] = types[at + 2 + axis];
      if (type->extents[axis] < -1) return false;
    }
    return true;
  }
  return false;
}

template <>
Status InferCustom(InferContext<int64_t>& context) {
  const auto view_of = [](const InferInput<int64_t>& input) {
    if (!input.present) return TensorView();
    return TensorView(const_cast<void*>(input.constant), input.dtype, Shape(input.extents, input.rank));
  };
  const CustomText name = CustomNameOf(view_of(context.inputs[kCustomName]));
  if (name.size == 0) return context.Error("input 0 must be the operator's name: a constant u8 vector");
  const TensorView options = view_of(context.inputs[kCustomOptions]);
  const bool known = options.data != nullptr || options.shape.elements() == 0;
  if (!known || options.dtype != DType::kU8 || options.shape.rank() != 1)
    return context.Error("input 1 must be the options of '%.*s': a constant u8 vector",
                         static_cast<int>(name.size), name.data);
  const size_t count = CustomOperands(context.inputs.size());
  if (count > CustomOperator::kMaxOperands || context.outputs.size() > CustomOperator::kMaxOperands)
    return context.Error("'%.*s' has more than %d inputs or outputs", static_cast<int>(name.size), name.data,
                         CustomOperator::kMaxOperands);
  const CustomOperator* op = context.As<CustomAttrs>().registered;
  if (op == nullptr) return InferDeclared(context, name);
  TensorView inputs[CustomOperator::kMaxOperands];
  TensorView outputs[CustomOperator::kMaxOperands];
  for (size_t i = 0; i < count; ++i) inputs[i] = view_of(context.inputs[kCustomFirst + i]);
  const CustomCall call = {{options.as<const uint8_t>(), static_cast<size_t>(options.shape[0])},
                           {inputs, count},
                           {outputs, context.outputs.size()}};
  ErrorCapture capture;
  if (const Status status = op->infer(op->user, call); !status.ok())
    return context.Error("%s: %s", op->name,
                         *capture.message() != '\0' ? capture.message() : StatusCodeName(status.code()));
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    InferOutput<int64_t>& output = context.outputs[i];
    output.dtype = outputs[i].dtype;
    output.rank = outputs[i].shape.rank();
    if (output.dtype == DType::kInvalid || static_cast<int>(output.dtype) >= kDTypeCount || output.rank < 0 ||
        output.rank > kMaxRank)
      return context.Error("the shape rule of '%s' gave output %zu no type", op->name, i);
    for (int axis = 0; axis < output.rank; ++axis) {
      output.extents[axis] = outputs[i].shape[axis];
      if (output.extents[axis] < 0)
        return context.Error("the shape rule of '%s' gave output %zu the extent %lld", op->name, i,
                             static_cast<long long>(output.extents[axis]));
    }
  }
  return OkStatus();
}

}  // namespace skiff
