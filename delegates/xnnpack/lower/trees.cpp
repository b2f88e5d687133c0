// TreeEnsemble: trees with nodes of one size in pairs, of which eight rows (or, where few rows are left,
// eight trees) go down at a time without a branch, so that their reads of memory overlap. The sums are the
// reference kernel's, bit by bit.
#include <algorithm>
#include <cmath>

#include "core/extents.h"
#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/lowerings.h"
#include "eager/kernels/tree_walk.h"

namespace skiff::xnnpack {
namespace {

using eager::Trees;
using eager::TreeSum;

/// Yes is at `next`, no behind it. A leaf leads to itself, whatever number it is compared with.
struct PackedNode {
  float threshold;
  uint32_t feature;
  uint32_t next;
  uint32_t origin;  ///< The node that it was; of a leaf its first vote, where each has one for every target.
};

constexpr size_t kLanes = 8;
constexpr size_t kMostRowsAtOnce = 128;
constexpr int64_t kMostNodes = int64_t{1} << 30;

class TreeEnsembleStep final : public Step {
 public:
  TreeEnsembleStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), attrs_(node.As<TreeEnsembleAttrs>()) {}

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    for (size_t i = 0; i < node_.inputs(); ++i) {
      if (!node_.in(i).dense()) return Refuse();
    }
    if (!node_.out(0).dense()) return Refuse();
    trees_ = Trees<float>([this](size_t i) -> const TensorView& { return node_.in(i); });
    if (!checked_ || features_ != x.shape[1]) {
      features_ = x.shape[1];
      checked_ = false;  // Of as many features as at a shape before they may have been sound.
      SKIFF_RETURN_IF_ERROR(Check());
      checked_ = true;
    }
    if (packed_.empty() && plain_) SKIFF_RETURN_IF_ERROR(Pack());
    // Some parts for each thread, of whole groups.
    const size_t parts = 2 * pthreadpool_get_threads_count(environment_.pool);
    const size_t groups = (static_cast<size_t>(x.shape[0]) + parts * kLanes - 1) / (parts * kLanes);
    rows_at_once_ = std::min(std::max<size_t>(groups, 1) * kLanes, kMostRowsAtOnce);
    const uint64_t bytes = static_cast<uint64_t>(x.shape[0] * attrs_.targets) * sizeof(TreeSum);
    workspace_bytes_ = static_cast<size_t>(bytes);
    return IsAddressable(bytes) ? OkStatus() : Refuse();
  }

  Status Bind(void* workspace) override {
    sums_ = static_cast<TreeSum*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_tile_1d(
        environment_.pool,
        [](void* self, size_t first, size_t count) {
          static_cast<const TreeEnsembleStep*>(self)->RunRows(first, count);
        },
        this, static_cast<size_t>(node_.in(0).shape[0]), rows_at_once_, /*flags=*/0);
    return OkStatus();
  }

 private:
  /// Everything that a walk of the reference kernel checks on its way, of all nodes. What is not sound is the
  /// reference kernel's to say.
  Status Check() {
    if (trees_.node_count > kMostNodes) return Refuse();
    plain_ = features_ > 0;  // Leaves, too, compare a feature.
    FixedArray<uint8_t> parents;
    SKIFF_RETURN_IF_ERROR(parents.Allocate(static_cast<uint64_t>(trees_.node_count)));
    const auto meet = [&](int32_t node) {
      uint8_t& count = parents[static_cast<size_t>(node)];
      if (count != 0) plain_ = false;  // Trees that share branches: packed, each would have its own.
      count = 1;
    };
    for (int64_t i = 0; i < trees_.root_count; ++i) {
      if (!trees_.IsNode(trees_.roots[i])) return Refuse();
      meet(trees_.roots[i]);
    }
    adds_all_ = attrs_.aggregate == TreeAggregate::kSum || attrs_.aggregate == TreeAggregate::kAverage;
    for (int64_t i = 0; i < trees_.node_count; ++i) {
      if (trees_.Check(i, features_) != nullptr) return Refuse();
      const int32_t* const n = trees_.Node(i);
      if (n[1] == 0) {
        adds_all_ = adds_all_ && n[3] - n[2] == attrs_.targets && VotesInOrder(n[2]);
        continue;
      }
      plain_ = plain_ && n[1] == kTreeLessOrEqual && !std::isnan(trees_.thresholds[i]);
      meet(n[2]);
      meet(n[3]);
    }
    for (int64_t i = 0; i < trees_.vote_count; ++i) {
      if (trees_.targets[i] < 0 || trees_.targets[i] >= attrs_.targets) return Refuse();
    }
    return OkStatus();
  }

  bool VotesInOrder(int32_t begin) const {
    for (int64_t i = 0; i < attrs_.targets; ++i) {
      if (trees_.targets[begin + i] != i) return false;
    }
    return true;
  }

  PackedNode Packed(int32_t node, uint32_t place) const {
    const int32_t* const n = trees_.Node(node);
    const auto origin = static_cast<uint32_t>(node);
    if (n[1] == 0) return {kInfinity, 0, place, adds_all_ ? static_cast<uint32_t>(n[2]) : origin};
    return {trees_.thresholds[node], static_cast<uint32_t>(n[0]), ~place, origin};
  }

