// What has a scope of its own: calls of the model's functions, which are put in place, and the bodies of
// control flow, which become graphs.
#include "graph/error.h"
#include "graph/prefix.h"
#include "import/onnx/bodies.h"
#include "import/onnx/importer.h"
#include "import/onnx/tensor.h"
#include "plan/body_ports.h"
#include "plan/limits.h"

namespace skiff {
namespace {

/// No model that was exported comes near.
constexpr size_t kMostExpandedNodes = 50'000;
constexpr size_t kMostExpandedBytes = size_t{256} << 20;
/// What each name takes that a copy gives a meaning.
constexpr size_t kBytesOfName = 64;
/// Functions and sub-graphs in each other; no real model comes near it.
constexpr int kMaxDepth = 32;

}  // namespace

/// Functions that call functions grow with each level, and so do the constants in them.
void OnnxImporter::CountExpanded(size_t nodes, size_t bytes, const std::string& label) {
  expanded_nodes_ += nodes;
  expanded_bytes_ += bytes;
  if (expanded_nodes_ > kMostExpandedNodes || expanded_bytes_ > kMostExpandedBytes) {
    Throw(StatusCode::kUnsupported,
          "node '{}': what the model's functions and unrolled loops expand to has more than {} nodes or {} "
          "MiB; "
          "inline its functions and fold its constants before (onnx.inliner, onnx-simplifier)",
          label, kMostExpandedNodes, kMostExpandedBytes >> 20);
  }
}

void OnnxImporter::CountRepeated(const onnx::GraphProto& body, const std::string& label) {
  size_t bytes = kBytesOfName * static_cast<size_t>(body.input_size() + body.output_size());
  for (const onnx::TensorProto& tensor : body.initializer()) bytes += ImportedBytes(tensor);
  for (const onnx::NodeProto& node : body.node()) bytes += ImportedBytes(node);
  CountExpanded(static_cast<size_t>(body.node_size()), bytes, label);
}

void OnnxImporter::ExpandFunction(Function& called, const onnx::NodeProto& call, Scope& scope,
                                  const std::string& label) {
  const onnx::FunctionProto& function = *called.proto;
  if (scope.depth >= kMaxDepth) {
    Throw(StatusCode::kInvalidModel,
          "node '{}' calls the function {} more than {} levels deep; it seems to call itself", label,
          function.name(), kMaxDepth);
  }
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    Throw(StatusCode::kInvalidModel,
          "node '{}' calls the function {} with {} inputs and {} outputs; it has {} and {}", label,
          function.name(), call.input_size(), call.output_size(), function.input_size(),
          function.output_size());
  }
  if (!called.nodes) {
    called.opsets = ReadOpsets(function.opset_import(), fmt::format("the function {}", function.name()));
    called.nodes.emplace(function);
  }
  // Before any of it is copied.
  const size_t names =
      static_cast<size_t>(function.input_size()) + called.opsets.size() + scope.opsets->size();
  CountExpanded(static_cast<size_t>(function.node_size()),
                called.nodes->BytesFor(call) + kBytesOfName * names, label);
  Scope body;
  body.prefix = PrefixOfNode(label);
  body.depth = scope.depth + 1;
  Opsets opsets = called.opsets;
  opsets.insert(scope.opsets->begin(), scope.opsets->end());
  body.opsets = std::make_shared<Opsets>(std::move(opsets));
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < call.input_size() && !call.input(i).empty();
    Bind(body, function.input(i), given ? scope.values.at(call.input(i)) : kNoValue);
  }
  std::vector<std::string> outputs;
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    body.exported.emplace(function.output(i), ExportedName(scope, call.output(i)));
    outputs.push_back(function.output(i));
  }
  const OnnxNodes nodes = called.nodes->BoundTo(call);
  BuildNodes(nodes, body, outputs);
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const auto found = body.values.find(function.output(i));
    if (found == body.values.end() || found->second == kNoValue) {
      Throw(StatusCode::kInvalidModel, "the function {} makes no output '{}', which node '{}' reads",
            function.name(), function.output(i), label);
    }
    Bind(scope, call.output(i), found->second);
  }
}

std::vector<ValueId> OnnxImporter::InlineBody(const onnx::GraphProto& body, const Scope& outer,
                                              const std::string& prefix, const std::vector<ValueId>& inputs,
                                              const std::vector<std::string>& outputs) {
  if (outer.depth >= kMaxDepth)
    Throw(StatusCode::kInvalidModel, "node '{}' lies in more than {} sub-graphs", prefix, kMaxDepth);
  Scope scope;
  scope.prefix = PrefixOfNode(prefix);
  scope.depth = outer.depth + 1;
  scope.opsets = outer.opsets;
  for (int i = 0; i < body.input_size(); ++i)
    Bind(scope, body.input(i).name(), inputs[static_cast<size_t>(i)]);
  for (const std::string& tensor : OuterTensors(body)) {
    if (const auto found = outer.values.find(tensor); found != outer.values.end())
      Bind(scope, tensor, found->second);
  }
  AddInitializers(body, scope, [&](int index, const std::string& label_of_tensor) {
    return ReadTensor(body.initializer(index), external_, label_of_tensor);
  });
  std::vector<std::string> named;
  for (int i = 0; i < body.output_size(); ++i) {
    named.push_back(body.output(i).name());
    const auto place = static_cast<size_t>(i);
    if (place < outputs.size() && !outputs[place].empty())
      scope.exported.emplace(named.back(), outputs[place]);
  }
  BuildNodes(body.node(), scope, named);
  return ResultsOf(body, scope, prefix);
}

