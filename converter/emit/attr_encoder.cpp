#include "emit/attr_encoder.h"

#include <cstring>
#include <type_traits>

#include "ops/build_ops.h"

namespace skiff {
namespace {

/// What one field looks like in the file.
struct EncodedField {
  int tag = 0;
  std::vector<int64_t> ints;
  std::vector<float> floats;

  bool SameAs(const EncodedField& other) const {
    return tag == other.tag && ints == other.ints && floats.size() == other.floats.size() &&
           (floats.empty() ||
            std::memcmp(floats.data(), other.floats.data(), floats.size() * sizeof(float)) == 0);
  }
};

struct FieldCollector {
  std::vector<EncodedField> fields;

  template <class T>
  void operator()(int tag, const char*, const T& member) {
    EncodedField field{tag, {}, {}};
    if constexpr (std::is_same_v<T, float>) {
      field.floats = {member};
    } else if constexpr (std::is_same_v<T, Ints>) {
      field.ints.assign(member.begin(), member.end());
    } else {
      field.ints = {static_cast<int64_t>(member)};
    }
    fields.push_back(std::move(field));
  }
};

std::vector<EncodedField> ChangedFields(OpCode op, const AttrStorage& attrs) {
  AttrStorage defaults;
  InitAttrs(op, defaults);
  FieldCollector values;
  FieldCollector default_values;
  VisitAttrs(op, attrs, values);
  VisitAttrs(op, defaults, default_values);
  std::vector<EncodedField> changed;
  for (size_t i = 0; i < values.fields.size(); ++i) {
    if (!values.fields[i].SameAs(default_values.fields[i])) changed.push_back(std::move(values.fields[i]));
  }
  return changed;
}

}  // namespace

std::vector<flatbuffers::Offset<format::Attr>> EncodeAttrs(flatbuffers::FlatBufferBuilder& builder, OpCode op,
                                                           const AttrStorage& attrs) {
  std::vector<flatbuffers::Offset<format::Attr>> encoded;
  for (const EncodedField& field : ChangedFields(op, attrs)) {
    encoded.push_back(format::CreateAttrDirect(builder, static_cast<uint8_t>(field.tag),
                                               field.floats.empty() ? &field.ints : nullptr,
                                               field.floats.empty() ? nullptr : &field.floats));
  }
  return encoded;
}

size_t CountEncodedAttrs(OpCode op, const AttrStorage& attrs) { return ChangedFields(op, attrs).size(); }

}  // namespace skiff
