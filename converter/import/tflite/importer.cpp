#include "import/tflite/importer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/distinct_names.h"
#include "graph/error.h"
#include "graph/node_types.h"
#include "graph/typing.h"
#include "import/custom.h"
#include "import/tflite/ops.h"
#include "import/tflite/tensor.h"
#include "ops/op_codes.h"
#include "plan/limits.h"

namespace skiff {
namespace {

/// A fixed input of one element. `number` is real also where integers stand for such.
TensorData FixedNumber(const std::string& name, const tflite::Tensor& tensor, DType dtype,
                       const QuantizationPtr& scales, double number) {
  bool one = dtype != DType::kInvalid;
  Shape shape;
  for (uint32_t i = 0; i < SizeOf(tensor.shape()); ++i) {
    one &= tensor.shape()->Get(i) == 1 && i < kMaxRank;
    if (one) shape.Append(1);
  }
  if (!one)
    Throw(StatusCode::kInvalidArgument, "input '{}' cannot be fixed: it is not a tensor of one element",
          name);
  const double element =
      !scales ? number
              : std::nearbyint(number / static_cast<double>(scales->ScaleAt(0))) + scales->ZeroPointAt(0);
  TensorData data = MakeConstant(dtype, shape, {element});
  if (data.ToDoubles()[0] != element)
    Throw(StatusCode::kInvalidArgument, "input '{}' cannot be fixed: {} is no {}{}", name, number,
          DTypeName(dtype), scales ? " by its scale" : "");
  return scales ? data.Quantized(scales) : data;
}

void BuildKept(TfliteBuilder& b) { BuildCustom(b, b.operator_name(), b.CustomOptions(), b.source().stated); }

}  // namespace

const tflite::Tensor& TfliteImporter::TensorOf(const Scope& scope, int32_t tensor) const {
  return *GraphOf(scope).tensors()->Get(static_cast<uint32_t>(tensor));
}

std::string TfliteImporter::NameOf(const Scope& scope, int32_t tensor) const {
  return scope.prefix + TensorName(GraphOf(scope), tensor);
}

TfliteImporter::Scope TfliteImporter::NewScope(uint32_t subgraph) const {
  Scope scope;
  scope.subgraph = subgraph;
  const size_t tensors = SizeOf(file_.subgraph(subgraph).tensors());
  shared_.CountSubgraph(subgraph);
  scope.values.assign(tensors, kUnmade);
  scope.handles.resize(tensors);
  return scope;
}

Graph TfliteImporter::Import(const TfliteSignature& signature, const ImportOptions& options) {
  Scope scope = NewScope(signature.subgraph);
  graph_.name = TextOf(GraphOf(scope).name());
  if (graph_.name.empty()) graph_.name = "main";
  metadata_ = shared_.metadata().Read(signature.subgraph);
  graph_.stated = metadata_.stated;
  for (const std::string& sentence : metadata_.left_out)
    graph_.left_out.push_back("left out of the metadata: " + sentence);
  AddInputs(scope, signature, options.fixed_inputs);
  if (options.fix_shapes) options.fix_shapes(graph_);
  const size_t symbols = graph_.symbols().size();
  BuildNodes(scope);
  problems_.Throw();
  AddOutputs(scope, signature);
  AddVariables();
  CheckPortCount("inputs and variables", graph_.inputs().size());
  // They held for the contracts so far; infer-shapes asks again.
  ForgetTypes(graph_, symbols);
  return std::move(graph_);
}

std::vector<Dim> TfliteImporter::ReadDims(const tflite::Tensor& tensor, const std::string& name) {
  const auto* signature = tensor.shape_signature();
  const auto* stated = SizeOf(signature) > 0 ? signature : tensor.shape();
  if (SizeOf(stated) > kMaxRank)
    Throw(StatusCode::kUnsupported, "input '{}' has rank {}; at most {} dimensions are supported", name,
          SizeOf(stated), kMaxRank);
  std::vector<Dim> dims;
  int64_t elements = 1;
  for (uint32_t axis = 0; axis < SizeOf(stated); ++axis) {
    const int32_t extent = stated->Get(axis);
    if (extent == -1) {
      dims.push_back(Dim::OfSymbol(graph_.AddSymbol(fmt::format("{}#{}", name, axis))));
      continue;
    }
    if (extent < 0 || __builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements) ||
        elements > INT64_MAX / 8)
      Throw(StatusCode::kInvalidModel, "input '{}' has the extent {} at axis {}", name, extent, axis);
    dims.emplace_back(extent);
  }
  return dims;
}

