/// What an importer's operator tables build with: nodes of the Graph under construction, made from one node
/// of the source file. What a source language calls its attributes is in the builder of its folder.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/graph.h"
#include "graph/prefix.h"
#include "import/import_budget.h"

namespace skiff {

/// i8 and u8 for integers of 4 bits; every other dtype as it is.
DType WholeDType(DType dtype);
/// Elements of 4 bits as ones of a byte; others as they are.
TensorData WholeElements(TensorData data);

class NodeBuilder {
 public:
  /// Why values of the graph have no type, which shape rules refused or could not yet tell.
  using UntypedReasons = std::unordered_map<ValueId, std::string>;

  /// What is known of a value before all types can be told.
  struct PartialType {
    DType dtype = DType::kInvalid;
    std::optional<std::vector<Dim>> dims;
    QuantizationPtr quantization;
  };

  /// How one node of the source sits in the graph under construction.
  struct Call {
    std::string label;                      ///< The node's name in messages, --explain and Node::name.
    std::string operator_name;              ///< As the source's language has it.
    OpCode op{};                            ///< From the table's row.
    std::vector<ValueId> inputs;            ///< kNoValue where absent.
    std::vector<std::string> output_names;  ///< Empty where the node leaves an output out.
    std::vector<bool> output_used;
    std::vector<DeclaredType> declared;  ///< By output, what the source says of quantised ones; may be empty.
    SourceId source = -1;
    bool nested = false;   ///< Its outputs are helper values of another call.
    QuantizationPtr sums;  ///< What products and sums are rounded into, as i32; null: they are numbers.
    ImportBudget* budget = nullptr;  ///< Outlives the builder. Null: there is no limit.
  };

  NodeBuilder(Graph& graph, UntypedReasons& untyped, Call call);

  OpCode op() const { return call_.op; }
  const std::string& label() const { return call_.label; }
  const std::string& operator_name() const { return call_.operator_name; }
  ImportBudget* budget() const { return call_.budget; }

  /// Products and sums that this call makes become i32.
  void RoundSums(QuantizationPtr into) { call_.sums = std::move(into); }

  // Inputs.
  size_t input_count() const { return call_.inputs.size(); }
  bool HasInput(size_t i) const { return i < call_.inputs.size() && call_.inputs[i] != kNoValue; }
  ValueId Input(size_t i) const;                                ///< Throws when the node leaves it out.
  ValueId OptionalInput(size_t i) const;                        ///< kNoValue when the node leaves it out.
  DType DTypeOf(ValueId value) const;                           ///< Throws when it is not known.
  int RankOf(ValueId value) const;                              ///< Throws when it is not known.
  const QuantizationPtr& QuantizationOf(ValueId value) const {  ///< Throws for kNoValue.
    if (value == kNoValue) Invalid("an input that it needs is missing");
    return graph_.value(value).quantization;
  }
  bool KnowsRank(ValueId value) const { return graph_.value(value).has_shape; }
  bool HasRank(ValueId value, int rank) const;  ///< Known to be this one.
  /// A constant extent; nothing where it is open, or the value's rank is not known or has no such axis.
  std::optional<int64_t> ExtentOf(ValueId value, int64_t axis) const;
  /// The extents, -1 where one is open. Throws when the rank is not known.
  Shape ShapeOf(ValueId value) const;
  /// The extents [start, end), where all of them are known.
  std::optional<std::vector<int64_t>> ExtentsOf(ValueId value, int64_t start, int64_t end) const;
  /// Two extents that are equal at every size.
  bool SameExtents(ValueId a, int64_t axis_of_a, ValueId b, int64_t axis_of_b) const;
  const TensorData* ConstantOf(ValueId value) const;  ///< Null for kNoValue and what is computed.
  /// The elements of a value that is constant, or follows from constants and known ranks and extents.
  std::optional<TensorData> KnownValueOf(ValueId value) const;
  /// A number of a list that is constant there, though other parts of the list may be computed.
  std::optional<double> NumberAt(ValueId list, int64_t index) const;
  /// Whether a number of a list is this extent at every size.
  bool IsExtent(ValueId list, int64_t index, ValueId x, int64_t axis) const;
  /// The elements of a small integer value as expressions, where inference knows them; else null.
  std::shared_ptr<const std::vector<Dim>> ElementsOf(ValueId value) const;
  /// The integers of an input that is constant, or follows from constants and known ranks and extents.
  /// Unsupported when it is computed from the graph's inputs.
  std::vector<int64_t> ConstantInts(size_t i, const char* what) const;

