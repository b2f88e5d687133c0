/// Packed weights, shared by all Sessions, plans and buckets of a Model. It stands behind XNNPACK's
/// weights-cache interface in place of XNNPACK's own cache, which cannot grow after it is finalised and whose
/// key leaves out most of what decides the packing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <xnnpack.h>

#include "skiff/delegate.h"

namespace skiff::xnnpack {

enum class PackingKind : uint32_t {
  kConvolution = 1,
  kTransposedConvolution = 2,
  kLinear = 3,
  kAverageAsConvolution = 4,
  kBatchNorm = 5,
  kDepthwise = 6,  ///< For our own kernels, as is the next.
  kDense = 7,
};

/// Everything that decides the bytes of a packed blob. Two equal keys may share one.
struct PackingKey {
  PackingKind kind = PackingKind::kConvolution;
  DType dtype = DType::kInvalid;
  bool has_bias = false;
  uint32_t micro_kernel_seed = 0;  ///< XNNPACK's own part of the key: tile sizes of the micro-kernel.
  uint32_t flags = 0;              ///< Of the create function.
  uint64_t packed_bytes = 0;
  ContentHash weights;
  ContentHash bias;
  uint64_t parameters[10] = {};  ///< Geometry, groups, zero points, scales: whatever the kind has.
  bool operator==(const PackingKey&) const = default;
};

/// Thread-safe. Entries stay where they are until the Model goes.
class PackedWeights {
 public:
  PackedWeights() = default;
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// Null when there is none. The key's packed_bytes is ignored.
  void* Find(const PackingKey& key);
  /// Keeps `blob` (from platform::AllocateAligned) and returns it, or frees it and returns the equal one that
  /// another thread put there first. Null when memory for the entry ran out; the blob stays the caller's
  /// then.
  void* Insert(const PackingKey& key, void* blob);
  /// Memory to pack into, which counts as one packing.
  void* AllocateBlob(size_t bytes);
  /// The blob of this key; where there is none yet, `fill` packs it into key.packed_bytes of memory. Null
  /// when memory ran out.
  template <class Fill>
  const void* FindOrPack(const PackingKey& key, const Fill& fill) {
    if (const void* found = Find(key)) return found;
    void* const blob = AllocateBlob(key.packed_bytes);
    if (blob == nullptr) return nullptr;
    fill(blob);
    return InsertOrFree(key, blob);
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t entries() const { return entries_count_.load(std::memory_order_relaxed); }
  /// How often XNNPACK asked for memory to pack into.
  uint64_t packings() const { return packings_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    PackingKey key;
    void* blob = nullptr;
    Entry* next = nullptr;
  };
  /// Chains of a few entries each: nets have hundreds of blobs, and content hashes spread evenly.
  static constexpr size_t kChains = 256;
  Entry*& ChainOf(const PackingKey& key) { return chains_[key.weights.low % kChains]; }
  Entry* FindLocked(const PackingKey& key);
  const void* InsertOrFree(const PackingKey& key, void* blob);

  std::mutex mutex_;
  Entry* chains_[kChains] = {};
  std::atomic<uint64_t> bytes_{0}, entries_count_{0}, packings_{0};
};

/// What one XNNPACK operator gets as its weights cache: it remembers the key of that operator. It must
/// outlive it.
class WeightsProvider {
 public:
  explicit WeightsProvider(PackedWeights* weights);
  ~WeightsProvider();
  WeightsProvider(const WeightsProvider&) = delete;
  WeightsProvider& operator=(const WeightsProvider&) = delete;

  /// Before each create call.
  xnn_weights_cache_t For(const PackingKey& key);

 private:
  static size_t LookUp(void* context, const xnn_weights_cache_look_up_key* key);
  static void* ReserveSpace(void* context, size_t bytes);
  static size_t LookUpOrInsert(void* context, const xnn_weights_cache_look_up_key* key, void* blob,
                               size_t bytes);

  PackedWeights* weights_;
  PackingKey key_;
  void* reserved_ = nullptr;  ///< Handed to XNNPACK and not (or never) inserted.
  xnn_weights_cache_provider provider_;
};

}  // namespace skiff::xnnpack
