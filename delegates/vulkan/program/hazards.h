/// Which dispatches must wait for which: by the memory that they read and write.
#pragma once

#include "delegates/vulkan/device/list.h"

namespace skiff::vulkan {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// What was read and written since the last barrier.
class Hazards {
 public:
  /// Whether work that reads and writes these must wait for earlier work.
  bool Conflicts(Span<const ByteRange> reads, Span<const ByteRange> writes) const;
  Status Note(Span<const ByteRange> reads, Span<const ByteRange> writes);
  /// So many are pending that comparing with all of them costs more than a barrier.
  bool full() const { return reads_.size() + writes_.size() > 512; }
  /// After a barrier nothing is pending.
  void Clear();

 private:
  List<ByteRange> reads_;
  List<ByteRange> writes_;
};

}  // namespace skiff::vulkan
