#include "skiff/model.h"

#include <atomic>
#include <cstring>

#include "core/error_capture.h"
#include "core/platform.h"
#include "core/spin_lock.h"
#include "format/container.h"
#include "format/model_data.h"

namespace skiff {

const char* TargetName(Target target) {
  return target == Target::kCpu ? "cpu" : target == Target::kVulkan ? "vulkan" : "unknown";
}

struct Model::Internals {
  platform::MappedFile mapping;
  Span<const uint8_t> content;  ///< The mapping's, or the caller's.
  ModelData data;
  Span<const Delegate* const> delegates;
  FixedArray<char> cache_folder;
  FixedArray<CustomOperator> custom_operators;
  std::atomic<bool> cache_failed{false};
  SpinLock lock;
  FixedArray<std::unique_ptr<ModelState>> states;  ///< By index of the delegate.

  Status TakeOptions(const ModelOptions& options) {
    delegates = options.delegates;
    SKIFF_RETURN_IF_ERROR(states.Allocate(1 + delegates.size()));
    SKIFF_RETURN_IF_ERROR(TakeCustomOperators(options.custom_operators));
    if (options.cache_folder == nullptr) return OkStatus();
    if (*options.cache_folder == '\0')  // Would be the root of the file system.
      return Fail(StatusCode::kInvalidArgument, "cache_folder is empty; name a folder, or leave it null");
    const size_t size = std::strlen(options.cache_folder) + 1;
    SKIFF_RETURN_IF_ERROR(cache_folder.Allocate(size));
    std::memcpy(cache_folder.data(), options.cache_folder, size);
    return OkStatus();
  }
  Status TakeCustomOperators(Span<const CustomOperator> given) {
    SKIFF_RETURN_IF_ERROR(custom_operators.Allocate(given.size()));
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].name == nullptr || *given[i].name == '\0' || given[i].infer == nullptr ||
          given[i].run == nullptr)
        return Fail(StatusCode::kInvalidArgument,
                    "custom operator %zu '%s' must have a name, a shape rule and a kernel", i,
                    given[i].name == nullptr ? "" : given[i].name);
      custom_operators[i] = given[i];
    }
    return OkStatus();
  }
  ModelState* StateNow(size_t index) {
    lock.lock();
    ModelState* state = states[index].get();
    lock.unlock();
    return state;
  }
  Status SaveCache() {
    Status first = OkStatus();
    for (size_t i = 0; i < states.size(); ++i) {
      ModelState* state = StateNow(i);
      const Status status = state == nullptr ? OkStatus() : state->SaveCache();
      if (first.ok()) first = status;
    }
    return first;
  }
  /// A start that will be slow again is no reason to fail. One warning: what fails now fails the next time.
  void TrySaveCache() {
    if (cache_failed.load(std::memory_order_relaxed)) return;
    ErrorCapture capture;
    if (SaveCache().ok()) return;
    cache_failed.store(true, std::memory_order_relaxed);
    Log(LogLevel::kWarning, "%s; the next start will not be faster", capture.message());
  }
  ~Internals() {
    TrySaveCache();
    for (auto& state : states) state.reset();
    if (mapping.data != nullptr) platform::UnmapFile(mapping);
  }
};

