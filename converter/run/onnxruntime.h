/// What onnxruntime computes, where Python has it: the outputs of the framework that a net came from.
#pragma once

#include <map>
#include <string>

#include "run/opened_model.h"

namespace skiff {

/// What --expect calls it.
inline constexpr const char* kOnnxruntime = "onnxruntime";

/// Runs an .onnx file with onnxruntime's CPU provider, without graph optimisations that change numbers, in a
/// process of its own: python3 of the search path. Inputs and outputs pass through a temporary folder.
/// `numbers` are inputs of one element. Throws Error: kUnsupported (no python3, no onnxruntime or numpy; what
/// to install), kInvalidArgument with onnxruntime's own words where it refuses the model or the inputs, kIo.
NamedTensors RunOnnxruntime(const std::string& source, const NamedTensors& inputs,
                            const std::map<std::string, double>& numbers);

}  // namespace skiff
