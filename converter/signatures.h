/// The signatures of a source file on their way into one .skiff file: which of them, and what the options say
/// of each. An option that names an input or a dimension is for those signatures that have it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "convert.h"

namespace skiff {

/// "signature 'add'", for messages.
std::string SignatureText(const std::string& name);

/// The numbers of those that are wanted, in the order of their names; of all where none is. Throws Error
/// (kInvalidArgument) listing the names where one is unknown or comes twice.
std::vector<size_t> ChooseSignatures(const SourceModel& source, const std::vector<std::string>& wanted);

/// Shares out what a caller says about inputs and dimensions. The only signature gets all of it, so that the
/// importer and FixShapes can say what there is not.
class SharedOptions {
 public:
  SharedOptions(FixedInputs fixed, ShapeContract contract, size_t signatures)
      : fixed_(std::move(fixed)), contract_(std::move(contract)), one_(signatures == 1) {}

  FixedInputs FixedInputsOf(const SourceSignature& signature);
  /// Of a graph that has its inputs.
  ShapeContract ContractOf(const std::string& signature, const Graph& graph);
  /// Behind the last signature. Throws Error (kInvalidArgument) for a name that none of them has.
  void CheckAllUsed() const;

 private:
  [[noreturn]] void ThrowUnknown(const std::string& option, const char* kind, const std::string& name,
                                 const std::map<std::string, std::vector<std::string>>& known) const;

  FixedInputs fixed_;
  ShapeContract contract_;
  bool one_;
  /// By signature.
  std::map<std::string, std::vector<std::string>> inputs_, dims_;
  std::set<std::string> known_inputs_, known_dims_;
};

/// The states that a signature has; all where it is the only one, so that KeepStates can say what there is
/// not.
std::vector<StatePair> StatesOf(const Graph& graph, const std::vector<StatePair>& states,
                                bool only_signature);

/// The graphs of the chosen signatures, with the options' fixed inputs and contracts. They have the names
/// that they will have in the file: a file's only signature is "main" there, unless it was asked for by name.
/// `extend`, where given, may say more of a graph that has its inputs. Throws Error.
std::vector<NamedGraph> ImportSignatures(
    SourceModel& source, const ConvertOptions& options,
    const std::function<void(const Graph& graph, ShapeContract& contract)>& extend = {});

/// What is left of the buckets when a graph's dimensions are all that they speak of.
std::vector<Bucket> BucketsOf(const Graph& graph, const std::vector<Bucket>& buckets);
/// Throws Error (kInvalidArgument) for a dimension that none of the graphs has.
void CheckBuckets(const std::vector<NamedGraph>& graphs, const std::vector<Bucket>& buckets);

}  // namespace skiff
