// Shares a plan's nodes out among the delegates.
#include <algorithm>

#include "emit/plan_draft.h"
#include "plan/work.h"

namespace skiff {
namespace {

/// Null for a node with bodies, which no delegate runs.
const DelegateSupport* ChooseDelegate(const PlanDraft& draft, size_t index,
                                      Span<const DelegateSupport* const> delegates) {
  if (!draft.nodes[index].bodies.empty()) return nullptr;
  std::vector<const PlanTensor*> storage;
  const NodeTypes types = draft.TypesOf(index, storage);
  const auto choose = [&](Target target, const DelegateSupport* otherwise) {
    const auto found = std::find_if(delegates.begin(), delegates.end(), [&](const DelegateSupport* delegate) {
      return delegate->target() == target && delegate->Supports(types);
    });
    return found != delegates.end() ? *found : otherwise;
  };
  const DelegateSupport* own = draft.target == Target::kCpu ? nullptr : choose(draft.target, nullptr);
  return own != nullptr ? own : choose(Target::kCpu, &ReferenceDelegate().support());
}

/// Greedy list scheduling: stays with a delegate for as long as one of its nodes is ready; among those, file
/// order. Nodes of the shape program take part as soon as they can: a data node whose shape they decide must
/// not come before the data nodes whose shapes they read.
std::vector<DraftNode> GroupByDelegate(const PlanDraft& draft) {
  std::vector<int32_t> producer(draft.tensors.size(), -1);
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    for (const int32_t output : draft.nodes[i].outputs)
      producer[static_cast<size_t>(output)] = static_cast<int32_t>(i);
  }
  std::vector<int> missing(draft.nodes.size(), 0);
  std::vector<std::vector<size_t>> users(draft.nodes.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    for (const int32_t input : draft.nodes[i].inputs) {
      if (input < 0 || producer[static_cast<size_t>(input)] < 0) continue;
      ++missing[i];
      users[static_cast<size_t>(producer[static_cast<size_t>(input)])].push_back(i);
    }
    // Nothing follows a Stage.
    for (size_t other = 0; draft.IsStage(i) && other < draft.nodes.size(); ++other) {
      if (other == i) continue;
      ++missing[i];
      users[other].push_back(i);
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  std::vector<DraftNode> shape_nodes, data_nodes;
  const size_t first = draft.shape_node_count;
  DelegateKind current =
      first < draft.nodes.size() ? draft.nodes[first].delegate() : DelegateKind::kReference;
  while (!ready.empty()) {
    auto next = std::find_if(ready.begin(), ready.end(), [&](size_t i) {
      return draft.nodes[i].shape_program || draft.nodes[i].delegate() == current;
    });
    if (next == ready.end()) next = ready.begin();
    const size_t chosen = *next;
    ready.erase(next);
    if (!draft.nodes[chosen].shape_program) current = draft.nodes[chosen].delegate();
    (draft.nodes[chosen].shape_program ? shape_nodes : data_nodes).push_back(draft.nodes[chosen]);
    for (const size_t user : users[chosen]) {
      if (--missing[user] == 0) ready.insert(std::lower_bound(ready.begin(), ready.end(), user), user);
    }
  }
  shape_nodes.insert(shape_nodes.end(), data_nodes.begin(), data_nodes.end());
  return shape_nodes;
}

/// Multiply-adds and elements read and written, those of bodies in bodies included.
uint64_t WorkOfAll(const PlanDraft& draft) {
  uint64_t sum = 0;
  const std::vector<PlanTensor>& types = draft.typical.empty() ? draft.tensors : draft.typical;
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    const Work work = WorkOf(draft.ViewOf(i), {types.data(), types.size()});
    sum += work.multiply_adds + work.bytes / sizeof(float);
    for (const PlanDraft& body : draft.nodes[i].bodies) sum += WorkOfAll(body);
  }
  return sum;
}

/// What a body must have to do so that another device does it: the way there and back takes about 100
/// microseconds, in which a CPU's core does so much.
constexpr uint64_t kWorthTheWay = uint64_t{1} << 20;

}  // namespace

/// What the runtime itself runs is a segment of its own.
std::vector<SegmentData> SegmentsOf(const std::vector<DraftNode>& nodes) {
  std::vector<SegmentData> segments;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].shape_program) continue;
    const bool joins = !segments.empty() && segments.back().delegate == nodes[i].delegate();
    if (!joins || nodes[i].delegate() == DelegateKind::kControl)
      segments.push_back({nodes[i].delegate(), i, i});
    segments.back().end = i + 1;
  }
  return segments;
}

void Partition(PlanDraft& draft, Span<const DelegateSupport* const> delegates) {
  draft.FindTypicalTypes();
  for (size_t i = 0; i < draft.nodes.size(); ++i)
    draft.nodes[i].support = ChooseDelegate(draft, i, delegates);
  std::vector<DraftNode> grouped = GroupByDelegate(draft);
  if (SegmentsOf(grouped).size() < SegmentsOf(draft.nodes).size()) draft.nodes = std::move(grouped);
  draft.segments = SegmentsOf(draft.nodes);
  for (DraftNode& node : draft.nodes) {
    for (PlanDraft& body : node.bodies) {
      body.FindTypicalTypes();
      body.target = WorkOfAll(body) >= kWorthTheWay ? draft.target : Target::kCpu;
      Partition(body, delegates);
    }
  }
}

}  // namespace skiff
