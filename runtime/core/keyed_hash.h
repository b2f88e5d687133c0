/// A hash that nobody can make collide who does not know its key: for the content of files from strangers.
#pragma once

#include <cstdint>

#include "skiff/span.h"

namespace skiff {

/// Random, and kept from those whose files are hashed.
struct HashKey {
  uint64_t words[2] = {};
};

/// About as fast as memory can be read. Words are read in the machine's byte order.
uint64_t KeyedHash(const HashKey& key, Span<const uint8_t> bytes);

}  // namespace skiff
