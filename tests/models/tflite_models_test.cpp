// TensorFlow Lite files of the folder of trained models: eager mode against the reference data beside them
// (a simulation in f64, stated with the data), the compiled plan against eager mode, and which nodes no
// delegate runs. Open dimensions are 1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "files/npy.h"
#include "import/import_model.h"
#include "tests/models/model_cases.h"
#include "tests/models/models_list.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// How far two outputs are apart: of real numbers, the largest difference over the largest number; of
/// integers, the share of those that are more than `units` apart.
double Apart(TensorData got, const TensorData& expected, double units) {
  if (expected.quantization()) got = got.Quantized(expected.quantization());
  const std::vector<double> a = got.ToDoubles();
  const std::vector<double> b = expected.ToDoubles();
  if (a.size() != b.size()) return INFINITY;
  const bool integers = !IsFloat(got.dtype());
  const double unit = got.quantization() ? static_cast<double>(got.quantization()->scale) * units : 0;
  double largest = 0;
  double worst = 0;
  int64_t apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
    if (!(std::abs(a[i] - b[i]) <= unit * 1.01)) ++apart;
  }
  if (integers) return static_cast<double>(apart) / static_cast<double>(a.size());
  return worst == 0 ? 0 : worst / std::max(largest, 1e-30);
}

struct Verdict {
  double worst = 0;
  bool ok = true;

  /// `codes`: the share of quantised integers that may be further apart.
  void Add(const TensorData& got, const TensorData& expected, double units, double tolerance, double codes) {
    const double apart = Apart(got, expected, units);
    worst = std::max(worst, apart);
    const bool quantized = got.quantization() || expected.quantization();
    ok &= apart <= (IsFloat(got.dtype()) ? tolerance : quantized ? codes : 0);
  }
};

ShapeContract AllOnes(const std::string& path) {
  ShapeContract contract;
  const Graph graph = ImportModel(path);
  for (const GraphPort& port : graph.caller_inputs()) {
    for (const Dim& dim : graph.value(port.value).dims) {
      if (!dim.constant())
        contract.dims.emplace(graph.symbols()[static_cast<size_t>(dim.symbol())].name, DimRange{1, 1});
    }
  }
  return contract;
}

/// Whether the reference data's inputs are known here.
bool DrawnByNumpy(const Graph& graph) {
  return std::all_of(graph.caller_inputs().begin(), graph.caller_inputs().end(), [&](const GraphPort& port) {
    const DType dtype = graph.value(port.value).dtype;
    return dtype == DType::kF32 || dtype == DType::kI8 || dtype == DType::kU8;
  });
}

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
  const auto inputs = simulated_inputs ? NumpySeededInputs(model.source()) : RandomInputs(model.source(), 11);
  const auto eager = model.RunEagerly(inputs);
  const auto planned = model.Run(Backend::kPlanned, inputs);
  Verdict plan;
  for (const GraphPort& port : model.source().caller_outputs())
    plan.Add(planned.at(port.name), eager.at(port.name), 1, tolerance, codes);
  EXPECT_TRUE(plan.ok) << "xnnpack against eager: " << plan.worst;
  EXPECT_EQ(model.fell_back(), 0);
  // Where kernels that round otherwise say little, the plan itself must still be the source's net.
  if (tolerance > kWeakTolerance || codes > kWeakTolerance) {
    const auto by_reference = model.Run(Backend::kReference, inputs);
    Verdict exact;
    for (const GraphPort& port : model.source().caller_outputs())
      exact.Add(by_reference.at(port.name), eager.at(port.name), 1, kF32NetTolerance, 0.01);
    EXPECT_TRUE(exact.ok) << "reference against eager: " << exact.worst;
  }
  EXPECT_EQ(model.NodesOn(DelegateKind::kReference), GetParam().value("on_reference", 0));
  EXPECT_EQ(model.NodesBesideTheGpu(), GetParam().value("beside_the_gpu", 0));
  Verdict simulated;
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
