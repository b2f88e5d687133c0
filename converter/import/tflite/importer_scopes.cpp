// What runs beside the main subgraph: bodies of control flow, and variables, whose values flow through the
// graph from one operator to the next.
#include <algorithm>

#include "graph/bodies.h"
#include "graph/error.h"
#include "graph/evaluate_within.h"
#include "graph/prefix.h"
#include "import/tflite/combiner.h"
#include "import/tflite/importer.h"
#include "import/tflite/tensor.h"
#include "plan/limits.h"

namespace skiff {
namespace {

/// Of loops in what runs once, and is computed at conversion.
constexpr int64_t kMostStepsOnce = int64_t{1} << 20;

/// What a body counts beside its operators, for each subgraph that it lies in: all of what is done to the
/// graphs around it is done to it as well, however small it is.
constexpr size_t kPartsOfLevel = 4;

}  // namespace

void TfliteImporter::CheckSubgraph(int32_t subgraph) const {
  if (subgraph < 0 || static_cast<uint32_t>(subgraph) >= file_.subgraph_count())
    Throw(StatusCode::kInvalidModel, "an operator runs subgraph {} of {}", subgraph, file_.subgraph_count());
}

std::vector<bool> TfliteImporter::PassedThrough(int32_t subgraph) const {
  CheckSubgraph(subgraph);
  const tflite::SubGraph& graph = file_.subgraph(static_cast<uint32_t>(subgraph));
  if (SizeOf(graph.inputs()) != SizeOf(graph.outputs()))
    Throw(StatusCode::kInvalidModel, "the loop body '{}' has {} inputs and {} outputs", TextOf(graph.name()),
          SizeOf(graph.inputs()), SizeOf(graph.outputs()));
  std::vector<bool> same;
  for (uint32_t i = 0; i < SizeOf(graph.inputs()); ++i)
    same.push_back(graph.inputs()->Get(i) == graph.outputs()->Get(i));
  return same;
}

TfliteImporter::Scope TfliteImporter::ScopeWithin(const Scope& outer, const std::string& label,
                                                  int32_t subgraph, size_t inputs) const {
  CheckSubgraph(subgraph);
  if (outer.depth >= kMaxBodyDepth)
    Throw(StatusCode::kInvalidModel, "operator '{}' lies in more than {} subgraphs", label, kMaxBodyDepth);
  Scope scope = NewScope(static_cast<uint32_t>(subgraph));
  scope.depth = outer.depth + 1;
  scope.prefix = PrefixOf(label) + "/";
  const tflite::SubGraph& body = GraphOf(scope);
  if (SizeOf(body.inputs()) != inputs)
    Throw(StatusCode::kInvalidModel, "operator '{}' gives its subgraph '{}' {} inputs; it has {}", label,
          TextOf(body.name()), inputs, SizeOf(body.inputs()));
  return scope;
}

int32_t TfliteImporter::InputOf(const Scope& scope, size_t i) const {
  const int32_t tensor = GraphOf(scope).inputs()->Get(static_cast<uint32_t>(i));
  if (scope.values[static_cast<size_t>(tensor)] != kUnmade)
    Throw(StatusCode::kUnsupported, "has a subgraph '{}' that gets the tensor '{}' twice",
          TextOf(GraphOf(scope).name()), NameOf(scope, tensor));
  return tensor;
}

ValueId TfliteImporter::OutputOf(Scope& scope, const std::string& label, uint32_t i) {
  const int32_t tensor = GraphOf(scope).outputs()->Get(i);
  const ValueId value = ValueOf(scope, tensor);
  if (scope.imaginary.contains(tensor))
    Throw(StatusCode::kUnsupported,
          "has a subgraph that returns complex numbers; return REAL and IMAG of them");
  if (value == kPoisoned) throw Error(StatusCode::kUnsupported, kInBody);
  if (value < 0)
    Throw(StatusCode::kInvalidModel, "operator '{}': its subgraph '{}' makes no output '{}'", label,
          TextOf(GraphOf(scope).name()), NameOf(scope, tensor));
  return value;
}

std::vector<ValueId> TfliteImporter::ImportHere(const Scope& outer, const std::string& label,
                                                int32_t subgraph, const std::vector<ValueId>& inputs) {
  Scope scope = ScopeWithin(outer, label, subgraph, inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) scope.values[static_cast<size_t>(InputOf(scope, i))] = inputs[i];
  BuildNodes(scope);
  std::vector<ValueId> outputs;
  for (uint32_t i = 0; i < SizeOf(GraphOf(scope).outputs()); ++i)
    outputs.push_back(OutputOf(scope, label, i));
  return outputs;
}

Graph TfliteImporter::ImportBody(const Scope& outer, const std::string& label, int32_t subgraph,
                                 const std::vector<ValueId>& inputs, const std::vector<bool>& same,
                                 bool drop_same) {
  Scope scope = ScopeWithin(outer, label, subgraph, inputs.size());
  shared_.budget().CountBody(graph_.symbols().size(), label);
  shared_.CountParts(kPartsOfLevel * static_cast<size_t>(scope.depth));
  /// The graph around the body, which comes back whatever happens.
  struct Around {
    TfliteImporter& importer;
    Graph graph = std::move(importer.graph_);
    NodeBuilder::UntypedReasons untyped = std::move(importer.untyped_);
    bool in_body = importer.in_body_;
    ~Around() {
      importer.graph_ = std::move(graph);
      importer.untyped_ = std::move(untyped);
      importer.in_body_ = in_body;
    }
  } around{*this};
  graph_ = Graph();
  untyped_.clear();
  in_body_ = true;
  graph_.symbols() = around.graph.symbols();
  const tflite::SubGraph& body = GraphOf(scope);
  graph_.name = TextOf(body.name());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t tensor = InputOf(scope, i);
    const Value& passed = around.graph.value(inputs[i]);
    const ValueId value =
        graph_.AddInput(NameOf(scope, tensor), passed.dtype, passed.dims, passed.quantization);
    graph_.value(value).has_shape = passed.has_shape;
    graph_.value(value).source.clear();
    if (same[i]) graph_.value(value).elements = passed.elements;
    const bool constant = same[i] && passed.constant;
    scope.values[static_cast<size_t>(tensor)] =
        constant ? graph_.AddConstant(passed.name, *passed.constant) : value;
  }
  BuildNodes(scope);
  for (uint32_t i = 0; i < SizeOf(body.outputs()); ++i) {
    if (drop_same && i < same.size() && same[i]) continue;
    const ValueId value = OutputOf(scope, label, i);
    graph_.AddOutput(NameOf(scope, body.outputs()->Get(i)), value);
  }
  around.graph.symbols() = graph_.symbols();
  return std::move(graph_);
}

