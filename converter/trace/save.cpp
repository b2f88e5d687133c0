#include "trace/save.h"

#include <algorithm>
#include <set>

#include "convert.h"
#include "graph/error.h"

namespace skiff::eager {
namespace {

using State = std::shared_ptr<VariableState>;

std::vector<State> VariablesOf(const std::vector<SavedSignature>& signatures) {
  std::vector<State> all;
  for (const SavedSignature& signature : signatures) {
    for (const auto* list : {&signature.function->reads(), &signature.function->assigned()}) {
      for (const State& variable : *list) {
        if (std::find(all.begin(), all.end(), variable) == all.end()) all.push_back(variable);
      }
    }
  }
  std::set<std::string> names;
  for (const State& variable : all) {
    if (!names.insert(variable->name).second)
      Throw(StatusCode::kInvalidArgument,
            "two variables have the name '{}'; in a file names must tell them apart", variable->name);
  }
  return all;
}

std::vector<int32_t> IndicesOf(const std::vector<State>& wanted, const std::vector<State>& all) {
  std::vector<int32_t> indices;
  for (const State& variable : wanted)
    indices.push_back(static_cast<int32_t>(std::find(all.begin(), all.end(), variable) - all.begin()));
  return indices;
}

}  // namespace

std::vector<uint8_t> SerializeFunctions(const std::vector<SavedSignature>& signatures) {
  if (signatures.empty()) Throw(StatusCode::kInvalidArgument, "a file needs at least one signature");
  const std::vector<State> variables = VariablesOf(signatures);
  FileDraft file;
  for (const State& variable : variables) file.variables.emplace_back(variable->name, variable->Get().data());
  std::vector<std::unique_ptr<PlannedSignature>> planned;
  std::set<std::string> names;
  for (const SavedSignature& signature : signatures) {
    if (!names.insert(signature.name).second)
      Throw(StatusCode::kInvalidArgument, "two signatures have the name '{}'", signature.name);
    planned.push_back(signature.function->Plan());
    SignatureDraft draft = SignatureOf(*planned.back());
    draft.name = signature.name;
    draft.read_variables = IndicesOf(signature.function->reads(), variables);
    draft.assigned_variables = IndicesOf(signature.function->assigned(), variables);
    file.signatures.push_back(std::move(draft));
  }
  return WriteChecked(file, {});
}

void SaveFunctions(const std::string& path, const std::vector<SavedSignature>& signatures) {
  WriteFileAtomically(path, SerializeFunctions(signatures));
}

}  // namespace skiff::eager
