/// The loop of tests over random things, each of which follows from a number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace skiff::testing {

/// check(seed, text) for `count` seeds, or those that the environment names (CMakeLists.txt); an Error that
/// it throws becomes a failure that prints `text`. True where all seeds were right and none was named.
bool CheckSeeds(uint32_t count, const std::function<void(uint32_t seed, std::string& text)>& check);

}  // namespace skiff::testing
