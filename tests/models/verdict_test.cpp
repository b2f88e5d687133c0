// The verdict of parity can be believed: of nets that were converted rightly it never says that they were
// not, and a defect of one in a thousand, in any layer, never passes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/parity_report.h"
#include "convert.h"
#include "graph/evaluate.h"
#include "import/import_model.h"
#include "parity/parity.h"
#include "run/random_inputs.h"
#include "tests/models/models_list.h"
#include "tests/models/tflite_case.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Verdict : public ::testing::TestWithParam<json> {
 protected:
  void SetUp() override {
    if (!fs::exists(ModelsFolder()))
      GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
    const std::string path = (ModelsFolder() / GetParam().at("file").get<std::string>()).string();
    ShapeContract contract;
    if (GetParam().at("status") == "tflite") contract = AllOnes(path);
    if (GetParam().contains("shapes")) contract.shapes = GetParam().at("shapes");
    source_ = ImportModel(path, {{}, [&](Graph& graph) { FixShapes(graph, contract); }});
  }

  NamedTensors Inputs(skiff::OpenedModel& opened, uint64_t seed) const {
    RandomRange range;
    if (GetParam().contains("range")) {
      range.low = GetParam().at("range")[0];
      range.high = GetParam().at("range")[1];
    }
    return RandomInputs(opened.model(), seed, range);
  }

  Graph source_;
};

/// Nets of f32 alone: the others have constants (docs/numerics.md).
bool IsFloat32(const json& entry) {
  const std::string file = entry.at("file");
  for (const char* other :
       {"int8", "uint8", "int16", "fp16", "quant", "qdq", "qoperator", "hybrid", "dynrange"}) {
    if (file.find(other) != std::string::npos) return false;
  }
  return true;
}

std::vector<json> FloatNets(bool slow) {
  std::vector<json> nets;
  for (const json& entry : Listed()) {
    const std::string status = entry.at("status");
    if ((status == "passes" || status == "tflite") && IsFloat32(entry) &&
        entry.contains("eager_takes_minutes") == slow)
      nets.push_back(entry);
  }
  return nets;
}

using NoFalseAlarm = Verdict;

TEST_P(NoFalseAlarm, AtAnySeed) {
  skiff::OpenedModel opened(ConvertGraph(source_)->file);
  ParityOptions options;
  options.backends = {Backend::kPlanned};
  const char* const more = std::getenv("SKIFF_VERDICT_SEEDS");
  const int seeds = more == nullptr ? 1 : std::atoi(more);
  for (int seed = 1; seed <= seeds; ++seed) {
    const ParityReport report =
        ParityChecker(source_, opened.model(), options).Check(Inputs(opened, static_cast<uint64_t>(seed)));
    EXPECT_TRUE(report.ok()) << "seed " << seed << "\n" << cli::ParityText(report);
    double share = 0;
    for (const TensorParity& row : report.backends[0].outputs)
      share = std::max(share, row.measured ? row.comparison.share : 0);
    if (share > 0) std::printf("seed %d: %.2f of what is allowed\n", seed, share);
  }
}

INSTANTIATE_TEST_SUITE_P(FloatNets, NoFalseAlarm, ::testing::ValuesIn(FloatNets(false)), TestName);
INSTANTIATE_TEST_SUITE_P(Nightly, NoFalseAlarm, ::testing::ValuesIn(FloatNets(true)), TestName);

/// Constants of floats that a node reads beside something computed, and that have enough elements to be
/// weights.
std::vector<ValueId> WeightsOf(const Graph& graph) {
  constexpr int64_t kFewest = 8;
  std::vector<ValueId> weights;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.constant && value.constant->dtype() == DType::kF32 && value.constant->elements() >= kFewest &&
        !value.uses.empty())
      weights.push_back(id);
  }
  return weights;
}

void ScaleElements(TensorData& tensor, float factor) {
  TensorData scaled(tensor.dtype(), tensor.shape());
  auto* to = static_cast<float*>(scaled.mutable_data());
  for (int64_t i = 0; i < tensor.elements(); ++i) to[i] = tensor.as<float>()[i] * factor;
  tensor = scaled;
}

double FarthestApart(const NamedTensors& a, const NamedTensors& b) {
  double farthest = 0;
  for (const auto& [name, tensor] : a)
    farthest = std::max(farthest, Compare(tensor, b.at(name), {}).relative());
  return farthest;
}

using Defects = Verdict;

TEST_P(Defects, OfOneInAThousandInAnyLayerAreFound) {
  constexpr float kDefect = 1e-3f;
  // A layer that moves no output by as much as that, of its largest, does not matter.
  constexpr double kMatters = 2e-5;
  int found = 0;
  int missed = 0;
  int immaterial = 0;
  NamedTensors eager;
  for (const ValueId id : WeightsOf(source_)) {
    Graph defective = source_;
    ScaleElements(*defective.value(id).constant, 1 + kDefect);
    skiff::OpenedModel opened(ConvertGraph(defective)->file);
    const NamedTensors inputs = Inputs(opened, 1);
    if (eager.empty()) eager = Evaluate(source_, inputs);
    const double moved = FarthestApart(eager, Evaluate(defective, inputs));
    ParityOptions options;
    options.backends = {Backend::kPlanned};
    const ParityReport report = ParityChecker(source_, opened.model(), options).Check(inputs);
    const bool matters = moved > kMatters;
    found += report.ok() ? 0 : 1;
    missed += report.ok() && matters ? 1 : 0;
    immaterial += report.ok() && !matters ? 1 : 0;
    std::printf("%-48.48s %10.1e %s\n", defective.value(id).name.c_str(), moved,
                report.ok() ? "passes" : "found");
  }
  std::printf("%d found, %d missed, %d without effect\n", found, missed, immaterial);
  EXPECT_GT(found, immaterial);
  EXPECT_EQ(GetParam().contains("hidden_defects"), GetParam().contains("why_hidden"));
  EXPECT_LE(missed, GetParam().value("hidden_defects", 0));
}

std::vector<json> NetsWithDefects(bool nightly) {
  std::vector<json> nets = With("defects");
  std::erase_if(nets, [&](const json& entry) { return entry.at("defects").is_string() != nightly; });
  return nets;
}

INSTANTIATE_TEST_SUITE_P(Nets, Defects, ::testing::ValuesIn(NetsWithDefects(false)), TestName);
INSTANTIATE_TEST_SUITE_P(Nightly, Defects, ::testing::ValuesIn(NetsWithDefects(true)), TestName);

}  // namespace
}  // namespace skiff::testing
