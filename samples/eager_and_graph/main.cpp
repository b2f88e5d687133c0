// Eager mode and graphs: the same C++ functions at once and compiled, what that costs, and what is different.
#include <cstdio>
#include <cstring>
#include <exception>

#include "samples/eager_and_graph/examples.h"

int main(int argc, char** argv) {
  sample::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      options.quick = true;
    } else if (std::strcmp(argv[i], "--svg") == 0 && i + 1 < argc) {
      options.svg = argv[++i];
    } else {
      std::fprintf(stderr, "usage: %s [--quick] [--svg FILE]\n", argv[0]);
      return 2;
    }
  }
  try {
    sample::ControlAndEffects();
    sample::TraceCounts();
    sample::ModeSpeed(options);
    sample::VaryingShapes(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