/// What operators ask of the importer.
TfliteCall TfliteImporter::CallOf(Scope& scope, const tflite::Operator& node) {
  TfliteCall source;
  source.node = &node;
  for (uint32_t i = 0; i < SizeOf(node.outputs()); ++i) {
    const int32_t tensor = node.outputs()->Get(i);
    const tflite::TensorType type = tensor < 0 ? tflite::TensorType::FLOAT32 : TensorOf(scope, tensor).type();
    // Either part of a complex number is of this type.
    source.output_types.push_back(type == tflite::TensorType::COMPLEX64 ? tflite::TensorType::FLOAT32 : type);
  }
  for (uint32_t i = 0; i < SizeOf(node.inputs()); ++i) {
    const int32_t tensor = node.inputs()->Get(i);
    source.variables.emplace_back();
    const auto imaginary = scope.imaginary.find(tensor);
    source.imaginary.push_back(imaginary == scope.imaginary.end() ? kNoValue : imaginary->second);
    if (tensor < 0) continue;
    source.variables.back() = scope.handles[static_cast<size_t>(tensor)];
    if (!TensorOf(scope, tensor).is_variable() || in_body_) continue;
    source.variables.back() = VariableOf(scope, tensor);
  }
  source.declare_variable = [this, &scope, &node](const std::string& wanted, TensorData first) {
    const std::string& name = shared_.variables().OfOperator(scope.subgraph, node, wanted);
    VariableNamed(name).first = std::move(first);
    CheckPortCount("variables", variables_.size());
    return name;
  };
  source.read_variable = [this](const std::string& name) { return ReadVariable(name); };
  source.assign_variable = [this](const std::string& name, ValueId value) {
    Variable& variable = VariableNamed(name);
    variable.value = value;
    variable.assigned = true;
  };
  source.intermediate = [this, &scope, &node](uint32_t i) {
    const int32_t tensor = node.intermediates()->Get(i);
    return tensor < 0 ? DeclaredType{} : DeclaredOf(scope, tensor);
  };
  source.run_once = [this](int32_t subgraph) { RunOnce(subgraph); };
  source.table = [this](const std::string& name,
                        const std::function<TensorData()>& make) -> const TensorData& {
    return shared_.Table(name, make);
  };
  source.passed_through = [this](int32_t subgraph) { return PassedThrough(subgraph); };
  source.combiner = [this](int32_t subgraph) {
    CheckSubgraph(subgraph);
    return CombinerOf(file_, file_.subgraph(static_cast<uint32_t>(subgraph)));
  };
  return source;
}