void TfliteImporter::AddInputs(Scope& scope, const TfliteSignature& signature, const FixedInputs& fixed) {
  std::set<std::string> left;
  for (const auto& [name, number] : fixed) left.insert(name);
  std::vector<std::string> names;
  DistinctNames distinct;
  for (uint32_t i = 0; i < SizeOf(GraphOf(scope).inputs()); ++i) {
    const int32_t index = GraphOf(scope).inputs()->Get(i);
    ValueId& value = scope.values[static_cast<size_t>(index)];
    if (value != kUnmade) continue;  // Listed twice.
    shared_.CountParts(1);
    const tflite::Tensor& tensor = TensorOf(scope, index);
    const std::string name =
        distinct.Take(PortName(signature.inputs, GraphOf(scope), index), NameOf(scope, index));
    names.push_back(name);
    const DType dtype = DTypeOfTflite(tensor.type());
    const QuantizationPtr scales = shared_.quantizations().Of(GraphOf(scope), tensor);
    if (const auto number = fixed.find(name); number != fixed.end()) {
      value = graph_.AddConstant(name, FixedNumber(name, tensor, dtype, scales, number->second));
      left.erase(name);
      continue;
    }
    if (dtype == DType::kInvalid || DTypeBits(dtype) < 8) {
      problems_.Add(
          fmt::format("inputs of {}", TfliteTypeName(tensor.type())),
          "Convert the net with other inputs, or cut the model behind the operators that read them.", name);
      value = kPoisoned;
      continue;
    }
    if (tensor.is_variable())
      Throw(
          StatusCode::kUnsupported,
          "input '{}' is a variable as well, which keeps what the run before left; export it as one of both",
          name);
    value = graph_.AddInput(name, dtype, ReadDims(tensor, name), scales);
    // Scales were read for the shape; the signature of it may have other extents.
    if (const char* defect = DefectOfQuantization(graph_.value(value)))
      Throw(StatusCode::kInvalidModel, "input '{}': its quantisation cannot be used: {}", name, defect);
    graph_.value(value).source = NameOf(scope, index);
    graph_.SetInputNotes(graph_.inputs().size() - 1, metadata_.inputs[i]);
  }
  if (!left.empty())
    Throw(StatusCode::kInvalidArgument, "the model has no input '{}'; its inputs are '{}'", *left.begin(),
          fmt::join(names, "', '"));
}

void TfliteImporter::AddOutputs(Scope& scope, const TfliteSignature& signature) {
  const auto* outputs = GraphOf(scope).outputs();
  const bool assigns = std::any_of(variables_.begin(), variables_.end(),
                                   [](const auto& named) { return named.second.assigned; });
  if (SizeOf(outputs) == 0 && !assigns) Throw(StatusCode::kInvalidModel, "the model has no outputs");
  CheckPortCount("outputs", SizeOf(outputs));
  DistinctNames names;
  for (uint32_t i = 0; i < SizeOf(outputs); ++i) {
    shared_.CountParts(1);
    const int32_t index = outputs->Get(i);
    const std::string name =
        names.Take(PortName(signature.outputs, GraphOf(scope), index), NameOf(scope, index));
    const ValueId value = ValueOf(scope, index);
    if (scope.imaginary.contains(index))
      Throw(StatusCode::kUnsupported,
            "the model's output '{}' is of complex numbers; make REAL and IMAG of it two outputs", name);
    if (value < 0) Throw(StatusCode::kInvalidModel, "the model's output '{}' is made by no operator", name);
    if (DTypeBits(graph_.value(value).dtype) == 4)
      Throw(StatusCode::kUnsupported, "the model's output '{}' is {}, which only constants can be", name,
            DTypeName(graph_.value(value).dtype));
    graph_.AddOutput(name, value);
    graph_.SetOutputNotes(i, metadata_.outputs[i]);
  }
}

