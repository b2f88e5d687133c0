/// The host's graph: nodes and values in vectors, addressed by id. Importers and the tracer build it, passes
/// rewrite it, emit writes it. Operators are those of runtime/ops/ops.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dim.h"
#include "graph/port_notes.h"
#include "graph/quantization.h"
#include "ops/op.h"
#include "skiff/tensor.h"

namespace skiff {

using ValueId = int32_t;
using NodeId = int32_t;
using SourceId = int32_t;
inline constexpr ValueId kNoValue = -1;  ///< An absent optional input.
inline constexpr NodeId kNoNode = -1;

/// A constant tensor: shared, immutable elements, row-major.
class TensorData {
 public:
  TensorData() = default;
  /// Each throws Error (kInvalidModel) where no tensor has this shape, and kOutOfMemory where there is no
  /// memory for it. This one is zero-filled.
  TensorData(DType dtype, const Shape& shape);
  /// Copies `ElementBytes(dtype, shape.elements())` bytes.
  TensorData(DType dtype, const Shape& shape, const void* elements);
  /// Elements that are taken over where they are instead of being copied: `ElementBytes(dtype,
  /// shape.elements())` bytes, at an address that suits them.
  TensorData(DType dtype, const Shape& shape, std::unique_ptr<std::string> elements);
  /// Dense elements that stay where they are, for as long as this or a copy of it is used.
  static TensorData Borrowed(const TensorView& view);
  /// The same integers, which stand for real numbers.
  TensorData Quantized(QuantizationPtr quantization) const;

  static TensorData OfInts(const std::vector<int64_t>& values);  ///< i64 vector.
  static TensorData OfFloats(const std::vector<float>& values);  ///< f32 vector.
  static TensorData ScalarF32(float value);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  const QuantizationPtr& quantization() const { return quantization_; }
  size_t size_bytes() const { return static_cast<size_t>(ElementBytes(dtype_, elements())); }
  const void* data() const { return storage_.get(); }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(storage_.get());
  }
  /// For whoever has just made this tensor and has not shared it yet.
  void* mutable_data() { return storage_.get(); }
  /// A view for kernels; they only read inputs.
  TensorView view() const;
  /// The same elements under another shape of equally many elements.
  TensorData Reshaped(const Shape& shape) const;
  /// Elements of an integer or bool tensor, widened; of a quantised one the integers themselves. Throws Error
  /// for other dtypes.
  std::vector<int64_t> ToInts() const;
  /// Elements of any float or integer tensor, converted; of a quantised one the numbers that they stand for.
  std::vector<double> ToDoubles() const { return ToDoubles(0, elements()); }
  /// The same of the elements [begin, end).
  std::vector<double> ToDoubles(int64_t begin, int64_t end) const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  QuantizationPtr quantization_;
  std::shared_ptr<std::byte[]> storage_;
};

struct Use {
  NodeId node = kNoNode;
  int input = 0;
  bool operator==(const Use&) const = default;
};

struct Value {
  std::string name;  ///< Unique in the graph.
  DType dtype = DType::kInvalid;
  bool has_shape = false;
  std::vector<Dim> dims;
  /// Of a quantised value. A result's is declared by whoever makes the node, with the dtype, because no rule
  /// tells it; but where elements are only moved, inference gives it what it moves.
  QuantizationPtr quantization;
  std::optional<TensorData> constant;
  /// The elements of a small integer tensor as expressions, where shape inference knows them.
  std::shared_ptr<const std::vector<Dim>> elements;
  NodeId producer = kNoNode;
  int output_index = 0;  ///< Which output of the producer.
  std::vector<Use> uses;
  /// The tensor of the source graph whose elements this value holds, empty when none; this value is
  /// Transpose(source, source_perm), and an empty source_perm is the identity. For layer-by-layer parity.
  std::string source;
  Ints source_perm;

  /// All dimensions are constants. shape() only then.
  bool has_static_shape() const;
  Shape shape() const;
  bool IsConstant() const { return constant.has_value(); }
};

class Graph;

