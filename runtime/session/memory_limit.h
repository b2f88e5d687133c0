/// What a Session and its variables may take (SessionOptions::memory_limit).
#pragma once

#include "skiff/model.h"

namespace skiff {

/// The limit that was asked for, or that of the file.
uint64_t MemoryLimitOf(const Model& model, uint64_t asked);

/// kOutOfMemory where `what` needs more than the limit.
Status CheckMemoryLimit(uint64_t bytes, uint64_t limit, const char* what);

}  // namespace skiff
