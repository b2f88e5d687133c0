// The file: a header, a table of keys, then the blobs, 64-byte aligned. Its numbers are in the machine's byte
// order: nobody but the machine that wrote it can use it.
#include "delegates/xnnpack/weights/packed_weights_file.h"

#include <cpuinfo.h>

#include <cstddef>
#include <cstring>

#include "core/align.h"
#include "core/checksum.h"
#include "core/error_capture.h"

namespace skiff::xnnpack {

/// A model's file names its weights by hashes that it states itself, so another file can name other weights
/// the same. What is packed therefore belongs to one content of a file: known by a keyed hash, or, without
/// reading the content, by the file's identity.
struct PackedWeightsFile::Header {
  char magic[8];
  uint64_t xnnpack;     ///< XNNPACK's build identifier: the sources of all its micro-kernels.
  uint64_t cpu;         ///< What XNNPACK chooses micro-kernels, and so tile sizes, by.
  uint64_t weights_id;  ///< Of the model.
  uint64_t file_size;
  uint64_t entries;
  uint64_t table_checksum;
  uint64_t hash_key[2];
  uint64_t content_hash;  ///< Of the model's file.
  uint64_t identity[4];   ///< Of the model's file; zeros where it was in memory.
  uint64_t reserved;
  uint64_t checksum;  ///< Of the fields before it.
};

namespace {

/// Its last digit changes with the layout below, with what the fields of a PackingKey mean, and with how our
/// own kernels pack.
constexpr char kMagic[8] = {'S', 'K', 'I', 'F', 'F', 'P', 'W', '4'};

struct StoredBlob {
  uint32_t kind;
  uint32_t dtype;
  uint32_t has_bias;
  uint32_t micro_kernel_seed;
  uint32_t flags;
  uint32_t reserved;
  uint64_t packed_bytes;
  uint64_t weights[2];
  uint64_t bias[2];
  uint64_t parameters[sizeof(PackingKey::parameters) / sizeof(uint64_t)];
  uint64_t offset;  ///< From the file's beginning.
  uint64_t checksum;
};
static_assert(sizeof(StoredBlob) == 24 + 8 * 17, "no padding: it is written and summed as bytes");

/// Readable behind the last blob, as behind every other.
constexpr size_t kTail = XNN_EXTRA_BYTES;
constexpr uint8_t kZeros[kAlignment + kTail] = {};

uint64_t CpuId() {
  uint64_t id = Checksum(&cpuinfo_isa, sizeof(cpuinfo_isa)) + sizeof(void*);
  for (uint32_t i = 0; i < cpuinfo_get_uarchs_count(); ++i) {
    const uint64_t parts[] = {id, static_cast<uint64_t>(cpuinfo_get_uarch(i)->uarch)};
    id = Checksum(parts, sizeof(parts));
  }
  return id;
}

StoredBlob ToStored(const PackedBlob& blob, uint64_t offset) {
  const PackingKey& key = blob.key;
  StoredBlob stored = {};
  stored.kind = static_cast<uint32_t>(key.kind);
  stored.dtype = static_cast<uint32_t>(key.dtype);
  stored.has_bias = key.has_bias;
  stored.micro_kernel_seed = key.micro_kernel_seed;
  stored.flags = key.flags;
  stored.packed_bytes = key.packed_bytes;
  stored.weights[0] = key.weights.low;
  stored.weights[1] = key.weights.high;
  stored.bias[0] = key.bias.low;
  stored.bias[1] = key.bias.high;
  std::memcpy(stored.parameters, key.parameters, sizeof(key.parameters));
  stored.offset = offset;
  stored.checksum = blob.checksum;
  return stored;
}

PackedBlob FromStored(const StoredBlob& stored, const uint8_t* file) {
  PackedBlob blob;
  PackingKey& key = blob.key;
  key.kind = static_cast<PackingKind>(stored.kind);
  key.dtype = static_cast<DType>(stored.dtype);
  key.has_bias = stored.has_bias != 0;
  key.micro_kernel_seed = stored.micro_kernel_seed;
  key.flags = stored.flags;
  key.packed_bytes = stored.packed_bytes;
  key.weights = {stored.weights[0], stored.weights[1]};
  key.bias = {stored.bias[0], stored.bias[1]};
  std::memcpy(key.parameters, stored.parameters, sizeof(key.parameters));
  blob.bytes = file + stored.offset;
  blob.checksum = stored.checksum;
  return blob;
}

bool Fits(const StoredBlob& stored, uint64_t file_size) {
  return stored.offset % kAlignment == 0 && stored.offset <= file_size &&
         file_size - stored.offset >= kTail && stored.packed_bytes <= file_size - stored.offset - kTail;
}

StoredBlob RowOf(const uint8_t* table, uint64_t i) {
  StoredBlob stored;
  std::memcpy(&stored, table + i * sizeof(stored), sizeof(stored));
  return stored;
}

Span<const uint8_t> BytesOf(const void* bytes, size_t size) {
  return {static_cast<const uint8_t*>(bytes), size};
}

}  // namespace

PackedWeightsFile::PackedWeightsFile(const ModelStateOptions& options)
    : enabled_(options.cache_folder != nullptr),
      weights_id_(options.weights_id),
      content_(options.content),
      identity_{{options.file_identity[0], options.file_identity[1], options.file_identity[2],
                 options.file_identity[3]}},
      path_(enabled_ ? options.cache_folder : "", weights_id_, "packed") {}

PackedWeightsFile::~PackedWeightsFile() {
  if (mapping_.data != nullptr) platform::UnmapFile(mapping_);
}

PackedWeightsFile::Header PackedWeightsFile::ExpectedHeader() const {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.xnnpack =
      Checksum(xnn_experimental_get_build_identifier_data(), xnn_experimental_get_build_identifier_size());
  header.cpu = CpuId();
  header.weights_id = weights_id_;
  return header;
}

bool PackedWeightsFile::HasSameIdentity(const Header& header) const {
  return std::memcmp(header.identity, identity_.parts, sizeof(header.identity)) == 0;
}

/// A model's file that has not changed is not read.
bool PackedWeightsFile::IsOfThisModel(const Header& header) {
  key_ = {{header.hash_key[0], header.hash_key[1]}};
  content_hash_ = header.content_hash;
  hashed_ =
      (identity_.known() && HasSameIdentity(header)) || KeyedHash(key_, content_) == header.content_hash;
  return hashed_;
}

Status PackedWeightsFile::HashContent() {
  if (hashed_) return OkStatus();
  SKIFF_RETURN_IF_ERROR(platform::FillRandom({reinterpret_cast<uint8_t*>(key_.words), sizeof(key_.words)}));
  content_hash_ = KeyedHash(key_, content_);
  hashed_ = true;
  return OkStatus();
}

void PackedWeightsFile::Load(PackedWeights& weights) {
  if (!enabled_ || !platform::FileExists(path())) return;
  ErrorCapture capture;
  Result<platform::MappedFile> mapped = platform::MapFile(path());
  if (!mapped.ok()) {
    Log(LogLevel::kWarning, "%s; weights are packed anew", capture.message());
    return;
  }
  mapping_ = *mapped;
  if (const char* why = Adopt(weights))
    Log(LogLevel::kWarning, "%s %s; weights are packed anew", path(), why);
}

/// Null, or why the file cannot be used.
const char* PackedWeightsFile::Adopt(PackedWeights& weights) {
  constexpr const char* kDamaged = "is damaged";
  const uint64_t size = mapping_.size;
  if (size < sizeof(Header)) return kDamaged;
  Header header;
  std::memcpy(&header, mapping_.data, sizeof(header));
  const Header expected = ExpectedHeader();
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return "was written by another version of Skiff";
  if (header.checksum != Checksum(&header, offsetof(Header, checksum))) return kDamaged;
  if (header.xnnpack != expected.xnnpack) return "was written by another build of XNNPACK";
  if (header.cpu != expected.cpu) return "was written on another CPU";
  if (header.weights_id != weights_id_ || !IsOfThisModel(header)) return "belongs to another model";
  if (header.file_size != size || header.entries > (size - sizeof(header)) / sizeof(StoredBlob))
    return kDamaged;
  const uint8_t* table = mapping_.data + sizeof(header);
  if (header.table_checksum != Checksum(table, header.entries * sizeof(StoredBlob))) return kDamaged;
  // All or nothing: what says something impossible in one row is not believed in the others.
  for (uint64_t i = 0; i < header.entries; ++i) {
    if (!Fits(RowOf(table, i), size)) return kDamaged;
  }
  for (uint64_t i = 0; i < header.entries; ++i) {
    if (!weights.Adopt(FromStored(RowOf(table, i), mapping_.data), path()).ok())
      return "does not fit into memory";
  }
  moved_ = identity_.known() && !HasSameIdentity(header);
  return nullptr;
}

Status PackedWeightsFile::Save(PackedWeights& weights) {
  if (!enabled_) return OkStatus();
  const std::lock_guard lock(mutex_);
  const uint64_t packed = weights.entries();
  if (packed == saved_ && !moved_) return OkStatus();
  SKIFF_RETURN_IF_ERROR(HashContent());
  SKIFF_RETURN_IF_ERROR(Write(weights));
  saved_ = packed;
  moved_ = false;
  return OkStatus();
}

Status PackedWeightsFile::Write(PackedWeights& weights) {
  static_assert(sizeof(Header) == 128, "no padding: it is written and summed as bytes");
  FixedArray<PackedBlob> blobs;
  SKIFF_RETURN_IF_ERROR(weights.List(&blobs));
  FixedArray<StoredBlob> table;
  SKIFF_RETURN_IF_ERROR(table.Allocate(blobs.size()));
  FixedArray<Span<const uint8_t>> parts;
  SKIFF_RETURN_IF_ERROR(parts.Allocate(4 + 2 * blobs.size()));

  const size_t table_bytes = table.size() * sizeof(StoredBlob);
  uint64_t end = sizeof(Header) + table_bytes;
  const auto padding = [&end] {
    const uint64_t begin = end;
    end = AlignUp(end);
    return BytesOf(kZeros, end - begin);
  };
  parts[2] = padding();
  for (size_t i = 0; i < blobs.size(); ++i) {
    table[i] = ToStored(blobs[i], end);
    parts[3 + 2 * i] = BytesOf(blobs[i].bytes, blobs[i].key.packed_bytes);
    end += blobs[i].key.packed_bytes;
    parts[4 + 2 * i] = padding();
  }
  parts[3 + 2 * blobs.size()] = BytesOf(kZeros, kTail);
  Header header = ExpectedHeader();
  std::memcpy(header.hash_key, key_.words, sizeof(header.hash_key));
  header.content_hash = content_hash_;
  std::memcpy(header.identity, identity_.parts, sizeof(header.identity));
  header.file_size = end + kTail;
  header.entries = table.size();
  header.table_checksum = Checksum(table.data(), table_bytes);
  header.checksum = Checksum(&header, offsetof(Header, checksum));
  parts[0] = BytesOf(&header, sizeof(header));
  parts[1] = BytesOf(table.data(), table_bytes);
  return platform::ReplaceFile(path(), {parts.data(), parts.size()});
}

}  // namespace skiff::xnnpack
