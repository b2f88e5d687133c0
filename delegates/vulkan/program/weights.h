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
  Weights(std::shared_ptr<Device> device, const VulkanOptions& options)
      : device_(std::move(device)), options_(options) {}

  /// The constant's place; place kNone where it was never added.
  Operand Find(const WeightsKey& key);
  /// Room for `bytes`, which the caller fills at `*host` before Flush(). kOutOfMemory: the device has no
  /// more.
  Result<Operand> Add(const WeightsKey& key, uint64_t bytes, unsigned char** host);
  /// Brings what was added to the device.
  Status Flush();
  uint64_t bytes() const { return bytes_; }
  std::mutex& lock() { return lock_; }

 private:
  struct Entry {
    WeightsKey key;
    Operand place;
  };
  struct Chunk {
    Buffer device;
    Buffer staging;  ///< Nothing where the device's memory is mapped.
    uint64_t used = 0;
    uint64_t flushed = 0;
  };
  Status AddChunk(uint64_t bytes);

  std::shared_ptr<Device> device_;
  const VulkanOptions options_;
  std::mutex lock_;
  List<Entry> entries_;
  List<Chunk> chunks_;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace skiff::vulkan
