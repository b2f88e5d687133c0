/// Nodes one behind the other without a Model around them, to compare how a segment runs them together with
/// how it runs one after the other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "delegates/xnnpack/delegate.h"
#include "delegates/xnnpack/kernels/kernels.h"
#include "delegates/xnnpack/lower/follow.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "ops/op_codes.h"
#include "skiff/delegate.h"

namespace skiff::testing {

/// Where there are none, nodes do not run together.
inline bool HasDenseKernels() { return xnnpack::kHasOwnKernels && xnnpack::SelectKernels().dense != nullptr; }

/// A node's square windows.
struct Windows {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t pad = 0;
};

/// Nodes one behind the other, each with memory of its own for what it makes.
class Chain {
 public:
  explicit Chain(uint32_t seed) : random_(seed) {}

  int32_t Input(const Shape& shape) { return Add(shape, /*constant=*/false); }
  int32_t Convolution(int32_t x, int64_t outputs, const Windows& windows, int64_t groups = 1) {
    const int64_t channels = shape(x)[3];
    const int32_t weights = Add({outputs, windows.size, windows.size, channels / groups}, true);
    const int32_t bias = Add({outputs}, true);
    AttrStorage& attrs = Attrs(OpCode::kConv2d);
    auto& of = attrs.as<Conv2dAttrs>();
    SetWindows(windows, &of);
    of.groups = groups;
    of.min = -0.5f;
    return Node(OpCode::kConv2d, {x, weights, bias}, Outputs(x, windows, outputs));
  }
  int32_t Depthwise(int32_t x, const Windows& windows) {
    return Convolution(x, shape(x)[3], windows, shape(x)[3]);
  }
  int32_t MaxPool(int32_t x, const Windows& windows) {
    auto& of = Attrs(OpCode::kMaxPool2d).as<Pool2dAttrs>();
    SetWindows(windows, &of);
    of.kernel = {windows.size, windows.size};
    return Node(OpCode::kMaxPool2d, {x}, Outputs(x, windows, shape(x)[3]));
  }
  int32_t Dense(int32_t x, int64_t outputs) {
    Shape result = shape(x);
    const int64_t inputs = result.last();
    result[result.rank() - 1] = outputs;
    Attrs(OpCode::kFullyConnected);
    const int32_t weights = Add({outputs, inputs}, true);
    return Node(OpCode::kFullyConnected, {x, weights}, result);
  }
  int32_t Silu(int32_t x) {
    Attrs(OpCode::kSilu);
    return Node(OpCode::kSilu, {x}, shape(x));
  }
  int32_t Sum(int32_t x, int32_t other) { return Binary(OpCode::kAdd, x, other); }
  /// `other` has the shape of x, or repeats.
  int32_t Binary(OpCode op, int32_t x, int32_t other) {
    Attrs(op);
    return Node(op, {x, other}, shape(x));
  }
  int32_t Softmax(int32_t x) {
    Attrs(OpCode::kSoftmax).as<AxisAttrs>().axis = -1;
    return Node(OpCode::kSoftmax, {x}, shape(x));
  }
  /// Of matrices whose batches are those of the result, or repeat.
  int32_t Product(int32_t x, int32_t b, bool transpose_b = false) {
    Attrs(OpCode::kMatMul).as<MatMulAttrs>().transpose_b = transpose_b;
    const Shape& of_b = shape(b);
    Shape result = shape(x).rank() >= of_b.rank() ? shape(x) : of_b;
    for (int axis = 0; axis + 2 < of_b.rank(); ++axis)
      result[result.rank() - of_b.rank() + axis] =
          std::max(result[result.rank() - of_b.rank() + axis], of_b[axis]);
    result[result.rank() - 2] = shape(x)[shape(x).rank() - 2];
    result[result.rank() - 1] = of_b[of_b.rank() - (transpose_b ? 2 : 1)];
    return Node(OpCode::kMatMul, {x, b}, result);
  }
  int32_t Transpose(int32_t x, const Ints& perm) {
    Attrs(OpCode::kTranspose).as<TransposeAttrs>().perm = perm;
    Shape result;
    for (int64_t i = 0; i < perm.size; ++i) result.Append(shape(x)[static_cast<int>(perm[i])]);
    return Node(OpCode::kTranspose, {x}, result);
  }
  int32_t Reshape(int32_t x, const Shape& result) {
    Attrs(OpCode::kReshape);
    return Node(OpCode::kReshape, {x}, result);
  }

  void Scale(int32_t tensor, float factor) {
    for (float& value : values_[Slot(tensor)]) value *= factor;
  }
  /// Of a Dense() that returned this.
  static int32_t WeightsOf(int32_t dense) { return dense - 1; }

  /// A tensor lies `elements` behind the first one of another.
  void Place(int32_t tensor, int32_t over, int64_t elements = 0) {
    tensors_[Slot(tensor)].view.data = tensors_[Slot(over)].view.as<float>() + elements;
  }
  /// As the memory planner may: some results lie over tensors that are not needed any more when they are
  /// made.
  void PlaceOverDeadOnes(int32_t input) {
    std::vector<int32_t> dead;
    int32_t live = input;
    for (const int32_t result : outputs_) {
      const int32_t over = dead.empty() ? -1 : dead[random_() % dead.size()];
      if (over >= 0 && random_() % 2 == 0) {
        const int64_t spare = shape(over).elements() - shape(result).elements();
        const TensorView before = tensors_[Slot(result)].view;
        if (spare >= 0) Place(result, over, random_() % 2 == 0 ? 0 : spare / 16 * 16);
        if (xnnpack::Overlap(tensors_[Slot(result)].view, tensors_[Slot(live)].view))
          tensors_[Slot(result)].view = before;
      }
      dead.push_back(live);
      live = result;
    }
  }
  const Shape& shape(int32_t tensor) const { return tensors_[Slot(tensor)].view.shape; }
  size_t nodes() const { return nodes_.size(); }
  /// Of the last run's last segment.
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  bool IsElementwise(size_t node) const { return nodes_[node].op->Is(kUnary); }

