/// The front door of the importers: reads a trained model of any language that Skiff knows, which the file's
/// content tells, never its name.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/graph.h"

namespace skiff {

/// Numbers of inputs that are the same in every call: these become constants, and what follows from them is
/// known.
using FixedInputs = std::map<std::string, double>;

/// Gives the Symbols of a graph that has its inputs, and nothing else yet, the contracts that will hold: what
/// follows from sizes is then known to whatever is built on them.
using FixInputShapes = std::function<void(Graph& graph)>;

struct ImportOptions {
  FixedInputs fixed_inputs = {};
  FixInputShapes fix_shapes = {};
};

/// Reads ONNX, TensorFlow Lite and the text form (graph/text.h). Dimensions that the file leaves open become
/// Symbols: equal names are one Symbol, empty names and placeholders are fresh ones. Nothing is folded or
/// optimised: every source node becomes the operators that define it, so that the eager interpreter computes
/// exactly what the file says.
///
/// Throws Error, which names the path: kIo (cannot be read), kInvalidModel (truncated, contradictory, no
/// model), kUnsupported (language, version, dtype, or operators; all unsupported operators are listed at once
/// with their nodes and what to do); kInvalidArgument for a model that is converted already, and where
/// `fixed_inputs` names what is no input of one element.
Graph ImportModel(const std::string& path, const ImportOptions& options = {});

/// What the file's content says its language is, as it is called in texts: "ONNX", "TensorFlow Lite", "Skiff
/// text", "Skiff model". What is nothing else is taken for ONNX. Throws Error (kIo).
const char* LanguageOfModel(const std::string& path);

}  // namespace skiff