ValueId TfliteImporter::ValueOf(Scope& scope, int32_t index) {
  if (index < 0) return kNoValue;
  ValueId& value = scope.values[static_cast<size_t>(index)];
  if (value != kUnmade) return value;
  const tflite::Tensor& tensor = TensorOf(scope, index);
  const std::string name = NameOf(scope, index);
  bool empty = false;  // Of no elements, it has no buffer either.
  for (uint32_t i = 0; i < SizeOf(tensor.shape()); ++i) empty |= tensor.shape()->Get(i) == 0;
  const bool known = IsTfliteConstant(file_, tensor) || empty;
  if (!known && tensor.is_variable())
    Throw(StatusCode::kUnsupported,
          "the variable '{}' is read by what has no state of its own, or is an output of the model; "
          "export it as an input and an output",
          name);
  if (!known) Throw(StatusCode::kInvalidModel, "the tensor '{}' is read before an operator makes it", name);
  if (DTypeOfConstant(tensor.type()) == DType::kInvalid) {
    problems_.Add(fmt::format("the element type {}", TfliteTypeName(tensor.type())),
                  "Convert the net with another type.", name);
    return value = kPoisoned;
  }
  value = graph_.AddConstant(name, shared_.Constant(GraphOf(scope), tensor));
  if (scope.depth == 0) graph_.value(value).source = name;
  return value;
}

void TfliteImporter::BuildNodes(Scope& scope) {
  const tflite::SubGraph& graph = GraphOf(scope);
  std::vector<bool> read(scope.values.size(), false);
  const auto mark = [&](const flatbuffers::Vector<int32_t>* list) {
    for (uint32_t i = 0; i < SizeOf(list); ++i) {
      if (list->Get(i) >= 0) read[static_cast<size_t>(list->Get(i))] = true;
    }
  };
  mark(graph.outputs());
  for (uint32_t i = 0; i < SizeOf(graph.operators()); ++i) mark(graph.operators()->Get(i)->inputs());
  const TensorLists lists(file_, graph);
  for (uint32_t i = 0; i < SizeOf(graph.operators()); ++i) {
    if (lists.IsPart(i)) continue;
    if (const ListUpdate* update = lists.UpdateAt(i)) {
      BuildUpdate(scope, *graph.operators()->Get(i), *update);
    } else {
      BuildNode(scope, *graph.operators()->Get(i), read);
    }
  }
}

void TfliteImporter::Poison(Scope& scope, const tflite::Operator& node) {
  for (uint32_t i = 0; i < SizeOf(node.outputs()); ++i) {
    if (node.outputs()->Get(i) >= 0) scope.values[static_cast<size_t>(node.outputs()->Get(i))] = kPoisoned;
  }
}

/// What the file says of the results of an operator that Skiff does not know.
std::vector<StatedType> TfliteImporter::StatedTypes(const Scope& scope, const tflite::Operator& node) const {
  std::vector<StatedType> types;
  for (uint32_t i = 0; i < SizeOf(node.outputs()); ++i) {
    StatedType& type = types.emplace_back();
    if (node.outputs()->Get(i) < 0) continue;
    const tflite::Tensor& tensor = TensorOf(scope, node.outputs()->Get(i));
    const auto* extents = SizeOf(tensor.shape_signature()) > 0 ? tensor.shape_signature() : tensor.shape();
    const bool quantized = shared_.quantizations().Of(GraphOf(scope), tensor) != nullptr;
    type.dtype = quantized ? DType::kF32 : DTypeOfTflite(tensor.type());
    type.known = type.dtype != DType::kInvalid && SizeOf(extents) <= kMaxRank;
    for (uint32_t axis = 0; type.known && axis < SizeOf(extents); ++axis)
      type.extents.push_back(std::max<int64_t>(extents->Get(axis), -1));
  }
  return types;
}

