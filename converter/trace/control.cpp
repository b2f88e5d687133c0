// Cond and While in a trace: each C++ lambda becomes a graph of its own, and what it captures becomes its
// inputs.
#include "trace/control.h"

#include <algorithm>

#include "graph/bodies.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "trace/apply.h"
#include "trace/frame.h"

namespace skiff::eager::internal {
namespace {

struct BodyTrace {
  std::shared_ptr<Frame> frame;
  std::vector<ValueId> results;
};

std::string FrameName(const Frame& outer, const char* part) { return outer.function() + "." + part; }

/// Inputs of the body are made for `arguments`; the rest are captures.
BodyTrace TraceBody(Frame& outer, const char* part, const std::vector<ValueId>& arguments,
                    const std::function<Tensors(const Tensors&)>& code, const Location& where) {
  BodyTrace body{std::make_shared<Frame>(FrameName(outer, part), outer.shared_from_this()), {}};
  const FrameScope scope(body.frame);
  Tensors inputs;
  for (const ValueId argument : arguments) {
    const Value& value = outer.graph.value(argument);
    inputs.push_back(body.frame->Export(
        body.frame->graph.AddInput("variable", value.dtype, value.dims, value.quantization), where));
  }
  for (const Tensor& result : code(inputs)) body.results.push_back(body.frame->Import(result, where));
  return body;
}

void AddSources(const Frame& frame, std::vector<Capture>& sources) {
  for (const Capture& capture : frame.captures()) {
    const bool known = std::any_of(sources.begin(), sources.end(),
                                   [&](const Capture& source) { return source.SameSource(capture); });
    if (!known) sources.push_back(capture);
  }
}

ValueId ValueOf(Frame& outer, const Capture& source) {
  switch (source.kind) {
    case Capture::Kind::kVariable:
      return outer.Read(source.variable);
    case Capture::Kind::kEffects:
      return outer.Effects();
    case Capture::Kind::kValue:
      break;
  }
  return source.outer;
}

/// The body's graph with its inputs in the order of the node's: the arguments, then the sources.
Graph GraphOf(BodyTrace& body, size_t arguments, const std::vector<Capture>& sources) {
  Graph& graph = body.frame->graph;
  std::vector<ValueId> order;
  for (size_t i = 0; i < arguments; ++i) order.push_back(graph.inputs()[i].value);
  for (const Capture& source : sources) order.push_back(body.frame->InputFor(source));
  graph.OrderInputs(order);
  for (size_t i = 0; i < body.results.size(); ++i)
    graph.AddOutput(fmt::format("result{}", i), body.results[i]);
  body.frame->Finish();
  return std::move(graph);
}

/// What the node makes beside the results: new values of variables, and the last effect.
struct State {
  std::vector<std::shared_ptr<VariableState>> variables;
  bool effects = false;

