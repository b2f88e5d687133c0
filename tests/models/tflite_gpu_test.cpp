// TensorFlow Lite files of the folder of trained models on the GPU, against eager mode on the same inputs,
// with the validation layer listening. Those that take a device in software minutes run nightly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/models/models_list.h"
#include "tests/models/tflite_case.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TfliteOnTheGpu : public ::testing::TestWithParam<json> {};

TEST_P(TfliteOnTheGpu, ComputesWhatEagerModeDoes) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  if (!HasVulkan()) GTEST_SKIP() << "there is no Vulkan device here";
  const json& entry = GetParam();
  const std::string file = (ModelsFolder() / entry.at("file").get<std::string>()).string();
  ModelCase model(file, AllOnes(file));
  const auto inputs = TfliteInputs(model.source());
  const auto eager = model.RunEagerly(inputs);
  const uint64_t messages = VulkanMessages();
  const auto got = model.Run(Backend::kPlanned, inputs, Target::kVulkan);
  TfliteVerdict verdict;
  for (const GraphPort& port : model.source().caller_outputs())
    verdict.Add(got.at(port.name), eager.at(port.name), 1, entry.value("tolerance", kF32NetTolerance), 0);
  EXPECT_TRUE(verdict.ok) << "the GPU against eager: " << verdict.worst;
  EXPECT_EQ(model.fell_back(), 0);
  EXPECT_EQ(VulkanMessages(), messages) << "the validation layer has something to say";
  fmt::print("{}: beside the GPU {} of {} nodes; {:.1e}\n", entry.at("file").get<std::string>(),
             model.NodesBesideTheGpu(), model.nodes(), verdict.worst);
}

std::vector<json> ThatAreSlow(bool slow) {
  std::vector<json> chosen = WithStatus("tflite");
  std::erase_if(chosen, [&](const json& entry) { return entry.contains("slow_on_the_gpu") != slow; });
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteOnTheGpu, ::testing::ValuesIn(ThatAreSlow(false)), TestName);
INSTANTIATE_TEST_SUITE_P(Nightly, TfliteOnTheGpu, ::testing::ValuesIn(ThatAreSlow(true)), TestName);

}  // namespace
}  // namespace skiff::testing
