#include "delegates/vulkan/hazards.h"

namespace skiff::vulkan {
namespace {

bool Overlaps(Span<const ByteRange> ranges, const ByteRange& other) {
  for (const ByteRange& range : ranges) {
    if (range.begin < other.end && other.begin < range.end) return true;
  }
  return false;
}

}  // namespace

bool Hazards::Conflicts(Span<const ByteRange> reads, const ByteRange& write) const {
  for (const ByteRange& read : reads) {
    if (Overlaps(writes_, read)) return true;
  }
  return Overlaps(reads_, write) || Overlaps(writes_, write);
}

Status Hazards::Note(Span<const ByteRange> reads, const ByteRange& write) {
  for (const ByteRange& read : reads) SKIFF_RETURN_IF_ERROR(reads_.Append(read));
  return writes_.Append(write);
}

void Hazards::Clear() {
  reads_.Truncate(0);
  writes_.Truncate(0);
}

}  // namespace skiff::vulkan
