// Nets exported from PyTorch with PyTorch eager's own inputs and outputs: SKIFF_EXPORTED_NETS names a folder
// with NET/model.onnx and NET/case_*/{input_NAME,output_*}.npy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "files/npy.h"
#include "ops/op_codes.h"
#include "tests/models/model_cases.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;

/// By how much the arena may be above its lower bound, in percent. Of the tagger, the gates of both
/// directions and what is joined of them overlap in a way that leaves gaps.
int64_t ArenaSlack(const std::string& net) { return net == "lstm_tagger" ? 15 : 5; }

std::vector<fs::path> SortedEntries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void CheckCase(const fs::path& net, const fs::path& folder) {
  std::map<std::string, TensorData> inputs;
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const fs::path& file : SortedEntries(folder, "input_")) {
    const std::string name = file.stem().string().substr(std::string("input_").size());
    inputs[name] = ReadNpy(file);
    shapes[name].assign(inputs[name].shape().begin(), inputs[name].shape().end());
  }
  ModelCase model(net / "model.onnx", shapes);
  std::map<std::string, TensorData> expected;
  const std::vector<fs::path> outputs = SortedEntries(folder, "output_");
  ASSERT_EQ(outputs.size(), model.source().outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i)
    expected[model.source().outputs()[i].name] = ReadNpy(outputs[i]);

  const double reference = WorstRelative(model.Run(Backend::kReference, inputs), expected);
  const double planned = WorstRelative(model.Run(Backend::kPlanned, inputs), expected);
  EXPECT_LE(reference, kF32NetTolerance);
  EXPECT_LE(planned, kF32NetTolerance);
  EXPECT_EQ(model.fell_back(), 0);
  double vulkan = 0;
  if (HasVulkan()) {
    vulkan = WorstRelative(model.Run(Backend::kPlanned, inputs, Target::kVulkan), expected);
    EXPECT_LE(vulkan, kF32NetTolerance);
    EXPECT_EQ(model.fell_back(), 0) << "on the GPU";
  }
  ModelCase open(net / "model.onnx",
                 ShapeContract());  // The same with its dimensions open, where it has open ones.
  EXPECT_LE(WorstRelative(open.Run(Backend::kPlanned, inputs), expected), kF32NetTolerance);
  const PlanDraft& draft = model.converted().draft;
  EXPECT_LE(draft.arena_bytes, draft.arena_lower_bound * (100 + ArenaSlack(net.filename().string())) / 100);
  EXPECT_EQ(model.NodesOn(DelegateKind::kReference), 0);
  EXPECT_EQ(model.ConvolutionsElsewhere(), 0);
  EXPECT_EQ(model.CountOps(OpCode::kBatchNorm), 0);
  EXPECT_EQ(model.TransposesBetweenConvolutions(), 0);
  fmt::print(
      "{}/{}: nodes {} -> {} (reference {}), arena {} of at least {} bytes; relative to PyTorch: reference "
      "{:.1e}, xnnpack {:.1e}, vulkan {} ({} nodes beside it)\n",
      net.filename().string(), folder.filename().string(), model.source().sources().size(), model.nodes(),
      model.NodesOn(DelegateKind::kReference), draft.arena_bytes, draft.arena_lower_bound, reference, planned,
      HasVulkan() ? fmt::format("{:.1e}", vulkan) : "skipped: no device", model.NodesBesideTheGpu());
}

TEST(ExportedNets, MatchPyTorchEager) {
  const char* folder = std::getenv("SKIFF_EXPORTED_NETS");
  if (folder == nullptr) GTEST_SKIP() << "SKIFF_EXPORTED_NETS does not name a folder of exported nets";
  const char* only = std::getenv("SKIFF_EXPORTED_NET");
  for (const fs::path& net : SortedEntries(folder, only == nullptr ? "" : only)) {
    SCOPED_TRACE(net.filename());
    for (const fs::path& one : SortedEntries(net, "case_")) CheckCase(net, one);
  }
}

}  // namespace
}  // namespace skiff::testing