struct Node {
  OpCode op{};
  AttrStorage attrs;
  std::vector<ValueId> inputs;  ///< kNoValue where an optional input is absent.
  std::vector<ValueId> outputs;
  std::string name;  ///< The source node's name where there is one, else made from the operator's.
  /// Nodes of the source file that this node stands for, at most kMostSources of them.
  std::vector<SourceId> sources;
  NodeId position =
      kNoNode;  ///< Where the node runs among those that are ready: the id of a node it replaces.
  bool removed = false;
  /// What an operator with bodies (graph/bodies.h) runs. A body sees nothing of the graph around it but its
  /// inputs; its Symbols are those of the graph around it, with the same ids, and maybe more.
  std::vector<Graph> bodies;

  template <class A>
  A& As() {
    return attrs.as<A>();
  }
  template <class A>
  const A& As() const {
    return attrs.as<A>();
  }
};

/// A node of the source file, and what the passes said about it (for --explain).
struct SourceNode {
  std::string name;
  std::string op;
  /// Shared with the other sources that a sentence is about.
  std::vector<std::shared_ptr<const std::string>> notes;
};

/// A named input or output of the whole graph. The name outlives the value: passes replace values.
struct GraphPort {
  std::string name;
  ValueId value = kNoValue;
  PortNotes notes = {};
};

/// State that one run leaves to the next.
struct GraphVariable {
  std::string name;
  TensorData first;  ///< Its value before the first run.
};

/// What passes may still spend on new constants (passes/folding_budget.h).
struct FoldingBudget {
  int64_t bytes = -1;  ///< -1: not known yet.
  int64_t work = 0;
};

/// Some seconds.
inline constexpr int64_t kMostKnownValueSteps = int64_t{1} << 32;

class Graph {
 public:
  /// No real net comes near. In a file that is one long chain each node could stand for all in front of it.
  static constexpr size_t kMostSources = 256;
  /// Of one source; those that have more share kMoreNotes.
  static constexpr size_t kFreeNotes = 64;
  static constexpr size_t kMoreNotes = size_t{1} << 20;

  std::string name;
  /// The last inputs of the graph are their values before a run, the last outputs those behind it, in this
  /// order; the ports in front are the caller's.
  std::vector<GraphVariable> variables;
  /// Extents are stand-ins for open ones (passes/nominal_sizes.h): no tensor will be as large.
  bool nominal_sizes = false;
  /// A sentence for the user about each thing that the importer left out, none of which the net computes
  /// with, or supposed where the file says nothing.
  std::vector<std::string> left_out;
  FoldingBudget folding;
  /// What looking for known values may still take, until InferShapes() begins anew; see FindKnownValue().
  mutable int64_t known_value_steps = kMostKnownValueSteps;
  /// What the source says of the whole net.
  StatedNotes stated;

