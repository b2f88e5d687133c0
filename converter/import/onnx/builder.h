/// What a row of the operator table gets to turn one ONNX node into Skiff nodes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/custom_operators.h"
#include "import/node_builder.h"
#include "import/onnx/external_data.h"
#include "import/onnx/proto.h"
#include "import/onnx/sequence.h"
#include "import/onnx/types.h"
#include "import/volume.h"
#include "ops/shape_rules.h"

namespace skiff {

/// A dense NHWC window in attribute form; one-dimensional windows have height 1.
struct WindowAttributes {
  int spatial_rank = 2;  ///< 1 to 3, of the ONNX operator.
  WindowAxis depth;      ///< The axis in front of height and width.
  Ints kernel{1, 1};
  Ints strides{1, 1};
  Ints dilations{1, 1};
  Ints pads{0, 0, 0, 0};  ///< Top, left, bottom, right.
  AutoPad auto_pad = AutoPad::kExplicit;
};

/// The variable that counts the runs of a net that draws random numbers.
inline constexpr const char* kRunNumber = "random/run";

struct OnnxDynamicValue;

/// ONNX types of values that stand as wider ones, of one graph or body.
using OnnxTypes = std::unordered_map<ValueId, const OnnxType*>;

/// Labels of a value (see PortNotes). Nodes that move texts have those of what they move.
struct OnnxLabels {
  std::shared_ptr<const std::vector<std::string>> labels;
  std::shared_ptr<const std::vector<std::string>> value_labels;
};

/// What the importer keeps for the whole graph while nodes are built.
struct OnnxNotes {
  std::map<ValueId, OnnxLabels> labels;  ///< Hold where the value becomes an output of the graph.
  std::unordered_set<ValueId> texts;     ///< Numbers of texts, which may only be moved.
  std::unordered_map<ValueId, std::shared_ptr<const OnnxDynamicValue>> dynamic;
  ValueId run_number = kNoValue;  ///< An input, whose value the next run has is one more.
  int64_t streams = 0;            ///< Draws of random numbers so far.
};

/// What an ONNX node has beside its inputs and outputs.
struct OnnxCall {
  /// Adds the outputs of a body, given the values of the sub-graph's.
  using AddBodyOutputs = std::function<void(Graph& body, const std::vector<ValueId>& results)>;

  const onnx::NodeProto* node = nullptr;
  int64_t opset = 0;
  std::vector<StatedType> stated;    ///< Of the outputs of an operator that is kept as it is.
  ExternalData* external = nullptr;  ///< Of the model, for attributes.
  OnnxNotes* notes = nullptr;        ///< Null in a body.
  OnnxTypes* types = nullptr;
  std::vector<ValueId> captured;  ///< What the node's sub-graphs read of the graph around them.
  std::function<Graph(const onnx::GraphProto& body, const std::vector<ValueId>& inputs,
                      const AddBodyOutputs& add_outputs)>
      import_body;
  /// Puts a sub-graph in this place; see OnnxBuilder::InlineBody.
  std::function<std::vector<ValueId>(const onnx::GraphProto& body, const std::vector<ValueId>& inputs,
                                     const std::string& place, const std::vector<std::string>& outputs)>
      inline_body;
  OnnxSequences* sequences = nullptr;
  bool captures_sequences = false;
};

class OnnxBuilder : public NodeBuilder {
 public:
  /// Products and sums of two such numbers of a window cannot overflow.
  static constexpr int64_t kMaxWindowNumber = kMaxWindowParameter;

  using AddBodyOutputs = OnnxCall::AddBodyOutputs;

  OnnxBuilder(Graph& graph, UntypedReasons& untyped, Call call, OnnxCall source)
      : NodeBuilder(graph, untyped, std::move(call)), source_(std::move(source)) {}

  int64_t opset() const { return source_.opset; }
  const onnx::NodeProto& node() const { return *source_.node; }
  const std::vector<StatedType>& stated() const { return source_.stated; }
  /// For what another operator's row makes, as helper values of this node: `outputs` are the suffixes of
  /// their names; none: it makes the node's own outputs. `node` has its attributes and outlives the result.
  OnnxBuilder Nested(const onnx::NodeProto& node, OpCode op, int64_t opset, std::vector<ValueId> inputs,
                     const std::vector<std::string>& outputs) const;

