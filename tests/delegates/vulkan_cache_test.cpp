// What is kept in the cache folder for a GPU: compiled pipelines and measured sizes.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "delegates/vulkan/pipelines/pipelines.h"
#include "delegates/vulkan/pipelines/tuning.h"
#include "tests/delegates/vulkan_session.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

/// An empty folder, gone at the end.
class CacheFolder {
 public:
  CacheFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("skiff_vulkan_test_cache_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
    name_ = path_.string();
  }
  ~CacheFolder() { std::filesystem::remove_all(path_); }

  const char* name() const { return name_.c_str(); }
  /// The only file of a kind.
  std::filesystem::path FileOf(const char* extension) const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().extension() != extension) continue;
      EXPECT_EQ(found, "") << "one file, and nothing temporary";
      found = entry.path();
    }
    return found;
  }

 private:
  std::filesystem::path path_;
  std::string name_;
};

void Overwrite(const std::filesystem::path& path, std::streamoff position, char with) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(position);
  file.put(with);
}

TEST_F(VulkanSession, MeasuresSizesOfWorkGroupsForLaterSessions) {
  struct {
    const char* net;
    bool f16;
    bool staged;
  } const kRuns[] = {{kSmallNet, false, false}, {kOpenNet, true, true}};
  for (const auto& run : kRuns) {
    SCOPED_TRACE(::testing::Message() << (run.f16 ? "f16 " : "f32 ") << (run.staged ? "staged" : "mapped"));
    const CacheFolder folder;
    VulkanOptions options = TestOptions();
    options.precision = run.f16 ? VulkanPrecision::kF16Storage : VulkanPrecision::kF32;
    options.force_staging = run.staged;
    const auto device = *vulkan::Device::Get(options);
    const auto expect_parity = [&] {
      Opened opened(run.net, options, ForTheGpu(), folder.name());
      const auto session = opened.MustCreate();
      for (const int64_t rows : {3, 70}) {
        const Tensors inputs = run.net == kOpenNet
                                   ? RowsOf(rows, 7)
                                   : RandomInputs(opened.source(), static_cast<uint32_t>(rows));
        ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs), run.f16 ? 1e-2 : 2e-5);
      }
    };

    options.tuning = VulkanTuning::kMeasure;
    expect_parity();
    options.tuning = VulkanTuning::kUse;
    vulkan::Tuning measured(*device, options, folder.name());
    ASSERT_GE(measured.rows().size(), 4u);
    for (const vulkan::TuningRow& row : measured.rows()) {
      EXPECT_EQ(row.precision, run.f16 ? 1u : 0u);
      EXPECT_GT(row.rule_ns, 0u);
      EXPECT_LE(row.chosen_ns, row.rule_ns);
    }

    // What the file says is what runs, whatever that is.
    std::vector<vulkan::TuningRow> rows(measured.rows().begin(), measured.rows().end());
    for (vulkan::TuningRow& row : rows) row.choice = {16, row.choice.tile == 0 ? 0u : 1u};
    ASSERT_TRUE(measured.Add({rows.data(), rows.size()}).ok());
    expect_parity();
    for (const vulkan::TuningRow& row : rows) {
      vulkan::PipelineKey key{static_cast<vulkan::Shader>(row.shader), options.precision};
      std::copy(std::begin(row.constants), std::end(row.constants), key.constants);
      EXPECT_EQ(measured.Of(key), row.choice);
      key.constants[0] = row.choice.group_size;
      if (row.choice.tile != 0) key.constants[1] = row.choice.tile;
      EXPECT_NE(device->pipelines().Find(key), VkPipeline{}) << vulkan::ShaderName(key.shader);
    }
  }
}

TEST_F(VulkanSession, DoesNotBelieveAFileOfSizesThatMakesNoSense) {
  const CacheFolder folder;
  const VulkanOptions options = TestOptions();
  const auto device = *vulkan::Device::Get(options);
  const auto shader = [](vulkan::Shader name) { return static_cast<uint32_t>(name); };
  vulkan::TuningRow good;
  good.shader = shader(vulkan::Shader::kUnary);
  good.choice = {32, 0};
  std::vector<vulkan::TuningRow> rows(7, good);
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i].constants[2] = i;  // So that none is another's.
  rows[1].shader = 1000;
  rows[2].choice.group_size = 48;
  rows[3].choice.group_size = 1u << 30;
  rows[4].choice.group_size = 0;
  rows[5].choice.tile = 2;
  rows[6].shader = shader(vulkan::Shader::kConv);
  rows[6].constants[1] = 4;
  rows[6].choice.tile = 5;
  vulkan::Tuning wrote(*device, options, folder.name());
  ASSERT_TRUE(wrote.Add({rows.data(), rows.size()}).ok());
  EXPECT_EQ(vulkan::Tuning(*device, options, folder.name()).rows().size(), 1u);
  VulkanOptions ignoring = options;
  ignoring.tuning = VulkanTuning::kIgnore;
  EXPECT_EQ(vulkan::Tuning(*device, ignoring, folder.name()).rows().size(), 0u);

  Overwrite(folder.FileOf(".tuning"), 100, '?');
  const LogCapture log;
  EXPECT_EQ(vulkan::Tuning(*device, options, folder.name()).rows().size(), 0u);
  EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("is damaged")));
  Opened opened(kSmallNet, options, ForTheGpu(), folder.name());
  const Tensors inputs = RandomInputs(opened.source(), 7);
  ExpectNear(RunSession(*opened.MustCreate(), inputs), Evaluate(opened.source(), inputs));
}

TEST_F(VulkanSession, KeepsPipelinesInAFileAndSurvivesItsDamage) {
  const CacheFolder folder;
  const auto run = [&] {
    Opened opened(kSmallNet, TestOptions(), ForTheGpu(), folder.name());
    const auto session = opened.MustCreate();
    const Tensors inputs = RandomInputs(opened.source(), 7);
    ExpectNear(RunSession(*session, inputs), Evaluate(opened.source(), inputs));
  };
  run();
  const std::filesystem::path file = folder.FileOf(".pipelines");
  ASSERT_NE(file, "");
  const auto size = std::filesystem::file_size(file);
  EXPECT_GT(size, 96u);
  run();
  Overwrite(file, 100, '?');
  {
    const LogCapture log;
    run();
    EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("is damaged")));
  }
  EXPECT_EQ(std::filesystem::file_size(folder.FileOf(".pipelines")), size) << "written anew";
}

}  // namespace
}  // namespace skiff::testing
