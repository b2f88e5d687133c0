/// What long work is doing, on standard error: on a terminal one line that is renewed, with the seconds since
/// the beginning; elsewhere, as in logs, a line now and then, so that nothing is silent for long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace skiff::cli {

class Progress {
 public:
  struct Place {
    bool terminal = false;
    std::chrono::milliseconds every{10000};  ///< Between two lines.
    std::function<void(const std::string& text)> write;
  };
  static Place StandardError();

  /// `steps` is how many calls of Step() will come.
  explicit Progress(int steps, Place place = StandardError());
  ~Progress();  ///< Clears the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Step(const std::string& what);

 private:
  void Write();
  void Tick();

  const int steps_;
  const Place place_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable over_changed_;
  bool over_ = false;
  bool written_ = false;
  int done_ = 0;
  std::string what_;
  std::thread ticker_;  ///< A step may be long itself.
};

}  // namespace skiff::cli
