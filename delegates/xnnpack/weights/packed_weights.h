/// Packed weights, shared by all Sessions, plans and buckets of a Model. It stands behind XNNPACK's
/// weights-cache interface in place of XNNPACK's own cache, which cannot grow after it is finalised and whose
/// key leaves out most of what decides the packing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <xnnpack.h>

#include "core/fixed_array.h"
#include "delegates/xnnpack/weights/blob_memory.h"
#include "skiff/delegate.h"

namespace skiff::xnnpack {

enum class PackingKind : uint32_t {
  kConvolution = 1,
  kTransposedConvolution = 2,
  kLinear = 3,
  kAverageAsConvolution = 4,
  kBatchNorm = 5,
  kDepthwise = 6,  ///< For our own kernels, as are the next.
  kDense = 7,
  kWinograd = 8,
  kQuantizedWeights = 9,  ///< Of products of f32.
  kCodeDense = 10,
  kCodeDepthwise = 11,
  kRowCodesLinear = 12,
  kRowCodesConvolution = 13,
  kByteDepthwise = 14,
  kCodeWinograd = 15,
  kRowCodesDense = 16,
  kFewBits = 17,
};

/// Everything that decides the bytes of a packed blob. Two equal keys may share one, also in a cache file:
/// where our own kernels come to pack otherwise under the same key, the file's version changes
/// (packed_weights_file.cpp).
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

/// Of all of a key but packed_bytes.
uint64_t HashOf(const PackingKey& key);

/// What one of XNNPACK's create functions packs: for each output of each group all inputs of all taps.
struct PackedExtents {
  uint64_t inputs = 0;  ///< Of a group, as are the outputs.
  uint64_t outputs = 0;
  uint64_t taps = 1;
  uint64_t groups = 1;
  bool depthwise = false;  ///< A convolution whose groups have one input and one output.

  /// Whether none of XNNPACK's sizes of it wraps around, at which it does not look: for tiles of as many
  /// outputs and inputs as its kernels have at most, with a bias.
  bool Fit() const;
};

/// A packed blob as a cache file keeps it.
struct PackedBlob {
  PackingKey key;
  const void* bytes = nullptr;  ///< key.packed_bytes of them, and XNN_EXTRA_BYTES that are readable.
  uint64_t checksum = 0;
};

/// Thread-safe. Entries stay where they are until the Model goes.
class PackedWeights {
 public:
  /// Of a file of so many bytes: weights may grow when they are packed, but not without bounds where many
  /// nodes have a copy of the same ones, each with a bias of its own.
  explicit PackedWeights(uint64_t file_bytes = uint64_t{1} << 40)
      : limit_(kAlwaysAllowed + file_bytes * kMostGrowth), memory_(file_bytes) {}
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// Null when there is none of as many bytes.
  void* Find(const PackingKey& key);
  /// Whether there is one, of however many bytes.
  bool Knows(const PackingKey& key);
  /// Keeps `blob` (from AllocateBlob() or platform::AllocateAligned()) and returns it, or frees it and
  /// returns the equal one that another thread put there first. Null when memory for the entry ran out; the
  /// blob stays the caller's then.
  void* Insert(const PackingKey& key, void* blob);
  /// Keeps a blob of the cache file `file`, whose mapping and name outlive this object. Its checksum is
  /// looked at when it is first found: a damaged blob is dropped then, after a warning.
  Status Adopt(const PackedBlob& blob, const char* file);
  /// All blobs in the order in which they came, which is that of the nodes: a start reads the file from its
  /// beginning to its end. Adopted ones keep the file's checksum.
  Status List(FixedArray<PackedBlob>* blobs);
  /// Memory to pack into, which counts as one packing; null, and a sentence in the log, beyond the limit.
  /// Weights are read from now on (PackingScope).
  void* AllocateBlob(size_t bytes);
  /// What AllocateBlob() gave and Insert() did not take. Null is accepted.
  void FreeBlob(void* blob) { memory_.Free(blob); }
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

