/// What the readers of an untrusted .skiff file share: where its parts lie, what none of them may exceed, and
/// errors that name the file.
#pragma once

#include "core/extents.h"
#include "core/features.h"
#include "format/container.h"
#include "format/wide_weights.h"
#include "model_generated.h"
#include "skiff/custom_operator.h"
#include "skiff/log.h"
#include "skiff/quantization.h"
#include "skiff/span.h"
#include "skiff/tensor.h"

namespace skiff {

template <class Vector>
size_t SizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

inline const char* TextOf(const flatbuffers::String* text) { return text == nullptr ? "" : text->c_str(); }

struct CheckedFile {
  const char* name = "";  ///< Errors begin with it.
  Span<const uint8_t> bytes;
  format::FileHeader header = {};
  const format::Model* model = nullptr;  ///< The verified copy of the FlatBuffer part.
  Span<const Quantization>
      quantizations;  ///< Decoded and checked by themselves, not against a tensor's type.
  Span<const CustomOperator> custom_operators;
  WideWeights* wide_weights = nullptr;
  size_t index_count = 0;
  uint64_t scale_count = 0;
  int body_depth = 0;     ///< Of the plan that is being read.
  uint32_t features = 0;  ///< FeatureBit() of those that were needed so far.

  /// kInvalidModel, with the sentence in the log.
  Status Invalid(const char* what, ...) const __attribute__((format(printf, 2, 3)));
  /// Notes that the file needs a feature; kUnsupported where this build leaves it out.
  [[gnu::always_inline]] Status Need(Feature feature) {
    if (!BuildHas(feature)) {
      LogLeftOut(FeatureText(feature));
      return Status(StatusCode::kUnsupported);  // Seen here by the compiler, which then drops what follows.
    }
    features |= FeatureBit(feature);
    return OkStatus();
  }
  void LogLeftOut(const char* feature) const;
  /// Extents that vary become -1, where they may be there.
  Status ReadType(uint8_t dtype, const flatbuffers::Vector<int64_t>* extents, bool may_vary, DType* to_dtype,
                  Shape* to_shape) const;
  /// The quantisation of a tensor of this type, by index; -1 is none. Integers of less than a byte need one.
  Status ReadQuantization(int32_t index, DType dtype, const Shape& shape, const Quantization** to);
  /// Fails when scales are looked at more often than those of any honest file. Null: there are none.
  Status CountScales(const Quantization* quantization);
  /// Fails when the file has asked for tables of more entries than any honest one.
  Status CountIndices(size_t more);
  /// The elements of a constant. Kernels take inputs and outputs as the same view type, but never write
  /// these.
  void* WeightsOf(const format::Blob& blob) const {
    return const_cast<uint8_t*>(bytes.data() + header.weights_offset + blob.offset());
  }
};

}  // namespace skiff
