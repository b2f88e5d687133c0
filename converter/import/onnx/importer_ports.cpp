// The graph's own inputs and outputs.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "graph/error.h"
#include "import/onnx/importer.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// What an input is, inside of what it is wrapped in.
struct WrappedType {
  explicit WrappedType(const onnx::TypeProto& type) : inner(&type) {
    optional = inner->has_optional_type();
    if (optional) inner = &inner->optional_type().elem_type();
    sequence = inner->has_sequence_type();
    if (sequence) inner = &inner->sequence_type().elem_type();
  }
  const onnx::TypeProto* inner;
  bool optional = false;
  bool sequence = false;
};

}  // namespace

const char* RemedyOfOnnxType(int32_t type) {
  return type == onnx::TensorProto::STRING ? "There are no texts on a device: train with numbers as classes, "
                                             "and let the program make numbers of what "
                                             "is read."
                                           : "Export with float32 instead.";
}

std::vector<Dim> OnnxImporter::ReadDims(const std::string& name, const onnx::TypeProto::Tensor& type,
                                        bool own_sizes) {
  const auto& shape = type.shape();
  if (shape.dim_size() > kMaxRank) {
    Throw(StatusCode::kUnsupported, "input '{}' has rank {}; at most {} dimensions are supported", name,
          shape.dim_size(), kMaxRank);
  }
  std::vector<Dim> dims;
  int64_t elements = 1;
  for (const auto& dim : shape.dim()) {
    const auto axis = dims.size();
    // Exporters write 0 for an extent that they do not know; as a Symbol it still allows 0.
    const bool open = !dim.has_dim_value() || dim.dim_value() == -1 || dim.dim_value() == 0;
    if (open) {
      const std::string fresh = fmt::format("{}#{}", name, axis);
      dims.push_back(Dim::OfSymbol(
          symbols_.Add(graph_, own_sizes || IsPlaceholder(dim.dim_param()) ? fresh : dim.dim_param())));
      continue;
    }
    if (dim.dim_value() < 0) {
      Throw(StatusCode::kInvalidModel, "input '{}' has the extent {} at axis {}", name, dim.dim_value(),
            axis);
    }
    if (__builtin_mul_overflow(elements, dim.dim_value(), &elements) || elements > INT64_MAX / 8) {
      Throw(StatusCode::kInvalidModel, "the extents of input '{}' are too large: their product overflows",
            name);
    }
    dims.emplace_back(dim.dim_value());
  }
  return dims;
}

ValueId OnnxImporter::AddTensorInput(const std::string& name, const onnx::TypeProto::Tensor& type,
                                     const ImportOptions& options, bool own_sizes) {
  const DType dtype = DTypeOfOnnx(type.elem_type());
  if (dtype == DType::kInvalid) {
    problems_.Add(fmt::format("the element type {}", OnnxTypeName(type.elem_type())),
                  RemedyOfOnnxType(type.elem_type()), name);
    return kPoisoned;
  }
  std::vector<Dim> dims = ReadDims(name, type, own_sizes);
  if (!type.has_shape()) {
    const auto rank = options.ranks.find(name);
    if (rank == options.ranks.end())
      Throw(StatusCode::kUnsupported,
            "input '{}' does not state its rank; say its shape with --shape '{}=AxBx...', or export with a "
            "shape, whose dimensions may be symbolic",
            name, name);
    for (size_t axis = 0; axis < rank->second; ++axis)
      dims.push_back(Dim::OfSymbol(symbols_.Add(graph_, fmt::format("{}#{}", name, axis))));
  }
  const ValueId input = graph_.AddInput(name, dtype, std::move(dims));
  NoteWiderPort("input", name, type.elem_type(), input);
  return input;
}

