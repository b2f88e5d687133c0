#include "import/tflite/shared.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/op_steps.h"

namespace skiff {
namespace {

using tflite::BuiltinOperator;

/// Subgraphs that run each other can multiply, and signatures can share them; no real model comes near these.
constexpr size_t kMaxParts = 200'000;

/// So many tensors or outputs of a subgraph that is run, or operands of an operator, count as one part: of
/// real ones, none.
constexpr size_t kShare = 8;

/// Of sparse weights one in twenty is there; variables are small beside weights.
constexpr uint64_t kMadeUpBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxGrowth = 16;

/// As the graphs of the signatures have them, with the numbers of names that are there twice.
std::set<std::string> PortNames(const TfliteFile& file, const std::vector<TfliteSignature>& signatures) {
  std::set<std::string> names;
  for (const TfliteSignature& signature : signatures) {
    const tflite::SubGraph& graph = file.subgraph(signature.subgraph);
    DistinctNames inputs;
    std::set<int32_t> seen;
    for (uint32_t i = 0; i < SizeOf(graph.inputs()); ++i) {
      const int32_t tensor = graph.inputs()->Get(i);
      if (seen.insert(tensor).second)
        names.insert(inputs.Take(PortName(signature.inputs, graph, tensor), TensorName(graph, tensor)));
    }
    DistinctNames outputs;
    for (uint32_t i = 0; i < SizeOf(graph.outputs()); ++i) {
      const int32_t tensor = graph.outputs()->Get(i);
      names.insert(outputs.Take(PortName(signature.outputs, graph, tensor), TensorName(graph, tensor)));
    }
  }
  return names;
}

bool HasOpenShape(const tflite::Tensor& tensor) {
  const auto* stated = tensor.shape_signature();
  return SizeOf(stated) > 0 && std::find(stated->begin(), stated->end(), -1) != stated->end();
}

/// Operators of the subgraph itself, not of bodies in it.
template <class Visit>
void ForEach(const TfliteFile& file, uint32_t subgraph, BuiltinOperator op, Visit visit) {
  const auto* nodes = file.subgraph(subgraph).operators();
  for (uint32_t i = 0; i < SizeOf(nodes); ++i) {
    if (file.OperatorOf(*nodes->Get(i)).builtin == op) visit(*nodes->Get(i));
  }
}

size_t PartsOf(const tflite::SubGraph& graph) {
  size_t parts = SizeOf(graph.tensors()) / kShare + SizeOf(graph.outputs()) / kShare;
  for (uint32_t i = 0; i < SizeOf(graph.operators()); ++i) {
    const tflite::Operator& node = *graph.operators()->Get(i);
    parts += 1 + (size_t{SizeOf(node.inputs())} + SizeOf(node.outputs())) / kShare;
  }
  return parts;
}

}  // namespace

const std::string& TfliteVariableNames::OfHandle(const std::string& container,
                                                 const std::string& shared_name) {
  std::string& name = handles_[{container, shared_name}];
  if (name.empty()) name = names_.Take(shared_name.empty() ? "variable" : shared_name);
  return name;
}

const std::string& TfliteVariableNames::OfTensor(uint32_t subgraph, int32_t tensor,
                                                 const std::string& wanted) {
  std::string& name = tensors_[{subgraph, tensor}];
  // Tensors may share a name; variables do not.
  if (name.empty())
    name = names_.Take(tensor_names_.insert(wanted).second ? wanted : fmt::format("{}#{}", wanted, tensor));
  return name;
}

const std::string& TfliteVariableNames::OfOperator(uint32_t subgraph, const tflite::Operator& node,
                                                   const std::string& wanted) {
  std::string& name = operators_[{subgraph, &node}];
  if (name.empty()) name = names_.Take(wanted);
  return name;
}

TfliteShared::TfliteShared(const TfliteFile& file)
    : file_(file),
      signatures_(SignaturesOf(file)),
      variables_(PortNames(file, signatures_)),
      metadata_(file),
      quantizations_(file),
      bytes_left_(kMadeUpBytes + kMaxGrowth * file.bytes().size()),
      once_steps_left_(kMostStepsAhead + kStepsAheadPerByte * static_cast<int64_t>(file.bytes().size())) {
  budget_.CountFile(static_cast<int64_t>(file.bytes().size()));
  std::set<uint32_t> seen;
  std::set<int32_t> run;
  for (const TfliteSignature& signature : signatures_) {
    if (!seen.insert(signature.subgraph).second) continue;
    ForEach(file, signature.subgraph, BuiltinOperator::CALL_ONCE, [&](const tflite::Operator& node) {
      const auto* options = node.options_as_CallOnceOptions();
      if (options != nullptr && run.insert(options->init_subgraph()).second)
        once_.push_back(options->init_subgraph());
    });
  }
}

const TensorData& TfliteShared::Constant(const tflite::SubGraph& graph, const tflite::Tensor& tensor) {
  TensorData& made = made_[{&graph, &tensor}];
  if (made.dtype() == DType::kInvalid) made = MakeConstant(tensor, quantizations_.Of(graph, tensor));
  return made;
}

TensorData TfliteShared::MakeConstant(const tflite::Tensor& tensor, const QuantizationPtr& quantization) {
  if (tensor.buffer() == 0) return ReadTfliteTensor(file_, tensor, quantization, bytes_left_);
  TfliteElements elements = ElementsOf(tensor);
  const auto found = constants_.find(elements);
  if (found != constants_.end() && SameQuantization(found->second.quantization(), quantization))
    return found->second;
  // What sparse ones take is taken from `bytes_left_`.
  if (tensor.sparsity() == nullptr) CountConstant(tensor);
  TensorData data = ReadTfliteTensor(file_, tensor, quantization, bytes_left_);
  constants_.emplace(std::move(elements), data);
  return data;
}

/// Tensors of one buffer, type, shape and quantisation share a constant; few files have others over one.
void TfliteShared::CountConstant(const tflite::Tensor& tensor) {
  constant_bytes_ += file_.Buffer(tensor.buffer()).size();
  const uint64_t file_bytes = file_.bytes().size();
  if (constant_bytes_ > kFreeShared + kMostShared * file_bytes)
    Throw(StatusCode::kUnsupported,
          "tensor '{}': with it tensors of other shapes, types or scales share the file's {} bytes until "
          "they take more than {} times as many and 64 MiB; give them buffers of their own",
          TextOf(tensor.name()), file_bytes, kMostShared);
}

const TensorData& TfliteShared::Table(const std::string& name, const std::function<TensorData()>& make) {
  TensorData& table = tables_[name];
  if (table.dtype() == DType::kInvalid) table = make();
  return table;
}

/// Of each signature, the first value that it assigns to a variable.
void TfliteShared::FindAssignments() {
  assignments_.emplace();
  std::set<uint32_t> seen;
  for (const TfliteSignature& signature : signatures_) {
    if (!seen.insert(signature.subgraph).second) continue;
    const tflite::SubGraph& graph = file_.subgraph(signature.subgraph);
    std::map<int32_t, std::string> handles;
    ForEach(file_, signature.subgraph, BuiltinOperator::VAR_HANDLE, [&](const tflite::Operator& node) {
      const auto* options = node.options_as_VarHandleOptions();
      if (options == nullptr || SizeOf(node.outputs()) == 0) return;
      handles[node.outputs()->Get(0)] =
          variables_.OfHandle(TextOf(options->container()), TextOf(options->shared_name()));
    });
    std::map<std::string, const tflite::Tensor*> first;
    ForEach(file_, signature.subgraph, BuiltinOperator::ASSIGN_VARIABLE, [&](const tflite::Operator& node) {
      const auto handle = SizeOf(node.inputs()) < 2 ? handles.end() : handles.find(node.inputs()->Get(0));
      if (handle == handles.end() || node.inputs()->Get(1) < 0) return;
      first.emplace(handle->second, graph.tensors()->Get(static_cast<uint32_t>(node.inputs()->Get(1))));
    });
    for (const auto& [variable, tensor] : first) {
      if (!HasOpenShape(*tensor)) assignments_->emplace(variable, Assigned{&signature, tensor});
    }
  }
}

std::optional<TfliteShared::Assignment> TfliteShared::FindAssignment(const std::string& variable) {
  if (!assignments_) FindAssignments();
  const auto found = assignments_->find(variable);
  if (found == assignments_->end()) return std::nullopt;
  const auto& [signature, tensor] = found->second;
  const QuantizationPtr quantization = quantizations_.Of(file_.subgraph(signature->subgraph), *tensor);
  return Assignment{signature->name, FirstValueOfTflite(*tensor, quantization, bytes_left_)};
}

void TfliteShared::CountParts(size_t count) {
  part_count_ += count;
  if (part_count_ <= kMaxParts) return;
  budget_.spent = true;
  Throw(StatusCode::kUnsupported,
        "the model has more than {} operators, inputs and outputs, each counted as often as signatures and "
        "other subgraphs run its subgraph; split it into models of their own",
        kMaxParts);
}

void TfliteShared::CountSubgraph(uint32_t subgraph) {
  const auto [parts, added] = subgraph_parts_.try_emplace(subgraph, 0);
  if (added) parts->second = PartsOf(file_.subgraph(subgraph));
  CountParts(parts->second);
}

}  // namespace skiff
