/// Constant matrices of discrete Fourier transforms and of what audio front ends do around them.
#pragma once

#include "graph/graph.h"

namespace skiff {

/// No importer makes a larger matrix.
inline constexpr int64_t kMostDftElements = int64_t{1} << 24;

/// In f32: cos and -sin of 2 pi row column / length, for [rows, columns].
TensorData DftCosines(int64_t length, int64_t rows, int64_t columns);
TensorData DftMinusSines(int64_t length, int64_t rows, int64_t columns);

}  // namespace skiff
