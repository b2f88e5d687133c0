/// One function per example. Each prints what it finds, and throws std::runtime_error where a result is not
/// what it must be.
#pragma once

#include <stdexcept>
#include <string>

namespace sample {

struct Options {
  bool quick = false;  ///< Few repetitions: results are checked, times mean little.
  std::string svg = "varying_shapes.svg";
};

void ControlAndEffects();
void TraceCounts();
void ModeSpeed(const Options& options);
void VaryingShapes(const Options& options);

inline void Expect(bool fact, const std::string& what) {
  if (!fact) throw std::runtime_error("not as expected: " + what);
}

}  // namespace sample