  /// Of the blobs that were packed here, and of those found in the cache file.
  PackedBytes bytes() const {
    return {bytes_.load(std::memory_order_relaxed), mapped_bytes_.load(std::memory_order_relaxed)};
  }
  /// Blobs that were packed here.
  uint64_t entries() const { return entries_count_.load(std::memory_order_relaxed); }
  /// How often XNNPACK asked for memory to pack into.
  uint64_t packings() const { return packings_.load(std::memory_order_relaxed); }

 private:
  /// From f16 to the transformed f32 of Winograd's algorithm: eight times as many.
  static constexpr uint64_t kMostGrowth = 16;
  static constexpr uint64_t kAlwaysAllowed = 64u << 20;
  enum class Place : uint8_t { kHeap, kMapped, kMappedUnchecked };
  struct Entry {
    PackingKey key;
    uint64_t hash = 0;
    void* blob = nullptr;
    Place place = Place::kHeap;
    uint64_t checksum = 0;  ///< Of mapped ones.
    size_t order = 0;       ///< How many came before it.
    Entry* next = nullptr;
  };
  /// Nets have hundreds of blobs, a hostile file hundreds of thousands.
  static constexpr size_t kChains = 2048;
  Entry*& ChainOf(uint64_t hash) { return chains_[hash % kChains]; }
  Entry* FindLocked(const PackingKey& key);
  Status AddLocked(const Entry& entry);
  bool CheckLocked(Entry& entry, uint64_t bytes);
  const void* InsertOrFree(const PackingKey& key, void* blob);

  const uint64_t limit_;
  BlobMemory memory_;
  std::mutex mutex_;
  Entry* chains_[kChains] = {};
  size_t came_ = 0;  ///< Entries ever added.
  const char* file_ = "";
  bool warned_ = false;
  std::atomic<uint64_t> bytes_{0}, mapped_bytes_{0}, entries_count_{0}, packings_{0};
};

/// What XNNPACK operators get as their weights cache: it remembers the key of the one that is being made. It
/// must outlive them.
class WeightsProvider {
 public:
  explicit WeightsProvider(PackedWeights* weights);
  ~WeightsProvider();
  WeightsProvider(const WeightsProvider&) = delete;
  WeightsProvider& operator=(const WeightsProvider&) = delete;

  /// Makes `made`, an Operator, with the weights of this key; `create` calls one of XNNPACK's create
  /// functions. kUnsupported where that packs more than `extents` may be.
  ///
  /// XNNPACK asks for weights before it says how many bytes it will read. A cache file may hold fewer under
  /// the same key; so what is known is kept from it until it has named the number, as it does when it wants
  /// to pack. It gets no memory then, gives up, and is asked again.
  template <class Made, class Create>
  Status Make(Made& made, const PackingKey& key, const PackedExtents& extents, const Create& create) {
    if (!extents.Fit()) return Status(StatusCode::kUnsupported);
    const auto make = [&](xnn_operator_t* to) { return create(&provider_, to); };
    made.Reset();  // It may use what was reserved.
    Begin(key);
    Status status = made.Make(make);
    if (state_ == State::kAskAgain) status = made.Make(make);
    if (state_ != State::kNotKept) return status;
    made.Reset();
    return Status(StatusCode::kOutOfMemory);
  }

 private:
  enum class State : uint8_t {
    kPlain,
    kWithheld,  ///< There is something, of perhaps another size.
    kAskAgain,  ///< Now key_ has the size that XNNPACK expects.
    kNotKept,   ///< What was packed could not be listed, and is freed at the next Begin().
  };
  void Begin(const PackingKey& key);
  static size_t LookUp(void* context, const xnn_weights_cache_look_up_key* key);
  static void* ReserveSpace(void* context, size_t bytes);
  static size_t LookUpOrInsert(void* context, const xnn_weights_cache_look_up_key* key, void* blob,
                               size_t bytes);

  PackedWeights* weights_;
  PackingKey key_;
  State state_ = State::kPlain;
  void* reserved_ = nullptr;  ///< Handed to XNNPACK and not (or never) inserted.
  xnn_weights_cache_provider provider_;
};

}  // namespace skiff::xnnpack
