/// What the graphs of one TensorFlow Lite file have in common: the names of variables and their first values,
/// and constants, whose elements are in memory once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/distinct_names.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "import/import_budget.h"
#include "import/tflite/metadata.h"
#include "import/tflite/signatures.h"
#include "import/tflite/tensor.h"

namespace skiff {

/// Names of variables: the same in all graphs, and no port's.
class TfliteVariableNames {
 public:
  explicit TfliteVariableNames(std::set<std::string> ports) : names_(std::move(ports)) {}

  /// What a handle with these names stands for.
  const std::string& OfHandle(const std::string& container, const std::string& shared_name);
  /// A tensor of a subgraph that keeps its elements from run to run.
  const std::string& OfTensor(uint32_t subgraph, int32_t tensor, const std::string& name);
  /// What an operator of a subgraph keeps from run to run.
  const std::string& OfOperator(uint32_t subgraph, const tflite::Operator& node, const std::string& name);

 private:
  DistinctNames names_;
  std::map<std::pair<std::string, std::string>, std::string> handles_;
  std::map<std::pair<uint32_t, int32_t>, std::string> tensors_;
  std::map<std::pair<uint32_t, const tflite::Operator*>, std::string> operators_;
  std::set<std::string> tensor_names_;
};

class TfliteShared {
 public:
  /// The file outlives it.
  explicit TfliteShared(const TfliteFile& file);

  const TfliteFile& file() const { return file_; }
  const std::vector<TfliteSignature>& signatures() const { return signatures_; }
  TfliteVariableNames& variables() { return variables_; }

  /// A constant of a subgraph; see ReadTfliteTensor.
  const TensorData& Constant(const tflite::SubGraph& graph, const tflite::Tensor& tensor);
  TfliteQuantizations& quantizations() { return quantizations_; }

  /// A constant that is not in the file, by what it is: made where no operator has asked for it yet.
  const TensorData& Table(const std::string& name, const std::function<TensorData()>& make);

  /// The subgraphs that signatures run once, in the order of the file, and each once.
  const std::vector<int32_t>& once() const { return once_; }
  /// What variables are behind a subgraph that runs once, or why that is not known; computed by whoever asks
  /// first.
  struct FirstValues {
    std::map<std::string, TensorData> values;
    std::optional<Error> defect;
  };
  std::map<int32_t, FirstValues>& first_values() { return first_values_; }
  /// The same of the first of these subgraphs, so many of them, by variable: where several give one a value,
  /// the first does.
  struct FirstOfAll {
    size_t count = 0;
    std::map<std::string, TensorData> values;
  };
  FirstOfAll& first_of_all() { return first_of_all_; }

  /// The signature that assigns a variable, and zeros of the type that it assigns: what the variable is made
  /// of where the file says of none of its signatures that it initialises it.
  struct Assignment {
    std::string signature;
    TensorData zeros;
  };
  std::optional<Assignment> FindAssignment(const std::string& variable);

  /// What tensors may still take that are not in the file, of all signatures together: see
  /// FirstValueOfTflite.
  uint64_t& bytes_left() { return bytes_left_; }

  /// What all that runs once may still take: see EvaluateLimits::work.
  int64_t& once_steps_left() { return once_steps_left_; }

  /// Of all signatures together.
  ImportBudget& budget() { return budget_; }

  TfliteMetadataReader& metadata() { return metadata_; }

  /// Counts operators, inputs and outputs that are imported. Throws Error (kUnsupported) beyond the limit:
  /// nothing more is imported then.
  void CountParts(size_t count);
  /// The same of all operators of a subgraph, and of its long lists, before anything walks them: an operator
  /// that cannot be imported says so only after that, and the next one may run the same subgraph.
  void CountSubgraph(uint32_t subgraph);

 private:
  struct Assigned {
    const TfliteSignature* signature;
    const tflite::Tensor* tensor;
  };
  void FindAssignments();
  TensorData MakeConstant(const tflite::Tensor& tensor, const QuantizationPtr& quantization);
  /// Takes the bytes of a buffer that one more constant is made of.
  void CountConstant(const tflite::Tensor& tensor);

  const TfliteFile& file_;
  std::vector<TfliteSignature> signatures_;
  TfliteVariableNames variables_;
  TfliteMetadataReader metadata_;
  std::vector<int32_t> once_;
  std::map<int32_t, FirstValues> first_values_;
  FirstOfAll first_of_all_;
  TfliteQuantizations quantizations_;
  std::map<TfliteElements, TensorData> constants_;
  std::map<TfliteTensorIn, TensorData> made_;  ///< Bodies ask for theirs as often as they run.
  std::map<std::string, TensorData> tables_;
  std::optional<std::map<std::string, Assigned>> assignments_;  ///< By variable; once someone has asked.
  uint64_t constant_bytes_ = 0;
  size_t part_count_ = 0;
  std::map<uint32_t, size_t> subgraph_parts_;  ///< Of those that were counted.
  uint64_t bytes_left_;
  int64_t once_steps_left_;
  ImportBudget budget_;
};

}  // namespace skiff
