#include "import/onnx/importer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>

#include "graph/error.h"
#include "graph/prefix.h"
#include "graph/typing.h"
#include "import/custom.h"
#include "import/onnx/bodies.h"
#include "import/onnx/custom.h"
#include "import/onnx/dynamic_product.h"
#include "import/onnx/ops.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace skiff {
namespace {

/// No real model comes near.
constexpr size_t kMaxNodes = 1'000'000;

std::string NormalDomain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }
std::string DomainText(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }
std::string OverloadText(const std::string& overload) {
  return overload.empty() ? "" : fmt::format(" (overload '{}')", overload);
}

/// Whether the node does nothing with its first input but to move elements, and reads no other texts.
bool MovesTexts(const onnx::NodeProto& node, const std::vector<ValueId>& inputs,
                const std::unordered_set<ValueId>& texts) {
  static constexpr std::array<std::string_view, 7> kMoving = {
      "ArrayFeatureExtractor", "Flatten", "Gather", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  return std::find(kMoving.begin(), kMoving.end(), node.op_type()) != kMoving.end() &&
         texts.contains(inputs[0]) &&
         std::none_of(inputs.begin() + 1, inputs.end(), [&](ValueId input) { return texts.contains(input); });
}

void BuildKept(OnnxBuilder& b) {
  const std::vector<uint8_t> options = CustomOptionsOfOnnx(b.node());
  const std::string domain = NormalDomain(b.node().domain());
  BuildCustom(b, CustomNameOfOnnx(domain, b.node().op_type()), {options.data(), options.size()}, b.stated());
}

}  // namespace

bool IsPlaceholder(const std::string& symbol) {
  static const std::array<std::string_view, 5> kPlaceholders = {"", "?", "None", "-1", "null"};
  return std::find(kPlaceholders.begin(), kPlaceholders.end(), symbol) != kPlaceholders.end();
}

Graph OnnxImporter::Import(const ImportOptions& options) {
  Scope scope;
  if (model_.opset_import_size() == 0) {
    Throw(StatusCode::kInvalidModel, "the model does not say which opset it uses (opset_import)");
  }
  scope.opsets = std::make_shared<Opsets>(ReadOpsets(model_.opset_import(), "the model"));
  graph_.name = model_.graph().name();
  budget_.CountFile(static_cast<int64_t>(model_.ByteSizeLong()));
  ReadFunctions();
  ReadDeclaredTypes();
  AddInitializers(model_.graph(), scope, [&](int index, const std::string& label) {
    return TakeTensor(*model_.mutable_graph()->mutable_initializer(index), external_, label);
  });
  AddInputs(scope, options);
  if (options.fix_shapes) options.fix_shapes(graph_);
  const size_t symbols = graph_.symbols().size();
  std::vector<std::string> outputs;
  for (const auto& output : model_.graph().output()) outputs.push_back(output.name());
  BuildNodes(model_.graph().node(), scope, outputs);
  problems_.Throw();
  AddOutputs(scope);
  CountRuns();
  // They held for the contracts so far; infer-shapes asks again.
  ForgetTypes(graph_, symbols);
  return std::move(graph_);
}

OnnxImporter::Opsets OnnxImporter::ReadOpsets(const OpsetImports& imports, const std::string& owner) {
  Opsets opsets;
  for (const auto& import : imports) {
    const auto [place, added] = opsets.emplace(NormalDomain(import.domain()), import.version());
    if (!added && place->second != import.version()) {
      Throw(StatusCode::kInvalidModel, "{} names two opsets of {}: {} and {}", owner,
            DomainText(place->first), place->second, import.version());
    }
  }
  const auto onnx = opsets.find("");
  if (onnx == opsets.end()) return opsets;
  if (onnx->second > kNewestOnnxOpset) {
    Throw(StatusCode::kUnsupported,
          "{} uses opset {} of ai.onnx; this version of Skiff reads {} to {}. Export with opset_version={}, "
          "or convert it with "
          "onnx.version_converter",
          owner, onnx->second, kOldestOnnxOpset, kNewestOnnxOpset, kNewestOnnxOpset);
  }
  if (onnx->second < kOldestOnnxOpset) {
    Throw(StatusCode::kUnsupported,
          "{} uses opset {} of ai.onnx; this version of Skiff reads {} to {}. Convert it with "
          "onnx.version_converter, or export again",
          owner, onnx->second, kOldestOnnxOpset, kNewestOnnxOpset);
  }
  return opsets;
}

