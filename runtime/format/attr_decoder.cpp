#include "format/attr_decoder.h"

#include <iterator>
#include <type_traits>

#include "format/aligned.h"
#include "ops/build_ops.h"

namespace skiff {
namespace {

/// Looks for each field of an attribute struct among the file's attributes.
class Decoder {
 public:
  explicit Decoder(const flatbuffers::Vector<flatbuffers::Offset<format::Attr>>& from) : from_(from) {}

  template <class T>
  void operator()(int tag, const char*, T& member) {
    for (const format::Attr* attr : from_) {
      if (attr->tag() != tag) continue;
      ++used_;
      if (!format::ElementsAreAligned(attr->ints()) || !Decode(*attr, member)) good_ = false;
    }
  }

  /// Every attribute of the file was a field, and no field came twice.
  bool good() const { return good_ && used_ == from_.size(); }

 private:
  static uint32_t IntCount(const format::Attr& attr) {
    return attr.ints() == nullptr ? 0 : attr.ints()->size();
  }
  static uint32_t FloatCount(const format::Attr& attr) {
    return attr.floats() == nullptr ? 0 : attr.floats()->size();
  }

  static bool Decode(const format::Attr& attr, float& member) {
    if (FloatCount(attr) != 1 || IntCount(attr) != 0) return false;
    member = attr.floats()->Get(0);
    return true;
  }

  static bool Decode(const format::Attr& attr, Ints& member) {
    if (FloatCount(attr) != 0 || IntCount(attr) > kMaxRank) return false;
    member = Ints();
    for (uint32_t i = 0; i < IntCount(attr); ++i) member[member.size++] = attr.ints()->Get(i);
    return true;
  }

  template <class T>
  static bool Decode(const format::Attr& attr, T& member) {
    if (IntCount(attr) != 1 || FloatCount(attr) != 0) return false;
    const int64_t value = attr.ints()->Get(0);
    if constexpr (std::is_same_v<T, bool>) {
      if (value != 0 && value != 1) return false;
      member = value != 0;
    } else if constexpr (std::is_enum_v<T>) {
      if (value < 0 || value >= static_cast<int64_t>(std::size(EnumNames<T>::kNames))) return false;
      member = static_cast<T>(value);
    } else {
      static_assert(std::is_same_v<T, int64_t>);
      member = value;
    }
    return true;
  }

  const flatbuffers::Vector<flatbuffers::Offset<format::Attr>>& from_;
  size_t used_ = 0;
  bool good_ = true;
};

}  // namespace

bool DecodeAttrs(OpCode op, const flatbuffers::Vector<flatbuffers::Offset<format::Attr>>* from,
                 AttrStorage& attrs) {
  if (from == nullptr || from->size() == 0) return true;
  Decoder decoder(*from);
  VisitAttrs(op, attrs, decoder);
  return decoder.good();
}

}  // namespace skiff
