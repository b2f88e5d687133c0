/// A Model's constants in device memory, in the layouts that shaders want, each made and uploaded once.
#pragma once

#include "delegates/vulkan/program/commands.h"
#include "delegates/vulkan/program/program.h"
#include "skiff/delegate.h"

namespace skiff::vulkan {

/// What a packed constant is: its elements, and everything that decides their order.
struct WeightsKey {
  ContentHash hash;
  uint32_t layout = 0;  ///< The packing's name, chosen by the lowering.
  uint32_t sizes[5] = {};
  bool f16 = false;  ///< How floats are stored.
  bool operator==(const WeightsKey&) const = default;
};

class Weights {
 public:
  /// Of a file of so many bytes.
  Weights(std::shared_ptr<Device> device, const VulkanOptions& options, uint64_t file_bytes);

  /// The constant's place; place kNone where it was never added.
  Operand Find(const WeightsKey& key);
  /// Room for `bytes`, which the caller fills at `*host` before Flush(). kOutOfMemory: the device has no
  /// more, or the file asks for many times its own size (its weights may lie one over the other).
  Result<Operand> Add(const WeightsKey& key, uint64_t bytes, unsigned char** host);
  /// Brings what was added to the device.
  Status Flush();
  uint64_t bytes() const { return bytes_; }
  std::mutex& lock() { return lock_; }

 private:
  struct Entry {
    WeightsKey key;
    Operand place;
    int32_t next = -1;  ///< Of those in the same bucket.
  };
  struct Chunk {
    Buffer device;
    Buffer staging;  ///< Nothing where the device's memory is mapped.
    uint64_t used = 0;
    uint64_t flushed = 0;
  };
  Status AddChunk(uint64_t bytes);
  int32_t& BucketOf(const WeightsKey& key);
  Status GrowBuckets();

  std::shared_ptr<Device> device_;
  const VulkanOptions options_;
  const uint64_t limit_;
  std::mutex lock_;
  List<Entry> entries_;
  FixedArray<int32_t> buckets_;  ///< The newest entry of each; a power of two of them.
  List<Chunk> chunks_;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace skiff::vulkan