void OnnxImporter::ReadFunctions() {
  for (const auto& function : model_.functions()) {
    const std::string overload = OverloadOf(function);
    const auto [place, added] = functions_.try_emplace(
        {NormalDomain(function.domain()), function.name(), overload}, Function{&function, {}, {}});
    if (!added) {
      Throw(StatusCode::kInvalidModel, "the function {}.{}{} is defined twice", DomainText(place->first[0]),
            function.name(), OverloadText(overload));
    }
  }
}

void OnnxImporter::ReadDeclaredTypes() {
  const auto read = [&](const auto& infos) {
    for (const onnx::ValueInfoProto& info : infos) {
      declared_.emplace(info.name(), &info.type().tensor_type());
    }
  };
  read(model_.graph().value_info());
  read(model_.graph().output());
}

void OnnxImporter::TypeAsDeclared(ValueId id, const std::string& tensor) {
  const auto declared = declared_.find(tensor);
  if (declared == declared_.end()) return;
  Value& value = graph_.value(id);
  if (value.dtype == DType::kInvalid) value.dtype = DTypeOfOnnx(declared->second->elem_type());
  if (value.has_shape || !declared->second->has_shape() || declared->second->shape().dim_size() > kMaxRank)
    return;
  value.has_shape = true;  // The rank alone: that the stated extents are right is not sure.
  for (int axis = 0; axis < declared->second->shape().dim_size(); ++axis)
    value.dims.push_back(Dim::OfSymbol(graph_.AddFreshSymbol(fmt::format("{}#{}", tensor, axis))));
}

std::vector<StatedType> OnnxImporter::StatedTypes(const Scope& scope, const onnx::NodeProto& node) const {
  std::vector<StatedType> types;
  for (const std::string& output : node.output()) {
    StatedType& type = types.emplace_back();
    const auto stated = declared_.find(output);
    if (scope.depth > 0 || stated == declared_.end() || !stated->second->has_shape()) continue;
    const auto& dims = stated->second->shape().dim();
    type.dtype = DTypeOfOnnx(stated->second->elem_type());
    type.known = type.dtype != DType::kInvalid && dims.size() <= kMaxRank;
    for (const auto& dim : dims)
      type.extents.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : -1);
  }
  return types;
}

void OnnxImporter::Bind(Scope& scope, const std::string& tensor, ValueId value) {
  if (!scope.values.emplace(tensor, value).second) {
    Throw(StatusCode::kInvalidModel, "the tensor '{}{}' is defined twice", scope.prefix, tensor);
  }
}

