#include "trace/concrete_function.h"

#include <chrono>
#include <cstring>

#include "convert.h"
#include "core/error_capture.h"
#include "core/platform.h"
#include "graph/custom_operators.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "graph/text.h"
#include "skiff/delegates.h"

namespace skiff::eager {
namespace {

/// Larger inputs are lent to the Session instead of copied: by then telling every operator the new address
/// costs less.
constexpr int64_t kLentBytes = 64 * 1024;

double Seconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class T>
T ValueOf(Result<T>&& result, const ErrorCapture& capture, const std::string& name) {
  if (!result.ok()) Throw(result.status().code(), "{}: {}", name, capture.message());
  return std::move(result.value());
}

std::string PortType(const Graph& graph, const GraphPort& port) {
  const Value& value = graph.value(port.value);
  return DTypeName(value.dtype) + DimsText(graph, value.dims);
}

}  // namespace

struct ConcreteFunction::Compiled {
  std::unique_ptr<void, void (*)(void*)> file{nullptr, platform::FreeAligned};
  std::vector<const Delegate*> delegates;  ///< Of the model.
  std::unique_ptr<Model> model;
  std::unique_ptr<Session> session;
  Tensors lent;  ///< By input: keeps alive what the Session reads in place.
};

ConcreteFunction::ConcreteFunction(Traced traced, FunctionOptions options)
    : traced_(std::move(traced)), options_(std::move(options)) {}
ConcreteFunction::~ConcreteFunction() = default;

const Session* ConcreteFunction::session() const { return compiled_ ? compiled_->session.get() : nullptr; }

std::string ConcreteFunction::SignatureText() const {
  const Graph& graph = traced_.graph;
  std::vector<std::string> arguments, results;
  for (size_t i = 0; i < traced_.arguments.size(); ++i)
    arguments.push_back(graph.inputs()[i].name + ": " + traced_.arguments[i].Text());
  if (!traced_.static_arguments.empty()) arguments.push_back(traced_.static_arguments);
  for (size_t i = 0; i < result_count(); ++i) results.push_back(PortType(graph, graph.outputs()[i]));
  return fmt::format("{}({}) -> ({})", options_.name, fmt::join(arguments, ", "), fmt::join(results, ", "));
}

std::string ConcreteFunction::GraphText() const { return PrintGraph(traced_.graph); }

std::unique_ptr<PlannedSignature> ConcreteFunction::Plan() const {
  ConvertOptions options;
  options.pipeline = options_.pipeline;
  options.buckets = options_.buckets;
  if (options_.target != Target::kCpu) options.targets = {options_.target};
  for (size_t i = options_.delegates.size(); i-- > 0;)
    options.delegates.insert(options.delegates.begin(), &options_.delegates[i]->support());
  for (const TensorSpec& argument : traced_.arguments) {
    for (const DimSpec& dim : argument.dims) {
      if (dim.open()) options.dims[dim.name] = dim.range;
    }
  }
  Graph graph = traced_.graph;
  FixShapes(graph, options);
  return PlanGraph(std::move(graph), options);
}

void ConcreteFunction::Compile() {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<PlannedSignature> planned = Plan();
  const std::vector<uint8_t> file = WriteChecked({{SignatureOf(*planned)}, {}}, {});
  auto compiled = std::make_unique<Compiled>();
  compiled->file.reset(platform::AllocateAligned(file.size()));
  if (!compiled->file)
    Throw(StatusCode::kOutOfMemory, "{}: there is no memory for the compiled graph", options_.name);
  std::memcpy(compiled->file.get(), file.data(), file.size());
  ErrorCapture capture;
  const Span<const uint8_t> bytes{static_cast<const uint8_t*>(compiled->file.get()), file.size()};
  compiled->delegates.assign(BuiltinDelegates().begin(), BuiltinDelegates().end());
  compiled->delegates.insert(compiled->delegates.end(), options_.delegates.begin(), options_.delegates.end());
  const Span<const Delegate* const> delegates{compiled->delegates.data(), compiled->delegates.size()};
  const std::vector<CustomOperator> operators = RunnableCustomOperators();
  const ModelOptions model_options = {delegates, nullptr, {operators.data(), operators.size()}};
  compiled->model = ValueOf(Model::Open(bytes, model_options), capture, options_.name);
  SessionOptions session;
  session.backend = options_.backend;
  session.target = options_.target;
  session.threads = options_.threads;
  session.kept_shapes = options_.kept_shapes;
  compiled->session = ValueOf(Session::Create(*compiled->model, session), capture, options_.name);
  compiled->lent.resize(traced_.graph.inputs().size());
  compiled_ = std::move(compiled);
  compile_seconds_ = Seconds(begin);
}

Status ConcreteFunction::SetInput(size_t index, const Tensor& tensor) {
  const TensorView view = tensor.data().view();
  const bool lend = view.bytes() >= kLentBytes;
  if (lend || !compiled_->lent[index].empty()) compiled_->lent[index] = lend ? tensor : Tensor();
  Session& session = *compiled_->session;
  return lend ? session.BindInput(static_cast<int>(index), view)
              : session.SetInput(static_cast<int>(index), view);
}

Tensors ConcreteFunction::Call(const Tensors& arguments) {
  const std::lock_guard lock(mutex_);
  if (!compiled_) Compile();
  {
    ErrorCapture capture;
    Status status;
    for (size_t i = 0; i < arguments.size() && status.ok(); ++i) status = SetInput(i, arguments[i]);
    for (size_t i = 0; i < traced_.reads.size() && status.ok(); ++i)
      status = SetInput(arguments.size() + i, traced_.reads[i]->Get());
    if (status.ok()) status = compiled_->session->Run();
    if (!status.ok()) Throw(status.code(), "{}: {}", options_.name, capture.message());
  }
  ++calls_;
  Tensors results;
  const size_t count = traced_.graph.outputs().size();
  results.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const TensorView view = compiled_->session->Output(static_cast<int>(i)).value();
    results.emplace_back(TensorData(view.dtype, view.shape, view.data).Quantized(CopyOf(view.quantization)));
  }
  for (size_t i = 0; i < traced_.assigned.size(); ++i) traced_.assigned[i]->Put(results[result_count() + i]);
  results.resize(result_count());
  return results;
}

}  // namespace skiff::eager
