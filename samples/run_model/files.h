/// Tensors in files: .npy, or raw elements.
#pragma once

#include <memory>

#include "npy.h"

bool IsNpy(const char* path);
/// The type that a .npy file says. False after a message.
bool ReadType(const char* path, NpyHeader* header);
/// Fills `tensor` from a file that has exactly its elements, and, where it is a .npy file, its type and
/// shape; f32 in a .npy file for a quantised tensor is quantised. False, after a message, otherwise.
bool ReadTensor(const char* path, const skiff::TensorView& tensor);
/// As a .npy file. False, after a message, when it cannot be written whole.
/// True also where the folder exists. Its parent must.
bool MakeFolder(const char* path);
bool WriteTensor(const char* path, const skiff::TensorView& tensor);

/// The largest |a - b| and the largest |b| of two tensors of one type. NaN must meet NaN and an infinity the
/// same one, else the difference is infinite.
struct Difference {
  double difference = 0;
  double largest = 0;
};
Difference Compare(const skiff::TensorView& got, const skiff::TensorView& expected);

/// Values that depend on nothing: reals in [-1, 1), integers 0 or 1, quantised ones all that their type
/// holds.
void FillPattern(const skiff::TensorView& tensor);