/// A sequence becomes as many inputs as it holds tensors, which the options say; an optional that is given
/// is what it holds.
ValueId OnnxImporter::AddWrappedInput(const onnx::ValueInfoProto& input, const ImportOptions& options) {
  constexpr double kMostTensors = 4096;
  const WrappedType type(input.type());
  if (!type.inner->has_tensor_type() || (!type.sequence && !type.optional)) {
    problems_.Add("inputs that are no tensors (maps, sequences of others, sparse ones)",
                  "Pass their parts as tensors.", input.name());
    return kPoisoned;
  }
  const auto said = options.fixed_inputs.find(input.name());
  if (said == options.fixed_inputs.end()) {
    if (type.sequence) {
      problems_.Add(
          "inputs that are sequences of any length",
          "Say how many tensors each holds: --set NAME=COUNT makes it the inputs NAME.0, NAME.1, ...",
          input.name());
    } else {
      problems_.Add("optional inputs",
                    "Say of each whether callers pass it: --set NAME=1, or NAME=0 where they do not.",
                    input.name());
    }
    return kPoisoned;
  }
  const double count = said->second;
  if (count < 0 || count > (type.sequence ? kMostTensors : 1) || count != std::floor(count))
    Throw(StatusCode::kInvalidArgument, "input '{}' cannot be set to {}: it is {}", input.name(), count,
          type.sequence ? fmt::format("a sequence, which holds 0 to {} tensors", kMostTensors)
                        : "an optional, which holds 0 or 1 tensors");
  const onnx::TypeProto::Tensor& tensor = type.inner->tensor_type();
  if (type.optional && count == 0) return sequences_.Add({.absent = true});
  if (!type.sequence) return AddTensorInput(input.name(), tensor, options, false);
  OnnxSequence sequence;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const ValueId part = AddTensorInput(fmt::format("{}.{}", input.name(), i), tensor, options, true);
    if (part == kPoisoned) return kPoisoned;
    sequence.parts.push_back({part});
  }
  return sequences_.Add(std::move(sequence));
}

void OnnxImporter::AddInputs(Scope& scope, const ImportOptions& options) {
  std::unordered_set<std::string> initialized;
  for (const auto& tensor : model_.graph().initializer()) initialized.insert(tensor.name());
  for (const auto& input : model_.graph().input()) {
    if (input.name().empty()) Throw(StatusCode::kInvalidModel, "an input of the graph has no name");
    if (initialized.contains(input.name())) continue;  // A default value that nobody overrides: a constant.
    const ValueId value = input.type().has_tensor_type()
                              ? AddTensorInput(input.name(), input.type().tensor_type(), options, false)
                              : AddWrappedInput(input, options);
    Bind(scope, input.name(), value);
  }
}

void OnnxImporter::NoteWiderPort(const char* kind, const std::string& name, int32_t type, ValueId value) {
  const OnnxType* row = FindOnnxType(type);
  if (row == nullptr || !StandsAsWider(*row)) return;
  types_[value] = row;
  graph_.left_out.push_back(
      fmt::format("{} '{}' is {} in the file, and {} here, which has all of its numbers", kind, name,
                  row->name, DTypeName(row->dtype)));
}

/// A sequence becomes an output for each of its tensors.
void OnnxImporter::AddSequenceOutput(const std::string& name, const OnnxSequence& sequence) {
  if (sequence.absent) {
    graph_.left_out.push_back(fmt::format("output '{}' is an optional that holds nothing", name));
    return;
  }
  NodeBuilder::Call call;
  call.label = name;
  call.operator_name = "output";
  call.output_names = {name};
  call.source = graph_.AddSource(name, "output");
  call.budget = &budget_;
  NodeBuilder builder(graph_, untyped_, std::move(call));
  const std::optional<std::vector<ValueId>> tensors = TensorsOf(builder, sequence);
  if (!tensors)
    Throw(StatusCode::kUnsupported,
          "the graph's output '{}' is a sequence of which only the run knows how many tensors it holds; let "
          "the "
          "model return them as one tensor (torch.stack, ConcatFromSequence)",
          name);
  for (size_t i = 0; i < tensors->size(); ++i) {
    const ValueId copy = builder.Emit(fmt::format("{}", i).c_str(), OpCode::kIdentity, {(*tensors)[i]});
    AddOutput(fmt::format("{}.{}", name, i), copy);
  }
}

