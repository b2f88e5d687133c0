#include "tests/fuzz/mutate_onnx.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "import/onnx/ops.h"
#include "tests/fuzz/mistakes_onnx.h"

namespace skiff::testing {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

bool IsTensorData(const FieldDescriptor* field) { return field->name() == "raw_data"; }

std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::erase_if(fields, IsTensorData);
  return fields;
}

/// What a string may become, beside the words of its model.
const std::vector<std::string>& Vocabulary() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"",     "x",       "SAME_UPPER", "axis",        "to",           "image",
                                    "mode", "ai.onnx", "ai.onnx.ml", "com.example", "com.microsoft"};
    for (const char* const domain : {"", "ai.onnx.ml", "com.microsoft"}) {
      for (const OnnxOp* op : AllOnnxOps(domain)) all.emplace_back(op->name);
    }
    return all;
  }();
  return words;
}

class Mutator {
 public:
  Mutator(std::mt19937& random, const Message& model) : random_(random) { Collect(model); }

  void Change(Message& message) {
    const std::vector<const FieldDescriptor*> fields = FieldsOf(message);
    if (fields.empty()) return;
    const FieldDescriptor* field = fields[Below(fields.size())];
    if (field->is_repeated() && OneIn(6)) return ChangeCount(message, field);
    if (OneIn(12)) return message.GetReflection()->ClearField(&message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return Change(ElementOf(message, field));
    ChangeScalar(message, field);
  }

 private:
  size_t Below(size_t count) { return random_() % count; }
  bool OneIn(uint32_t count) { return random_() % count == 0; }
  int AnyIndex(const Message& message, const FieldDescriptor* field) {
    return static_cast<int>(Below(static_cast<size_t>(message.GetReflection()->FieldSize(message, field))));
  }

  /// All strings that the model has: names of tensors, operators, attributes, modes.
  void Collect(const Message& message) {
    const Reflection* reflection = message.GetReflection();
    for (const FieldDescriptor* field : FieldsOf(message)) {
      const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          words_.push_back(field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                                : reflection->GetString(message, field));
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                       : reflection->GetMessage(message, field));
        }
      }
    }
  }

  Message& ElementOf(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    if (!field->is_repeated()) return *reflection->MutableMessage(&message, field);
    return *reflection->MutableRepeatedMessage(&message, field, AnyIndex(message, field));
  }

  /// One less, or, of messages, one more.
  void ChangeCount(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    const int last = reflection->FieldSize(message, field) - 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && OneIn(2)) {
      const Message& element = reflection->GetRepeatedMessage(message, field, AnyIndex(message, field));
      reflection->AddAllocatedMessage(&message, field, CopyOf(element));
      return;
    }
    if (OneIn(2)) reflection->SwapElements(&message, field, AnyIndex(message, field), last);
    reflection->RemoveLast(&message, field);
  }

  static Message* CopyOf(const Message& message) {
    Message* copy = message.New();
    copy->CopyFrom(message);
    return copy;
  }

  std::string AnyWord() {
    const std::vector<std::string>& words = words_.empty() || OneIn(3) ? Vocabulary() : words_;
    return words[Below(words.size())];
  }

  void ChangeScalar(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    const int64_t numbers[] = {
        0, 1, -1, 2, 3, 7, 16, 255, -128, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN};
    const int64_t number = numbers[Below(std::size(numbers))];
    const int index = field->is_repeated() ? AnyIndex(message, field) : 0;
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
      SKIFF_SET(STRING, String, AnyWord());
#undef SKIFF_SET
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* type = field->enum_type();
        const auto* value = type->value(static_cast<int>(Below(static_cast<size_t>(type->value_count()))));
        if (!field->is_repeated()) reflection->SetEnum(&message, field, value);
        break;
      }
      default:
        break;
    }
  }

  std::mt19937& random_;
  std::vector<std::string> words_;
};

}  // namespace

void MutateModel(std::mt19937& random, onnx::ModelProto& model) {
  if (random() % 2 == 0) return MakeMistake(random, model);
  Mutator(random, model).Change(model);
}

}  // namespace skiff::testing