  void Add(const Frame& frame) {
    for (const auto& variable : frame.assigned()) {
      if (std::find(variables.begin(), variables.end(), variable) == variables.end())
        variables.push_back(variable);
    }
    effects = effects || frame.has_effects();
  }
  void AppendTo(BodyTrace& body) const {
    for (const auto& variable : variables) body.results.push_back(body.frame->Read(variable));
    if (effects) body.results.push_back(body.frame->Effects());
  }
  size_t size() const { return variables.size() + (effects ? 1 : 0); }
};

Tensors AddControlNode(Frame& outer, OpCode op, std::vector<ValueId> inputs, std::vector<Graph> bodies,
                       const State& state, size_t outputs, const Location& where) {
  Graph& graph = outer.graph;
  const NodeId id = graph.AddNode(op, std::move(inputs), std::vector<std::string>(outputs));
  graph.node(id).bodies = std::move(bodies);
  try {
    InferNode(graph, id);
  } catch (const Error& error) {
    graph.RemoveNode(id);
    ThrowAt(where, error.code(), "{}", error.what());
  }
  graph.node(id).sources = {graph.AddSource(PlaceText(where), FindOp(op)->name)};
  const std::vector<ValueId> made = graph.node(id).outputs;
  Tensors results;
  for (size_t i = 0; i + state.size() < outputs; ++i) results.push_back(outer.Export(made[i], where));
  for (size_t i = 0; i < state.variables.size(); ++i)
    outer.Assign(state.variables[i], made[results.size() + i]);
  if (state.effects) outer.SetEffects(made.back());
  return results;
}

/// What a trace would refuse is refused here, with the same words.
void CheckIteration(const Tensors& before, const Tensors& after, const Location& where) {
  if (before.size() != after.size()) {
    ThrowAt(where, StatusCode::kInvalidArgument,
            "the body of While takes {} variables and returns {}; it returns their next values",
            before.size(), after.size());
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const bool fits = before[i].dtype() == after[i].dtype() && before[i].rank() == after[i].rank() &&
                      SameQuantization(before[i].quantization(), after[i].quantization());
    if (fits) continue;
    const auto text = [](const Tensor& tensor) {
      return tensor.TypeText() + QuantizationText(tensor.quantization());
    };
    try {
      ThrowLoopVariableChanges("While", i, "variable", text(before[i]), text(after[i]));
    } catch (const Error& error) {
      ThrowAt(where, error.code(), "{}", error.what());
    }
  }
}

void CheckCondition(const Tensor& condition, const Location& where) {
  if (condition.empty() || condition.dtype() != DType::kBool) {
    ThrowAt(where, StatusCode::kInvalidArgument,
            "the condition must be a bool of one element, not {}; compare it, as in x > 0",
            condition.TypeText());
  }
}

}  // namespace

Tensors CondTensors(const Tensor& condition, const std::function<Tensors()>& then,
                    const std::function<Tensors()>& otherwise, const Location& where) {
  CheckCondition(condition, where);
  Frame* outer = Frame::Current();
  if (outer == nullptr) return static_cast<bool>(condition) ? then() : otherwise();
  const ValueId chosen = outer->Import(condition, where);
  const auto without = [](const std::function<Tensors()>& code) {
    return [&code](const Tensors&) { return code(); };
  };
  BodyTrace yes = TraceBody(*outer, "then", {}, without(then), where);
  BodyTrace no = TraceBody(*outer, "else", {}, without(otherwise), where);
  if (yes.results.size() != no.results.size()) {
    ThrowAt(where, StatusCode::kInvalidArgument,
            "the branches of Cond return {} and {} tensors; both must return the same", yes.results.size(),
            no.results.size());
  }
  State state;
  state.Add(*yes.frame);
  state.Add(*no.frame);
  state.AppendTo(yes);
  state.AppendTo(no);
  const size_t outputs = yes.results.size();
  if (outputs == 0) return {};  // Neither branch does anything that anyone could see.
  std::vector<Capture> sources;
  AddSources(*yes.frame, sources);
  AddSources(*no.frame, sources);
  std::vector<ValueId> inputs{chosen};
  for (const Capture& source : sources) inputs.push_back(ValueOf(*outer, source));
  std::vector<Graph> bodies;
  for (BodyTrace* body : {&yes, &no}) bodies.push_back(GraphOf(*body, 0, sources));
  return AddControlNode(*outer, OpCode::kIf, std::move(inputs), std::move(bodies), state, outputs, where);
}

Tensors WhileTensors(const std::function<Tensor(const Tensors&)>& condition,
                     const std::function<Tensors(const Tensors&)>& body, const Tensors& initial,
                     const Location& where) {
  if (initial.empty()) ThrowAt(where, StatusCode::kInvalidArgument, "While needs at least one variable");
  Frame* outer = Frame::Current();
  if (outer == nullptr) {
    Tensors variables = initial;
    for (;;) {
      const Tensor go_on = condition(variables);
      CheckCondition(go_on, where);
      if (!static_cast<bool>(go_on)) return variables;
      Tensors next = body(variables);
      CheckIteration(variables, next, where);
      variables = std::move(next);
    }
  }
  std::vector<ValueId> inputs;
  for (const Tensor& tensor : initial) inputs.push_back(outer->Import(tensor, where));
  BodyTrace ask = TraceBody(
      *outer, "condition", inputs,
      [&](const Tensors& variables) {
        const Tensor go_on = condition(variables);
        CheckCondition(go_on, where);
        return Tensors{go_on};
      },
      where);
  BodyTrace step = TraceBody(*outer, "body", inputs, body, where);
  if (step.results.size() != initial.size()) {
    ThrowAt(where, StatusCode::kInvalidArgument,
            "the body of While takes {} variables and returns {}; it returns their next values",
            initial.size(), step.results.size());
  }
  if (!ask.frame->assigned().empty()) {
    ThrowAt(where, StatusCode::kInvalidArgument,
            "the condition of While assigns variable '{}'; do so in the body",
            ask.frame->assigned()[0]->name);
  }
  State state;
  state.Add(*step.frame);
  state.AppendTo(step);
  std::vector<Capture> sources;  // What iterations change comes first.
  for (const auto& variable : state.variables)
    sources.push_back({Capture::Kind::kVariable, kNoValue, variable, kNoValue});
  if (state.effects) sources.push_back({Capture::Kind::kEffects, kNoValue, nullptr, kNoValue});
  AddSources(*ask.frame, sources);
  AddSources(*step.frame, sources);
  const size_t arguments = inputs.size();
  for (const Capture& source : sources) inputs.push_back(ValueOf(*outer, source));
  const size_t outputs = step.results.size();
  std::vector<Graph> bodies;
  for (BodyTrace* traced : {&ask, &step}) bodies.push_back(GraphOf(*traced, arguments, sources));
  return AddControlNode(*outer, OpCode::kWhile, std::move(inputs), std::move(bodies), state, outputs, where);
}

}  // namespace skiff::eager::internal