  /// At most kMaxRank integers as an attribute of a Skiff operator.
  Ints ToInts(const std::vector<int64_t>& values, const char* what) const;

  // Outputs.
  size_t output_count() const { return call_.output_names.size(); }
  /// Whether somebody reads output i.
  bool OutputUsed(size_t i) const { return i < call_.output_used.size() && call_.output_used[i]; }
  /// A helper value, called "<output>/<suffix>".
  template <class A = NoAttrs>
  ValueId Emit(const char* suffix, OpCode op, std::vector<ValueId> inputs, const A& attrs = {}) {
    const NodeId id = AddNode(op, std::move(inputs), {HelperName(suffix)}, suffix);
    graph_.node(id).As<A>() = attrs;
    return Finish(id)[0];
  }
  /// A helper value of integers that stand for real numbers.
  ValueId EmitQuantized(const char* suffix, OpCode op, std::vector<ValueId> inputs, DType dtype,
                        QuantizationPtr quantization) {
    return EmitQuantized(suffix, op, std::move(inputs), NoAttrs{}, dtype, std::move(quantization));
  }
  template <class A>
  ValueId EmitQuantized(const char* suffix, OpCode op, std::vector<ValueId> inputs, const A& attrs,
                        DType dtype, QuantizationPtr quantization) {
    const NodeId id = AddNode(op, std::move(inputs), {HelperName(suffix)}, suffix);
    graph_.node(id).As<A>() = attrs;
    Value& value = graph_.value(graph_.node(id).outputs[0]);
    value.dtype = dtype;
    value.quantization = std::move(quantization);
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
  /// The value that is output i.
  template <class A = NoAttrs>
  void Output(OpCode op, std::vector<ValueId> inputs, const A& attrs = {}, size_t i = 0) {
    const NodeId id = AddNode(op, std::move(inputs), {OutputName(i)}, nullptr);
    graph_.node(id).As<A>() = attrs;
    Declare(id, i);
    SetOutput(i, Finish(id)[0]);
  }
  /// One node that makes all outputs.
  template <class A>
  void Outputs(OpCode op, std::vector<ValueId> inputs, const A& attrs) {
    std::vector<std::string> names;
    for (size_t i = 0; i < output_count(); ++i) names.push_back(OutputName(i));
    const NodeId id = AddNode(op, std::move(inputs), names, nullptr);
    graph_.node(id).As<A>() = attrs;
    Declare(id, 0);
    const std::vector<ValueId> values = Finish(id);
    for (size_t i = 0; i < values.size(); ++i) SetOutput(i, values[i]);
  }
  /// Throws Error (kUnsupported) where so many bytes are more than importers may still add. For what asks
  /// before it takes the memory of a large constant.
  void CheckRoom(int64_t bytes) const;
  /// Output 0 is a constant.
  void OutputConstant(TensorData data);
  ValueId Constant(const char* suffix, TensorData data);
  ValueId ConstantInts(const char* suffix, const std::vector<int64_t>& values);
  /// A constant of rank 0.
  ValueId Scalar(const char* suffix, DType dtype, double number);
  /// The value itself where it has the dtype already.
  ValueId CastTo(const char* suffix, ValueId value, DType dtype);
  /// Plain integers of 4 bits, which only constants have, as i8 or u8; others as they are. What becomes the
  /// input of a node is that anyway.
  ValueId Whole(ValueId value);
  /// The integers themselves of a value that is quantised, else the value.
  ValueId Codes(const char* suffix, ValueId value);
  /// A constant in the place of a value that no input decides, else the value itself. For what fold-constants
  /// would leave to the device because it is much larger than what it is made from, and that stays there
  /// where importers have computed enough.
  ValueId Precomputed(const char* suffix, ValueId value);

  // Bodies.
  PartialType TypeOf(ValueId value) const { return TypeOf(graph_, value); }
  static PartialType TypeOf(const Graph& graph, ValueId value);
  /// The same elements, of whose extents along these axes nothing is known.
  ValueId WithOpenExtents(const char* suffix, ValueId value, const std::vector<int>& axes);
  /// What is known of a value that is either this or that.
  PartialType Common(const PartialType& a, const PartialType& b);
  /// A body whose inputs have the types of these values.
  Graph NewBody(const std::vector<ValueId>& inputs) const;
  /// What builds the same node's part in a body.
  NodeBuilder In(Graph& body, UntypedReasons& untyped) const;
  /// One node with bodies, whose results it returns. `places`: which of the source node's outputs each is;
  /// -1: none.
  std::vector<ValueId> OutputBodies(OpCode op, std::vector<ValueId> inputs, std::vector<Graph> bodies,
                                    const std::vector<PartialType>& types, const std::vector<int>& places);

  /// The outputs of a call that makes the node's own.
  void Adopt(const NodeBuilder& nested) { results_ = nested.results_; }
  /// By output, kNoValue where none was made.
  const std::vector<ValueId>& results() const { return results_; }

  /// Throws kInvalidModel: "node 'x' (Conv): ..." .
  template <class... Args>
  [[noreturn]] void Invalid(fmt::format_string<Args...> format, Args&&... args) const {
    Throw(StatusCode::kInvalidModel, "{}: {}", Where(), fmt::format(format, std::forward<Args>(args)...));
  }
  /// For a node that is valid but more than Skiff can do. The importer collects these and reports them
  /// together; the sentence follows the operator's name and says what to do.
  template <class... Args>
  [[noreturn]] static void Unsupported(fmt::format_string<Args...> format, Args&&... args) {
    Throw(StatusCode::kUnsupported, format, std::forward<Args>(args)...);
  }

 protected:
  std::string HelperName(const char* suffix) const;
  std::string OutputName(size_t i) const;

  const Call& call() const { return call_; }
  /// Output i is what another node has made, or what is no value of the graph.
  void SetResult(size_t i, ValueId value) { results_[i] = value; }

  Graph& graph_;
  UntypedReasons& untyped_;

 private:
  std::string Where() const;
  ValueId AddConstant(std::string_view name, TensorData data);
  /// Takes a constant's bytes from the budget.
  void TakeBytes(int64_t bytes) const;
  /// Those of the scales of an axis: each of many values may have a copy of one large constant.
  void CountScales(const QuantizationPtr& quantization) const;
  /// Takes a node or a constant from the budget; one with long names counts as several.
  void CountMade(size_t name_bytes) const;
  /// Refuses what is beyond the budget, and all that follows.
  template <class... Args>
  [[noreturn]] void Spent(fmt::format_string<Args...> format, Args&&... args) const {
    call_.budget->spent = true;
    Throw(StatusCode::kUnsupported, "{}: {}", Where(), fmt::format(format, std::forward<Args>(args)...));
  }
  NodeId AddNode(OpCode op, std::vector<ValueId> inputs, const std::vector<std::string>& output_names,
                 const char* suffix);
  /// Types the outputs, which it returns.
  std::vector<ValueId> Finish(NodeId node);
  /// The operand of Concats that a number of a list comes from, and its index there.
  std::pair<ValueId, int64_t> PartOf(ValueId list, int64_t index) const;
  /// ": why", or nothing where no reason is known.
  std::string WhyUntyped(ValueId value) const;
  /// Gives the node's results the types that the source states of its outputs from `first` on.
  void Declare(NodeId node, size_t first);
  /// The value under the quantisation that the source states of output i, which may be another one than that
  /// of the elements that were moved there.
  ValueId UnderDeclared(ValueId value, size_t i);
  void SetOutput(size_t i, ValueId value);

  Call call_;
  std::vector<ValueId> results_;
};

/// A scalar or vector of one dtype from numbers; f16 rounds, integers truncate, and saturate at
/// their ends (NaN is 0 there).
TensorData MakeConstant(DType dtype, const Shape& shape, const std::vector<double>& numbers);

}  // namespace skiff