DeclaredType TfliteImporter::DeclaredOf(const Scope& scope, int32_t tensor) const {
  const tflite::Tensor& stated = TensorOf(scope, tensor);
  if (stated.type() == tflite::TensorType::INT2)
    Throw(StatusCode::kUnsupported, "the tensor '{}' is INT2, which only constants can be",
          NameOf(scope, tensor));
  return {DTypeOfTflite(stated.type()), shared_.quantizations().Of(GraphOf(scope), stated)};
}

/// Writes one element, in place of the three parts.
void TfliteImporter::BuildUpdate(Scope& scope, const tflite::Operator& node, const ListUpdate& update) {
  NodeBuilder::Call call;
  call.operator_name = file_.OperatorOf(node).Name();
  call.output_names = {NameOf(scope, node.outputs()->Get(0))};
  call.label = call.output_names[0];
  call.budget = &shared_.budget();
  call.inputs = {ValueOf(scope, update.list), ValueOf(scope, update.index), ValueOf(scope, update.element)};
  if (std::find(call.inputs.begin(), call.inputs.end(), kPoisoned) != call.inputs.end())
    return Poison(scope, node);
  call.source = graph_.AddSource(call.label, call.operator_name);
  TfliteCall source;
  source.node = &node;
  TfliteBuilder b(graph_, untyped_, std::move(call), std::move(source));
  const ValueId index = EmitReshape(b, "index", b.Integers("place", b.Input(1)), {1, 1});
  b.Output(OpCode::kScatterND, {b.Input(0), index, b.Input(2)}, ScatterAttrs{});
  scope.values[static_cast<size_t>(node.outputs()->Get(0))] = b.results()[0];
}

