#include "format/checked_file.h"

#include <cstdarg>
#include <cstdio>

#include "format/aligned.h"

namespace skiff {
namespace {

/// A tensor without elements has no bytes, but kernels may still walk its other extents.
constexpr int64_t kMaxEmptyVolume = int64_t{1} << 28;
/// A .skiff file names a few thousand nodes; these only stop a small malicious file from asking for huge
/// tables.
constexpr size_t kMaxIndices = size_t{1} << 24;

}  // namespace

Status CheckedFile::Invalid(const char* what, ...) const {
  char sentence[512];
  va_list arguments;
  va_start(arguments, what);
  std::vsnprintf(sentence, sizeof(sentence), what, arguments);
  va_end(arguments);
  return Fail(StatusCode::kInvalidModel, "%s: not a usable .skiff file: %s", name, sentence);
}

Status CheckedFile::ReadType(uint8_t dtype, const flatbuffers::Vector<int64_t>* extents, bool may_vary,
                             DType* to_dtype, Shape* to_shape) const {
  *to_dtype = static_cast<DType>(dtype);
  int64_t volume = DTypeSize(*to_dtype);
  if (volume == 0) return Invalid("dtype %u is unknown", dtype);
  if (SizeOf(extents) > kMaxRank)
    return Invalid("a tensor has rank %zu, at most %d is possible", SizeOf(extents), kMaxRank);
  if (!format::ElementsAreAligned(extents)) return Invalid("a tensor's extents are misaligned");
  *to_shape = Shape();
  bool varies = false;
  for (uint32_t i = 0; i < SizeOf(extents); ++i) {
    const int64_t extent = extents->Get(i);
    if (extent < 0 && may_vary) {
      varies = true;
      to_shape->Append(-1);
      continue;
    }
    if (extent < 0) return Invalid("a tensor of a plan for one shape has an open extent");
    // Zero extents must not hide an overflow of the others: strides are products of them.
    if (__builtin_mul_overflow(volume, extent > 0 ? extent : 1, &volume) || volume > kMaxTensorBytes) {
      return Invalid("a tensor's size overflows");
    }
    to_shape->Append(extent);
  }
  return !varies && to_shape->elements() == 0 && volume > kMaxEmptyVolume
             ? Invalid("an empty tensor's extents are too large")
             : OkStatus();
}

Status CheckedFile::CountIndices(size_t more) {
  index_count += more;
  return index_count > kMaxIndices ? Invalid("it has more than %zu references", kMaxIndices) : OkStatus();
}

}  // namespace skiff
