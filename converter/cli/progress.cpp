#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace skiff::cli {
namespace {

constexpr int kWidth = 30;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(int steps) : steps_(std::max(steps, 1)), visible_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (visible_ && done_ > 0) std::fputs(kClearLine, stderr);
}

void Progress::Step(const std::string& what) {
  ++done_;
  if (!visible_) return;
  const int filled = std::min(done_ * kWidth / steps_, kWidth);
  const std::string line =
      fmt::format("{}[{:#<{}}{: <{}}] {}", kClearLine, "", filled, "", kWidth - filled, what);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace skiff::cli
