/// Tensors in raw files.
#pragma once

#include <memory>

#include "skiff/tensor.h"

/// Fills `tensor` from a file that has exactly its bytes; false, after a message, otherwise.
bool ReadRaw(const char* path, const skiff::TensorView& tensor);
/// False, after a message, when the file cannot be written whole.
bool WriteRaw(const char* path, const skiff::TensorView& tensor);

/// The largest |a - b| and the largest |b| of two tensors of one type. NaN must meet NaN and an infinity the
/// same one, else the difference is infinite.
struct Difference {
  double difference = 0;
  double largest = 0;
};
Difference Compare(const skiff::TensorView& got, const skiff::TensorView& expected);

/// Values that depend on nothing: reals in [-1, 1), integers 0 or 1.
void FillPattern(const skiff::TensorView& tensor);