void TfliteImporter::BuildNode(Scope& scope, const tflite::Operator& node, const std::vector<bool>& read) {
  const size_t operands = size_t{SizeOf(node.inputs())} + SizeOf(node.outputs());
  shared_.budget().CountNode();
  const TfliteFile::Operator op = file_.OperatorOf(node);
  const std::string what = fmt::format("operator {}", op.Name());
  if (operands > kMaxOperands)
    Throw(StatusCode::kUnsupported,
          "{} has {} inputs and outputs; at most {} are supported: join them in parts", what, operands,
          kMaxOperands);
  NodeBuilder::Call call;
  TfliteCall source = CallOf(scope, node);
  for (uint32_t i = 0; i < SizeOf(node.outputs()); ++i) {
    const int32_t tensor = node.outputs()->Get(i);
    call.output_names.push_back(tensor < 0 ? "" : NameOf(scope, tensor));
    call.output_used.push_back(tensor >= 0 && read[static_cast<size_t>(tensor)]);
    DeclaredType declared;
    if (tensor >= 0) {
      declared = DeclaredOf(scope, tensor);
      if (scope.values[static_cast<size_t>(tensor)] >= 0)
        Throw(StatusCode::kInvalidModel, "the tensor '{}' is made twice", NameOf(scope, tensor));
    }
    call.declared.push_back(std::move(declared));
  }
  call.label = call.output_names.empty() || call.output_names[0].empty()
                   ? fmt::format("{}{}", scope.prefix, op.Name())
                   : call.output_names[0];
  call.operator_name = op.Name();
  const bool kept = op.builtin == tflite::BuiltinOperator::CUSTOM && IsCustomOperator(std::string(op.custom));
  const TfliteRow row = kept ? TfliteRow{BuildKept} : FindTfliteOp(op);
  if (row.build == nullptr) {
    problems_.Add(what, TfliteRemedy(op), call.label);
    return Poison(scope, node);
  }
  if (kept) source.stated = StatedTypes(scope, node);
  if (op.builtin == tflite::BuiltinOperator::VAR_HANDLE) {
    const auto options = TfliteBuilder(graph_, untyped_, call, source).Options<tflite::VarHandleOptions>();
    if (SizeOf(node.outputs()) > 0 && node.outputs()->Get(0) >= 0)
      scope.handles[static_cast<size_t>(node.outputs()->Get(0))] =
          shared_.variables().OfHandle(options.container, options.shared_name);
    return;
  }
  bool poisoned = false;
  for (uint32_t i = 0; i < SizeOf(node.inputs()); ++i) {
    const bool variable = !source.variables[i].empty();
    call.inputs.push_back(variable ? kNoValue : ValueOf(scope, node.inputs()->Get(i)));
    poisoned |= call.inputs.back() == kPoisoned;
  }
  if (poisoned) return Poison(scope, node);
  call.op = row.op;
  call.budget = &shared_.budget();
  call.source = graph_.AddSource(call.label, op.Name());
  source.import_body = [&, label = call.label](int32_t subgraph, const std::vector<ValueId>& inputs,
                                               const std::vector<bool>& same, bool drop_same) {
    return ImportBody(scope, label, subgraph, inputs, same, drop_same);
  };
  source.import_here = [&, label = call.label](int32_t subgraph, const std::vector<ValueId>& inputs) {
    return ImportHere(scope, label, subgraph, inputs);
  };
  const std::string label = call.label;
  const bool complex = std::any_of(source.imaginary.begin(), source.imaginary.end(),
                                   [](ValueId value) { return value != kNoValue; });
  const ComplexUse complex_use = complex ? ComplexUseOf(op.builtin) : ComplexUse::kReads;
  TfliteBuilder builder(graph_, untyped_, std::move(call), std::move(source));
  const bool for_effect = op.builtin == tflite::BuiltinOperator::ASSIGN_VARIABLE ||
                          op.builtin == tflite::BuiltinOperator::CALL_ONCE;
  try {
    if (builder.output_count() == 0 && !for_effect) builder.Invalid("the node has no outputs");
    if (complex_use == ComplexUse::kNone)
      builder.Unsupported("reads complex numbers; take their REAL and IMAG in front of it");
    if (complex_use == ComplexUse::kEither) builder.BuildParts(row.build);
    if (complex_use == ComplexUse::kReads) row.build(builder);
  } catch (const Error& error) {
    if (error.code() != StatusCode::kUnsupported || shared_.budget().spent) throw;
    if (error.what() != std::string_view(kInBody))
      problems_.Add(fmt::format("{}: it {}", what, error.what()), "", label);
    return Poison(scope, node);
  }
  for (uint32_t i = 0; i < SizeOf(node.outputs()); ++i) {
    const int32_t tensor = node.outputs()->Get(i);
    if (tensor < 0) continue;
    ValueId value = builder.results()[i];
    const ValueId imaginary = builder.imaginary_results()[i];
    if (imaginary != kNoValue) {
      scope.imaginary[tensor] = imaginary;
    } else if (value != kNoValue && TensorOf(scope, tensor).type() == tflite::TensorType::COMPLEX64) {
      problems_.Add(fmt::format("{}: it makes complex numbers from real ones", what),
                    "Cut the model in front of it.", label);
      value = kPoisoned;
    }
    if (value == kNoValue && builder.OutputUsed(i))
      problems_.Add(fmt::format("output {} of {}", i, what), "Convert the net without it.", label);
    scope.values[static_cast<size_t>(tensor)] = value == kNoValue ? kPoisoned : value;
  }
}

}  // namespace skiff
