/// A switch that is process-wide, and that one thread may set differently for a while.
#pragma once

#include <atomic>
#include <utility>

namespace skiff::eager {

enum class Override : int { kNone = -1, kOff = 0, kOn = 1 };

template <class Tag>
class Mode {
 public:
  static bool On() { return override_ == Override::kNone ? everywhere_.load() : override_ == Override::kOn; }
  static bool Overridden() { return override_ != Override::kNone; }
  static void SetEverywhere(bool on) { everywhere_.store(on); }
  /// Returns what it replaces.
  static Override Set(Override value) { return std::exchange(override_, value); }

 private:
  static inline std::atomic<bool> everywhere_{false};
  static inline thread_local Override override_ = Override::kNone;
};

}  // namespace skiff::eager
