/// Changes fields of TensorFlow Lite models.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "import/tflite/schema.h"

namespace skiff::testing {

/// One change. The model has subgraphs, operator codes and buffers.
void MutateFields(std::mt19937& random, tflite::ModelT& model);

/// The bytes of a file. Unions without a value lose their type.
std::vector<uint8_t> Packed(tflite::ModelT& model);

}  // namespace skiff::testing
