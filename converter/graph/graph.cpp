#include "graph/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "graph/error.h"

namespace skiff {

struct Graph::NameIndex {
  std::unordered_map<std::string, ValueId> values;
  std::unordered_map<std::string, int> next;  ///< By name, the first suffix that may be free.
};

bool Value::has_static_shape() const {
  return has_shape && std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.constant(); });
}

Shape Value::shape() const {
  Shape shape;
  for (const Dim& dim : dims) shape.Append(dim.value);
  return shape;
}

std::string Graph::UniqueName(std::string_view wanted, std::string_view fallback) {
  std::string base(wanted.empty() ? fallback : wanted);
  if (!names_->values.contains(base)) return base;
  std::string name;
  int& next = names_->next.try_emplace(base, 1).first->second;
  do {
    name = fmt::format("{}_{}", base, next++);
  } while (names_->values.contains(name));
  return name;
}

ValueId Graph::AddValue(std::string_view wanted, std::string_view fallback) {
  if (!names_) {
    names_ = std::make_shared<NameIndex>();
  } else if (names_.use_count() > 1) {
    names_ = std::make_shared<NameIndex>(*names_);
  }
  const ValueId id = value_count();
  Value& added = values_.emplace_back();
  added.name = UniqueName(wanted, fallback);
  names_->values.emplace(added.name, id);
  return id;
}

ValueId Graph::AddInput(std::string_view input_name, DType dtype, std::vector<Dim> dims,
                        QuantizationPtr quantization) {
  const ValueId id = AddValue(input_name, "input");
  Value& added = value(id);
  added.dtype = dtype;
  added.has_shape = true;
  added.dims = std::move(dims);
  added.quantization = std::move(quantization);
  added.source = added.name;
  inputs_.push_back({std::string(input_name), id});
  return id;
}

void Graph::OrderInputs(const std::vector<ValueId>& order) {
  std::unordered_map<ValueId, const GraphPort*> ports;
  for (const GraphPort& port : inputs_) ports.emplace(port.value, &port);
  std::vector<GraphPort> ordered;
  for (const ValueId id : order) ordered.push_back(*ports.at(id));
  inputs_ = std::move(ordered);
}

void Graph::MakeVariable(size_t input, size_t output, GraphVariable variable) {
  const auto to_end = [](std::vector<GraphPort>& ports, size_t from) {
    std::rotate(ports.begin() + static_cast<ptrdiff_t>(from),
                ports.begin() + static_cast<ptrdiff_t>(from) + 1, ports.end());
  };
  to_end(inputs_, input);
  to_end(outputs_, output);
  variables.push_back(std::move(variable));
}

void Graph::AddOutput(std::string_view output_name, ValueId id) {
  outputs_.push_back({std::string(output_name), id});
}

ValueId Graph::AddConstant(std::string_view constant_name, TensorData data) {
  const ValueId id = AddValue(constant_name, "constant");
  Value& added = value(id);
  added.dtype = data.dtype();
  added.has_shape = true;
  added.dims.assign(data.shape().begin(), data.shape().end());
  added.quantization = data.quantization();
  added.constant = std::move(data);
  return id;
}

SymbolId Graph::AddSymbol(std::string_view symbol_name) {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].name == symbol_name) return static_cast<SymbolId>(i);
  }
  symbols_.emplace_back().name = symbol_name;
  return static_cast<SymbolId>(symbols_.size() - 1);
}

SymbolId Graph::AddFreshSymbol(std::string_view symbol_name) {
  symbols_.emplace_back().name = fmt::format("{}~{}", symbol_name, symbols_.size());
  return static_cast<SymbolId>(symbols_.size() - 1);
}

SourceId Graph::AddSource(std::string_view source_name, std::string_view op) {
  sources_.push_back({std::string(source_name), std::string(op), {}});
  return static_cast<SourceId>(sources_.size() - 1);
}

NodeId Graph::AddNode(OpCode op, std::vector<ValueId> inputs, const std::vector<std::string>& output_names) {
  const OpDef* def = FindOp(op);
  if (def == nullptr) Throw(StatusCode::kInternal, "operator {} is not in the table", static_cast<int>(op));
  const NodeId id = node_count();
  nodes_.emplace_back();
  Node& added = nodes_.back();
  added.op = op;
  added.position = id;
  InitAttrs(op, added.attrs);
  added.name = fmt::format("{}_{}", def->name, id);
  added.inputs = std::move(inputs);
  for (size_t i = 0; i < added.inputs.size(); ++i) {
    if (added.inputs[i] != kNoValue) value(added.inputs[i]).uses.push_back({id, static_cast<int>(i)});
  }
  for (size_t i = 0; i < output_names.size(); ++i) {
    const ValueId output = AddValue(output_names[i], def->name);
    value(output).producer = id;
    value(output).output_index = static_cast<int>(i);
    added.outputs.push_back(output);
  }
  return id;
}

