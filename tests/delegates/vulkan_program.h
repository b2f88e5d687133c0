/// What a node's lowering asks the GPU for.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "delegates/vulkan/device/device.h"
#include "delegates/vulkan/lower/emitter.h"
#include "node_harness.h"
#include "ops/quantized.h"

namespace skiff::testing {

inline vulkan::Program ProgramOf(const Node& node, const std::shared_ptr<vulkan::Device>& device,
                                 const VulkanOptions& options = {}) {
  const vulkan::Tuning tuning(*device, options, nullptr);
  vulkan::Weights weights(device, options, 0);
  vulkan::Program program;
  const SegmentView segment = node.segment();
  vulkan::Emitter emit(segment, *device, options, tuning, weights, program);
  emit.Begin(0);
  EXPECT_TRUE(vulkan::FindLowering(node.description().op, ComputesQuantized(node.types()))(emit).ok());
  return program;
}

/// The shader families, whether it dispatches them at these extents or not.
inline std::set<std::string> FamiliesOf(const Node& node, const std::shared_ptr<vulkan::Device>& device,
                                        const VulkanOptions& options) {
  const vulkan::Program program = ProgramOf(node, device, options);
  std::set<std::string> families;
  for (const vulkan::Dispatch& dispatch : program.dispatches)
    families.insert(vulkan::ShaderName(dispatch.key.shader));
  for (const vulkan::PipelineKey& key : program.variants) families.insert(vulkan::ShaderName(key.shader));
  return families;
}

}  // namespace skiff::testing
