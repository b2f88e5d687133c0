/// Writes Functions to a .skiff file, for the device's runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trace/concrete_function.h"

namespace skiff::eager {

/// A Signature of the file: one ConcreteFunction under a name.
struct SavedSignature {
  std::string name;
  std::shared_ptr<ConcreteFunction> function;
};

/// The bytes of a file with these Signatures. They share weights, and variables by identity: what one assigns
/// the others read, where Sessions share their Variables. Variables are written with the values that they
/// have now. The functions' buckets and passes apply. Inputs have the arguments' names, outputs are
/// "result0", "result1", ..., or what the code said. Throws Error (kInvalidArgument) for names that are not
/// unique, and what conversion throws.
std::vector<uint8_t> SerializeFunctions(const std::vector<SavedSignature>& signatures);

/// The same to a file, which is replaced whole or not at all.
void SaveFunctions(const std::string& path, const std::vector<SavedSignature>& signatures);

}  // namespace skiff::eager