  // Attributes. A type that differs from the wanted one throws.
  bool HasAttribute(const char* name) const { return Find(name) != nullptr; }
  int64_t Int(const char* name, int64_t fallback) const;
  int64_t RequiredInt(const char* name) const;
  bool Flag(const char* name, bool fallback = false) const { return Int(name, fallback ? 1 : 0) != 0; }
  float Float(const char* name, float fallback) const;
  std::string String(const char* name, const char* fallback) const;
  std::optional<std::vector<int64_t>> IntList(const char* name) const;
  std::optional<std::vector<float>> FloatList(const char* name) const;
  std::optional<std::vector<std::string>> StringList(const char* name) const;
  std::optional<TensorData> Tensor(const char* name) const;
  /// The element type of an attribute that is a tensor; the attribute must be there.
  const OnnxType& TypeOfTensor(const char* name) const { return *FindOnnxType(Find(name)->t().data_type()); }
  /// An element type, as ONNX numbers them. Unsupported where Skiff has no such dtype.
  DType DTypeAttribute(const char* name) const;
  DType DTypeAttribute(const char* name, DType fallback) const {
    return HasAttribute(name) ? DTypeAttribute(name) : fallback;
  }
  /// The same, where those that stand as wider ones matter.
  const OnnxType& TypeAttribute(const char* name) const;
  /// Throws when a number lies outside [lowest, kMaxWindowNumber].
  void CheckRange(const char* name, const Ints& values, int64_t lowest) const;
  /// kernel_shape, strides, dilations, pads and auto_pad of a window over `spatial_rank` axes, in range.
  WindowAttributes Window(int spatial_rank) const;

  // Notes.
  /// What the elements along the value's last axis are, where it is an output of the graph.
  void NoteLabels(ValueId value, std::vector<std::string> labels) {
    if (source_.notes == nullptr) return;
    source_.notes->labels[value].labels = std::make_shared<std::vector<std::string>>(std::move(labels));
  }
  /// What the numbers in it stand for.
  void NoteValueLabels(ValueId value, std::vector<std::string> labels) {
    if (source_.notes == nullptr) return;
    source_.notes->labels[value].value_labels = std::make_shared<std::vector<std::string>>(std::move(labels));
  }
  /// The element type that the model has there, as far as it is known. Bodies have forgotten it.
  const OnnxType& OnnxTypeOf(ValueId value) const;
  void NoteType(ValueId value, const OnnxType& type) {
    if (source_.types != nullptr && StandsAsWider(type)) (*source_.types)[value] = &type;
  }
  /// What the value is in a chain that makes integers at run time (dynamic_product.h); null: in none.
  const OnnxDynamicValue* DynamicValue(ValueId value) const;
  void NoteDynamicValue(ValueId value, const OnnxDynamicValue& known);
  /// Tells the user.
  void NoteLeftOut(const std::string& sentence) { graph_.left_out.push_back(sentence); }

  // Random numbers.
  /// How many runs there were before this one, an i64. Unsupported in a body, which has no state.
  ValueId RunNumber() const;
  /// Another number for each draw of the model, from 1 on.
  int64_t NextStream() const { return ++source_.notes->streams; }

  // Bodies.
  /// The values that are the last inputs of every body, after those that the sub-graph names itself.
  const std::vector<ValueId>& captured() const { return source_.captured; }
  /// The sub-graph in an attribute; the inputs that it names have the types of `inputs`. Throws when it is
  /// not there.
  Graph ImportBody(const char* attribute, const std::vector<ValueId>& inputs,
                   const AddBodyOutputs& add_outputs) const;
  /// The results of the sub-graph in an attribute, whose nodes become nodes beside this one. `place` tells
  /// several apart. `as_own`: they are the node's outputs, and have their names.
  std::vector<ValueId> InlineBody(const char* attribute, const std::vector<ValueId>& inputs,
                                  const std::string& place, bool as_own) const;
  /// The sub-graph in an attribute. Throws when it is not there, or has another number of inputs.
  const onnx::GraphProto& BodyOf(const char* attribute, size_t inputs) const;
  /// Takes nodes away again that this node's builder has added last.
  void RemoveNodesFrom(NodeId first);
  NodeId NextNode() const { return graph_.node_count(); }

  // Sequences. Only the inputs that the operator's row names may be some, and what sub-graphs return.
  bool IsSequence(size_t i) const { return HasInput(i) && OnnxSequences::Is(call().inputs[i]); }
  const OnnxSequence& SequenceOf(ValueId value) const { return source_.sequences->at(value); }
  /// A tensor or a sequence; kNoValue when the node leaves it out.
  ValueId AnyInput(size_t i) const { return OptionalInput(i); }
  /// Throws where what `whose` sub-graph returns is none.
  void CheckTensor(ValueId value, const char* whose) const {
    if (OnnxSequences::Is(value))
      Invalid("{} returns {}; a tensor was expected", whose, KindOf(SequenceOf(value)));
  }
  /// Throws where input i is a tensor.
  const OnnxSequence& SequenceInput(size_t i) const;
  ValueId AddSequence(OnnxSequence sequence) const { return source_.sequences->Add(std::move(sequence)); }
  OnnxSequences& sequences() const { return *source_.sequences; }
  bool captures_sequences() const { return source_.captures_sequences; }
  /// Output i is this value, or sequence, without a node that makes it.
  void OutputAs(size_t i, ValueId value) { SetResult(i, value); }
  void OutputSequence(size_t i, OnnxSequence sequence) { SetResult(i, AddSequence(std::move(sequence))); }

 private:
  const onnx::AttributeProto* Find(const char* name) const;
  const onnx::AttributeProto* Find(const char* name, onnx::AttributeProto::AttributeType type,
                                   bool present(const onnx::AttributeProto&)) const;

  OnnxCall source_;
};

}  // namespace skiff
