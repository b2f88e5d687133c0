/// XNNPACK's initialisation, and its memory, which core/memory_account.h counts.
#pragma once

#include "skiff/status.h"

namespace skiff::xnnpack {

/// Once per process, from any thread. kUnsupported on a CPU that XNNPACK does not know.
Status Initialize();

/// While it holds memory, XNNPACK can have a few bytes on this thread though there are none left: in places
/// it does not look whether a reallocation failed.
class Spare {
 public:
  Spare() = default;
  ~Spare();
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;
  Status Find();
};

}  // namespace skiff::xnnpack
