/// A progress line on standard error, for people: nothing is written where standard error is no terminal.
#pragma once

#include <string>

namespace skiff::cli {

class Progress {
 public:
  /// `steps` is how many calls of Step() will come.
  explicit Progress(int steps);
  ~Progress();  ///< Clears the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Step(const std::string& what);

 private:
  int steps_;
  int done_ = 0;
  bool visible_;
};

}  // namespace skiff::cli