Model::Model(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {}
Model::~Model() = default;

Result<std::unique_ptr<Model>> Model::Open(const char* path, const ModelOptions& options) {
  SKIFF_ASSIGN_OR_RETURN(const platform::MappedFile mapping, platform::MapFile(path));
  std::unique_ptr<Internals> internals(new (std::nothrow) Internals);
  if (!internals) {
    platform::UnmapFile(mapping);
    return Fail(StatusCode::kOutOfMemory, "%s: cannot allocate the model", path);
  }
  internals->mapping = mapping;
  internals->content = {mapping.data, mapping.size};
  SKIFF_RETURN_IF_ERROR(internals->TakeOptions(options));
  SKIFF_RETURN_IF_ERROR(
      ReadModel(path, {mapping.data, mapping.size}, internals->custom_operators, &internals->data));
  std::unique_ptr<Model> model(new (std::nothrow) Model(std::move(internals)));
  if (!model) return Fail(StatusCode::kOutOfMemory, "%s: cannot allocate the model", path);
  return model;
}

Result<std::unique_ptr<Model>> Model::Open(Span<const uint8_t> bytes, const ModelOptions& options) {
  constexpr const char* kName = "the model in memory";
  if (reinterpret_cast<uintptr_t>(bytes.data()) % format::kAlignment != 0) {
    return Fail(StatusCode::kInvalidArgument, "%s must begin at a multiple of %llu bytes", kName,
                static_cast<unsigned long long>(format::kAlignment));
  }
  std::unique_ptr<Internals> internals(new (std::nothrow) Internals);
  if (!internals) return Fail(StatusCode::kOutOfMemory, "%s: cannot allocate the model", kName);
  internals->content = bytes;
  SKIFF_RETURN_IF_ERROR(internals->TakeOptions(options));
  SKIFF_RETURN_IF_ERROR(ReadModel(kName, bytes, internals->custom_operators, &internals->data));
  std::unique_ptr<Model> model(new (std::nothrow) Model(std::move(internals)));
  if (!model) return Fail(StatusCode::kOutOfMemory, "%s: cannot allocate the model", kName);
  return model;
}

int Model::signature_count() const { return static_cast<int>(internals_->data.signatures.size()); }

SignatureInfo Model::signature(int index) const {
  const SignatureData& signature = internals_->data.signatures[static_cast<size_t>(index)];
  return {signature.name, signature.caller_inputs(), signature.caller_outputs()};
}

int Model::plan_count(int signature) const {
  return static_cast<int>(internals_->data.signatures[static_cast<size_t>(signature)].plans.size());
}

PlanSummary Model::plan(int signature, int plan) const {
  const PlanData& data =
      internals_->data.signatures[static_cast<size_t>(signature)].plans[static_cast<size_t>(plan)];
  return {data.target, data.kind, data.ranges, data.arena_bytes, static_cast<uint32_t>(data.nodes.size())};
}

Span<const VariableInfo> Model::variables() const { return internals_->data.variables; }
Span<const SymbolInfo> Model::symbols() const { return internals_->data.symbols; }

const char* BucketKindName(BucketKind kind) {
  constexpr const char* kNames[] = {"exact", "relaxed", "unbounded"};
  return kNames[static_cast<size_t>(kind)];
}

const char* Model::metadata(const char* key) const {
  for (const MetadataEntry& entry : internals_->data.metadata) {
    if (key != nullptr && std::strcmp(entry.key, key) == 0) return entry.value;
  }
  return nullptr;
}

const char* Model::producer() const { return internals_->data.producer; }
uint64_t Model::file_bytes() const { return internals_->data.file_bytes; }
uint64_t Model::weights_bytes() const { return internals_->data.weights_bytes; }
uint64_t Model::widened_bytes() const { return internals_->data.wide_weights.bytes(); }
const ModelData& Model::data() const { return internals_->data; }

PackedBytes Model::packed_bytes() const {
  PackedBytes sum;
  for (size_t i = 0; i < internals_->states.size(); ++i) {
    const ModelState* state = internals_->StateNow(i);
    const PackedBytes bytes = state == nullptr ? PackedBytes() : state->packed_bytes();
    sum.heap += bytes.heap;
    sum.mapped += bytes.mapped;
  }
  return sum;
}

Status Model::SaveCache() { return internals_->SaveCache(); }
void Model::TrySaveCache() { internals_->TrySaveCache(); }

size_t Model::delegate_count() const { return 1 + internals_->delegates.size(); }
const Delegate& Model::delegate(size_t index) const {
  return index == 0 ? ReferenceDelegate() : *internals_->delegates[index - 1];
}

Result<size_t> Model::IndexOf(DelegateKind kind) const {
  for (size_t i = delegate_count(); i-- > 0;) {
    if (delegate(i).kind() == kind) return i;
  }
  const bool known = kind >= DelegateKind::kOfApplications || kind <= DelegateKind::kControl;
  if (!known) {
    return Fail(
        StatusCode::kUnsupported,
        "the model uses delegate %d, neither among ModelOptions::delegates nor known to this build; update "
        "Skiff",
        static_cast<int>(kind));
  }
  return Fail(StatusCode::kUnsupported,
              "the model uses the %s delegate (number %d), which was not passed in ModelOptions::delegates",
              DelegateKindName(kind), static_cast<int>(kind));
}

Result<const Delegate*> Model::DelegateOf(DelegateKind kind) const {
  SKIFF_ASSIGN_OR_RETURN(const size_t index, IndexOf(kind));
  return &delegate(index);
}

Result<ModelState*> Model::StateOf(DelegateKind kind) {
  SKIFF_ASSIGN_OR_RETURN(const size_t index, IndexOf(kind));
  internals_->lock.lock();
  std::unique_ptr<ModelState>& state = internals_->states[index];
  Status status;
  if (!state) {
    const auto& identity = internals_->mapping.identity.parts;
    Result<std::unique_ptr<ModelState>> made =
        delegate(index).CreateModelState({internals_->cache_folder.data(),
                                          internals_->data.weights_id,
                                          internals_->content,
                                          {identity[0], identity[1], identity[2], identity[3]}});
    if (made.ok()) {
      state = std::move(made.value());
    } else {
      status = made.status();
    }
  }
  ModelState* result = state.get();
  internals_->lock.unlock();
  if (!status.ok()) return status;
  return result;
}

}  // namespace skiff
