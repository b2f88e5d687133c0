/// What a file may ask for at most, beside the bytes of tensors and arenas (core/extents.h). Its reader
/// refuses more, and the converter says so, by the net's names, before it writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff {

/// Of memory that a Session may take, for each byte of its file, beside kDefaultMemoryLimit.
inline constexpr uint64_t kMemoryPerFileByte = 4;
/// Bodies in bodies.
inline constexpr int kMaxBodyDepth = 16;
/// Of one node: some checks are quadratic in them.
inline constexpr size_t kMaxOperands = 4096;
/// Of one plan.
inline constexpr size_t kMaxInputs = 4096;
/// A file names a few thousand nodes; these only stop a small malicious file from asking for huge tables.
/// References are what all lists of operands, bodies and labels hold; a list that several nodes or bodies
/// share counts for each. A Session needs some hundred bytes for an operand, and a node with its results and
/// attributes, which are tables, has fewer operands than twice as many.
inline constexpr size_t kMaxReferences = size_t{1} << 21;
/// Scales are checked and compared wherever a tensor, a port or an operand has them, and many may have the
/// same: so often, for each byte of the file. A file of a thousand plans for the same weights stays below.
inline constexpr uint64_t kMaxScalesPerFileByte = 64;
inline constexpr uint32_t kMaxTables = 1'000'000;
/// Tables in tables: each body takes two.
inline constexpr uint32_t kMaxTableDepth = 64;

}  // namespace skiff
