/// Elementwise operators with broadcasting on kernels of ours: the walk over the axes, which they share. Each
/// input and the output may be a view whose rows lie apart.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

/// The axes of a broadcast from the innermost outwards, with neighbours merged where all tensors allow it.
class BroadcastAxes {
 public:
  static constexpr int kMostOperands = 4;
  struct Axis {
    int64_t extent = 1;
    int64_t stride[kMostOperands] = {};  ///< Distance in elements; 0 repeats.
  };

  /// Operand 0 is the output.
  explicit BroadcastAxes(Span<const TensorView* const> operands);

  int count() const { return count_; }
  const Axis& operator[](int i) const { return axes_[i]; }

 private:
  void Add(const Axis& axis);

  Axis axes_[kMaxRank];
  int count_ = 0;
};

class BroadcastStep : public Step {
 public:
  using Step::Step;
  Status Reshape() final;
  Status Bind(void* workspace) final;
  Status Run() final;

 protected:
  // As an alias (`char* [n]`) clang-format takes it, and the file, for Objective-C.
  typedef char* Addresses[BroadcastAxes::kMostOperands];  ///< [0]: the output, [1 + i]: input i.

  /// Before any run: input i is one value throughout each of them.
  virtual void Choose(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) = 0;
  /// One run of n neighbours.
  virtual void Compute(size_t n, const Addresses& at) const = 0;

  static size_t FormOf(const bool (&repeats)[BroadcastAxes::kMostOperands - 1]) {
    return static_cast<size_t>(repeats[0]   ? Form::kFirstIsOne
                               : repeats[1] ? Form::kSecondIsOne
                                            : Form::kBothVary);
  }

 private:
  static constexpr size_t kBlock = 8192;

  void JoinShortRows();
  bool FormsRows(Span<const TensorView* const> operands) const;
  static void RunRowsOf(const Step& step, size_t first_row, size_t rows);
  bool ChangesRows() const;
  static void ChangeRows(const Step& step, size_t first_row, size_t rows, float* rows_at);
  size_t JoinedBytes(int operand) const;
  void RunBlock(size_t begin, size_t count) const;
  void RunRows(size_t begin, size_t count) const;
  void AddressesOfRun(size_t run, Addresses& at) const;

  // Strides in bytes.
  BroadcastAxes::Axis run_;
  BroadcastAxes::Axis outer_[kMaxRank];
  /// Of neighbouring short rows that one call computes; what repeats from row to row lies in the workspace,
  /// as often.
  size_t rows_at_once_ = 1;
  bool repeated_[BroadcastAxes::kMostOperands] = {};
  const char* one_row_[BroadcastAxes::kMostOperands] = {};
  int operands_ = 0;
  int outer_count_ = 0;
  size_t outer_total_ = 1;
  Addresses base_ = {};
};

}  // namespace skiff::xnnpack
