/// Tensors in files: .npy, .npz, or raw elements.
#pragma once

#include <cstdio>
#include <memory>

#include "npy.h"
#include "npz.h"

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Where a tensor is read from: a .npy file, one array of a .npz file, or raw elements. What fails says so.
class TensorFile {
 public:
  /// `port`: the name of the array in a .npz file, unless that has only one. False after a message, also for
  /// a kind of file that is no raw elements either.
  bool Open(const char* path, const char* port);
  /// The same of an array that is known.
  bool Open(const char* path, const NpzArray& array);
  /// The file says its type and shape.
  bool typed() const { return header_.dtype != skiff::DType::kInvalid; }
  const skiff::Shape& shape() const { return header_.shape; }
  /// Fills `tensor` with exactly the elements of the file, which has its type and shape where it is typed();
  /// f32 for a quantised tensor is quantised.
  bool Read(const skiff::TensorView& tensor);

 private:
  bool Fail(const char* what) const;
  bool OpenFile(const char* path);
  bool ReadReals(const skiff::TensorView& tensor);
  /// What was read last were the last elements.
  bool AtEnd() const;

  std::unique_ptr<std::FILE, CloseFile> file_;
  char label_[512] = "";  ///< What messages call it.
  NpyHeader header_;
  long end_ = -1;  ///< Of the array in an archive.
};

bool IsNpz(const char* path);
/// WriteTensor() does not overwrite it, whatever it is called there.
void KeepFile(const char* path);
/// Null after a message. Keeps the file.
std::unique_ptr<std::FILE, CloseFile> OpenForReading(const char* path);
/// Calls use(array) for all arrays of a .npz file until that is false. False then, and after a message where
/// the file cannot be read.
template <class Use>
bool ForEachArray(const char* path, const Use& use) {
  const std::unique_ptr<std::FILE, CloseFile> file = OpenForReading(path);
  NpzReader reader;
  if (!file || !reader.Open(file.get(), path)) return false;
  NpzArray array;
  while (reader.Next(&array)) {
    if (!use(array)) return false;
  }
  return !reader.failed();
}

/// True also where the folder exists. Its parent must.
bool MakeFolder(const char* path);
/// A file's name for a tensor's, as 'skiff run' makes it: what is not a letter, a digit or one of "_-." is
/// "_".
void FileNameOf(const char* tensor, char* file, size_t capacity);
/// As a .npy file. False, after a message, when it cannot be written whole, or something must stay there.
bool WriteTensor(const char* path, const skiff::TensorView& tensor);

/// An element, or of a quantised tensor the integer that it is. Exact, but for integers beyond 2^53.
double Element(const skiff::TensorView& tensor, int64_t i);

/// The largest |a - b| and the largest |b| of two tensors of one type. NaN must meet NaN and an infinity the
/// same one, else the difference is infinite.
struct Difference {
  double difference = 0;
  double largest = 0;
  bool exact = false;  ///< Integers that stand for nothing else, of which none may differ.
};
Difference Compare(const skiff::TensorView& got, const skiff::TensorView& expected);

/// Values that depend on nothing: reals in [-1, 1), integers 0 or 1, quantised ones all that their type
/// holds.
void FillPattern(const skiff::TensorView& tensor);
