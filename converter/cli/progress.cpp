#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/print.h"
#include "cli/terminal.h"

namespace skiff::cli {
namespace {

constexpr int kWidth = 30;
constexpr const char* kClearLine = "\r\x1b[K";
constexpr std::chrono::milliseconds kRenewed{1000};

}  // namespace

Progress::Place Progress::StandardError() {
  Place place;
  place.terminal = IsTerminal(STDERR_FILENO);
  if (place.terminal) place.every = kRenewed;
  place.write = [](const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  };
  return place;
}

Progress::Progress(int steps, Place place)
    : steps_(std::max(steps, 1)), place_(std::move(place)), ticker_([this] { Tick(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_one();
  ticker_.join();
  if (place_.terminal && written_) place_.write(kClearLine);
}

void Progress::Write() {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  written_ = true;
  if (!place_.terminal) {
    place_.write(fmt::format("skiff: {:.0f} s: step {} of {}: {}\n", seconds, std::max(done_, 1),
                             std::max(steps_, done_), what_));
    return;
  }
  const int filled = std::clamp((done_ - 1) * kWidth / steps_, 0, kWidth);
  std::string line =
      fmt::format("[{:#<{}}{: <{}}] {:.0f} s  {}", "", filled, "", kWidth - filled, seconds, what_);
  // A line that wraps would not be cleared.
  if (const size_t width = TextWidth(STDERR_FILENO); line.size() >= width) line.resize(width - 1);
  place_.write(kClearLine + line);
}

void Progress::Tick() {
  std::unique_lock lock(mutex_);
  while (!over_changed_.wait_for(lock, place_.every, [&] { return over_; })) {
    if (done_ > 0) Write();
  }
}

void Progress::Step(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++done_;
  what_ = OneLine(what);
  if (place_.terminal) Write();
}

}  // namespace skiff::cli
