/// The custom operators that this process knows: what importers take, and what runs them on the host.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "skiff/custom_operator.h"

namespace skiff {

/// Makes an operator known by its name, for the whole process, before nets that use it are imported. Without
/// functions, importers keep its nodes as they are, with the types that the source file states, for an
/// application that has the functions; nothing on the host can run them then. The name is copied; what `user`
/// points to is not. Of two of one name, the last one counts. Throws Error (kInvalidArgument) where the name
/// is none, or only one of the functions is there. Not while other threads convert.
void RegisterCustomOperator(const CustomOperator& op);

/// RegisterCustomOperator() where it is not registered just so already: for those who come by it often.
void KeepCustomOperator(const CustomOperator& op);

/// Whether an importer shall keep nodes of this operator.
bool IsCustomOperator(const std::string& name);

/// Those that have functions, for ModelOptions::custom_operators.
std::vector<CustomOperator> RunnableCustomOperators();

/// The attributes of a node of the operator.
CustomAttrs CustomAttrsFor(const std::string& name);

/// What a source file says of a result; `known` false where it says nothing. Open extents are -1.
struct StatedType {
  bool known = false;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> extents;
};

/// The constants of a node in front of the operator's own inputs.
struct CustomConstants {
  TensorData name;
  TensorData options;
  std::optional<TensorData> types;  ///< Nothing where one of the results is not stated.
};
CustomConstants MakeCustomConstants(const std::string& name, Span<const uint8_t> options,
                                    const std::vector<StatedType>& stated);

}  // namespace skiff
