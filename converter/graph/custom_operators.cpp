#include "graph/custom_operators.h"

#include <algorithm>
#include <deque>
#include <map>

#include "graph/error.h"
#include "ops/custom.h"

namespace skiff {
namespace {

struct Registry {
  std::map<std::string, const CustomOperator*, std::less<>> by_name;
  std::deque<std::string> names;         // Neither moves: nodes
  std::deque<CustomOperator> operators;  // point to what was registered once.
};

Registry& TheRegistry() {
  static Registry registry;
  return registry;
}

TensorData TextOf(Span<const uint8_t> bytes) {
  return {DType::kU8, Shape({static_cast<int64_t>(bytes.size())}), bytes.data()};
}

}  // namespace

void RegisterCustomOperator(const CustomOperator& op) {
  constexpr size_t kLongestName = 255;
  const std::string name = op.name == nullptr ? "" : op.name;
  if (name.empty() || name.size() > kLongestName)
    Throw(StatusCode::kInvalidArgument, "a custom operator's name has 1 to {} bytes, not {}", kLongestName,
          name.size());
  if ((op.infer == nullptr) != (op.run == nullptr))
    Throw(StatusCode::kInvalidArgument, "the custom operator '{}' has a {} and no {}", name,
          op.infer == nullptr ? "kernel" : "shape rule", op.infer == nullptr ? "shape rule" : "kernel");
  Registry& registry = TheRegistry();
  CustomOperator kept = op;
  kept.name = registry.names.emplace_back(name).c_str();
  registry.by_name[name] = &registry.operators.emplace_back(kept);
}

void KeepCustomOperator(const CustomOperator& op) {
  const auto found = op.name == nullptr ? TheRegistry().by_name.end() : TheRegistry().by_name.find(op.name);
  if (found != TheRegistry().by_name.end() && found->second->infer == op.infer &&
      found->second->run == op.run && found->second->user == op.user)
    return;
  RegisterCustomOperator(op);
}

bool IsCustomOperator(const std::string& name) { return TheRegistry().by_name.contains(name); }

std::vector<CustomOperator> RunnableCustomOperators() {
  std::vector<CustomOperator> operators;
  for (const auto& [name, op] : TheRegistry().by_name) {
    if (op->run != nullptr) operators.push_back(*op);
  }
  return operators;
}

CustomAttrs CustomAttrsFor(const std::string& name) {
  const auto found = TheRegistry().by_name.find(name);
  return {found == TheRegistry().by_name.end() || found->second->run == nullptr ? nullptr : found->second};
}

CustomConstants MakeCustomConstants(const std::string& name, Span<const uint8_t> options,
                                    const std::vector<StatedType>& stated) {
  CustomConstants constants = {
      TextOf({reinterpret_cast<const uint8_t*>(name.data()), name.size()}), TextOf(options), {}};
  std::vector<int64_t> types;
  for (const StatedType& type : stated) {
    if (!type.known) return constants;
    types.push_back(static_cast<int64_t>(type.dtype));
    types.push_back(static_cast<int64_t>(type.extents.size()));
    types.insert(types.end(), type.extents.begin(), type.extents.end());
  }
  constants.types = TensorData::OfInts(types);
  return constants;
}

}  // namespace skiff
