#include "delegates/vulkan/delegate.h"

#include "delegates/vulkan/canary.h"
#include "delegates/vulkan/lower/emitter.h"
#include "delegates/vulkan/segment/segment.h"
#include "delegates/vulkan/support.h"

namespace skiff {
namespace vulkan {
namespace {

class Session final : public DelegateSession {
 public:
  Session(const std::shared_ptr<Device>& device, const VulkanOptions& options, const char* cache_folder,
          Weights& weights, Tuning& tuning, const DelegateSessionOptions& session)
      : environment_{device,  &options, cache_folder, &weights, &tuning, &device->pipelines(),
                     session, &arena_} {}

  Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& view) override {
    std::unique_ptr<Segment> segment(new (std::nothrow) Segment(view, environment_));
    if (!segment) return Fail(StatusCode::kOutOfMemory, "cannot allocate a Vulkan segment");
    SKIFF_RETURN_IF_ERROR(segment->Prepare());
    return std::unique_ptr<PreparedSegment>(std::move(segment));
  }
  void Idle() override {}

 private:
  std::shared_ptr<Arena> arena_;
  const Environment environment_;
};

class State final : public ModelState {
 public:
  State(std::shared_ptr<Device> device, const VulkanOptions& options, const char* cache_folder,
        uint64_t file_bytes)
      : device_(std::move(device)),
        options_(options),
        cache_folder_(cache_folder),
        weights_(device_, options_, file_bytes),
        tuning_(*device_, options_, cache_folder) {}

  Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions& options) override {
    std::unique_ptr<DelegateSession> session(
        new (std::nothrow) Session(device_, options_, cache_folder_, weights_, tuning_, options));
    if (!session) return Fail(StatusCode::kOutOfMemory, "cannot allocate a Vulkan session");
    return session;
  }
  PackedBytes packed_bytes() const override { return {weights_.bytes(), 0}; }

 private:
  const std::shared_ptr<Device> device_;
  const VulkanOptions options_;
  const char* const cache_folder_;
  Weights weights_;
  Tuning tuning_;
};

}  // namespace
}  // namespace vulkan

const DelegateSupport& VulkanDelegate::support() const { return VulkanSupport(); }
bool VulkanDelegate::Has(const OpDef& op) const {
  return vulkan::FindLowering(op.code) != nullptr || vulkan::FindLowering(op.code, true) != nullptr;
}

Result<std::unique_ptr<ModelState>> VulkanDelegate::CreateModelState(const ModelStateOptions& options) const {
  SKIFF_ASSIGN_OR_RETURN(std::shared_ptr<vulkan::Device> device, vulkan::Device::Get(options_));
  const bool lacks = !device->Has(options_.precision) || options_.fault == VulkanFault::kMissingFeature;
  if (options_.precision != VulkanPrecision::kF32 && lacks) {
    const bool storage = options_.precision == VulkanPrecision::kF16Storage;
    return Fail(StatusCode::kUnsupported, "'%s' has no 16-bit %s", device->name(),
                storage ? "storage, which f16 activations need" : "storage and arithmetic for shaders");
  }
  if (options_.fault != VulkanFault::kDeviceLost && options_.fault != VulkanFault::kTooLong)
    SKIFF_RETURN_IF_ERROR(vulkan::CheckDevice(device, options_, options.cache_folder));
  std::unique_ptr<ModelState> state(new (std::nothrow) vulkan::State(
      std::move(device), options_, options.cache_folder, options.content.size()));
  if (!state) return Fail(StatusCode::kOutOfMemory, "cannot allocate the Vulkan state");
  return state;
}

const Delegate& BuiltinVulkanDelegate() {
  static const VulkanDelegate delegate(VulkanOptionsFromEnvironment());
  return delegate;
}

}  // namespace skiff
