/// Which features this build has (features.def), as constants: the compiler drops the branches of the others,
/// the linker what these call. CheckedFile::Need() refuses files that have one, so nothing behind the loader
/// meets it.
#pragma once

#include <cstdint>

namespace skiff {

enum class Feature : uint8_t {
#define FEATURE(Name, what) k##Name,
#include "core/features.def"
#undef FEATURE
};

constexpr uint32_t FeatureBit(Feature feature) { return 1u << static_cast<uint32_t>(feature); }

inline constexpr uint32_t kBuildFeatures = 0
#define FEATURE(Name, what) | FeatureBit(Feature::k##Name)
#include "core/build_features.def"
#undef FEATURE
    ;

constexpr bool BuildHas(Feature feature) { return (kBuildFeatures & FeatureBit(feature)) != 0; }

/// What a file has that needs it, for messages.
constexpr const char* FeatureText(Feature feature) {
  switch (feature) {
#define FEATURE(Name, what) \
  case Feature::k##Name:    \
    return what;
#include "core/features.def"
#undef FEATURE
  }
  return "";
}

}  // namespace skiff