/// A list of texts stands as their numbers, with which nothing may be done but to move them; where they
/// become an output, the file names them.
void OnnxImporter::AddTexts(const onnx::TensorProto& tensor, Scope& scope) {
  std::vector<int64_t> numbers(static_cast<size_t>(tensor.string_data_size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const ValueId value = graph_.AddConstant(ExportedName(scope, tensor.name()), TensorData::OfInts(numbers));
  notes_.texts.insert(value);
  notes_.labels[value].value_labels =
      std::make_shared<std::vector<std::string>>(tensor.string_data().begin(), tensor.string_data().end());
  Bind(scope, tensor.name(), value);
}

bool OnnxImporter::ReadsTexts(const std::vector<ValueId>& inputs) const {
  return bodies_ == 0 && std::any_of(inputs.begin(), inputs.end(),
                                     [&](ValueId input) { return notes_.texts.contains(input); });
}

void OnnxImporter::AddInitializers(const onnx::GraphProto& graph, Scope& scope, const ReadElements& read) {
  for (int index = 0; index < graph.initializer_size(); ++index) {
    const onnx::TensorProto& tensor = graph.initializer(index);
    if (tensor.name().empty()) Throw(StatusCode::kInvalidModel, "an initializer has no name");
    if (bodies_ == 0 && tensor.data_type() == onnx::TensorProto::STRING && tensor.dims_size() == 1 &&
        tensor.dims(0) == tensor.string_data_size()) {
      AddTexts(tensor, scope);
      continue;
    }
    if (DTypeOfOnnx(tensor.data_type()) == DType::kInvalid) {
      problems_.Add(fmt::format("the element type {}", OnnxTypeName(tensor.data_type())),
                    RemedyOfOnnxType(tensor.data_type()), tensor.name());
      Bind(scope, tensor.name(), kPoisoned);
      continue;
    }
    const std::string name = ExportedName(scope, tensor.name());
    const OnnxType& type = *FindOnnxType(tensor.data_type());
    const int64_t bytes_beside = external_.bytes_read();
    const ValueId value = graph_.AddConstant(name, read(index, tensor.name()));
    budget_.CountFile(external_.bytes_read() - bytes_beside);
    if (StandsAsWider(type)) types_[value] = &type;
    graph_.value(value).source = name;
    Bind(scope, tensor.name(), value);
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    problems_.Add("sparse initializers", "Store them dense.", sparse.values().name());
    Bind(scope, sparse.values().name(), kPoisoned);
  }
}

void OnnxImporter::BuildNodes(const OnnxNodes& nodes, Scope& scope, const std::vector<std::string>& outputs) {
  std::unordered_set<std::string_view> read(outputs.begin(), outputs.end());
  std::vector<std::string> captured;
  for (const auto& node : nodes) {
    read.insert(node.input().begin(), node.input().end());
    for (std::string& name : CapturedTensors(node)) captured.push_back(std::move(name));
  }
  read.insert(captured.begin(), captured.end());
  const auto defined = [&](const std::string& tensor) { return scope.values.contains(tensor); };
  for (int i : OrderNodes(nodes, defined, scope.prefix)) {
    const onnx::NodeProto& node = nodes.Get(i);
    std::vector<bool> used;
    for (const std::string& output : node.output()) used.push_back(!output.empty() && read.contains(output));
    BuildNode(node, scope, NodeLabel(node, i, scope.prefix), used);
    // Some exporters write weights as nodes, of which the graph has a copy now.
    if (scope.depth == 0) {
      google::protobuf::RepeatedPtrField<onnx::AttributeProto>().Swap(
          model_.mutable_graph()->mutable_node(i)->mutable_attribute());
    }
  }
}

void OnnxImporter::Poison(Scope& scope, const onnx::NodeProto& node) {
  for (const std::string& output : node.output()) {
    if (!output.empty()) scope.values.emplace(output, kPoisoned);
  }
}

void OnnxImporter::BuildNode(const onnx::NodeProto& node, Scope& scope, const std::string& label,
                             const std::vector<bool>& used) {
  if (++node_count_ > kMaxNodes) {
    Throw(StatusCode::kUnsupported, "the model has more than {} nodes", kMaxNodes);
  }
  budget_.CountNode();
  const std::string domain = NormalDomain(node.domain());
  const auto opset = scope.opsets->find(domain);
  const int64_t version = opset == scope.opsets->end() ? 0 : opset->second;
  const std::string what =
      fmt::format("operator {} of {} opset {}", node.op_type(), DomainText(domain), version);
  static constexpr OnnxOp kKept = {"", 0, 0, BuildKept};
  const bool kept = IsCustomOperator(CustomNameOfOnnx(domain, node.op_type()));
  const OnnxOp* row = kept ? &kKept : FindOnnxOp(domain, node.op_type(), version);
  if (row == nullptr || (!domain.empty() && !kept)) {
    if (Function* function = FindFunction(domain, node)) return ExpandFunction(*function, node, scope, label);
  }
  if (row == nullptr) {
    problems_.Add(what + OverloadText(OverloadOf(node)), OnnxRemedy(domain, node.op_type()), label);
    return Poison(scope, node);
  }

  NodeBuilder::Call call;
  OnnxCall source;
  bool poisoned = false;
  for (const std::string& input : node.input()) {
    call.inputs.push_back(input.empty() ? kNoValue : scope.values.at(input));
    poisoned |= call.inputs.back() == kPoisoned;
  }
  const bool of_texts = ReadsTexts(call.inputs);
  const ValueId texts = of_texts ? call.inputs[0] : kNoValue;
  if (of_texts && !MovesTexts(node, call.inputs, notes_.texts)) {
    problems_.Add(what + " over texts", RemedyOfOnnxType(onnx::TensorProto::STRING), label);
    return Poison(scope, node);
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!OnnxSequences::Is(call.inputs[i]) || poisoned ||
        ((row->sequences >> std::min<size_t>(i, 63)) & 1) != 0)
      continue;
    Throw(StatusCode::kInvalidModel, "node '{}' ({}): input {}, '{}', is {}; a tensor was expected", label,
          node.op_type(), i, node.input(static_cast<int>(i)), KindOf(sequences_.at(call.inputs[i])));
  }
  std::vector<std::string> captured;
  for (const std::string& tensor : CapturedTensors(node)) {
    const ValueId value = scope.values.at(tensor);
    if (ReadsTexts({value})) {
      problems_.Add("texts that a sub-graph reads", RemedyOfOnnxType(onnx::TensorProto::STRING), label);
      return Poison(scope, node);
    }
    poisoned |= value == kPoisoned;
    if (value == kNoValue) continue;                           // Left out by the caller of a function.
    if (value >= 0 && graph_.value(value).constant) continue;  // A constant in the body, too.
    captured.push_back(tensor);
    if (!OnnxSequences::Is(value)) {
      source.captured.push_back(value);
      continue;
    }
    source.captures_sequences = true;
    for (const OnnxSequence::Part& part : sequences_.at(value).parts) {
      if (!graph_.value(part.value).constant) source.captured.push_back(part.value);
    }
  }
  if (poisoned) return Poison(scope, node);
  // Rows that write the node as several have a copy of the sub-graph for each.
  const auto bodies = static_cast<size_t>(
      std::count_if(node.attribute().begin(), node.attribute().end(),
                    [](const onnx::AttributeProto& attribute) { return attribute.has_g(); }));
  std::unordered_set<const onnx::GraphProto*> imported;
  source.import_body = [&](const onnx::GraphProto& body, const std::vector<ValueId>& inputs,
                           const OnnxBuilder::AddBodyOutputs& add_outputs) {
    if (!imported.insert(&body).second || imported.size() > bodies) CountRepeated(body, label);
    return ImportBody(body, scope, label, captured, inputs, add_outputs);
  };
  source.inline_body = [&](const onnx::GraphProto& body, const std::vector<ValueId>& inputs,
                           const std::string& place, const std::vector<std::string>& outputs) {
    if (!place.empty()) CountRepeated(body, label);
    return InlineBody(body, scope, place.empty() ? label : PrefixOf(label) + "/" + place, inputs, outputs);
  };
  source.sequences = &sequences_;
  source.node = &node;
  call.label = label;
  source.opset = version;
  call.operator_name = node.op_type();
  call.op = row->op;
  call.output_used = used;
  call.source = graph_.AddSource(label, node.op_type());
  call.budget = &budget_;
  source.external = &external_;
  source.notes = bodies_ == 0 ? &notes_ : nullptr;
  source.types = &types_;
  if (kept) source.stated = StatedTypes(scope, node);
  for (const std::string& output : node.output()) {
    call.output_names.push_back(output.empty() ? "" : ExportedName(scope, output));
  }
  OnnxBuilder builder(graph_, untyped_, std::move(call), std::move(source));
  try {
    if (builder.output_count() == 0) builder.Invalid("the node has no outputs");
    row->build(builder);
    NoteMovedCodes(builder);
  } catch (const Error& error) {
    if (error.code() != StatusCode::kUnsupported || budget_.spent) throw;
    if (error.what() != std::string_view(kInBody))
      problems_.Add(fmt::format("{} {}", what, error.what()), "", label);
    return Poison(scope, node);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const ValueId value = builder.results()[static_cast<size_t>(i)];
    if (node.output(i).empty()) continue;
    if (value == kNoValue) {
      if (used[static_cast<size_t>(i)]) {
        problems_.Add(fmt::format("output {} of {}", i, what), "Export the model without it.", label);
      }
      scope.values.emplace(node.output(i), kPoisoned);
      continue;
    }
    if (of_texts) {
      notes_.texts.insert(value);
      notes_.labels[value] = notes_.labels.at(texts);
    }
    if (scope.depth == 0 && value >= 0) TypeAsDeclared(value, node.output(i));
    Bind(scope, node.output(i), value);
  }
}

std::string OnnxImporter::ExportedName(const Scope& scope, const std::string& tensor) {
  const auto found = scope.exported.find(tensor);
  return found == scope.exported.end() ? scope.prefix + tensor : found->second;
}

OnnxImporter::Function* OnnxImporter::FindFunction(const std::string& domain, const onnx::NodeProto& call) {
  const auto found = functions_.find({domain, call.op_type(), OverloadOf(call)});
  return found == functions_.end() ? nullptr : &found->second;
}

}  // namespace skiff
