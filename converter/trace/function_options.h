/// How a Function traces, compiles and runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/passes.h"
#include "shape_contract.h"
#include "skiff/session.h"

namespace skiff::eager {

struct FunctionOptions {
  std::string name = "function";                 ///< For messages, and the default name of its Signature.
  std::vector<std::string> argument_names = {};  ///< Of its tensors; "x0", "x1", ... by default.
  /// One type per tensor argument (see ParseTensorSpec). One trace serves all calls then, and others are
  /// errors.
  std::vector<std::string> input_signature = {};
  /// Parts of an input_signature's ranges that get plans of their own, by the names in it.
  std::vector<Bucket> buckets = {};
  /// An extent that is seen with a second value becomes a Symbol, so that the third needs no trace.
  bool relax_shapes = true;
  /// Beyond this many ConcreteFunctions the one used longest ago is dropped.
  size_t max_concrete_functions = 64;
  /// After this many traces that an input_signature would have saved there is one warning, with the remedy;
  /// 0: never.
  int retrace_warning = 5;
  /// Runs the C++ code at every call instead of a graph; unset: as SetRunFunctionsEagerly() says.
  std::optional<bool> run_eagerly = {};
  PipelineOptions pipeline = {};        ///< Passes that are off, and dumps.
  Backend backend = Backend::kPlanned;  ///< kReference: the graph, by the reference kernels.
  /// kVulkan: calls run on the GPU where there is one, and files get plans for it beside those for the CPU.
  Target target = Target::kCpu;
  /// Of the application, before Skiff's own; they outlive the function and its files' Models.
  std::vector<const Delegate*> delegates = {};
  int threads = 0;       ///< See SessionOptions.
  int kept_shapes = 16;  ///< See SessionOptions; memory is no concern on the host.
};

/// Whether functions run their C++ code at every call, so that a debugger can step through it. Process-wide;
/// the option of a function and a ScopedRunEagerly of the calling thread come first.
void SetRunFunctionsEagerly(bool on);
bool FunctionsRunEagerly();

class ScopedRunEagerly {
 public:
  explicit ScopedRunEagerly(bool on = true);
  ~ScopedRunEagerly();
  ScopedRunEagerly(const ScopedRunEagerly&) = delete;
  ScopedRunEagerly& operator=(const ScopedRunEagerly&) = delete;

 private:
  int before_;
};

}  // namespace skiff::eager