  // Building. Names are made unique by a numeric suffix where they are taken or empty.
  ValueId AddInput(std::string_view name, DType dtype, std::vector<Dim> dims,
                   QuantizationPtr quantization = nullptr);
  void AddOutput(std::string_view name, ValueId value);
  /// Its value must have no use any more.
  void RemoveInput(size_t index) { inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(index)); }
  void SetOutput(size_t index, ValueId value) { outputs_[index].value = value; }
  void SetInputNotes(size_t index, PortNotes notes) { inputs_[index].notes = std::move(notes); }
  void SetOutputNotes(size_t index, PortNotes notes) { outputs_[index].notes = std::move(notes); }
  /// Other inputs, which nothing makes, and other outputs.
  void SetPorts(std::vector<GraphPort> inputs, std::vector<GraphPort> outputs) {
    inputs_ = std::move(inputs);
    outputs_ = std::move(outputs);
  }
  /// The same inputs in another order.
  void OrderInputs(const std::vector<ValueId>& order);
  /// Takes an input and an output from the callers, by their places among caller_inputs() and
  /// caller_outputs(): they are the variable's value before and behind a run from now on.
  void MakeVariable(size_t input, size_t output, GraphVariable variable);
  ValueId AddConstant(std::string_view name, TensorData data);
  SymbolId AddSymbol(std::string_view name);       ///< The existing one, if the name is known.
  SymbolId AddFreshSymbol(std::string_view name);  ///< Its name is made unique.
  SourceId AddSource(std::string_view name, std::string_view op);
  /// A node with default attributes and `output_names.size()` fresh outputs, of unknown type. References from
  /// node() and value() are invalid afterwards.
  NodeId AddNode(OpCode op, std::vector<ValueId> inputs, const std::vector<std::string>& output_names);
  /// The common case: one output; sets the attributes and the source of `like` (a node) where given. Returns
  /// the output value. `attrs` is a copy, because it may be another node's, which moves when a node is added.
  template <class A = NoAttrs>
  ValueId Emit(OpCode op, std::vector<ValueId> inputs, A attrs = {}, std::string_view output_name = {},
               NodeId like = kNoNode) {
    const NodeId id = AddNode(op, std::move(inputs), {std::string(output_name)});
    node(id).attrs.as<A>() = attrs;
    if (like != kNoNode) {
      node(id).sources = node(like).sources;
      node(id).position = node(like).position;
    }
    return node(id).outputs[0];
  }

  // Rewriting.
  void SetInput(NodeId node, int index, ValueId value);
  /// Every input becomes absent.
  void DropInputs(NodeId node);
  /// Every use of `from`, as a node's input or the graph's output, becomes a use of `to`.
  void ReplaceUses(ValueId from, ValueId to);
  /// Removes a node whose outputs nobody uses any more, and its uses of its inputs.
  void RemoveNode(NodeId node);
  /// Adds the sources of `from` to `to` (fusion: `to` now stands for both). Those for which it has no room
  /// get a note of where they went.
  void MergeSources(NodeId to, NodeId from);
  /// A sentence about every source of the node, for --explain.
  void Note(NodeId node, const std::string& sentence);

  // Looking.
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  NodeId node_count() const { return static_cast<NodeId>(nodes_.size()); }
  ValueId value_count() const { return static_cast<ValueId>(values_.size()); }
  const std::vector<GraphPort>& inputs() const { return inputs_; }
  const std::vector<GraphPort>& outputs() const { return outputs_; }
  /// Without those of variables.
  std::span<const GraphPort> caller_inputs() const {
    return {inputs_.data(), inputs_.size() - variables.size()};
  }
  std::span<const GraphPort> caller_outputs() const {
    return {outputs_.data(), outputs_.size() - variables.size()};
  }
  std::vector<Symbol>& symbols() { return symbols_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  std::vector<SourceNode>& sources() { return sources_; }
  const std::vector<SourceNode>& sources() const { return sources_; }
  /// kNoValue when there is none of that name.
  ValueId FindValue(std::string_view name) const;
  bool IsGraphInput(ValueId value) const;
  bool IsGraphOutput(ValueId value) const;
  /// The node that makes input `index` of `node`; kNoNode for constants, graph inputs and absent inputs.
  NodeId ProducerOf(NodeId node, int index) const;
  /// The only user of the value, when it has one use and is no graph output; else kNoNode.
  NodeId OnlyUser(ValueId value) const;
  /// The constant behind input `index`, or null. A quantised one is none: its elements are not numbers to
  /// compute with.
  const TensorData* ConstantInput(NodeId node, int index) const;
  /// Live nodes so that producers come first; among those that are ready, by position. Throws Error
  /// (kInvalidModel) naming a node when there is a cycle.
  std::vector<NodeId> TopologicalOrder() const;

 private:
  std::string UniqueName(std::string_view wanted, std::string_view fallback);
  void AddNote(SourceId source, const std::shared_ptr<const std::string>& sentence);
  ValueId AddValue(std::string_view name, std::string_view fallback);

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<GraphPort> inputs_;
  std::vector<GraphPort> outputs_;
  std::vector<Symbol> symbols_;
  std::vector<SourceNode> sources_;
  size_t more_notes_ = kMoreNotes;  ///< What is left of them.
  struct NameIndex;
  std::shared_ptr<NameIndex> names_;  ///< Copied with the graph on the first change after a copy.
};

}  // namespace skiff
