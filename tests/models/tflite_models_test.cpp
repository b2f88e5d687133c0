// TensorFlow Lite files of the folder of trained models: eager mode against the reference data beside them
// (a simulation in f64, stated with the data), the compiled plan against eager mode, and which nodes no
// delegate runs. Open dimensions are 1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "files/npy.h"
#include "tests/models/models_list.h"
#include "tests/models/tflite_case.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Beyond it a comparison of outputs finds gross mistakes only.
constexpr double kWeakTolerance = 0.02;

class TfliteModel : public ::testing::TestWithParam<json> {};

TEST_P(TfliteModel, MatchesEagerAndItsReferenceData) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  const fs::path file = ModelsFolder() / GetParam().at("file").get<std::string>();
  ModelCase model(file.string(), AllOnes(file.string()));
  EXPECT_EQ(GetParam().contains("tolerance"), GetParam().contains("why"));
  const double tolerance = GetParam().value("tolerance", kF32NetTolerance);
  EXPECT_EQ(GetParam().contains("codes_apart"), GetParam().contains("why_apart"));
  const double codes = GetParam().value("codes_apart", 0.01);
  const bool simulated_inputs = DrawnByNumpy(model.source());
  const auto inputs = TfliteInputs(model.source());
  const auto eager = model.RunEagerly(inputs);
  const auto planned = model.Run(Backend::kPlanned, inputs);
  TfliteVerdict plan;
  for (const GraphPort& port : model.source().caller_outputs())
    plan.Add(planned.at(port.name), eager.at(port.name), 1, tolerance, codes);
  EXPECT_TRUE(plan.ok) << "xnnpack against eager: " << plan.worst;
  EXPECT_EQ(model.fell_back(), 0);
  // Where kernels that round otherwise say little, the plan itself must still be the source's net.
  if (tolerance > kWeakTolerance || codes > kWeakTolerance) {
    const auto by_reference = model.Run(Backend::kReference, inputs);
    TfliteVerdict exact;
    for (const GraphPort& port : model.source().caller_outputs())
      exact.Add(by_reference.at(port.name), eager.at(port.name), 1, kF32NetTolerance, 0.01);
    EXPECT_TRUE(exact.ok) << "reference against eager: " << exact.worst;
  }
  EXPECT_EQ(model.NodesOn(DelegateKind::kReference), GetParam().value("on_reference", 0));
  EXPECT_EQ(model.NodesBesideTheGpu(), GetParam().value("beside_the_gpu", 0));
  if (GetParam().contains("image")) {
    EXPECT_FALSE(GetParam().contains("on_reference")) << "no net of pictures needs the reference kernels";
    EXPECT_EQ(GetParam().contains("beside_the_gpu"), GetParam().contains("why_beside"))
        << "a net of pictures runs on the GPU as a whole, or says why not";
  }
  TfliteVerdict simulated;
  const fs::path folder = file.parent_path() / "computed_sim";
  for (size_t i = 0; i < model.source().caller_outputs().size(); ++i) {
    const fs::path array = folder / fmt::format("{}.out{}.npy", file.stem().string(), i);
    if (!simulated_inputs || !fs::exists(array)) continue;
    const TensorData& got = eager.at(model.source().caller_outputs()[i].name);
    simulated.Add(got, ReadNpy(array.string()), 2,
                  GetParam().value("simulation_tolerance", 2 * kF32NetTolerance), 0.01);
  }
  EXPECT_TRUE(simulated.ok) << "eager against the simulation: " << simulated.worst;
  fmt::print("{}: {} nodes, reference {}, beside the GPU {}; xnnpack {:.1e}, simulation {:.1e}\n",
             GetParam().at("file").get<std::string>(), model.nodes(), model.NodesOn(DelegateKind::kReference),
             model.NodesBesideTheGpu(), plan.worst, simulated.worst);
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteModel, ::testing::ValuesIn(WithStatus("tflite")), TestName);

}  // namespace
}  // namespace skiff::testing
