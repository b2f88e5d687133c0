/// One signature of a Model, as the tools on the host ask about it.
#pragma once

#include <string>

#include "format/model_data.h"
#include "skiff/model.h"

namespace skiff {

class ModelSignature {
 public:
  /// Which must outlive this. A Model alone means its first signature.
  ModelSignature(const Model& model, int index = 0) : model_(&model), index_(index) {}  // NOLINT

  const Model& model() const { return *model_; }
  int index() const { return index_; }
  const SignatureData& data() const { return model_->data().signatures[static_cast<size_t>(index_)]; }
  SignatureInfo info() const { return model_->signature(index_); }
  const char* name() const { return data().name; }
  /// Whether a Symbol of the Model is one of this signature's; others have no size in its calls.
  bool Has(size_t symbol) const;

 private:
  const Model* model_;
  int index_;
};

/// "" means the first. Throws Error (kInvalidArgument) listing the names where there is none of that name.
ModelSignature FindSignature(const Model& model, const std::string& name);

}  // namespace skiff
