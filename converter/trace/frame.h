/// A graph in the making: what operators record into while a Function, or a body of Cond or While, is traced.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/tensor.h"

namespace skiff::eager {

class VariableState;

/// An input of the graph that the tracer made, and what it stands for outside.
struct Capture {
  enum class Kind : uint8_t { kValue, kVariable, kEffects };
  Kind kind = Kind::kValue;
  ValueId outer = kNoValue;                 ///< kValue: of the frame around this one.
  std::shared_ptr<VariableState> variable;  ///< kVariable.
  ValueId inner = kNoValue;                 ///< The input of this frame's graph.

  bool SameSource(const Capture& other) const {
    return kind == other.kind && outer == other.outer && variable == other.variable;
  }
};

class Frame : public std::enable_shared_from_this<Frame> {
 public:
  Frame(std::string function, std::shared_ptr<Frame> outer);

  Graph graph;

  /// What a skin in another language makes of the results, said by the code that is traced.
  struct ResultForm {
    std::vector<std::string> names;  ///< "result0", "result1", ... where there are none.
    uint64_t id = 0;                 ///< The skin's own.
  };
  ResultForm result_form;

  const std::string& function() const { return function_; }
  const std::shared_ptr<Frame>& outer() const { return outer_; }
  bool finished() const { return finished_; }
  /// The trace is over: its tensors may not be used any more.
  void Finish() { finished_ = true; }

  /// The value of a tensor in this graph: its own, a constant, or an input that captures what is outside.
  /// Throws Error for a tensor of a trace that is over, or of one that is not around this one.
  ValueId Import(const Tensor& tensor, const Location& where);
  Tensor Export(ValueId value, const Location& where);

  /// The value that a variable has at this point of the trace.
  ValueId Read(const std::shared_ptr<VariableState>& variable);
  void Assign(const std::shared_ptr<VariableState>& variable, ValueId value);
  /// What orders side effects: each takes the last one's result.
  ValueId Effects();
  void SetEffects(ValueId value) {
    effects_ = value;
    has_effects_ = true;
  }
  bool has_effects() const { return has_effects_; }

  const std::vector<Capture>& captures() const { return captures_; }
  /// The input for a source, made where this frame has not used it.
  ValueId InputFor(const Capture& source);
  /// The variables that were assigned, in order.
  const std::vector<std::shared_ptr<VariableState>>& assigned() const { return assigned_; }

  /// The innermost frame of this thread; null outside of traces.
  static Frame* Current();

 private:
  const std::string function_;
  const std::shared_ptr<Frame> outer_;
  bool finished_ = false;
  std::map<const void*, ValueId> constants_;
  std::vector<Tensor> kept_;  ///< Keeps the keys of constants_ alive.
  std::vector<Capture> captures_;
  std::map<std::shared_ptr<VariableState>, ValueId> variables_;
  std::vector<std::shared_ptr<VariableState>> assigned_;
  ValueId effects_ = kNoValue;
  bool has_effects_ = false;
};

/// The sentence for a symbolic tensor that is used where its graph is not in the making.
std::string LeakText(const Tensor& tensor);

/// Makes a frame the current one of this thread; null: operators compute at once.
class FrameScope {
 public:
  explicit FrameScope(std::shared_ptr<Frame> frame);
  ~FrameScope();
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  std::shared_ptr<Frame> frame_;
  Frame* before_;
};

struct Tensor::Impl {
  TensorData data;               ///< Where `frame` is null.
  std::shared_ptr<Frame> frame;  ///< Of a symbolic tensor.
  ValueId value = kNoValue;
  DType dtype = DType::kInvalid;
  std::vector<Dim> dims;
  QuantizationPtr quantization;
  Location where = {};  ///< Where a symbolic tensor was made.
};

}  // namespace skiff::eager
