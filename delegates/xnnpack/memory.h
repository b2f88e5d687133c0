/// XNNPACK's memory, seen from here: initialisation, and how much its operators hold.
#pragma once

#include <cstdint>

#include "skiff/status.h"

namespace skiff::xnnpack {

/// Once per process, from any thread. kUnsupported on a CPU that XNNPACK does not know.
Status Initialize();

/// Bytes that XNNPACK allocated less those that it freed, on this thread, since it started. Differences of
/// two values taken around calls on one thread say what those calls kept.
int64_t AllocatedByThisThread();

/// While one lives, XNNPACK gets no more than `bytes` on this thread: a large allocation beyond them fails as
/// it does where memory has run out. Not nested.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  /// Whether something was refused.
  bool reached() const;
};

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
