/// What a row of the operator table gets to turn one ONNX node into Skiff nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/error.h"
#include "graph/graph.h"
#include "import/onnx/proto.h"

namespace skiff {

/// A window along one axis.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  int64_t Span() const { return (kernel - 1) * dilation + 1; }
};

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

class OnnxBuilder {
 public:
  /// Products and sums of two such numbers of a window cannot overflow.
  static constexpr int64_t kMaxWindowNumber = int64_t{1} << 30;

  /// Why values of the graph have no type, which shape rules refused or could not yet tell.
  using UntypedReasons = std::unordered_map<ValueId, std::string>;

  /// What is known of a value before all types can be told.
  struct PartialType {
    DType dtype = DType::kInvalid;
    std::optional<std::vector<Dim>> dims;
  };
  /// Adds the outputs of a body, given the values of the sub-graph's; null: they are the same.
  using AddBodyOutputs = std::function<void(Graph& body, const std::vector<ValueId>& results)>;

  /// How one ONNX node sits in the graph under construction.
  struct Call {
    const onnx::NodeProto* node = nullptr;
    std::string label;  ///< The node's name in messages, --explain and Node::name.
    int64_t opset = 0;
    OpCode op = OpCode::kInvalid;           ///< From the table's row.
    std::vector<ValueId> inputs;            ///< kNoValue where absent.
    std::vector<std::string> output_names;  ///< Empty where the node leaves an output out.
    std::vector<bool> output_used;
    SourceId source = -1;
    std::string folder;             ///< Of the model, for external data in attributes.
    std::vector<ValueId> captured;  ///< What the node's sub-graphs read of the graph around them.
    std::function<Graph(const onnx::GraphProto& body, const std::vector<ValueId>& inputs,
                        const AddBodyOutputs& add_outputs)>
        import_body;
  };

  OnnxBuilder(Graph& graph, UntypedReasons& untyped, Call call);

  int64_t opset() const { return call_.opset; }
  OpCode op() const { return call_.op; }

  // Inputs.
  size_t input_count() const { return call_.inputs.size(); }
  bool HasInput(size_t i) const { return i < call_.inputs.size() && call_.inputs[i] != kNoValue; }
  ValueId Input(size_t i) const;          ///< Throws when the node leaves it out.
  ValueId OptionalInput(size_t i) const;  ///< kNoValue when the node leaves it out.
  DType DTypeOf(ValueId value) const;     ///< Throws when it is not known.
  int RankOf(ValueId value) const;        ///< Throws when it is not known.
  bool KnowsRank(ValueId value) const { return graph_.value(value).has_shape; }
  bool HasRank(ValueId value, int rank) const;  ///< Known to be this one.
  /// A constant extent; nothing where it is open, or the value's rank is not known or has no such axis.
  std::optional<int64_t> ExtentOf(ValueId value, int64_t axis) const;
  /// The extents [start, end), where all of them are known.
  std::optional<std::vector<int64_t>> ExtentsOf(ValueId value, int64_t start, int64_t end) const;
  /// Two extents that are equal at every size.
  bool SameExtents(ValueId a, int64_t axis_of_a, ValueId b, int64_t axis_of_b) const;
  const TensorData* ConstantOf(ValueId value) const;  ///< Null for kNoValue and what is computed.
  /// The elements of a value that is constant, or follows from constants and known ranks and extents.
  std::optional<TensorData> KnownValueOf(ValueId value) const;
  /// The integers of an input that is constant, or follows from constants and known ranks and extents.
  /// Unsupported when it is computed from the graph's inputs.
  std::vector<int64_t> ConstantInts(size_t i, const char* what) const;

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
  /// An element type, as ONNX numbers them. Unsupported where Skiff has no such dtype.
  DType DTypeAttribute(const char* name) const;
  /// At most kMaxRank integers as an attribute of a Skiff operator.
  Ints ToInts(const std::vector<int64_t>& values, const char* what) const;
  /// Throws when a number lies outside [lowest, kMaxWindowNumber].
  void CheckRange(const char* name, const Ints& values, int64_t lowest) const;
  /// kernel_shape, strides, dilations, pads and auto_pad of a window over `spatial_rank` axes, in range.
  WindowAttributes Window(int spatial_rank) const;

