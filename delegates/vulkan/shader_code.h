/// The compiled shaders.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff::vulkan {

enum class Shader : uint8_t {
#define SHADER(Name, file) k##Name,
#include "delegates/vulkan/shaders.def"
#undef SHADER
};

struct ShaderCode {
  const uint32_t* words = nullptr;
  size_t bytes = 0;
};

/// SPIR-V of a shader, for f32 or f16 storage; null words where the build left it out (SKIFF_VULKAN_SHADERS).
ShaderCode CodeOf(Shader shader, bool f16);
const char* ShaderName(Shader shader);

}  // namespace skiff::vulkan
