/// What C programs pass, checked and turned into C++: handles, tensors, and options of older and newer
/// programs.
#pragma once

#include "core/fixed_array.h"
#include "skiff/log.h"
#include "skiff/session.h"
#include "skiff/skiff.h"

namespace skiff {

// The handles are the C++ objects under another name; that of a thread pool is the pool itself.
inline Model* Cpp(SkiffModel* model) { return reinterpret_cast<Model*>(model); }
inline const Model* Cpp(const SkiffModel* model) { return reinterpret_cast<const Model*>(model); }
inline Session* Cpp(SkiffSession* session) { return reinterpret_cast<Session*>(session); }
inline const Session* Cpp(const SkiffSession* session) { return reinterpret_cast<const Session*>(session); }

/// kInvalidArgument, which names `what`, where it is null.
Status NotNull(const void* pointer, const char* what);
/// Where it is not one of 0 to count - 1.
Status InRange(int32_t value, int32_t count, const char* what);

Status ToView(const SkiffTensor* tensor, TensorView* view);
/// kUnsupported where its rows lie apart.
Status FromView(const TensorView& view, SkiffTensor* tensor);

/// Null gives the defaults. Fields that a program's older header does not have keep theirs; those that this
/// library does not know must be 0.
/// `operators` holds what the options point to.
Status ToOptions(const SkiffModelOptions* given, FixedArray<CustomOperator>* operators,
                 ModelOptions* options);
Status ToOptions(const SkiffSessionOptions* given, SessionOptions* options);

/// Fields as above. The arrays stay the caller's.
Status ToQuantization(const SkiffQuantization* given, size_t size, Quantization* quantization);

/// What a caller passes with its sizeof, which is at least what was published first. Fields as above.
Status TakePrefixBytes(const void* given, size_t size, size_t least, const char* name, void* known,
                       size_t known_size);
template <class Struct>
Status TakePrefix(const Struct* given, size_t size, size_t least, const char* name, Struct* known) {
  return TakePrefixBytes(given, size, least, name, known, sizeof(*known));
}

/// Fills a struct of a size that the caller knows from one of the size that this library knows.
void FillPrefix(void* to, size_t size, const void* from, size_t known);

/// All defaults are zero, also those of fields that only the caller's header knows.
template <class Options>
void InitOptions(Options* options, size_t size) {
  Options defaults = {};
  defaults.size = static_cast<uint32_t>(size);
  FillPrefix(options, size, &defaults, sizeof(defaults));
}

}  // namespace skiff