  /// Each tree from the root outwards, pair by pair: the nodes that every row meets lie together.
  Status Pack() {
    SKIFF_RETURN_IF_ERROR(roots_.Allocate(static_cast<uint64_t>(trees_.root_count)));
    SKIFF_RETURN_IF_ERROR(packed_.Allocate(static_cast<uint64_t>(trees_.node_count + trees_.root_count)));
    uint32_t filled = 0;
    for (size_t tree = 0; tree < roots_.size(); ++tree) {
      uint32_t place = filled;
      roots_[tree] = place;
      packed_[place] = Packed(trees_.roots[tree], place);
      filled += 2;  // Pairs begin at even places, and so does a cache line.
      for (uint32_t i = place; i < filled; i = i == place ? place + 2 : i + 1) {
        if (packed_[i].next == i) continue;
        const int32_t* const n = trees_.Node(packed_[i].origin);
        packed_[i].next = filled;
        packed_[filled] = Packed(n[2], filled);
        packed_[filled + 1] = Packed(n[3], filled + 1);
        filled += 2;
      }
    }
    return OkStatus();
  }

  const float* Row(size_t row) const {
    return node_.in(0).as<const float>() + row * static_cast<size_t>(features_);
  }
  TreeSum* SumsOf(size_t row) const { return sums_ + row * static_cast<size_t>(attrs_.targets); }

  /// All lanes to their leaves.
  void Descend(const float* const (&x)[kLanes], uint32_t (&at)[kLanes]) const {
    const PackedNode* const nodes = packed_.data();
    uint32_t moved = 0;
    do {
      moved = 0;
#pragma GCC unroll 8
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const PackedNode& node = nodes[at[lane]];
        const uint32_t next = node.next + (x[lane][node.feature] > node.threshold ? 1 : 0);
        moved |= next ^ at[lane];
        at[lane] = next;
      }
    } while (moved != 0);
  }

  void Count(int32_t begin, int32_t end, TreeSum* sums) const {
    for (int32_t i = begin; i < end; ++i)
      sums[trees_.targets[i]].Add(attrs_.aggregate, static_cast<double>(trees_.votes[i]));
  }
  void CountLeaf(uint32_t place, TreeSum* sums) const {
    const uint32_t origin = packed_[place].origin;
    if (!adds_all_) {
      const int32_t* const leaf = trees_.Node(origin);
      return Count(leaf[2], leaf[3], sums);
    }
    const float* const votes = trees_.votes + origin;
    for (int64_t i = 0; i < attrs_.targets; ++i) sums[i].number += static_cast<double>(votes[i]);
  }

  /// Eight rows down one tree.
  void RunEight(size_t first, uint32_t root) const {
    const float* x[kLanes];
    for (size_t lane = 0; lane < kLanes; ++lane) x[lane] = Row(first + lane);
    uint32_t at[kLanes];
    std::fill_n(at, kLanes, root);
    Descend(x, at);
    for (size_t lane = 0; lane < kLanes; ++lane) CountLeaf(at[lane], SumsOf(first + lane));
  }

  /// One row, eight trees at a time.
  void RunOne(size_t row) const {
    const float* x[kLanes];
    std::fill_n(x, kLanes, Row(row));
    for (size_t tree = 0; tree < roots_.size(); tree += kLanes) {
      const size_t count = std::min(kLanes, roots_.size() - tree);
      uint32_t at[kLanes];
      for (size_t lane = 0; lane < kLanes; ++lane) at[lane] = roots_[tree + std::min(lane, count - 1)];
      Descend(x, at);
      for (size_t lane = 0; lane < count; ++lane) CountLeaf(at[lane], SumsOf(row));
    }
  }

  /// As the reference kernel does it.
  void RunSlow(size_t row) const {
    const float* const x = Row(row);
    for (int64_t tree = 0; tree < trees_.root_count; ++tree) {
      const eager::TreeLeaf leaf = trees_.Walk(trees_.roots[tree], features_, x);
      Count(leaf.begin, leaf.end, SumsOf(row));
    }
  }

  bool IsPlain(size_t row, size_t count) const {
    const float* const x = Row(row);
    return plain_ && std::none_of(x, x + count * static_cast<size_t>(features_),
                                  [](float number) { return std::isnan(number); });
  }

  /// A tree stays in the cache while all of these rows go down it.
  void RunRows(size_t first, size_t count) const {
    std::fill_n(SumsOf(first), count * static_cast<size_t>(attrs_.targets), TreeSum());
    bool plain[kMostRowsAtOnce / kLanes];
    const size_t groups = count / kLanes;
    for (size_t group = 0; group < groups; ++group) plain[group] = IsPlain(first + group * kLanes, kLanes);
    for (const uint32_t root : roots_) {
      for (size_t group = 0; group < groups; ++group) {
        if (plain[group]) RunEight(first + group * kLanes, root);
      }
    }
    for (size_t row = 0; row < count; ++row) {
      if (row < groups * kLanes && plain[row / kLanes]) continue;
      IsPlain(first + row, 1) ? RunOne(first + row) : RunSlow(first + row);
    }
    const TreeSum* sum = SumsOf(first);
    float* const to = node_.out(0).as<float>() + first * static_cast<size_t>(attrs_.targets);
    for (size_t i = 0; i < count * static_cast<size_t>(attrs_.targets); ++i)
      to[i] = static_cast<float>(sum[i].Of(attrs_.aggregate, trees_.root_count));
  }

  const TreeEnsembleAttrs& attrs_;
  Trees<float> trees_;
  int64_t features_ = 0;
  bool checked_ = false;
  bool plain_ = false;     ///< What packed nodes can say; rows without NaN go down them.
  bool adds_all_ = false;  ///< Sums, to which each leaf adds one vote for every target, in order.
  size_t rows_at_once_ = kLanes;
  FixedArray<PackedNode> packed_;
  FixedArray<uint32_t> roots_;
  TreeSum* sums_ = nullptr;
};

}  // namespace

Result<StepPointer> LowerTreeEnsemble(const NodeView& node, const Environment& environment) {
  return MakeStep<TreeEnsembleStep>(node, environment);
}

}  // namespace skiff::xnnpack
