// The version is the project's, wherever it is told.
#include "skiff/version.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

TEST(Version, OfTheHeaderIsTheProjects) {
  EXPECT_STREQ(SKIFF_VERSION, SKIFF_PROJECT_VERSION);
  EXPECT_EQ(std::to_string(SKIFF_VERSION_MAJOR) + "." + std::to_string(SKIFF_VERSION_MINOR) + "." +
                std::to_string(SKIFF_VERSION_PATCH),
            SKIFF_PROJECT_VERSION);
}

TEST(Version, OfAFilesProducerIsTheProjects) {
  const OpenedModel opened(kSmallNet);
  EXPECT_STREQ(opened.model->producer(), "skiff " SKIFF_PROJECT_VERSION);
}

/// The newest heading of the changelog, "## 0.1.0, not released" or "## 0.1.0, 2026-01-31", is of what is
/// built.
TEST(Version, HasItsPlaceInTheChangelog) {
  std::ifstream changelog(SKIFF_SOURCE_DIR "/CHANGELOG.md");
  std::string line;
  while (std::getline(changelog, line) && line.rfind("## ", 0) != 0) {
  }
  EXPECT_EQ(line.substr(0, line.find(',')), "## " SKIFF_PROJECT_VERSION);
}

}  // namespace
}  // namespace skiff::testing