std::string TfliteImporter::VariableOf(const Scope& scope, int32_t tensor) {
  std::string name = shared_.variables().OfTensor(scope.subgraph, tensor, NameOf(scope, tensor));
  Variable& variable = variables_[name];
  CheckPortCount("variables", variables_.size());
  const tflite::Tensor& stated = TensorOf(scope, tensor);
  if (variable.first.dtype() == DType::kInvalid)
    variable.first =
        FirstValueOfTflite(stated, shared_.quantizations().Of(GraphOf(scope), stated), shared_.bytes_left());
  return name;
}

TfliteImporter::Variable& TfliteImporter::VariableNamed(const std::string& name) {
  if (in_body_)
    Throw(StatusCode::kUnsupported, "reads or writes the variable '{}' inside of a loop or a branch", name);
  return variables_[name];
}

/// Before anything is known of a variable, it has the value that CALL_ONCE gave it.
ValueId TfliteImporter::ReadVariable(const std::string& name) {
  Variable& variable = VariableNamed(name);
  if (variable.value != kNoValue) return variable.value;
  if (variable.first.dtype() == DType::kInvalid) variable.first = FirstValueByOthers(name);
  std::vector<Dim> dims;
  for (const int64_t extent : variable.first.shape()) dims.emplace_back(extent);
  variable.state = graph_.AddInput(name, variable.first.dtype(), dims, variable.first.quantization());
  return variable.value = variable.state;
}

/// Of a variable that this signature does not initialise.
TensorData TfliteImporter::FirstValueByOthers(const std::string& name) {
  TfliteShared::FirstOfAll& first = shared_.first_of_all();
  auto known = first.values.find(name);
  while (!in_once_ && known == first.values.end() && first.count < shared_.once().size()) {
    const auto& values = ValuesBehind(shared_.once()[first.count]);
    ++first.count;
    first.values.insert(values.begin(), values.end());
    known = first.values.find(name);
  }
  if (!in_once_ && known != first.values.end()) return known->second;
  const bool one = shared_.signatures().size() == 1;
  if (const auto found = one || in_once_ ? std::nullopt : shared_.FindAssignment(name)) {
    graph_.left_out.push_back(
        fmt::format("nothing initialises the variable '{}': it is 0 until the signature '{}' has run", name,
                    found->signature));
    return found->zeros;
  }
  Throw(StatusCode::kUnsupported, "reads the variable '{}', which nothing gives a first value", name);
}

void TfliteImporter::RunOnce(int32_t subgraph) {
  CheckSubgraph(subgraph);
  if (in_body_) Throw(StatusCode::kUnsupported, "gives variables first values inside of a loop or a branch");
  if (in_once_) Throw(StatusCode::kUnsupported, "runs once inside of what runs once, which may be itself");
  if (!once_.insert(subgraph).second) return;
  for (const auto& [name, value] : ValuesBehind(subgraph)) variables_[name].first = value;
}

