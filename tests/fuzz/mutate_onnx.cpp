#include "tests/fuzz/mutate_onnx.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace skiff::testing {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

void MutateScalar(std::mt19937& random, Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  const int64_t numbers[] = {
      0, 1, -1, 2, 3, 7, 16, 255, -128, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN};
  const int64_t number = numbers[random() % std::size(numbers)];
  const char* const strings[] = {"",     "x",       "Conv",        "Relu", "SAME_UPPER",
                                 "axis", "ai.onnx", "com.example", "image"};
  const std::string text = strings[random() % std::size(strings)];
  const int index =
      field->is_repeated()
          ? static_cast<int>(random() % static_cast<uint32_t>(reflection->FieldSize(message, field)))
          : 0;
  switch (field->cpp_type()) {
#define SKIFF_SET(kind, Name, value)                                                    \
  case FieldDescriptor::CPPTYPE_##kind:                                                 \
    field->is_repeated() ? reflection->SetRepeated##Name(&message, field, index, value) \
                         : reflection->Set##Name(&message, field, value);               \
    break
    SKIFF_SET(INT32, Int32, static_cast<int32_t>(number));
    SKIFF_SET(INT64, Int64, number);
    SKIFF_SET(UINT64, UInt64, static_cast<uint64_t>(number));
    SKIFF_SET(FLOAT, Float, static_cast<float>(number));
    SKIFF_SET(DOUBLE, Double, static_cast<double>(number));
    SKIFF_SET(STRING, String, text);
#undef SKIFF_SET
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const auto* value =
          type->value(static_cast<int>(random() % static_cast<uint32_t>(type->value_count())));
      if (!field->is_repeated()) reflection->SetEnum(&message, field, value);
      break;
    }
    default:
      break;
  }
}

}  // namespace

void MutateMessage(std::mt19937& random, Message& message) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  std::erase_if(fields, [](const FieldDescriptor* field) { return field->name() == "raw_data"; });
  if (fields.empty()) return;
  const FieldDescriptor* field = fields[random() % fields.size()];
  if (field->is_repeated() && random() % 6 == 0) {
    const int last = reflection->FieldSize(message, field) - 1;
    if (random() % 2 == 0) {
      reflection->SwapElements(&message, field, static_cast<int>(random() % static_cast<uint32_t>(last + 1)),
                               last);
    }
    reflection->RemoveLast(&message, field);
    return;
  }
  if (random() % 12 == 0) {
    reflection->ClearField(&message, field);
    return;
  }
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    MutateScalar(random, message, field);
  } else if (field->is_repeated()) {
    const auto size = static_cast<uint32_t>(reflection->FieldSize(message, field));
    MutateMessage(random,
                  *reflection->MutableRepeatedMessage(&message, field, static_cast<int>(random() % size)));
  } else {
    MutateMessage(random, *reflection->MutableMessage(&message, field));
  }
}

}  // namespace skiff::testing
