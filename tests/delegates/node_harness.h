/// Runs one node through a delegate, without a file: tensors in memory that ends 16 bytes before an
/// unreadable page, views with gaps, and sentinels around whatever an operator must not touch.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/op.h"
#include "skiff/delegate.h"

namespace skiff::testing {

/// An input of a case. Values are drawn from [low, high] unless given.
struct Argument {
  DType dtype = DType::kF32;
  Shape shape;
  int64_t row_gap = 0;  ///< Elements between the end of a row and the beginning of the next.
  bool constant = false;
  double low = -1;
  double high = 1;
  std::vector<double> values;
  bool absent = false;
};

struct Case {
  std::string name;
  OpCode op = OpCode::kInvalid;
  AttrStorage attrs;
  std::vector<Argument> inputs;
  size_t outputs = 1;
  int64_t output_row_gap = 0;
  int in_place = -1;                 ///< The output lies where this input does.
  const char* falls_back = nullptr;  ///< Why the reference kernel has to run it.

  template <class A>
  A& As() {
    return attrs.as<A>();
  }
};

/// Memory of one tensor: 16 readable bytes after its last element, then a page that must not be touched.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  unsigned char* data() const { return data_; }
  size_t size() const { return bytes_; }
  static constexpr unsigned char kSentinel = 0xa5;

 private:
  size_t bytes_ = 0;
  size_t mapped_ = 0;
  void* base_ = nullptr;
  unsigned char* data_ = nullptr;
};

double ElementOf(const TensorView& view, int64_t index);
void SetElement(const TensorView& view, int64_t index, double value);
ContentHash HashOf(const TensorView& view);

/// The elements of a tensor in order, whatever its rows' distance.
std::vector<double> ElementsOf(const TensorView& view);

class Node {
 public:
  /// Infers the outputs' types; throws std::runtime_error with the shape rule's sentence.
  Node(const Case& description, uint32_t seed);

  struct Outcome {
    std::vector<std::vector<double>> outputs;
    bool fell_back = false;
    std::string damage;  ///< What was written outside the outputs, or "".
    uint64_t packed_bytes = 0;
    uint64_t workspace_bytes = 0;
  };
  /// Through Prepare, Reshape, Bind, Run; then once more with other addresses for the outputs and the same
  /// result.
  Outcome Run(ModelState& state, const DelegateSessionOptions& options);

  /// Extents and addresses of all tensors become those of `other`, which has to live on.
  void TakeTensorsOf(const Node& other) { tensors_ = other.tensors_; }

  NodeTypes types() const;
  SegmentView segment() const { return {{tensors_.data(), tensors_.size()}, {&node_, 1}, 0, 1}; }
  const TensorView& input(size_t i) const { return tensors_[static_cast<size_t>(inputs_[i])].view; }
  TensorView& input(size_t i) { return tensors_[static_cast<size_t>(inputs_[i])].view; }
  const TensorView& output(size_t i) const { return tensors_[static_cast<size_t>(outputs_[i])].view; }
  bool HasInput(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  const Case& description() const { return case_; }

 private:
  void AddInput(const Argument& argument, std::mt19937& random);
  void PlaceOutputs();
  std::string FindDamage() const;

  Case case_;
  std::vector<PlanTensor> tensors_;
  std::vector<int32_t> inputs_, outputs_;
  std::deque<GuardedMemory> memory_;
  std::vector<GuardedMemory> output_memory_;
  std::vector<std::vector<unsigned char>> saved_inputs_;
  PlanNode node_;
  std::vector<const PlanTensor*> input_pointers_, output_pointers_;
};

}  // namespace skiff::testing
