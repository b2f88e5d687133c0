/// The compiled shaders.
#pragma once

#include <cstddef>
#include <cstdint>

#include "delegates/vulkan/device/options.h"

namespace skiff::vulkan {

enum class Shader : uint8_t {
#define SHADER(Name, file) k##Name,
#include "delegates/vulkan/pipelines/shaders.def"
#undef SHADER
};
inline constexpr size_t kShaderCount = 0
#define SHADER(Name, file) +1
#include "delegates/vulkan/pipelines/shaders.def"
#undef SHADER
    ;

struct ShaderCode {
  const uint32_t* words = nullptr;
  size_t bytes = 0;
};

/// SPIR-V of a shader; null words where the build left it out (SKIFF_VULKAN_SHADERS). Shaders that have
/// nothing to compute in f16 are the same with f16 arithmetic as with f16 storage.
ShaderCode CodeOf(Shader shader, VulkanPrecision precision);
const char* ShaderName(Shader shader);

}  // namespace skiff::vulkan
