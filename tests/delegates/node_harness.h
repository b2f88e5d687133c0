/// Runs one node through a delegate, without a file: tensors in memory that ends 16 bytes before an
/// unreadable page, views with gaps, and sentinels around whatever an operator must not touch.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/wide_constant.h"
#include "ops/op.h"
#include "skiff/delegate.h"
#include "skiff/quantization.h"

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
  std::vector<double> others;  ///< What the run before gets; empty: some of the same domain.
  bool absent = false;
  const Quantization* quantization = nullptr;  ///< Elements are then the integers.
  /// A constant of f32 that the file has as such integers of 4 bits, which are drawn from [low, high].
  DType stored = DType::kInvalid;
  const Quantization* stored_quantization = nullptr;
};

struct Case {
  std::string name;
  OpCode op{};
  AttrStorage attrs;
  std::vector<Argument> inputs;
  size_t outputs = 1;
  int64_t output_row_gap = 0;
  DType quantized_output = DType::kInvalid;  ///< Of output 0 (of all, where elements are moved), quantised.
  const Quantization* output_quantization = nullptr;
  int in_place = -1;                 ///< The output lies where this input does.
  const char* falls_back = nullptr;  ///< Why the reference kernel has to run it.

  template <class A>
  A& As() {
    return attrs.as<A>();
  }
};

/// How an input's elements reach the node.
enum class Supply : uint8_t {
  kConstant,  ///< There from the beginning, and marked.
  kInput,     ///< There before a run, and others before the next one.
  kComputed,  ///< By another node of the segment, while it runs.
};

/// A case with some of its inputs supplied in another way than it lists.
struct Form {
  uint32_t inputs = 0;  ///< Bit i: input i.
  Supply supply = Supply::kConstant;
  bool Has(size_t i) const { return i < 32 && ((inputs >> i) & 1u) != 0; }
};
/// "input 1 as computed"
std::string FormText(const Form& form);

/// As listed; then every input in every way that the case does not list, then all that it lists as constant
/// at once. Elements that decide shapes are known before any node runs, hence never computed here; a view is
/// never a constant. Cases with very many elements come as listed only.
std::vector<Form> FormsOf(const Case& description);

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
  /// Infers the outputs' types; throws std::runtime_error with the shape rule's sentence. Elements depend on
  /// the case's name, not on the form.
  explicit Node(const Case& description, const Form& form = {});

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

  /// Through Prepare, Reshape, Bind, and two runs at the same addresses: the first with other elements in all
  /// inputs but constants and those that decide shapes, the second with the case's own. Until the first run,
  /// and in what is computed until its node has run, there is poison. The outcome is that of the second run.
  Outcome RunAfterOthers(ModelState& state, const DelegateSessionOptions& options);

  /// What the first of these runs sees in input i; differs from ElementsOf(input(i)) in every place that
  /// can differ. Empty for an input that is absent.
  const std::vector<double>& others(size_t i) const { return feeds_[i].others; }
  /// Whether the elements of input i may change from run to run.
  bool Changes(size_t i) const;

  /// Through Reshape, Bind, Run of what was prepared for this node, at the extents and addresses of `fresh`,
  /// which has to live on. Its outputs are poison until then.
  Outcome RunAt(const Node& fresh, PreparedSegment& prepared);
  /// Extents and addresses of all tensors become those of `other`, which has to live on.
  void TakeTensorsOf(const Node& other) { tensors_ = other.tensors_; }

  NodeTypes types() const;
  SegmentView segment() const {
    return {{tensors_.data(), tensors_.size()},
            {nodes_.data(), nodes_.size()},
            0,
            static_cast<uint32_t>(nodes_.size())};
  }
  const TensorView& input(size_t i) const { return tensors_[static_cast<size_t>(inputs_[i])].view; }
  TensorView& input(size_t i) { return tensors_[static_cast<size_t>(inputs_[i])].view; }
  const TensorView& output(size_t i) const { return tensors_[static_cast<size_t>(outputs_[i])].view; }
  bool HasInput(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  const Case& description() const { return case_; }

 private:
  /// Where the elements of an input come from; of an absent one nothing is set.
  struct Feed {
    int32_t tensor = -1;  ///< The input, or what it is computed from.
    bool negated = false;
    std::vector<double> listed, others;
  };
  /// Between what an input is computed from and the input.
  struct Producer {
    int32_t from = -1;
    int32_t to = -1;
    AttrStorage attrs;
  };

  void AddInput(size_t i, uint32_t seed, bool computed);
  std::vector<double> Stored(const Argument& argument, const std::vector<double>& codes);
  int32_t AddTensor(const TensorView& view);
  void InferOutputs();
  void Write(const Feed& feed, const std::vector<double>& elements);
  void WriteInputs(std::vector<double> Feed::*elements);
  void PoisonInputs();
  void PoisonComputed();
  void PoisonOutputs();
  void PlaceOutputs();
  TensorView& in_place_input() { return input(static_cast<size_t>(case_.in_place)); }
  std::vector<std::vector<double>> OutputElements() const;
  std::string FindDamage() const;

  Case case_;
  std::vector<PlanTensor> tensors_;
  std::vector<int32_t> inputs_, outputs_;
  std::vector<Feed> feeds_;
  std::list<Producer> producers_;  ///< Their addresses are in nodes_.
  std::deque<GuardedMemory> memory_;
  std::deque<WideConstant> wide_;
  std::vector<GuardedMemory> output_memory_;
  std::vector<PlanNode> nodes_;  ///< What computes inputs, then the case's own.
  std::vector<const PlanTensor*> input_pointers_, output_pointers_;
};

/// The same bits in all outputs; NaN equals itself.
bool SameElements(const Node::Outcome& a, const Node::Outcome& b);

}  // namespace skiff::testing