/// A net may return a value twice, under one name in the file. Here a name stands for one output.
std::string OnnxImporter::OutputName(const std::string& name) {
  const auto [found, is_new] = output_names_.try_emplace(name, 0);
  if (is_new) return name;
  int& repeats = found->second;
  std::string other;
  do {
    other = fmt::format("{}.{}", name, ++repeats);
  } while (!output_names_.try_emplace(other, 0).second);
  graph_.left_out.push_back(
      fmt::format("the graph names the output '{}' more than once; this one is '{}' here", name, other));
  return other;
}

void OnnxImporter::AddOutput(const std::string& name, ValueId value) {
  const DType dtype = graph_.value(value).dtype;
  if (DTypeBits(dtype) == 4) {
    Throw(StatusCode::kUnsupported, "the graph's output '{}' is {}, which only constants can be", name,
          DTypeName(dtype));
  }
  graph_.AddOutput(OutputName(name), value);
}

/// Outputs may share labels, and labels are no part of the net: from the output on with which they would be
/// too many, they are left out.
void OnnxImporter::NoteLabels(const std::string& output, ValueId value) {
  const auto found = notes_.labels.find(value);
  if (found == notes_.labels.end() || labels_left_ < 0) return;
  PortNotes notes;
  if (const auto& labels = found->second.labels) notes.labels = *labels;
  if (const auto& labels = found->second.value_labels) notes.value_labels = *labels;
  for (const auto* labels : {&notes.labels, &notes.value_labels}) {
    labels_left_ -= static_cast<int64_t>(labels->size());
    for (const std::string& label : *labels) label_bytes_left_ -= static_cast<int64_t>(label.size());
  }
  if (labels_left_ < 0 || label_bytes_left_ < 0) {
    labels_left_ = -1;
    graph_.left_out.push_back(
        fmt::format("left out the labels of output '{}', and of those behind it: all outputs together have "
                    "more than {}, or more than {} bytes of them",
                    output, kMostLabels, kMostLabelBytes));
    return;
  }
  graph_.SetOutputNotes(graph_.outputs().size() - 1, std::move(notes));
}

void OnnxImporter::AddOutputs(const Scope& scope) {
  if (model_.graph().output_size() == 0) Throw(StatusCode::kInvalidModel, "the graph has no outputs");
  for (const auto& output : model_.graph().output()) {
    const auto found = scope.values.find(output.name());
    if (found == scope.values.end() || found->second == kNoValue) {
      Throw(StatusCode::kInvalidModel, "the graph's output '{}' is made by no node", output.name());
    }
    if (OnnxSequences::Is(found->second)) {
      AddSequenceOutput(output.name(), sequences_.at(found->second));
      continue;
    }
    AddOutput(output.name(), found->second);
    NoteWiderPort("output", output.name(), output.type().tensor_type().elem_type(), found->second);
    NoteLabels(output.name(), found->second);
  }
  if (graph_.outputs().empty())
    Throw(StatusCode::kUnsupported, "all outputs of the graph are sequences and optionals that hold nothing");
}

void OnnxImporter::CountRuns() {
  const ValueId number = notes_.run_number;
  if (number == kNoValue) return;
  const ValueId one = graph_.AddConstant("random/one", MakeConstant(DType::kI64, Shape{}, {1}));
  const ValueId next = graph_.Emit(OpCode::kAdd, {number, one}, ClampAttrs{}, "random/next_run");
  graph_.AddOutput(kRunNumber, next);
  const auto at = std::find_if(graph_.inputs().begin(), graph_.inputs().end(),
                               [&](const GraphPort& port) { return port.value == number; });
  graph_.MakeVariable(static_cast<size_t>(at - graph_.inputs().begin()), graph_.outputs().size() - 1,
                      {kRunNumber, TensorData(DType::kI64, Shape{})});
}

}  // namespace skiff
