#include "delegates/xnnpack/packed_weights.h"

#include "core/platform.h"

namespace skiff::xnnpack {
namespace {

/// XNNPACK may read past the end of packed weights as it may past tensors.
constexpr size_t kReadableTail = XNN_EXTRA_BYTES;

/// An "offset" of the interface is the address itself: blobs never move.
size_t OffsetOf(void* blob) { return reinterpret_cast<size_t>(blob); }
constexpr size_t kNotFound = SIZE_MAX;

PackingKey WithoutSize(PackingKey key) {
  key.packed_bytes = 0;
  return key;
}

}  // namespace

PackedWeights::~PackedWeights() {
  for (Entry*& chain : chains_) {
    while (chain != nullptr) {
      Entry* entry = chain;
      chain = entry->next;
      platform::FreeAligned(entry->blob);
      delete entry;
    }
  }
}

PackedWeights::Entry* PackedWeights::FindLocked(const PackingKey& key) {
  const PackingKey wanted = WithoutSize(key);
  for (Entry* entry = ChainOf(key); entry != nullptr; entry = entry->next) {
    if (WithoutSize(entry->key) == wanted) return entry;
  }
  return nullptr;
}

void* PackedWeights::Find(const PackingKey& key) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = FindLocked(key);
  return entry == nullptr ? nullptr : entry->blob;
}

void* PackedWeights::Insert(const PackingKey& key, void* blob) {
  const std::lock_guard lock(mutex_);
  Entry* entry = FindLocked(key);
  if (entry != nullptr) {
    platform::FreeAligned(blob);
    return entry->blob;
  }
  Entry*& chain = ChainOf(key);
  entry = new (std::nothrow) Entry{key, blob, chain};
  if (entry == nullptr) return nullptr;
  chain = entry;
  bytes_.fetch_add(key.packed_bytes, std::memory_order_relaxed);
  entries_count_.fetch_add(1, std::memory_order_relaxed);
  return blob;
}

void* PackedWeights::AllocateBlob(size_t bytes) {
  packings_.fetch_add(1, std::memory_order_relaxed);
  return platform::AllocateAligned(bytes + kReadableTail);
}

const void* PackedWeights::InsertOrFree(const PackingKey& key, void* blob) {
  const void* const kept = Insert(key, blob);
  if (kept == nullptr) platform::FreeAligned(blob);
  return kept;
}

WeightsProvider::WeightsProvider(PackedWeights* weights) : weights_(weights), provider_{} {
  provider_.context = this;
  provider_.look_up = LookUp;
  provider_.reserve_space = ReserveSpace;
  provider_.look_up_or_insert = LookUpOrInsert;
  // Addresses are final from the moment they are handed out, which is what XNNPACK asks with this question.
  provider_.is_finalized = [](void*) { return true; };
  provider_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

WeightsProvider::~WeightsProvider() { platform::FreeAligned(reserved_); }

xnn_weights_cache_t WeightsProvider::For(const PackingKey& key) {
  key_ = key;
  // A create call that failed after it had reserved memory.
  platform::FreeAligned(reserved_);
  reserved_ = nullptr;
  return &provider_;
}

size_t WeightsProvider::LookUp(void* context, const xnn_weights_cache_look_up_key* key) {
  auto* self = static_cast<WeightsProvider*>(context);
  self->key_.micro_kernel_seed = key->seed;
  void* blob = self->weights_->Find(self->key_);
  return blob == nullptr ? kNotFound : OffsetOf(blob);
}

void* WeightsProvider::ReserveSpace(void* context, size_t bytes) {
  auto* self = static_cast<WeightsProvider*>(context);
  platform::FreeAligned(self->reserved_);
  self->reserved_ = self->weights_->AllocateBlob(bytes);
  return self->reserved_;
}

/// Depthwise and transposed convolutions never look up before they pack: for them this is where a duplicate
/// is found.
size_t WeightsProvider::LookUpOrInsert(void* context, const xnn_weights_cache_look_up_key* key, void* blob,
                                       size_t bytes) {
  auto* self = static_cast<WeightsProvider*>(context);
  self->key_.micro_kernel_seed = key->seed;
  self->key_.packed_bytes = bytes;
  if (blob == nullptr) return LookUp(context, key);
  void* kept = self->weights_->Insert(self->key_, blob);
  if (kept == nullptr) return OffsetOf(blob);
  self->reserved_ = nullptr;
  return OffsetOf(kept);
}

}  // namespace skiff::xnnpack