std::vector<ValueId> OnnxImporter::ResultsOf(const onnx::GraphProto& body, const Scope& scope,
                                             const std::string& label) {
  std::vector<ValueId> results;
  for (const auto& output : body.output()) {
    const auto found = scope.values.find(output.name());
    if (found == scope.values.end() || found->second == kNoValue)
      Throw(StatusCode::kInvalidModel, "node '{}': its sub-graph '{}' makes no output '{}'", label,
            body.name(), output.name());
    if (found->second == kPoisoned) throw Error(StatusCode::kUnsupported, kInBody);
    results.push_back(found->second);
  }
  return results;
}

ValueId OnnxImporter::AddBodyValue(const std::string& name, const Value& passed) {
  const ValueId value = graph_.AddInput(name, passed.dtype, passed.dims, passed.quantization);
  graph_.value(value).has_shape = passed.has_shape;
  graph_.value(value).source.clear();
  return value;
}

ValueId OnnxImporter::AddBodySequence(const Graph& around, const std::string& name,
                                      const OnnxSequence& passed, const std::string& label) {
  budget_.CountSequence(passed.parts.size(), label);
  OnnxSequence sequence = passed;
  for (size_t i = 0; i < sequence.parts.size(); ++i) {
    ValueId& id = sequence.parts[i].value;
    const Value& value = around.value(id);
    id = value.constant ? graph_.AddConstant(PrefixOf(value.name), *value.constant)
                        : AddBodyValue(fmt::format("{}.{}", PrefixOf(name), i), value);
  }
  return sequences_.Add(std::move(sequence));
}

void OnnxImporter::AddBodyInput(Scope& scope, const std::string& tensor, const Value& passed) {
  Bind(scope, tensor, AddBodyValue(ExportedName(scope, tensor), passed));
}

Graph OnnxImporter::ImportBody(const onnx::GraphProto& body, const Scope& outer, const std::string& label,
                               const std::vector<std::string>& captured, const std::vector<ValueId>& inputs,
                               const OnnxBuilder::AddBodyOutputs& add_outputs) {
  if (outer.depth >= kMaxDepth)
    Throw(StatusCode::kInvalidModel, "node '{}' lies in more than {} sub-graphs", label, kMaxDepth);
  if (bodies_ >= kMaxBodyDepth)
    OnnxBuilder::Unsupported(
        "has a sub-graph that lies in {} others, more than a device runs; compute what the innermost ones do "
        "outside of the outer ones",
        kMaxBodyDepth);
  budget_.CountBody(graph_.symbols().size(), label);
  /// The graph around the body, which comes back whatever happens.
  struct Around {
    OnnxImporter& importer;
    Graph graph = std::move(importer.graph_);
    OnnxBuilder::UntypedReasons untyped = std::move(importer.untyped_);
    OnnxTypes types = std::move(importer.types_);
    explicit Around(OnnxImporter& of) : importer(of) { ++importer.bodies_; }
    ~Around() {
      --importer.bodies_;
      importer.graph_ = std::move(graph);
      importer.untyped_ = std::move(untyped);
      importer.types_ = std::move(types);
    }
  } around(*this);
  graph_ = Graph();
  untyped_.clear();
  types_.clear();
  const auto keep_type = [&](ValueId passed, ValueId inside) {
    if (const auto type = around.types.find(passed); type != around.types.end())
      types_[inside] = type->second;
  };
  graph_.name = body.name();
  graph_.symbols() = around.graph.symbols();
  const auto constant_around = [&](const std::string& tensor) -> const Value* {
    const auto found = outer.values.find(tensor);
    if (found == outer.values.end() || found->second < 0) return nullptr;
    const Value& value = around.graph.value(found->second);
    return value.constant ? &value : nullptr;
  };
  Scope scope;
  scope.prefix = PrefixOfNode(label);
  scope.depth = outer.depth + 1;
  scope.opsets = outer.opsets;
  for (int i = 0; i < body.input_size(); ++i) {
    const ValueId passed = inputs[static_cast<size_t>(i)];
    if (OnnxSequences::Is(passed)) {
      Bind(scope, body.input(i).name(),
           AddBodySequence(around.graph, body.input(i).name(), sequences_.at(passed), label));
    } else {
      AddBodyInput(scope, body.input(i).name(), around.graph.value(passed));
      keep_type(passed, graph_.inputs().back().value);
    }
  }
  for (const std::string& tensor : captured) {
    const ValueId passed = outer.values.at(tensor);
    if (OnnxSequences::Is(passed)) {
      Bind(scope, tensor, AddBodySequence(around.graph, scope.prefix + tensor, sequences_.at(passed), label));
      continue;
    }
    AddBodyInput(scope, tensor, around.graph.value(passed));
    keep_type(passed, graph_.inputs().back().value);
    // The same in each run of the body, unlike those of a loop variable.
    graph_.value(graph_.inputs().back().value).elements = around.graph.value(passed).elements;
  }
  for (const std::string& tensor : OuterTensors(body)) {
    if (const Value* constant = constant_around(tensor)) {
      const ValueId inside = graph_.AddConstant(constant->name, *constant->constant);
      keep_type(outer.values.at(tensor), inside);
      Bind(scope, tensor, inside);
    } else if (const auto found = outer.values.find(tensor);
               found != outer.values.end() && found->second == kNoValue) {
      Bind(scope, tensor, kNoValue);
    }
  }
  AddInitializers(body, scope, [&](int index, const std::string& label_of_tensor) {
    return ReadTensor(body.initializer(index), external_, label_of_tensor);
  });
  std::vector<std::string> outputs;
  for (const auto& output : body.output()) outputs.push_back(output.name());
  BuildNodes(body.node(), scope, outputs);
  const std::vector<ValueId> results = ResultsOf(body, scope, label);
  add_outputs(graph_, results);
  around.graph.symbols() = graph_.symbols();
  return std::move(graph_);
}

}  // namespace skiff
