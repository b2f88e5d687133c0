// TensorFlow Lite nets with variables: one Session over many steps, against eager mode, to which the
// variables are handed from step to step.
#include <gtest/gtest.h>

#include "tests/models/model_cases.h"
#include "tests/models/models_list.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint32_t kSteps = 12;

class TfliteStream : public ::testing::TestWithParam<json> {};

TEST_P(TfliteStream, StepsAreAsEagerMode) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  ModelCase model((ModelsFolder() / GetParam().at("file").get<std::string>()).string(), ShapeContract());
  const std::vector<GraphVariable>& variables = model.source().variables;
  ASSERT_FALSE(variables.empty());
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    const std::unique_ptr<Session> session = model.Open(backend);
    std::map<std::string, TensorData> state;
    for (const GraphVariable& variable : variables) state[variable.name] = variable.first;
    for (uint32_t step = 0; step < kSteps; ++step) {
      auto inputs = RandomInputs(model.source(), 100 + step);
      const auto got = RunSession(*session, inputs);
      for (const auto& [name, value] : state) inputs[name] = value;
      const auto eager = model.RunEagerly(inputs);
      for (auto& [name, value] : state) value = eager.at(name);
      for (const GraphPort& port : model.source().caller_outputs()) {
        const TensorData& expected = eager.at(port.name);
        const TensorData plain(expected.dtype(), expected.shape(), expected.data());
        // One code of an integer net; it may have spread through its state.
        const double allowed = IsFloat(plain.dtype()) ? kF32NetTolerance : 0.05;
        EXPECT_LE(WorstRelative({{port.name, got.at(port.name)}}, {{port.name, plain}}), allowed)
            << "step " << step << ", '" << port.name << "'";
      }
    }
    // From the beginning again.
    session->variables().Reset();
    const auto inputs = RandomInputs(model.source(), 100);
    const auto again = RunSession(*session, inputs);
    const auto fresh = RunSession(*model.Open(backend), inputs);
    EXPECT_EQ(WorstRelative(again, fresh), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteStream, ::testing::ValuesIn(With("variables")), TestName);

}  // namespace
}  // namespace skiff::testing
