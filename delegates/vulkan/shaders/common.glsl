// What every shader shares. Buffers of floats hold T (f32 or f16, by F16) and are computed with as float. One binding may
// be declared as T and as T4: tensors begin and end at multiples of 256 bytes. Products may be computed as P4, where F16
// is 2 in f16. With DOT, codes are multiplied by integer_dot.glsl.
#extension GL_EXT_control_flow_attributes : require
#if DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#if F16 == 2
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define P4 f16vec4
#else
#define P4 vec4
#endif
#if F16
#extension GL_EXT_shader_16bit_storage : require
#define T float16_t
#define T4 f16vec4
#else
#define T float
#define T4 vec4
#endif

layout(local_size_x_id = 0) in;

/// The number of this invocation in a dispatch of any size.
uint FlatIndex() {
  return gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
}

/// The number of this work group.
uint FlatGroup() { return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x; }

bool IsNaN(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

/// NaN passes through; where low is above high, all becomes high.
float Clamped(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}
vec4 Clamped(vec4 x, float low, float high) {
  return vec4(Clamped(x.x, low, high), Clamped(x.y, low, high), Clamped(x.z, low, high), Clamped(x.w, low, high));
}

/// How shaders that move elements are told of them (kWords): floats in the storage type, words of 32 bits, or 8 bits each,
/// four in a word, the first in the lowest bits. An invocation then computes a whole word of the output; what lies behind
/// a tensor's last element is its own up to a multiple of 256 bytes.
const uint kFloats = 0;
const uint kBytes = 4;
#define BYTE_OF(words, i) bitfieldExtract(words[(i) >> 2], int((i) & 3u) * 8, 8)

#define kInfinity uintBitsToFloat(0x7f800000u)
