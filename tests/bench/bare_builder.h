/// Collects XNNPACK operators for the nodes of a plan, one function for each kind of node.
#pragma once

#include <pthreadpool.h>
#include <xnnpack.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "format/model_data.h"

namespace skiff::bench {

/// A tensor as rows of the innermost axis; strides in elements.
struct RowLayout {
  size_t count = 0;
  size_t length = 0;
  size_t stride = 0;
};
RowLayout LayoutOf(const TensorView& view);

/// The axes that are not 1.
std::vector<size_t> ExtentsOf(const Shape& shape);

class BareBuilder {
 public:
  BareBuilder(const PlanData& plan, unsigned char* arena, pthreadpool_t pool);
  ~BareBuilder();
  BareBuilder(const BareBuilder&) = delete;
  BareBuilder& operator=(const BareBuilder&) = delete;

  pthreadpool_t pool() const { return pool_; }
  bool Has(const PlanNode& node, size_t i) const { return i < node.inputs.size() && node.inputs[i] >= 0; }
  const TensorView& In(const PlanNode& node, size_t i) const { return view(node.inputs[i]); }
  const TensorView& Out(const PlanNode& node, size_t i) const { return view(node.outputs[i]); }
  /// Null where the input is absent.
  const float* Floats(const PlanNode& node, size_t i) const {
    return Has(node, i) ? In(node, i).as<const float>() : nullptr;
  }

  /// The operator that the next create call fills in; it is run after those before it.
  xnn_operator_t* New();
  /// The newest one.
  xnn_operator_t op() const { return operators_.back(); }
  /// `bytes` of workspace for the newest operator, shared by all, and how it gets its addresses.
  void SetUp(size_t workspace_bytes, std::function<xnn_status(void* workspace)> setup);
  /// Gives all operators their addresses.
  void Finish();

  /// A value in memory that may be read beyond its end.
  const float* Scalar(float value);
  /// Memory for intermediate results of a node that needs several operators.
  float* Scratch(int64_t elements);
  void Note(const std::string& substitution) { ++notes_[substitution]; }

  const std::vector<xnn_operator_t>& operators() const { return operators_; }
  const std::map<std::string, int>& notes() const { return notes_; }

 private:
  const TensorView& view(int32_t tensor) const { return views_[static_cast<size_t>(tensor)]; }

  pthreadpool_t pool_;
  std::vector<TensorView> views_;
  std::vector<xnn_operator_t> operators_;
  std::vector<std::function<xnn_status(void*)>> setups_;
  std::deque<std::array<float, 16>> scalars_;
  std::deque<std::vector<float>> scratch_;
  size_t workspace_bytes_ = 0;
  void* workspace_ = nullptr;
  std::map<std::string, int> notes_;
};

/// Throws Error (kInternal) naming the node where the call failed.
void Check(xnn_status status, const PlanNode& node);
/// Throws Error (kUnsupported): the bare net is no complete backend.
[[noreturn]] void Unsupported(const PlanNode& node, const char* what);

using BareFn = void (*)(BareBuilder& builder, const PlanNode& node);

void AddConv2d(BareBuilder& builder, const PlanNode& node);
void AddFullyConnected(BareBuilder& builder, const PlanNode& node);
void AddMaxPool(BareBuilder& builder, const PlanNode& node);
void AddAveragePool(BareBuilder& builder, const PlanNode& node);
void AddUnary(BareBuilder& builder, const PlanNode& node);
void AddBinary(BareBuilder& builder, const PlanNode& node);
void AddHardSigmoid(BareBuilder& builder, const PlanNode& node);
void AddSilu(BareBuilder& builder, const PlanNode& node);
void AddReduceMean(BareBuilder& builder, const PlanNode& node);
void AddSoftmax(BareBuilder& builder, const PlanNode& node);
void AddTranspose(BareBuilder& builder, const PlanNode& node);
void AddReinterpret(BareBuilder& builder, const PlanNode& node);
void AddConcat(BareBuilder& builder, const PlanNode& node);
void AddSplit(BareBuilder& builder, const PlanNode& node);
void AddChannelShuffle(BareBuilder& builder, const PlanNode& node);

}  // namespace skiff::bench
