#include "report/plan_picture.h"

#include <algorithm>
#include <set>

#include "graph/must.h"
#include "plan/built_plan.h"
#include "plan/placement.h"
#include "plan/shaped_plan.h"

namespace skiff {
namespace {

/// Extents, of bodies too; an If or While whose bodies cannot be shaped apart keeps what the file says.
PlanPicture ShapesOf(ShapedPlan& shaped) {
  PlanPicture picture;
  picture.plan = &shaped.plan();
  picture.arena_bytes = shaped.arena_bytes();
  for (const PlanTensor& tensor : shaped.tensors()) picture.tensors.push_back({tensor.view.shape, {}});
  for (uint32_t i = 0; i < picture.plan->nodes.size(); ++i) {
    if (picture.plan->nodes[i].bodies.empty()) continue;
    for (ShapedPlan& body : shaped.BodiesOf(i)) picture.bodies[i].push_back(ShapesOf(body));
  }
  return picture;
}

/// Whether a tensor, or what it is a view of, is not in the arena.
std::vector<bool> Elsewhere(const PlanData& plan) {
  std::vector<bool> elsewhere(plan.tensors.size());
  for (size_t i = 0; i < elsewhere.size(); ++i)
    elsewhere[i] = plan.tensors[i].constant || plan.IsShapeValue(static_cast<int32_t>(i)) ||
                   plan.StateOf(static_cast<int32_t>(i)) != TensorPlacement::kRoot;
  if (plan.inputs_outside) {
    for (const int32_t input : plan.inputs) elsewhere[static_cast<size_t>(input)] = true;
  }
  for (size_t i = 0; i < elsewhere.size(); ++i) {
    const int32_t whole = plan.placements[i].view_of;
    if (whole != TensorPlacement::kRoot && elsewhere[static_cast<size_t>(whole)]) elsewhere[i] = true;
  }
  return elsewhere;
}

void FindLifetimes(PlanPicture& picture) {
  const PlanData& plan = *picture.plan;
  const auto at = [&](int32_t tensor) -> std::optional<ArenaPlace>& {
    return picture.tensors[static_cast<size_t>(tensor)].place;
  };
  for (const int32_t input : plan.inputs) {
    // A caller sets it before the run, and finds it again behind it.
    if (auto& place = at(input)) place->first = plan.shape_node_count;
    if (auto& place = at(input)) place->last = plan.nodes.size();
  }
  for (size_t node = plan.shape_node_count; node < plan.nodes.size(); ++node) {
    for (const int32_t output : plan.nodes[node].outputs) {
      if (auto& place = at(output)) place->first = place->last = node;
    }
    for (const int32_t input : plan.nodes[node].inputs) {
      if (input < 0) continue;
      if (auto& place = at(input)) place->last = std::max(place->last, node);
    }
  }
  for (const int32_t output : plan.outputs) {
    if (auto& place = at(output)) place->last = plan.nodes.size();
  }
}

using Range = std::pair<uint64_t, uint64_t>;

/// The length of what ranges cover together, while some come and others go: a tree of the parts between their
/// ends, each node of which knows how many ranges cover all of it and what is covered in it.
class Coverage {
 public:
  /// Of the ranges that may come: where each begins and ends, sorted, once.
  explicit Coverage(std::vector<uint64_t> ends) : ends_(std::move(ends)), nodes_(4 * ends_.size() + 2) {}

  void Add(const Range& range, int count) {
    if (range.first < range.second) Add(1, 0, ends_.size() - 1, range, count);
  }
  uint64_t bytes() const { return nodes_[1].bytes; }

 private:
  struct Node {
    int whole = 0;
    uint64_t bytes = 0;
  };

  /// The node has what is between the ends `first` and `last`.
  void Add(size_t index, size_t first, size_t last, const Range& range, int count) {
    const uint64_t begin = ends_[first];
    const uint64_t end = ends_[last];
    if (range.second <= begin || end <= range.first) return;
    Node& node = nodes_[index];
    if (range.first <= begin && end <= range.second) {
      node.whole += count;
    } else {
      const size_t middle = (first + last) / 2;
      Add(2 * index, first, middle, range, count);
      Add(2 * index + 1, middle, last, range, count);
    }
    const bool leaf = last - first == 1;
    node.bytes = node.whole > 0 ? end - begin
                 : leaf         ? 0
                                : nodes_[2 * index].bytes + nodes_[2 * index + 1].bytes;
  }

  std::vector<uint64_t> ends_;
  std::vector<Node> nodes_;
};

/// Of each node, the length of what the tensors that are alive cover.
std::vector<uint64_t> LiveBytes(const PlanPicture& picture) {
  const size_t nodes = picture.plan->nodes.size();
  std::vector<std::vector<Range>> born(nodes + 1);
  std::vector<std::vector<Range>> gone(nodes + 1);
  std::set<uint64_t> ends;
  for (const TensorPicture& tensor : picture.tensors) {
    if (!tensor.place || tensor.place->last < tensor.place->first) continue;
    const auto& place = *tensor.place;
    const Range range(place.offset, place.offset + place.bytes);
    ends.insert({range.first, range.second});
    born[place.first].push_back(range);
    gone[std::min(place.last + 1, nodes)].push_back(range);
  }
  std::vector<uint64_t> bytes;
  Coverage live({ends.begin(), ends.end()});
  for (size_t node = 0; node < nodes; ++node) {
    for (const Range& range : born[node]) live.Add(range, 1);
    for (const Range& range : gone[node]) live.Add(range, -1);
    bytes.push_back(node < picture.plan->shape_node_count ? 0 : live.bytes());
  }
  return bytes;
}

}  // namespace

PlanPicture PictureOf(const ModelSignature& signature, const PlanData& plan, const NamedTensors& inputs) {
  const std::vector<TensorView> views = PlanInputs(signature, inputs);
  ShapedPlan shaped;
  PlanMessage message;
  Must([&] { return shaped.Init(plan, /*keep_apart=*/false); });
  if (const Status status = shaped.Shape({views.data(), views.size()}, message); !status.ok())
    ThrowStatus(status, message.text);
  PlanPicture picture = ShapesOf(shaped);
  // Addresses in memory that nobody touches are the only thing that tells offsets of unbounded plans.
  const std::unique_ptr<unsigned char[]> arena(new unsigned char[picture.arena_bytes + 1]);
  std::vector<void*> outside(plan.inputs.size());
  for (size_t i = 0; i < outside.size(); ++i) outside[i] = plan.inputs_outside ? views[i].data : nullptr;
  shaped.Locate(arena.get(), {outside.data(), outside.size()});
  const std::vector<bool> elsewhere = Elsewhere(plan);
  for (size_t i = 0; i < picture.tensors.size(); ++i) {
    const TensorView& view = shaped.tensors()[i].view;
    if (elsewhere[i] || view.data == nullptr) continue;  // A Stage's results lie in memory of their own.
    const auto offset = static_cast<uint64_t>(static_cast<unsigned char*>(view.data) - arena.get());
    picture.tensors[i].place =
        ArenaPlace{offset, static_cast<uint64_t>(SpanBytes(view)), 0, 0, !view.dense()};
  }
  FindLifetimes(picture);
  picture.live_bytes = LiveBytes(picture);
  return picture;
}

}  // namespace skiff
