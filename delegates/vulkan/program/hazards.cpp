#include "delegates/vulkan/program/hazards.h"

namespace skiff::vulkan {
namespace {

bool Overlaps(Span<const ByteRange> ranges, const ByteRange& other) {
  for (const ByteRange& range : ranges) {
    if (range.begin < other.end && other.begin < range.end) return true;
  }
  return false;
}

}  // namespace

bool Hazards::Conflicts(Span<const ByteRange> reads, Span<const ByteRange> writes) const {
  for (const ByteRange& read : reads) {
    if (Overlaps(writes_, read)) return true;
  }
  for (const ByteRange& write : writes) {
    if (Overlaps(reads_, write) || Overlaps(writes_, write)) return true;
  }
  return false;
}

Status Hazards::Note(Span<const ByteRange> reads, Span<const ByteRange> writes) {
  for (const ByteRange& read : reads) SKIFF_RETURN_IF_ERROR(reads_.Append(read));
  for (const ByteRange& write : writes) SKIFF_RETURN_IF_ERROR(writes_.Append(write));
  return OkStatus();
}

void Hazards::Clear() {
  reads_.Truncate(0);
  writes_.Truncate(0);
}

}  // namespace skiff::vulkan
