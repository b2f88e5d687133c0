/// What a row of the operator table gets to turn one TensorFlow Lite operator into Skiff nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/custom_operators.h"
#include "import/emit.h"
#include "import/node_builder.h"
#include "import/tflite/file.h"
#include "import/tflite/tensor.h"
#include "ops/shape_rules.h"

namespace skiff {

/// What an operator has beside its inputs and outputs.
struct TfliteCall {
  const tflite::Operator* node = nullptr;
  std::vector<tflite::TensorType> output_types;
  /// What the file says of the operator's intermediate number i.
  std::function<DeclaredType(uint32_t i)> intermediate;
  std::vector<StatedType> stated;  ///< Of the outputs of an operator that is kept as it is.
  /// Names of inputs that the operator writes as well, or that are handles of variables; "" elsewhere.
  std::vector<std::string> variables;
  /// Of a complex input, whose value is the real part, the imaginary part; kNoValue elsewhere.
  std::vector<ValueId> imaginary;
  /// A subgraph as the body of a node, whose inputs have the types of `inputs`. Those that are the same in
  /// each run of the body are constants in it where they are constants here; where `drop_same`, the outputs
  /// of these numbers are left out.
  std::function<Graph(int32_t subgraph, const std::vector<ValueId>& inputs, const std::vector<bool>& same,
                      bool drop_same)>
      import_body;
  /// A subgraph in the place of the node: its outputs, as values of the same graph.
  std::function<std::vector<ValueId>(int32_t subgraph, const std::vector<ValueId>& inputs)> import_here;
  /// See CombinerOf.
  std::function<std::optional<OpCode>(int32_t subgraph)> combiner;
  /// Which outputs of a subgraph are the inputs of the same number.
  std::function<std::vector<bool>(int32_t subgraph)> passed_through;
  /// Gives a variable that the file does not have its value before the first run. Returns its name: no other
  /// operator's, and the wanted one where that is free.
  std::function<std::string(const std::string& wanted, TensorData first)> declare_variable;
  /// A variable's value at this point of the run, and its value behind it.
  std::function<ValueId(const std::string& variable)> read_variable;
  std::function<void(const std::string& variable, ValueId value)> assign_variable;
  /// Runs a subgraph that gives variables their first values.
  std::function<void(int32_t subgraph)> run_once;
  /// See TfliteShared::Table.
  std::function<const TensorData&(const std::string& name, const std::function<TensorData()>& make)> table;
};

class TfliteBuilder : public NodeBuilder {
 public:
  /// Products and sums of two such numbers of a window cannot overflow.
  static constexpr int64_t kMaxWindowNumber = kMaxWindowParameter;

  TfliteBuilder(Graph& graph, UntypedReasons& untyped, Call call, TfliteCall source)
      : NodeBuilder(graph, untyped, std::move(call)),
        source_(std::move(source)),
        imaginary_(output_count(), kNoValue) {}

  const TfliteCall& source() const { return source_; }

  /// The operator's options; those of a node without any have their default values. Invalid where they are
  /// another operator's.
  template <class Table>
  typename Table::NativeTableType Options() const {
    typename Table::NativeTableType options;
    const void* stated = source_.node->options();
    if (stated == nullptr || source_.node->options_type() == tflite::Options::NONE) return options;
    if (source_.node->options_type() != tflite::OptionsTraits<Table>::enum_value)
      Invalid("it has the options of another operator");
    static_cast<const Table*>(stated)->UnPackTo(&options);
    return options;
  }
  /// The same of operators whose options stand in the field behind; those have no default values.
  template <class Table>
  typename Table::NativeTableType StablehloOptions() const {
    const void* stated = source_.node->options2();
    if (stated == nullptr || source_.node->options2_type() != tflite::Options2Traits<Table>::enum_value)
      Invalid("its options are missing, or those of another operator");
    typename Table::NativeTableType options;
    static_cast<const Table*>(stated)->UnPackTo(&options);
    return options;
  }
  /// The bytes of a custom operator's options.
  Span<const uint8_t> CustomOptions() const;

  bool IsQuantized(ValueId value) const { return QuantizationOf(value) != nullptr; }
  /// What the file says of output i.
  DType DTypeOfOutput(size_t i = 0) const;
  bool OutputIsQuantized(size_t i = 0) const {
    return i < call().declared.size() && call().declared[i].quantization != nullptr;
  }
  const DeclaredType& DeclaredOutput(size_t i = 0) const { return call().declared[i]; }  ///< Where quantised.
  /// The numbers that a value's integers stand for, where they do.
  ValueId Real(const char* suffix, ValueId value);
  /// An input as an operand of real numbers: dequantised where the output is not quantised.
  ValueId Operand(size_t i);
  /// An input whose elements are moved into an output of one quantisation, which is the input's for an output
  /// of that quantisation.
  ValueId Moved(size_t i, size_t output = 0);
  /// Integers that a shape rule or an index wants, as i64.
  ValueId Integers(const char* suffix, ValueId value);
  /// An i32 or i64 vector of one element, or scalar, as a scalar of i64.
  ValueId IntegerScalar(const char* suffix, ValueId value);
  /// A constant that all operators of the model have in common that ask for one of this name.
  ValueId Table(const char* suffix, const std::string& name, const std::function<TensorData()>& make) {
    return Constant(suffix, source_.table(name, make));
  }
  /// A constant integer of one element.
  int64_t ConstantInt(size_t i, const char* what) const;

  /// Of a complex input or output, what Input() and Output() do not speak of.
  ValueId ImaginaryInput(size_t i) const;
  void OutputImaginary(ValueId value, size_t i = 0);
  /// By output, kNoValue where it is real.
  const std::vector<ValueId>& imaginary_results() const { return imaginary_; }
  /// Runs a row's builder on the real parts of all complex inputs, and again on their imaginary parts.
  void BuildParts(void (*build)(TfliteBuilder& builder));

  /// Output i from real numbers, or from integers of the output's dtype: quantised or cast as the file says.
  void OutputValue(ValueId value, size_t i = 0);
  /// Output i from elements that become its own as they are: the integers of one that is quantised.
  void OutputCodes(ValueId codes, size_t i = 0);
  /// An operator whose attributes have a clamp, and the activation behind it.
  template <class A>
  void OutputActivated(OpCode op, std::vector<ValueId> inputs, A attrs, tflite::Activation activation) {
    if (HasRange(activation)) {
      const ClampAttrs range = RangeOf(activation);
      attrs.min = range.min;
      attrs.max = range.max;
      return Output(op, std::move(inputs), attrs);
    }
    OutputActivated(Emit("linear", op, std::move(inputs), attrs), activation);
  }
  /// A value and the activation behind it, as output 0.
  void OutputActivated(ValueId value, tflite::Activation activation);
  /// The same as a helper value of real numbers.
  ValueId Activated(const char* suffix, ValueId value, tflite::Activation activation);

  /// Whether the activation is a clamp, or nothing; its range then.
  static bool HasRange(tflite::Activation activation);
  static ClampAttrs RangeOf(tflite::Activation activation);

  /// Throws where a number of a window lies outside [lowest, kMaxWindowNumber].
  void CheckRange(const char* name, int64_t number, int64_t lowest) const;

 private:
  TfliteCall source_;
  std::vector<ValueId> imaginary_;
};

}  // namespace skiff
