#include "format/checked_file.h"

#include <cstdarg>
#include <cstdio>

#include "format/aligned.h"
#include "ops/op.h"
#include "plan/limits.h"

namespace skiff {

Status CheckedFile::Invalid(const char* what, ...) const {
  char sentence[512];
  va_list arguments;
  va_start(arguments, what);
  std::vsnprintf(sentence, sizeof(sentence), what, arguments);
  va_end(arguments);
  return Fail(StatusCode::kInvalidModel, "%s: not a usable .skiff file: %s", name, sentence);
}

void CheckedFile::LogLeftOut(const char* feature) const {
  Log(LogLevel::kError, "%s: it has %s, which this build of Skiff leaves out; %s", name, feature,
      kRebuildHint);
}

Status CheckedFile::ReadType(uint8_t dtype, const flatbuffers::Vector<int64_t>* extents, bool may_vary,
                             DType* to_dtype, Shape* to_shape) const {
  *to_dtype = static_cast<DType>(dtype);
  if (DTypeBits(*to_dtype) == 0) return Invalid("dtype %u is unknown", dtype);
  if (SizeOf(extents) > kMaxRank)
    return Invalid("a tensor has rank %zu, at most %d is possible", SizeOf(extents), kMaxRank);
  if (!format::ElementsAreAligned(extents)) return Invalid("a tensor's extents are misaligned");
  *to_shape = Shape();
  Shape smallest;
  for (uint32_t i = 0; i < SizeOf(extents); ++i) {
    const int64_t extent = extents->Get(i);
    if (extent < 0 && !may_vary) return Invalid("a tensor of a plan for one shape has an open extent");
    to_shape->Append(extent < 0 ? -1 : extent);
    smallest.Append(extent < 0 ? 1 : extent);
  }
  const char* why = WhyNoTensor(*to_dtype, smallest);
  return why == nullptr ? OkStatus() : Invalid("a tensor %s", why);
}

Status CheckedFile::ReadQuantization(int32_t index, DType dtype, const Shape& shape,
                                     const Quantization** to) {
  *to = nullptr;
  if (index < 0) {
    return DTypeBits(dtype) >= 8 ? OkStatus()
                                 : Invalid("a tensor of %s has no quantisation", DTypeName(dtype));
  }
  // None, where the build leaves quantisation out.
  if (!BuildHas(Feature::kQuantization) || static_cast<size_t>(index) >= quantizations.size())
    return Invalid("a tensor refers to quantisation %d of %zu", index, quantizations.size());
  *to = &quantizations[static_cast<size_t>(index)];
  SKIFF_RETURN_IF_ERROR(CountScales(*to));
  const char* defect = QuantizationDefect(**to, dtype, shape);
  return defect == nullptr ? OkStatus() : Invalid("quantisation %d does not fit a tensor: %s", index, defect);
}

Status CheckedFile::CountScales(const Quantization* quantization) {
  if (!BuildHas(Feature::kQuantization) || quantization == nullptr) return OkStatus();
  scale_count += static_cast<uint64_t>(quantization->count);
  return scale_count > kMaxScalesPerFileByte * bytes.size()
             ? Invalid("it refers to its scales more than %llu times for each of its bytes",
                       static_cast<unsigned long long>(kMaxScalesPerFileByte))
             : OkStatus();
}

Status CheckedFile::CountIndices(size_t more) {
  index_count += more;
  return index_count > kMaxReferences ? Invalid("it has more than %zu references", kMaxReferences)
                                      : OkStatus();
}

}  // namespace skiff
