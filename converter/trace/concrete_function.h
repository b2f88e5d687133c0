/// One trace of a Function: a graph with fixed argument types, compiled at its first call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trace/function_options.h"
#include "trace/tensor.h"
#include "trace/tensor_spec.h"
#include "trace/variable.h"

namespace skiff {
struct PlannedSignature;
}

namespace skiff::eager {

class ConcreteFunction {
 public:
  /// What a trace leaves behind.
  struct Traced {
    Graph
        graph;  ///< Inputs: the arguments, then the variables it uses. Outputs: the results, then new values.
    std::vector<TensorSpec> arguments;
    std::string static_arguments;  ///< The values of arguments that are no tensors, as text.
    std::vector<std::shared_ptr<VariableState>> reads;     ///< By input behind the arguments.
    std::vector<std::shared_ptr<VariableState>> assigned;  ///< By output behind the results.
    bool checks_results = false;                           ///< Traced with SetCheckEveryResult().
    uint64_t result_form = 0;                              ///< Frame::ResultForm::id.
    double trace_seconds = 0;
  };
  ConcreteFunction(Traced traced, FunctionOptions options);
  ~ConcreteFunction();

  const FunctionOptions& options() const { return options_; }
  const std::vector<TensorSpec>& arguments() const { return traced_.arguments; }
  const std::string& static_arguments() const { return traced_.static_arguments; }
  bool checks_results() const { return traced_.checks_results; }
  const std::vector<std::shared_ptr<VariableState>>& reads() const { return traced_.reads; }
  const std::vector<std::shared_ptr<VariableState>>& assigned() const { return traced_.assigned; }
  size_t result_count() const { return traced_.graph.outputs().size() - traced_.assigned.size(); }
  uint64_t result_form() const { return traced_.result_form; }
  /// As traced, before any pass.
  const Graph& graph() const { return traced_.graph; }
  /// "f(x0: f32[n, 20]) -> f32[n]".
  std::string SignatureText() const;
  std::string GraphText() const;

  /// Computes the results, and assigns its variables once all has gone well. Compiles at the first call.
  /// Thread-safe: calls wait for each other. Throws Error.
  Tensors Call(const Tensors& arguments);

  /// Passes, partition and memory plan over its graph, for a file.
  std::unique_ptr<PlannedSignature> Plan() const;

  uint64_t calls() const { return calls_; }
  double trace_seconds() const { return traced_.trace_seconds; }
  /// Passes, plan and preparation; 0 before the first call.
  double compile_seconds() const { return compile_seconds_; }
  /// Of the compiled graph: what the plan looks like. Null before the first call.
  const Session* session() const;

  uint64_t last_use = 0;  ///< For whoever keeps several.

 private:
  struct Compiled;
  void Compile();
  Status SetInput(size_t index, const Tensor& tensor);

  Traced traced_;
  FunctionOptions options_;
  std::unique_ptr<Compiled> compiled_;
  std::mutex mutex_;
  // Statistics are read while another thread is in Call().
  std::atomic<uint64_t> calls_{0};
  std::atomic<double> compile_seconds_{0};
};

}  // namespace skiff::eager
