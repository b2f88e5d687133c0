#include "delegates/xnnpack/weights/packed_weights.h"

#include <algorithm>
#include <iterator>

#include "delegates/xnnpack/weights/packing_scope.h"

#include "core/checksum.h"
#include "core/extents.h"
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

uint64_t HashOf(const PackingKey& key) {
  constexpr size_t kParameters = std::size(PackingKey().parameters);
  uint64_t words[7 + kParameters] = {static_cast<uint64_t>(key.kind),
                                     static_cast<uint64_t>(key.dtype) << 1 | uint64_t{key.has_bias},
                                     uint64_t{key.micro_kernel_seed} << 32 | key.flags,
                                     key.weights.low,
                                     key.weights.high,
                                     key.bias.low,
                                     key.bias.high};
  std::copy_n(key.parameters, kParameters, words + 7);
  return Checksum(words, sizeof(words));
}

PackedWeights::~PackedWeights() {
  for (Entry*& chain : chains_) {
    while (chain != nullptr) {
      Entry* entry = chain;
      chain = entry->next;
      if (entry->place == Place::kHeap) FreeBlob(entry->blob);
      delete entry;
    }
  }
}

PackedWeights::Entry* PackedWeights::FindLocked(const PackingKey& key) {
  const uint64_t hash = HashOf(key);
  for (Entry** link = &ChainOf(hash); *link != nullptr;) {
    Entry* entry = *link;
    if (entry->hash != hash || WithoutSize(entry->key) != WithoutSize(key)) {
      link = &entry->next;
      continue;
    }
    if (CheckLocked(*entry, key.packed_bytes)) return entry;
    *link = entry->next;
    delete entry;
  }
  return nullptr;
}

/// True for what may be used. Reading the whole blob costs little more than the page faults that its first
/// use would take in any case.
bool PackedWeights::CheckLocked(Entry& entry, uint64_t bytes) {
  if (entry.place != Place::kMappedUnchecked) return true;  // Its size follows from its key.
  if (entry.key.packed_bytes != bytes || Checksum(entry.blob, entry.key.packed_bytes) != entry.checksum) {
    if (!warned_) Log(LogLevel::kWarning, "%s is damaged; its weights are packed anew", file_);
    warned_ = true;
    return false;
  }
  entry.place = Place::kMapped;
  mapped_bytes_.fetch_add(entry.key.packed_bytes, std::memory_order_relaxed);
  return true;
}

Status PackedWeights::AddLocked(const Entry& entry) {
  Entry* added = new (std::nothrow) Entry(entry);
  if (added == nullptr) return Fail(StatusCode::kOutOfMemory, "cannot list packed weights");
  added->order = came_++;
  added->hash = HashOf(entry.key);
  added->next = ChainOf(added->hash);
  ChainOf(added->hash) = added;
  return OkStatus();
}

Status PackedWeights::Adopt(const PackedBlob& blob, const char* file) {
  const std::lock_guard lock(mutex_);
  file_ = file;
  Entry entry;
  entry.key = blob.key;
  entry.blob = const_cast<void*>(blob.bytes);  // XNNPACK only reads it.
  entry.place = Place::kMappedUnchecked;
  entry.checksum = blob.checksum;
  memory_.ExpectLess(blob.key.packed_bytes);
  return AddLocked(entry);
}

Status PackedWeights::List(FixedArray<PackedBlob>* blobs) {
  const std::lock_guard lock(mutex_);
  FixedArray<const Entry*> ordered;
  SKIFF_RETURN_IF_ERROR(ordered.Allocate(came_));
  size_t count = 0;
  for (const Entry* chain : chains_) {
    for (const Entry* entry = chain; entry != nullptr; entry = entry->next, ++count)
      ordered[entry->order] = entry;
  }
  SKIFF_RETURN_IF_ERROR(blobs->Allocate(count));
  size_t i = 0;
  for (const Entry* entry : ordered) {
    if (entry == nullptr) continue;  // It was damaged.
    const bool heap = entry->place == Place::kHeap;
    (*blobs)[i++] = {entry->key, entry->blob,
                     heap ? Checksum(entry->blob, entry->key.packed_bytes) : entry->checksum};
  }
  return OkStatus();
}

void* PackedWeights::Find(const PackingKey& key) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = FindLocked(key);
  return entry == nullptr ? nullptr : entry->blob;
}

bool PackedWeights::Knows(const PackingKey& key) {
  const uint64_t hash = HashOf(key);
  const std::lock_guard lock(mutex_);
  for (const Entry* entry = ChainOf(hash); entry != nullptr; entry = entry->next) {
    if (entry->hash == hash && WithoutSize(entry->key) == WithoutSize(key)) return true;
  }
  return false;
}

