#include "import/custom.h"

#include "ops/op_codes.h"

namespace skiff {

void BuildCustom(NodeBuilder& b, const std::string& name, Span<const uint8_t> options,
                 const std::vector<StatedType>& stated) {
  for (const size_t count : {b.input_count(), b.output_count()}) {
    if (count > CustomOperator::kMaxOperands)
      b.Unsupported("has {} inputs or outputs; a custom operator has at most {}", count,
                    CustomOperator::kMaxOperands);
  }
  CustomConstants constants = MakeCustomConstants(name, options, stated);
  std::vector<ValueId> inputs = {b.Constant("name", std::move(constants.name)),
                                 b.Constant("options", std::move(constants.options)), kNoValue};
  if (constants.types) inputs.back() = b.Constant("types", *std::move(constants.types));
  for (size_t i = 0; i < b.input_count(); ++i) inputs.push_back(b.OptionalInput(i));
  b.Outputs(OpCode::kCustom, std::move(inputs), CustomAttrsFor(name));
}

std::string CustomRemedy(const std::string& name) {
  return fmt::format(
      " Or compute it in the application: --custom '{}' keeps the node for an operator that the application "
      "registers, "
      "--custom-library FILE also loads it here.",
      name);
}

}  // namespace skiff
