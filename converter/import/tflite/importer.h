/// Turns one signature of a TensorFlow Lite file into a Graph: tensors, subgraphs, variables and the
/// collection of everything unsupported. What the operators mean is in ops.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "import/import_model.h"
#include "import/problems.h"
#include "import/tflite/builder.h"
#include "import/tflite/file.h"
#include "import/tflite/metadata.h"
#include "import/tflite/shared.h"
#include "import/tflite/tensor_lists.h"

namespace skiff {

class TfliteImporter {
 public:
  /// What it shares with the importers of other signatures outlives the importer.
  explicit TfliteImporter(TfliteShared& shared) : shared_(shared), file_(shared.file()) {}

  Graph Import(const TfliteSignature& signature, const ImportOptions& options);

 private:
  /// Stands for a tensor whose operator could not be imported: operators behind it are not built, only looked
  /// up.
  static constexpr ValueId kPoisoned = -2;
  static constexpr ValueId kUnmade = -3;  ///< No operator has made it yet.
  static constexpr const char* kInBody = "has a subgraph that cannot be imported";

  /// The tensors of one subgraph.
  struct Scope {
    uint32_t subgraph = 0;
    std::vector<ValueId> values;
    std::map<int32_t, ValueId> imaginary;  ///< Parts of complex tensors, whose values are the real parts.
    std::vector<std::string> handles;      ///< Of variables: what they name; "" elsewhere.
    std::string prefix;                    ///< Before names; "" at the top.
    int depth = 0;
  };
  /// A variable, whose value flows through the graph.
  struct Variable {
    TensorData first;
    ValueId state = kNoValue;  ///< The graph's input; kNoValue where nothing has read it.
    ValueId value = kNoValue;  ///< At this point; kNoValue before the first use.
    bool assigned = false;
  };

  const tflite::SubGraph& GraphOf(const Scope& scope) const { return file_.subgraph(scope.subgraph); }
  const tflite::Tensor& TensorOf(const Scope& scope, int32_t tensor) const;
  std::string NameOf(const Scope& scope, int32_t tensor) const;
  Scope NewScope(uint32_t subgraph) const;

  void AddInputs(Scope& scope, const TfliteSignature& signature, const FixedInputs& fixed);
  void AddOutputs(Scope& scope, const TfliteSignature& signature);
  std::vector<Dim> ReadDims(const tflite::Tensor& tensor, const std::string& name);
  /// The value of a tensor, which is made here where it is a constant.
  ValueId ValueOf(Scope& scope, int32_t tensor);

  void BuildNodes(Scope& scope);
  void BuildNode(Scope& scope, const tflite::Operator& node, const std::vector<bool>& read);
  void BuildUpdate(Scope& scope, const tflite::Operator& node, const ListUpdate& update);
  std::vector<StatedType> StatedTypes(const Scope& scope, const tflite::Operator& node) const;
  DeclaredType DeclaredOf(const Scope& scope, int32_t tensor) const;
  TfliteCall CallOf(Scope& scope, const tflite::Operator& node);
  void Poison(Scope& scope, const tflite::Operator& node);

  Graph ImportBody(const Scope& outer, const std::string& label, int32_t subgraph,
                   const std::vector<ValueId>& inputs, const std::vector<bool>& same, bool drop_same);
  std::vector<ValueId> ImportHere(const Scope& outer, const std::string& label, int32_t subgraph,
                                  const std::vector<ValueId>& inputs);
  /// That of a subgraph which an operator of `outer` runs.
  Scope ScopeWithin(const Scope& outer, const std::string& label, int32_t subgraph, size_t inputs) const;
  /// The tensor that is input i.
  int32_t InputOf(const Scope& scope, size_t i) const;
  /// Output i, whose operators were built.
  ValueId OutputOf(Scope& scope, const std::string& label, uint32_t i);
  std::vector<bool> PassedThrough(int32_t subgraph) const;
  void CheckSubgraph(int32_t subgraph) const;

  // Variables.
  void RunOnce(int32_t subgraph);
  const std::map<std::string, TensorData>& ValuesBehind(int32_t subgraph);
  TfliteShared::FirstValues RunAtConversion(int32_t subgraph);
  std::map<std::string, TensorData> Evaluate() const;
  TensorData FirstValueByOthers(const std::string& name);
  std::string VariableOf(const Scope& scope, int32_t tensor);
  Variable& VariableNamed(const std::string& name);
  ValueId ReadVariable(const std::string& name);
  void CheckAssigned(const std::string& name, const Variable& variable) const;
  void AddVariables();

  TfliteShared& shared_;
  const TfliteFile& file_;
  TfliteMetadata metadata_;
  Graph graph_;
  NodeBuilder::UntypedReasons untyped_;
  std::map<std::string, Variable> variables_;
  bool in_body_ = false;
  std::set<int32_t> once_;  ///< Subgraphs that have run.
  bool in_once_ = false;    ///< What runs gives variables their first values.
  Problems problems_;
};

}  // namespace skiff