const std::map<std::string, TensorData>& TfliteImporter::ValuesBehind(int32_t subgraph) {
  CheckSubgraph(subgraph);
  auto known = shared_.first_values().find(subgraph);
  if (known == shared_.first_values().end())
    known = shared_.first_values().emplace(subgraph, RunAtConversion(subgraph)).first;
  const auto& [values, defect] = known->second;
  if (defect) throw Error(*defect);
  return values;
}

/// The subgraph is evaluated here: what it assigns are the first values.
TfliteShared::FirstValues TfliteImporter::RunAtConversion(int32_t subgraph) {
  TfliteShared::FirstValues first;
  try {
    TfliteImporter once(shared_);
    once.in_once_ = true;
    Scope scope = once.NewScope(static_cast<uint32_t>(subgraph));
    once.BuildNodes(scope);
    once.problems_.Throw();
    for (auto& [name, variable] : once.variables_) {
      if (!variable.assigned) continue;
      once.graph_.AddOutput(name, variable.value);
    }
    first.values = once.Evaluate();
  } catch (const Error& error) {
    first.defect = error;
  }
  return first;
}

std::map<std::string, TensorData> TfliteImporter::Evaluate() const {
  const EvaluateLimits limits{std::max<uint64_t>(shared_.bytes_left(), 1), kMostStepsOnce,
                              &shared_.once_steps_left()};
  try {
    std::map<std::string, TensorData> values = EvaluateWithin(limits, graph_, {});
    for (const auto& [name, value] : values)
      shared_.bytes_left() -= std::min<uint64_t>(value.size_bytes(), shared_.bytes_left());
    return values;
  } catch (const Error& error) {
    Throw(StatusCode::kUnsupported, "gives variables first values that cannot be computed: {}", error.what());
  }
}

/// Whether a variable can become what is assigned, as far as that is known.
void TfliteImporter::CheckAssigned(const std::string& name, const Variable& variable) const {
  const Value& value = graph_.value(variable.value);
  const Shape& shape = variable.first.shape();
  bool fits = value.dtype == DType::kInvalid || value.dtype == variable.first.dtype();
  if (value.has_shape) {
    fits &= static_cast<int>(value.dims.size()) == shape.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis) {
      const Dim& dim = value.dims[static_cast<size_t>(axis)];
      fits = !dim.constant() || dim.value == shape[axis];
    }
  }
  if (!fits)
    Throw(StatusCode::kUnsupported,
          "the variable '{}' is {} [{}] at first, and something of another type is assigned to it; give it "
          "one type",
          name, DTypeName(variable.first.dtype()), fmt::join(shape, ", "));
}

/// In the order of their names: the last inputs and outputs of the graph.
void TfliteImporter::AddVariables() {
  std::vector<ValueId> inputs;
  std::vector<ValueId> states;
  for (auto& [name, variable] : variables_) {
    if (!variable.assigned && variable.state == kNoValue) continue;
    // Assigned before it is read in the only signature, it hands nothing on from run to run.
    const bool known = variable.first.dtype() != DType::kInvalid;
    if (variable.state == kNoValue && !known && shared_.signatures().size() == 1) continue;
    const ValueId last = variable.value;
    variable.value = kNoValue;
    if (variable.state == kNoValue) ReadVariable(name);
    variable.value = last;
    CheckAssigned(name, variable);
    states.push_back(variable.state);
    graph_.AddOutput(name, last);
    graph_.variables.push_back({name, variable.first});
  }
  const std::set<ValueId> last(states.begin(), states.end());
  for (const GraphPort& port : graph_.inputs()) {
    if (!last.contains(port.value)) inputs.push_back(port.value);
  }
  inputs.insert(inputs.end(), states.begin(), states.end());
  graph_.OrderInputs(inputs);
}

}  // namespace skiff
