/// The values of a Model's variables: state that one run leaves to the next.
#pragma once

#include <memory>

#include "skiff/model.h"

namespace skiff {

/// A Session makes one for itself, or shares one through SessionOptions::variables: Sessions of several
/// signatures of one Model (a step and a reset, say) then see the same state. Not thread-safe: Sessions that
/// share one take turns.
class Variables {
 public:
  /// Initial values, as the file has them. `model` must outlive the result. kOutOfMemory, also where they
  /// would pass `memory_limit`, which is in bytes; 0: see kDefaultMemoryLimit (session.h).
  static Result<std::unique_ptr<Variables>> Create(const Model& model, uint64_t memory_limit = 0);
  ~Variables();
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  /// Back to the initial values.
  void Reset();
  /// A view that may be written, valid as long as this object. kInvalidArgument: there is none of that name.
  Result<TensorView> Get(const char* name) const;
  /// Copies the elements: how an application restores what it saved. kInvalidArgument: another dtype or
  /// shape.
  Status Set(const char* name, const ConstTensorView& value);

  const Model& model() const;
  /// The elements of variable `index` of Model::variables(), 64-byte aligned.
  void* data(int index) const;
  uint64_t bytes() const;

 private:
  struct Internals;
  explicit Variables(std::unique_ptr<Internals> internals);
  std::unique_ptr<Internals> internals_;
};

}  // namespace skiff
