/// What came out, as text and as JSON, both as 'skiff run' has them.
#pragma once

#include "json.h"
#include "skiff/session.h"

/// The numbers of an output: of a quantised one those that its integers stand for.
class Numbers {
 public:
  /// False, after a message, where there is no memory.
  bool Init(const skiff::PortInfo& port, const skiff::TensorView& tensor);
  double operator[](int64_t i) const;
  /// As JSON and text have it: a real number, or an integer.
  bool real() const;

 private:
  const skiff::TensorView* tensor_ = nullptr;
  std::unique_ptr<float[]> reals_;  ///< Of a quantised output.
};

/// `top`: how many of the best classes; -1: five, of outputs with labels. False after a message.
bool PrintClasses(const skiff::PortInfo& port, const skiff::TensorView& tensor, int top);
/// `file`: where it was written, or null. False after a message.
bool WriteOutput(JsonWriter& json, const skiff::PortInfo& port, const skiff::TensorView& tensor, int top,
                 const char* file);