  /// The last tensor after a run of all nodes, in segments of `at_once` nodes. ran_alone[i]: node i took
  /// time.
  std::vector<float> Run(DelegateSession& session, size_t at_once, Span<const int32_t> outputs = {},
                         std::vector<bool>* ran_alone = nullptr) {
    struct Timer final : NodeTimer {
      std::vector<bool> alone;
      void Record(uint32_t node, uint64_t begin, uint64_t end) override { alone[node] = begin != end; }
    } timer;
    timer.alone.resize(nodes_.size());
    for (size_t i = 0; i < memory_.size(); ++i) {
      // What nodes have made before shall not be found again.
      if (!given_[i])
        std::fill(memory_[i].begin(), memory_[i].end(), std::numeric_limits<float>::quiet_NaN());
    }
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i]) std::copy(values_[i].begin(), values_[i].end(), tensors_[i].view.as<float>());
    }
    for (size_t first = 0; first < nodes_.size(); first += at_once) {
      const size_t end = std::min(first + at_once, nodes_.size());
      Result<std::unique_ptr<PreparedSegment>> prepared = session.Prepare({{tensors_.data(), tensors_.size()},
                                                                           {nodes_.data(), nodes_.size()},
                                                                           static_cast<uint32_t>(first),
                                                                           static_cast<uint32_t>(end),
                                                                           outputs});
      EXPECT_TRUE(prepared.ok());
      EXPECT_TRUE((*prepared)->Reshape().ok());
      EXPECT_TRUE((*prepared)->Bind().ok());
      EXPECT_TRUE((*prepared)->Run({&timer}).ok());
      workspace_bytes_ = (*prepared)->workspace_bytes();
    }
    if (ran_alone != nullptr) *ran_alone = timer.alone;
    const TensorView& last = tensors_.back().view;
    return {last.as<float>(), last.as<float>() + last.shape.elements()};
  }

 private:
  static size_t Slot(int32_t tensor) { return static_cast<size_t>(tensor); }

  template <class A>
  static void SetWindows(const Windows& windows, A* attrs) {
    attrs->strides = {windows.stride, windows.stride};
    attrs->pads = {windows.pad, windows.pad, windows.pad, windows.pad};
  }
  Shape Outputs(int32_t x, const Windows& windows, int64_t channels) const {
    Shape result = shape(x);
    for (int axis = 1; axis < 3; ++axis)
      result[axis] = (result[axis] + 2 * windows.pad - windows.size) / windows.stride + 1;
    result[3] = channels;
    return result;
  }
  AttrStorage& Attrs(OpCode op) {
    attrs_.emplace_back();
    InitAttrs(op, attrs_.back());
    return attrs_.back();
  }
  int32_t Add(const Shape& shape, bool constant, bool given = true) {
    constexpr size_t kTail = 16;
    const auto elements = static_cast<size_t>(shape.elements());
    memory_.emplace_back(elements + kTail);
    values_.emplace_back();
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (size_t i = 0; given && i < elements; ++i) values_.back().push_back(numbers(random_));
    given_.push_back(given);
    PlanTensor tensor;
    tensor.view = TensorView(memory_.back().data(), DType::kF32, shape);
    tensor.constant = constant;
    tensor.hash = {memory_.size(), random_()};
    if (given) std::copy(values_.back().begin(), values_.back().end(), memory_.back().data());
    tensors_.push_back(tensor);
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  int32_t Node(OpCode op, const std::vector<int32_t>& inputs, const Shape& result) {
    inputs_.push_back(inputs);
    outputs_.push_back(Add(result, /*constant=*/false, /*given=*/false));
    nodes_.push_back({FindOp(op),
                      &attrs_.back(),
                      "node",
                      {inputs_.back().data(), inputs_.back().size()},
                      {&outputs_.back(), 1},
                      {}});
    return outputs_.back();
  }

  uint64_t workspace_bytes_ = 0;
  std::mt19937 random_;
  std::deque<std::vector<float>> memory_;
  std::vector<std::vector<float>> values_;
  std::vector<bool> given_;  ///< By whoever runs it.
  std::vector<PlanTensor> tensors_;
  std::deque<AttrStorage> attrs_;
  std::deque<std::vector<int32_t>> inputs_;
  std::deque<int32_t> outputs_;
  std::vector<PlanNode> nodes_;
};

using Flags = std::vector<bool>;

/// Where nodes run together at all, these take time of their own.
inline void ExpectAlone(const Flags& alone, const Flags& expected) {
  if (HasDenseKernels()) {
    EXPECT_EQ(alone, expected);
  }
}

class ChainTest : public ::testing::Test {
 protected:
  ChainTest() : state_(std::move(BuiltinXnnpackDelegate().CreateModelState({}).value())) {}

  std::unique_ptr<DelegateSession> NewSession(int threads, bool keep_intermediates = false,
                                              bool exact = false,
                                              uint64_t memory_limit = DelegateSessionOptions().memory_limit) {
    DelegateSessionOptions options;
    options.memory_limit = memory_limit;
    options.exact = exact;
    options.threads = threads;
    options.thread_small_work = true;
    options.keep_intermediates = keep_intermediates;
    return std::move(state_->CreateSession(options).value());
  }

  std::unique_ptr<ModelState> state_;
};

}  // namespace skiff::testing