void* PackedWeights::Insert(const PackingKey& key, void* blob) {
  const std::lock_guard lock(mutex_);
  Entry* entry = FindLocked(key);
  if (entry != nullptr) {
    FreeBlob(blob);
    return entry->blob;
  }
  Entry made;
  made.key = key;
  made.blob = blob;
  if (!AddLocked(made).ok()) return nullptr;
  bytes_.fetch_add(key.packed_bytes, std::memory_order_relaxed);
  entries_count_.fetch_add(1, std::memory_order_relaxed);
  return blob;
}

void* PackedWeights::AllocateBlob(size_t bytes) {
  PackingScope::WillPack();
  packings_.fetch_add(1, std::memory_order_relaxed);
  // Other threads may have passed it together.
  const uint64_t held = bytes_.load(std::memory_order_relaxed);
  if (held > limit_ || bytes > limit_ - held) {
    Log(LogLevel::kError, "packed weights outgrow the file");
    return nullptr;
  }
  void* const blob = memory_.Allocate(bytes + kReadableTail);
  constexpr size_t kManyPages = 256 * 1024;
  if (blob != nullptr && bytes >= kManyPages) platform::WillFill(blob, bytes);
  return blob;
}

const void* PackedWeights::InsertOrFree(const PackingKey& key, void* blob) {
  const void* const kept = Insert(key, blob);
  if (kept == nullptr) FreeBlob(blob);
  return kept;
}

WeightsProvider::WeightsProvider(PackedWeights* weights) : weights_(weights), provider_{} {
  provider_.context = this;
  provider_.look_up = LookUp;
  provider_.reserve_space = ReserveSpace;
  provider_.look_up_or_insert = LookUpOrInsert;
  // Addresses are final from the moment they are handed out, which is what XNNPACK asks with this question.
  provider_.is_finalized = [](void*) { return true; };
  // An offset is an address here. NOLINTNEXTLINE(performance-no-int-to-ptr)
  provider_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

WeightsProvider::~WeightsProvider() { weights_->FreeBlob(reserved_); }

bool PackedExtents::Fit() const {
  // Tiles of outputs and inputs; those for vectors of 64 bytes have more, where pointers have 64 bits.
  constexpr uint64_t kMostOutputs = 32;
  constexpr uint64_t kMostInputs = 16;
  // Kernels of up to so many taps pack channels as others pack outputs.
  constexpr uint64_t kDepthwiseTaps = 25;
  const bool by_channels = depthwise && taps <= kDepthwiseTaps;
  const uint64_t rows = by_channels ? SaturatingAdd(groups, 2 * kMostOutputs)
                                    : SaturatingMultiply(groups, (outputs / kMostOutputs + 1) * kMostOutputs);
  const uint64_t numbers =
      by_channels ? 2 * kDepthwiseTaps : SaturatingMultiply(taps, SaturatingAdd(inputs, kMostInputs));
  const uint64_t row_bytes = SaturatingMultiply(numbers, sizeof(float));
  // Of transposed convolutions it counts the bytes of a row in 32 bits.
  return row_bytes <= UINT32_MAX && IsAddressable(SaturatingMultiply(rows, row_bytes));
}

void WeightsProvider::Begin(const PackingKey& key) {
  key_ = key;
  key_.packed_bytes = 0;
  state_ = State::kPlain;
  // A create call that failed after it had reserved memory.
  weights_->FreeBlob(reserved_);
  reserved_ = nullptr;
}

size_t WeightsProvider::LookUp(void* context, const xnn_weights_cache_look_up_key* key) {
  auto* self = static_cast<WeightsProvider*>(context);
  self->key_.micro_kernel_seed = key->seed;
  if (self->key_.packed_bytes == 0) {
    if (self->weights_->Knows(self->key_)) self->state_ = State::kWithheld;
    return kNotFound;
  }
  void* blob = self->weights_->Find(self->key_);
  return blob == nullptr ? kNotFound : OffsetOf(blob);
}

void* WeightsProvider::ReserveSpace(void* context, size_t bytes) {
  auto* self = static_cast<WeightsProvider*>(context);
  self->key_.packed_bytes = bytes;
  if (self->state_ == State::kWithheld) {
    self->state_ = State::kAskAgain;
    return nullptr;
  }
  self->weights_->FreeBlob(self->reserved_);
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
  if (kept == nullptr) {
    self->state_ = State::kNotKept;
    return OffsetOf(blob);
  }
  self->reserved_ = nullptr;
  return OffsetOf(kept);
}

}  // namespace skiff::xnnpack
