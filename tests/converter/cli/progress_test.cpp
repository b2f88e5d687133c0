#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cli/terminal.h"

namespace skiff::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What was written, by whichever thread.
class Written {
 public:
  Progress::Place Place(bool terminal, std::chrono::milliseconds every) {
    return {terminal, every, [this](const std::string& text) {
              const std::lock_guard lock(mutex_);
              text_ += text;
            }};
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  void WaitFor(const std::string& part) {
    while (text().find(part) == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

TEST(ProgressLine, ALongStepIsNotSilentInALog) {
  Written written;
  {
    Progress progress(8, written.Place(false, std::chrono::milliseconds(5)));
    progress.Step("eager");
    written.WaitFor("step 1 of 8: eager\n");
    progress.Step("batch=2 xnnpack");
    written.WaitFor("step 2 of 8: batch=2 xnnpack\n");
  }
  EXPECT_THAT(written.text(), AllOf(StartsWith("skiff: 0 s: "), EndsWith("\n")));
}

TEST(ProgressLine, AShortOneIs) {
  Written written;
  {
    Progress progress(2, written.Place(false, std::chrono::hours(1)));
    progress.Step("eager");
    progress.Step("xnnpack");
  }
  EXPECT_EQ(written.text(), "");
}

TEST(ProgressLine, OnATerminalOneLineIsRenewedAndCleared) {
  Written written;
  {
    Progress progress(2, written.Place(true, std::chrono::milliseconds(5)));
    progress.Step("eager");
    const std::string once = written.text();
    EXPECT_THAT(once, AllOf(StartsWith("\r\x1b[K["), HasSubstr(" 0 s  eager")));
    while (written.text().size() == once.size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(written.text(), EndsWith("eager\r\x1b[K"));
}

TEST(WrappedText, KeepsExamplesAndBreaksAtSpaces) {
  EXPECT_EQ(Wrapped("one two three four", 9), "one two\nthree\nfour");
  EXPECT_EQ(Wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(Wrapped("a\n  skiff run a very long example\nb c", 3), "a\n  skiff run a very long example\nb c");
  EXPECT_EQ(Wrapped("unbreakable", 3), "unbreakable");
  EXPECT_EQ(Wrapped("", 10), "");
}

}  // namespace
}  // namespace skiff::cli