void Graph::SetInput(NodeId node_id, int index, ValueId to) {
  Node& changed = node(node_id);
  if (index >= static_cast<int>(changed.inputs.size()))
    changed.inputs.resize(static_cast<size_t>(index) + 1, kNoValue);
  ValueId& slot = changed.inputs[static_cast<size_t>(index)];
  if (slot != kNoValue) std::erase(value(slot).uses, Use{node_id, index});
  slot = to;
  if (to != kNoValue) value(to).uses.push_back({node_id, index});
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  if (from == to) return;
  // As a whole: a value may have hundreds of thousands of uses.
  const std::vector<Use> moved = std::exchange(value(from).uses, {});
  for (const Use& use : moved) node(use.node).inputs[static_cast<size_t>(use.input)] = to;
  if (to != kNoValue) value(to).uses.insert(value(to).uses.end(), moved.begin(), moved.end());
  for (GraphPort& port : outputs_) {
    if (port.value == from) port.value = to;
  }
}

void Graph::DropInputs(NodeId id) {
  std::vector<ValueId> used = node(id).inputs;
  std::fill(node(id).inputs.begin(), node(id).inputs.end(), kNoValue);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (const ValueId input : used) {
    if (input != kNoValue) std::erase_if(value(input).uses, [id](const Use& use) { return use.node == id; });
  }
}

void Graph::RemoveNode(NodeId id) {
  Node& gone = node(id);
  DropInputs(id);
  for (ValueId output : gone.outputs) value(output).producer = kNoNode;
  gone.removed = true;
}

void Graph::MergeSources(NodeId to, NodeId from) {
  std::vector<SourceId>& sources = node(to).sources;
  std::shared_ptr<const std::string> left_out;
  for (SourceId source : node(from).sources) {
    if (std::find(sources.begin(), sources.end(), source) != sources.end()) continue;
    if (sources.size() < kMostSources) {
      sources.push_back(source);
      continue;
    }
    if (!left_out)
      left_out = std::make_shared<std::string>(
          fmt::format("became a part of '{}' with more than {} others", node(to).name, kMostSources));
    AddNote(source, left_out);
  }
}

void Graph::Note(NodeId id, const std::string& sentence) {
  const auto shared = std::make_shared<const std::string>(sentence);
  for (SourceId source : node(id).sources) AddNote(source, shared);
}

void Graph::AddNote(SourceId source, const std::shared_ptr<const std::string>& sentence) {
  std::vector<std::shared_ptr<const std::string>>& notes = sources_[static_cast<size_t>(source)].notes;
  static const auto kMore = std::make_shared<const std::string>("and more, for which there is no room here");
  if (notes.size() < kFreeNotes) {
    notes.push_back(sentence);
  } else if (more_notes_ > 0) {
    --more_notes_;
    notes.push_back(sentence);
  } else if (notes.back() != kMore) {
    notes.push_back(kMore);
  }
}

ValueId Graph::FindValue(std::string_view value_name) const {
  if (!names_) return kNoValue;
  const auto found = names_->values.find(std::string(value_name));
  return found == names_->values.end() ? kNoValue : found->second;
}

bool Graph::IsGraphInput(ValueId id) const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [id](const GraphPort& port) { return port.value == id; });
}

bool Graph::IsGraphOutput(ValueId id) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [id](const GraphPort& port) { return port.value == id; });
}

NodeId Graph::ProducerOf(NodeId id, int index) const {
  const Node& user = node(id);
  if (index >= static_cast<int>(user.inputs.size())) return kNoNode;
  const ValueId input = user.inputs[static_cast<size_t>(index)];
  return input == kNoValue ? kNoNode : value(input).producer;
}

NodeId Graph::OnlyUser(ValueId id) const {
  const Value& used = value(id);
  return used.uses.size() == 1 && !IsGraphOutput(id) ? used.uses[0].node : kNoNode;
}

const TensorData* Graph::ConstantInput(NodeId id, int index) const {
  const Node& user = node(id);
  if (index >= static_cast<int>(user.inputs.size())) return nullptr;
  const ValueId input = user.inputs[static_cast<size_t>(index)];
  if (input == kNoValue || !value(input).constant || value(input).quantization) return nullptr;
  return &*value(input).constant;
}

std::vector<NodeId> Graph::TopologicalOrder() const {
  std::vector<int> missing(nodes_.size(), 0);
  using Ready = std::pair<NodeId, NodeId>;  // By position, then by id.
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  size_t live = 0;
  for (NodeId id = 0; id < node_count(); ++id) {
    if (node(id).removed) continue;
    ++live;
    for (ValueId input : node(id).inputs) {
      if (input != kNoValue && value(input).producer != kNoNode) ++missing[static_cast<size_t>(id)];
    }
    if (missing[static_cast<size_t>(id)] == 0) ready.emplace(node(id).position, id);
  }
  std::vector<NodeId> order;
  order.reserve(live);
  while (!ready.empty()) {
    const NodeId id = ready.top().second;
    ready.pop();
    order.push_back(id);
    for (ValueId output : node(id).outputs) {
      for (const Use& use : value(output).uses) {
        if (--missing[static_cast<size_t>(use.node)] == 0) ready.emplace(node(use.node).position, use.node);
      }
    }
  }
  if (order.size() != live) {
    for (NodeId id = 0; id < node_count(); ++id) {
      if (!node(id).removed && missing[static_cast<size_t>(id)] > 0) {
        Throw(StatusCode::kInvalidModel, "the graph has a cycle through node '{}'", node(id).name);
      }
    }
  }
  return order;
}

}  // namespace skiff
