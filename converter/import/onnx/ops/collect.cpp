#include "import/onnx/ops/collect.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "import/emit.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// By Dim::key(): a tensor and an axis of that extent.
using Axes = std::unordered_map<std::string, std::pair<ValueId, int>>;

Axes AxesOf(const OnnxBuilder& b, const std::vector<ValueId>& inputs) {
  Axes axes;
  for (const ValueId input : inputs) {
    const OnnxBuilder::PartialType type = b.TypeOf(input);
    for (size_t i = 0; type.dims && i < type.dims->size(); ++i)
      axes.try_emplace((*type.dims)[i].key(), input, static_cast<int>(i));
  }
  return axes;
}

/// An extent of a row as a vector of one element.
ValueId EmitDim(OnnxBuilder& b, const std::string& suffix, const Dim& dim, const Axes& axes) {
  if (dim.constant()) return b.ConstantInts(suffix.c_str(), {dim.value});
  if (const auto found = axes.find(dim.key()); found != axes.end()) {
    const auto [input, axis] = found->second;
    return EmitExtents(b, suffix.c_str(), input, axis, axis + 1);
  }
  OnnxBuilder::Unsupported(
      "collects a value of each iteration whose shape follows from what the iteration computes; make it "
      "equally "
      "large in all iterations");
}

/// The value that one is a copy of.
ValueId Original(const Graph& body, ValueId value) {
  NodeId producer = body.value(value).producer;
  while (producer != kNoNode && body.node(producer).op == OpCode::kIdentity) {
    value = body.node(producer).inputs[0];
    producer = body.value(value).producer;
  }
  return value;
}

}  // namespace

Graph GoesOn(const Graph& body, bool asks) {
  Graph graph;
  graph.symbols() = body.symbols();
  for (const GraphPort& port : body.inputs()) {
    const ValueId input = graph.AddInput(port.name, DType::kInvalid, {});
    graph.value(input).has_shape = false;
    graph.value(input).source.clear();
  }
  ValueId more = graph.Emit(OpCode::kLess, {graph.inputs().front().value, graph.inputs().back().value});
  if (asks) more = graph.Emit(OpCode::kAnd, {more, graph.inputs()[1].value});
  graph.AddOutput("continue", more);
  return graph;
}

void Collected::AddToBody(Graph& body, ValueId iteration, const std::vector<ValueId>& rows,
                          const std::vector<ValueId>& carried, size_t first) {
  if (rows.empty()) return;
  std::unordered_map<ValueId, size_t> variables;
  for (size_t i = 0; i < carried.size(); ++i) variables.try_emplace(Original(body, carried[i]), i);
  const auto type_of = [&](ValueId row) {
    const auto found = variables.find(Original(body, row));
    return OnnxBuilder::TypeOf(body,
                               found == variables.end() ? row : body.inputs()[first + found->second].value);
  };
  const ValueId place =
      body.Emit(OpCode::kReshape, {iteration, body.AddConstant("place_shape", TensorData::OfInts({1, 1}))});
  for (const ValueId row : rows) {
    types_.push_back(type_of(row));
    const ValueId before = body.AddInput("collected", types_.back().dtype, {});
    body.value(before).has_shape = false;
    body.value(before).source.clear();
    const ValueId slice = body.Emit(OpCode::kUnsqueeze, {row}, AxesAttrs{{0}});
    body.AddOutput("collected", body.Emit(OpCode::kScatterND, {before, place, slice}, ScatterAttrs{}));
  }
}

void Collected::PlaceInputs(Graph& body, size_t place) const {
  std::vector<ValueId> order;
  for (const GraphPort& port : body.inputs()) order.push_back(port.value);
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(place),
              order.end() - static_cast<std::ptrdiff_t>(count()), order.end());
  body.OrderInputs(order);
}

std::vector<ValueId> Collected::EmitRoom(OnnxBuilder& b, ValueId limit,
                                         const std::vector<ValueId>& inputs) const {
  std::vector<ValueId> room;
  const Axes axes = AxesOf(b, inputs);
  const ValueId rows =
      b.Emit("collected_rows", OpCode::kMax, {limit, b.Scalar("collected_none", DType::kI64, 0)});
  for (size_t i = 0; i < types_.size(); ++i) {
    const std::string suffix = fmt::format("collected_{}", i);
    if (!types_[i].dims || types_[i].dtype == DType::kInvalid)
      b.Invalid("the type of what it collects as output {} is not known", i);
    std::vector<ValueId> extents{EmitReshape(b, (suffix + "_rows").c_str(), rows, {1})};
    for (size_t axis = 0; axis < types_[i].dims->size(); ++axis)
      extents.push_back(EmitDim(b, fmt::format("{}_{}", suffix, axis), (*types_[i].dims)[axis], axes));
    const ValueId shape = extents.size() == 1
                              ? extents[0]
                              : b.Emit((suffix + "_shape").c_str(), OpCode::kConcat, extents, AxisAttrs{0});
    room.push_back(b.Emit(suffix.c_str(), OpCode::kFill, {shape},
                          FillAttrs{.dtype = static_cast<int64_t>(types_[i].dtype)}));
  }
  return room;
}

}  // namespace skiff
