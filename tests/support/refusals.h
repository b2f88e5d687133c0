/// What the system refuses, for tests: memory and threads. Programs that link it send their calls here
/// (skiff_refuse_system in tests/CMakeLists.txt), also those inside of XNNPACK and of the pool; what the
/// standard library asks for on its own is never refused.
#pragma once

namespace skiff::testing {

/// What is refused on this thread: the n-th from now, or that and all later ones.
struct Refusal {
  long in = 0;  ///< 0: nothing.
  bool lasting = false;
  bool hit = false;

  bool Next() {
    if (in == 0 || --in > 0) return false;
    in = lasting ? 1 : 0;
    return hit = true;
  }
};

extern thread_local Refusal of_memory;
extern thread_local Refusal of_threads;

}  // namespace skiff::testing
