/// Turns one ModelProto into a Graph: names, order, functions and the collection of everything unsupported.
/// What the operators mean is in onnx_ops.h.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "graph/symbol_index.h"
#include "import/import_model.h"
#include "import/onnx/builder.h"
#include "import/onnx/external_data.h"
#include "import/onnx/functions.h"
#include "import/onnx/proto.h"
#include "import/problems.h"

namespace skiff {

/// Whether this is a name that exporters write where they know none.
bool IsPlaceholder(const std::string& symbol);
/// What a user can do about an element type that Skiff does not have, as a sentence.
const char* RemedyOfOnnxType(int32_t type);

class OnnxImporter {
 public:
  /// The model outlives the importer, which takes the elements of its constants out of it.
  OnnxImporter(onnx::ModelProto& model, ExternalData external)
      : model_(model), external_(std::move(external)) {}

  /// Of the options, the fixed inputs are in the model already.
  Graph Import(const ImportOptions& options);

 private:
  /// Stands for a tensor whose node could not be imported: nodes behind it are not built, only looked up.
  static constexpr ValueId kPoisoned = -2;
  /// The message for a node whose body could not be imported, which has been noted already.
  static constexpr const char* kInBody = "has a sub-graph that cannot be imported";

  using OpsetImports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;
  using Opsets = std::map<std::string, int64_t>;  ///< By domain; ai.onnx is "".

  /// The tensors that nodes of one graph or function body can name.
  struct Scope {
    std::unordered_map<std::string, ValueId>
        values;  ///< kNoValue: an optional input that the caller left out.
    std::unordered_map<std::string, std::string> exported;  ///< Function output -> tensor of the caller.
    std::string prefix;                    ///< Before the names of nodes and inner tensors; "" at the top.
    std::shared_ptr<const Opsets> opsets;  ///< Which many scopes share.
    int depth = 0;
  };

  struct Function {
    const onnx::FunctionProto* proto = nullptr;
    std::optional<FunctionNodes> nodes;  ///< Since its first call, as the opsets.
    Opsets opsets;
  };

  Opsets ReadOpsets(const OpsetImports& imports, const std::string& owner);
  void ReadFunctions();
  void ReadDeclaredTypes();
  /// The elements of initializer number `index`, whose name is `label`.
  using ReadElements = std::function<TensorData(int index, const std::string& label)>;
  void AddInitializers(const onnx::GraphProto& graph, Scope& scope, const ReadElements& read);
  void AddInputs(Scope& scope, const ImportOptions& options);
  ValueId AddTensorInput(const std::string& name, const onnx::TypeProto::Tensor& type,
                         const ImportOptions& options, bool own_sizes);
  ValueId AddWrappedInput(const onnx::ValueInfoProto& input, const ImportOptions& options);
  void AddOutputs(const Scope& scope);
  std::string OutputName(const std::string& name);
  void AddOutput(const std::string& name, ValueId value);
  void AddSequenceOutput(const std::string& name, const OnnxSequence& sequence);
  /// Of the output that was added last.
  void NoteLabels(const std::string& output, ValueId value);
  /// Tells the user of a port whose element type there is not.
  void NoteWiderPort(const char* kind, const std::string& name, int32_t type, ValueId value);
  /// Makes the number of the run a variable, where a node has asked for it.
  void CountRuns();
  void AddTexts(const onnx::TensorProto& tensor, Scope& scope);
  /// Whether an input stands for texts.
  bool ReadsTexts(const std::vector<ValueId>& inputs) const;
  /// `own_sizes`: open extents have names of their own, because each tensor of a sequence has its sizes.
  std::vector<Dim> ReadDims(const std::string& name, const onnx::TypeProto::Tensor& type, bool own_sizes);

  void BuildNodes(const OnnxNodes& nodes, Scope& scope, const std::vector<std::string>& outputs);
  void BuildNode(const onnx::NodeProto& node, Scope& scope, const std::string& label,
                 const std::vector<bool>& used);
  /// Throws Error (kUnsupported), naming the node, where it makes too many of both.
  void CountExpanded(size_t nodes, size_t bytes, const std::string& label);
  /// The same of one of several copies of a sub-graph.
  void CountRepeated(const onnx::GraphProto& body, const std::string& label);
  void ExpandFunction(Function& called, const onnx::NodeProto& call, Scope& scope, const std::string& label);
  /// A sub-graph of a node in `outer`. Its inputs are those that it names, then the captured tensors.
  Graph ImportBody(const onnx::GraphProto& body, const Scope& outer, const std::string& label,
                   const std::vector<std::string>& captured, const std::vector<ValueId>& inputs,
                   const OnnxBuilder::AddBodyOutputs& add_outputs);
  /// The nodes of a sub-graph as nodes of this graph, and what they make. `prefix` is before their names;
  /// `outputs` are the names of the results, where they have some.
  std::vector<ValueId> InlineBody(const onnx::GraphProto& body, const Scope& outer, const std::string& prefix,
                                  const std::vector<ValueId>& inputs,
                                  const std::vector<std::string>& outputs);
  /// What the sub-graph's outputs are, by name.
  std::vector<ValueId> ResultsOf(const onnx::GraphProto& body, const Scope& scope, const std::string& label);
  ValueId AddBodyValue(const std::string& name, const Value& passed);
  /// A sequence around the body as one inside, whose tensors are inputs or constants there.
  ValueId AddBodySequence(const Graph& around, const std::string& name, const OnnxSequence& passed,
                          const std::string& label);
  void AddBodyInput(Scope& scope, const std::string& tensor, const Value& passed);
  /// Null where the model has none that the node could call.
  Function* FindFunction(const std::string& domain, const onnx::NodeProto& call);

  /// What a tensor of the scope is called in the Graph.
  static std::string ExportedName(const Scope& scope, const std::string& tensor);
  /// What is before the names of what lies in a node.
  static std::string PrefixOfNode(const std::string& label) { return PrefixOf(label) + "/"; }
  void Bind(Scope& scope, const std::string& tensor, ValueId value);
  void Poison(Scope& scope, const onnx::NodeProto& node);
  /// Takes what the file states of a tensor whose type could not be inferred.
  /// What the file says of the results of an operator that Skiff does not know.
  std::vector<StatedType> StatedTypes(const Scope& scope, const onnx::NodeProto& node) const;
  void TypeAsDeclared(ValueId value, const std::string& tensor);

  onnx::ModelProto& model_;
  ExternalData external_;
  Graph graph_;
  OnnxBuilder::UntypedReasons untyped_;
  std::map<std::array<std::string, 3>, Function> functions_;  ///< By domain, name and overload.
  SymbolIndex symbols_;                                       ///< Of the inputs.
  std::unordered_map<std::string, const onnx::TypeProto::Tensor*>
      declared_;  ///< value_info: the fallback where inference gives up.
  Problems problems_;
  OnnxNotes notes_;
  OnnxTypes types_;  ///< Of the graph or body under construction.
  OnnxSequences sequences_;
  std::unordered_map<std::string, int> output_names_;  ///< How often each was there again.
  ImportBudget budget_;
  int bodies_ = 0;  ///< That the node under construction lies in.
  size_t node_count_ = 0;
  size_t expanded_nodes_ = 0;  ///< Those that functions and loops stand for, and their bytes.
  size_t expanded_bytes_ = 0;
  int64_t label_bytes_left_ = kMostLabelBytes;  ///< Of labels of outputs.
  int64_t labels_left_ = kMostLabels;
};

}  // namespace skiff
