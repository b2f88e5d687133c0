/// The front door of the importers: reads a trained model of any language that Skiff knows, which the file's
/// content tells, never its name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  /// How many dimensions inputs have of which the file does not say it, by name; each is a fresh Symbol.
  std::map<std::string, size_t> ranks = {};
};

/// A graph that a file offers to its callers.
struct SourceSignature {
  std::string name;  ///< "main" where the file has none for it.
  std::vector<std::string> inputs;
};

/// What a file says about itself, before anything of it is understood.
struct SourceOutline {
  struct Port {
    std::string name;
    std::string dtype;
    bool has_shape = false;
    std::vector<std::string> shape;  ///< Numbers and names; "?" for what has none.
  };
  std::string graph;
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< By domain.
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::map<std::string, size_t> operators;  ///< How often each occurs, also in bodies and functions.
  size_t nodes = 0;
  uint64_t constant_bytes = 0;
};

/// A model file that was opened. It has one graph or several, which may share variables: those of one name
/// are one.
class SourceModel {
 public:
  virtual ~SourceModel() = default;
  SourceModel(const SourceModel&) = delete;
  SourceModel& operator=(const SourceModel&) = delete;

  /// At least one, in the order of the file; no two have the same name.
  const std::vector<SourceSignature>& signatures() const { return signatures_; }
  /// The graph of a signature; see ImportModel.
  virtual Graph Import(size_t signature, const ImportOptions& options) = 0;
  /// The files beside its own that weights are read from, each once; whether they are there is not said.
  virtual std::vector<std::string> OtherFiles() { return {}; }
  /// Null where the file's language has none.
  virtual std::unique_ptr<SourceOutline> Outline() { return nullptr; }

 protected:
  /// Throws Error (kUnsupported) where one has too many inputs.
  explicit SourceModel(std::vector<SourceSignature> signatures);

 private:
  std::vector<SourceSignature> signatures_;
};

/// Throws Error (kUnsupported) where a model has more inputs, or more outputs, than a converted one may have.
/// `what` are both in texts.
void CheckPortCount(const char* what, size_t count);

/// Reads ONNX (one signature), TensorFlow Lite (as many as the file has) and the text form (one). Throws
/// Error, which names the path: kIo (cannot be read), kInvalidModel (truncated, no model), kUnsupported
/// (language, version), kInvalidArgument for a model that is converted already.
std::unique_ptr<SourceModel> OpenSource(const std::string& path);

/// The first signature of a file. Dimensions that the file leaves open become Symbols: equal names are one
/// Symbol, empty names and placeholders are fresh ones. Nothing is folded or optimised: every source node
/// becomes the operators that define it, so that the eager interpreter computes exactly what the file says.
///
/// Throws Error, which names the path: as OpenSource, and kInvalidModel (contradictory), kUnsupported (dtype,
/// or operators; all unsupported operators are listed at once with their nodes and what to do),
/// kInvalidArgument where `fixed_inputs` names what is no input of one element.
Graph ImportModel(const std::string& path, const ImportOptions& options = {});

/// What the file's content says its language is, as it is called in texts: "ONNX", "TensorFlow Lite", "Skiff
/// text", "Skiff model". What is nothing else is taken for ONNX. Throws Error (kIo).
const char* LanguageOfModel(const std::string& path);

/// What a signature is called that has no name of its own.
inline constexpr const char* kMainSignature = "main";

}  // namespace skiff
