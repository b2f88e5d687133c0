#include "tests/fuzz/convert_and_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/error_capture.h"
#include "graph/custom_operators.h"
#include "graph/error.h"
#include "skiff/delegates.h"
#include "tests/fuzz/copy_operator.h"
#include "tests/fuzz/use_model.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// A damaged condition can make a loop endless: after two seconds the run is cancelled.
class EndsIfLate {
 public:
  explicit EndsIfLate(Session& session)
      : waiting_([this, &session] {
          std::unique_lock lock(mutex_);
          while (!over_.wait_for(lock, std::chrono::seconds(2), [this] { return done_; })) session.Cancel();
        }) {}
  ~EndsIfLate() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_one();
    waiting_.join();
  }
  EndsIfLate(const EndsIfLate&) = delete;
  EndsIfLate& operator=(const EndsIfLate&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread waiting_;
};

}  // namespace

double ElementsOfInputs(const Graph& graph) {
  double all = 0;
  for (const GraphPort& port : graph.caller_inputs()) {
    const Shape shape = graph.value(port.value).shape();
    all += std::accumulate(shape.begin(), shape.end(), 1.0, [](double product, int64_t extent) {
      return product * static_cast<double>(extent);
    });
  }
  return all;
}

FixedInputs FixedByName(const std::vector<std::string>& inputs) {
  constexpr std::string_view kFixed = "fixed";
  FixedInputs fixed;
  for (const std::string& name : inputs) {
    if (!name.starts_with(kFixed)) continue;
    std::string number = name.substr(kFixed.size());
    std::replace(number.begin(), number.end(), '_', '.');
    std::replace(number.begin(), number.end(), 'm', '-');
    fixed[name] = std::strtod(number.c_str(), nullptr);
  }
  return fixed;
}

void KnowCustomOperators() {
  KeepCustomOperator(kCopyOperator);
  KeepCustomOperator({"fuzz::Kept"});
}

namespace {

Result<std::unique_ptr<Model>> OpenConverted(const AlignedBytes& file) {
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  const std::vector<CustomOperator> custom = RunnableCustomOperators();
  options.custom_operators = {custom.data(), custom.size()};
  return Model::Open(file.span(), options);
}

std::string RefusedByLoader(const ErrorCapture& capture) {
  return kDefect + std::string("the loader refuses it: ") + capture.message();
}

/// Beside each plan for the CPU one for a GPU, which need not be there to be planned for.
ConvertOptions BothTargets() {
  ConvertOptions options;
  options.targets = {Target::kVulkan};
  return options;
}

/// As they are: in plans whose shapes are found at run time, and in one for a few sizes of the first
/// dimension.
std::string ConvertOpen(std::vector<NamedGraph> graphs) {
  ConvertOptions options = BothTargets();
  for (const NamedGraph& named : graphs) {
    if (options.buckets.empty() && !named.graph.symbols().empty())
      options.buckets = {{{named.graph.symbols()[0].name, DimRange(1, 3)}}};
  }
  const auto converted = ConvertGraphs(std::move(graphs), options);
  const AlignedBytes file(converted->file);
  ErrorCapture capture;
  const Result<std::unique_ptr<Model>> model = OpenConverted(file);
  if (!model.ok()) return RefusedByLoader(capture);
  UseModel(**model);
  return "";
}

bool HasOpenExtents(const std::vector<NamedGraph>& graphs) {
  return std::any_of(graphs.begin(), graphs.end(),
                     [](const NamedGraph& named) { return !named.graph.symbols().empty(); });
}

/// With every open extent at 2.
std::string ConvertFixed(std::vector<NamedGraph> graphs,
                         const std::function<void(std::string_view file)>& keep) {
  std::vector<std::map<std::string, TensorData>> inputs;
  for (NamedGraph& named : graphs) {
    ShapeContract contract;
    for (const Symbol& symbol : named.graph.symbols()) contract.dims[symbol.name] = 2;
    FixShapes(named.graph, contract);
    if (ElementsOfInputs(named.graph) > 1e6) return "left out: inputs of over a million elements";
    inputs.push_back(RandomInputs(named.graph, 1));
  }
  const auto converted = ConvertGraphs(std::move(graphs), BothTargets());
  const AlignedBytes file(converted->file);
  if (keep) keep({reinterpret_cast<const char*>(file.span().data()), file.span().size()});
  ErrorCapture capture;
  const Result<std::unique_ptr<Model>> model = OpenConverted(file);
  if (!model.ok()) return RefusedByLoader(capture);
  Result<std::unique_ptr<Variables>> variables = Variables::Create(**model);
  if (!variables.ok()) return capture.message();
  for (size_t i = 0; i < inputs.size(); ++i) {
    SessionOptions session_options;
    session_options.signature = (*model)->signature(static_cast<int>(i)).name;
    session_options.threads = 1;
    session_options.memory_limit = uint64_t{64} << 20;
    session_options.variables = variables->get();
    Result<std::unique_ptr<Session>> session = Session::Create(**model, session_options);
    if (!session.ok()) return capture.message();
    const EndsIfLate limit(**session);
    RunSession(**session, inputs[i]);
  }
  return "";
}

std::string OutcomeOf(const std::function<std::string()>& convert) {
  try {
    return convert();
  } catch (const Error& error) {
    return (error.code() == StatusCode::kInternal ? kDefect : "") + std::string(error.what());
  }
}

}  // namespace

std::string ConvertAndRun(const std::function<std::vector<NamedGraph>()>& import,
                          const std::function<void(std::string_view file)>& keep) {
  std::vector<NamedGraph> graphs;
  std::string open = OutcomeOf([&]() -> std::string {
    graphs = import();
    return HasOpenExtents(graphs) ? ConvertOpen(graphs) : "";
  });
  if (graphs.empty() || open.starts_with(kDefect)) return open;
  return OutcomeOf([&] { return ConvertFixed(std::move(graphs), keep); });
}

}  // namespace skiff::testing