  // Outputs.
  size_t output_count() const { return call_.output_names.size(); }
  /// Whether somebody reads ONNX output i.
  bool OutputUsed(size_t i) const { return i < call_.output_used.size() && call_.output_used[i]; }
  /// A helper value, called "<output>/<suffix>".
  template <class A = NoAttrs>
  ValueId Emit(const char* suffix, OpCode op, std::vector<ValueId> inputs, const A& attrs = {}) {
    const NodeId id = AddNode(op, std::move(inputs), {HelperName(suffix)}, suffix);
    graph_.node(id).As<A>() = attrs;
    return Finish(id)[0];
  }
  /// A node with several results; its values are called "<output>/<suffix>".
  template <class A>
  std::vector<ValueId> EmitAll(const std::vector<std::string>& suffixes, OpCode op,
                               std::vector<ValueId> inputs, const A& attrs) {
    std::vector<std::string> names;
    for (const std::string& suffix : suffixes) names.push_back(HelperName(suffix.c_str()));
    const NodeId id = AddNode(op, std::move(inputs), names, suffixes.front().c_str());
    graph_.node(id).As<A>() = attrs;
    return Finish(id);
  }
  /// The value that is ONNX output i.
  template <class A = NoAttrs>
  void Output(OpCode op, std::vector<ValueId> inputs, const A& attrs = {}, size_t i = 0) {
    const NodeId id = AddNode(op, std::move(inputs), {OutputName(i)}, nullptr);
    graph_.node(id).As<A>() = attrs;
    SetOutput(i, Finish(id)[0]);
  }
  /// One node that makes all ONNX outputs.
  template <class A>
  void Outputs(OpCode op, std::vector<ValueId> inputs, const A& attrs) {
    std::vector<std::string> names;
    for (size_t i = 0; i < output_count(); ++i) names.push_back(OutputName(i));
    const NodeId id = AddNode(op, std::move(inputs), names, nullptr);
    graph_.node(id).As<A>() = attrs;
    const std::vector<ValueId> values = Finish(id);
    for (size_t i = 0; i < values.size(); ++i) SetOutput(i, values[i]);
  }
  /// ONNX output 0 is a constant.
  void OutputConstant(TensorData data);
  ValueId Constant(const char* suffix, TensorData data);
  ValueId ConstantInts(const char* suffix, const std::vector<int64_t>& values);
  /// A constant of rank 0.
  ValueId Scalar(const char* suffix, DType dtype, double number);
  /// The value itself where it has the dtype already.
  ValueId CastTo(const char* suffix, ValueId value, DType dtype);
  /// A constant in the place of a value that no input decides, else the value itself. For what fold-constants
  /// would leave to the device because it is much larger than what it is made from.
  ValueId Precomputed(const char* suffix, ValueId value);

  // Bodies.
  /// The values that are the last inputs of every body, after those that the sub-graph names itself.
  const std::vector<ValueId>& captured() const { return call_.captured; }
  /// The sub-graph in an attribute; the inputs that it names have the types of `inputs`. Throws when it is
  /// not there.
  Graph ImportBody(const char* attribute, const std::vector<ValueId>& inputs,
                   const AddBodyOutputs& add_outputs) const;
  PartialType TypeOf(ValueId value) const { return TypeOf(graph_, value); }
  static PartialType TypeOf(const Graph& graph, ValueId value);
  /// What is known of a value that is either this or that.
  PartialType Common(const PartialType& a, const PartialType& b);
  /// One node with bodies, whose outputs from `first` on are all ONNX outputs.
  void OutputBodies(OpCode op, std::vector<ValueId> inputs, std::vector<Graph> bodies,
                    const std::vector<PartialType>& types, size_t first);

  /// By ONNX output, kNoValue where none was made.
  const std::vector<ValueId>& results() const { return results_; }

  /// Throws kInvalidModel: "node 'x' (Conv): ..." .
  template <class... Args>
  [[noreturn]] void Invalid(fmt::format_string<Args...> format, Args&&... args) const {
    Throw(StatusCode::kInvalidModel, "{}: {}", Where(), fmt::format(format, std::forward<Args>(args)...));
  }
  /// For a node that is valid ONNX but more than Skiff can do. The importer collects these and reports them
  /// together; the sentence follows the operator's name and says what to do.
  template <class... Args>
  [[noreturn]] static void Unsupported(fmt::format_string<Args...> format, Args&&... args) {
    Throw(StatusCode::kUnsupported, format, std::forward<Args>(args)...);
  }

 private:
  const onnx::AttributeProto* Find(const char* name) const;
  const onnx::AttributeProto* Find(const char* name, onnx::AttributeProto::AttributeType type,
                                   bool present(const onnx::AttributeProto&)) const;
  std::string Where() const;
  std::string HelperName(const char* suffix) const;
  std::string OutputName(size_t i) const;
  NodeId AddNode(OpCode op, std::vector<ValueId> inputs, const std::vector<std::string>& output_names,
                 const char* suffix);
  /// Types the outputs, which it returns.
  std::vector<ValueId> Finish(NodeId node);
  /// ": why", or nothing where no reason is known.
  std::string WhyUntyped(ValueId value) const;
  void SetOutput(size_t i, ValueId value);

  Graph& graph_;
  UntypedReasons& untyped_;
  Call call_;
  std::vector<ValueId> results_;
};

/// A scalar or vector of one dtype from numbers; f16 rounds, integers truncate.
TensorData MakeConstant(DType dtype, const Shape& shape, const std::vector<double>& numbers);

}  // namespace skiff
