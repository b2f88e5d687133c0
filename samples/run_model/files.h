/// Tensors in files: .npy, or raw elements.
#pragma once

#include <memory>

#include "npy.h"

bool IsNpy(const char* path);
/// False, after a message, for a kind of file that is no raw elements either.
bool IsReadable(const char* path);
/// The type that a .npy file says. False after a message.
bool ReadType(const char* path, NpyHeader* header);
/// Fills `tensor` from a file that has exactly its elements, and, where it is a .npy file, its type and
/// shape; f32 in a .npy file for a quantised tensor is quantised. False, after a message, otherwise.
bool ReadTensor(const char* path, const skiff::TensorView& tensor);
/// True also where the folder exists. Its parent must.
bool MakeFolder(const char* path);
/// A file's name for a tensor's, as 'skiff run' makes it: what is not a letter, a digit or one of "_-." is
/// "_".
void FileNameOf(const char* tensor, char* file, size_t capacity);
/// As a .npy file. False, after a message, when it cannot be written whole.
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
