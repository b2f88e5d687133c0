/// The Vulkan delegate: runs segments on the GPU.
#pragma once

#include "delegates/vulkan/device/options.h"
#include "skiff/delegate.h"

namespace skiff {

/// With options of the application's own; pass it in ModelOptions::delegates. It must outlive the Models.
class VulkanDelegate final : public Delegate {
 public:
  explicit constexpr VulkanDelegate(const VulkanOptions& options) : options_(options) {}

  const DelegateSupport& support() const override;
  bool Has(const OpDef& op) const override;
  /// kUnsupported, with a sentence, where there is no device that will do.
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions& options) const override;

 private:
  const VulkanOptions options_;
};

/// The one with VulkanOptionsFromEnvironment().
const Delegate& BuiltinVulkanDelegate();

}  // namespace skiff
