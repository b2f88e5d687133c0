// ONNX rows of ai.onnx.ml: forests of decision trees, as one TreeEnsemble whose nodes lie in an order in
// which each leads to one further behind.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "import/emit.h"
#include "import/onnx/ml.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

/// As TreeEnsemble numbers them.
enum class Mode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"BRANCH_LEQ", Mode::kLeq}, {"BRANCH_LT", Mode::kLt}, {"BRANCH_GTE", Mode::kGte},
    {"BRANCH_GT", Mode::kGt},   {"BRANCH_EQ", Mode::kEq}, {"BRANCH_NEQ", Mode::kNeq},
    {"LEAF", Mode::kLeaf},
};

struct Vote {
  int64_t target;
  double weight;
};

/// A node as the file has it. Leaves have votes, others two branches.
struct Branch {
  Mode mode = Mode::kLeaf;
  int64_t feature = 0;
  double threshold = 0;
  bool nan_is_yes = false;  ///< Beside what the comparison itself says of NaN.
  size_t yes = 0;
  size_t no = 0;
  std::vector<double> members = {};
  std::vector<Vote> votes = {};
};

/// The inputs of a TreeEnsemble node under construction.
class Forest {
 public:
  Forest(const OnnxBuilder& b, DType dtype) : b_(b), dtype_(dtype) {}

  /// So many branches, leaves, members and votes are in the file. Trees may share some of them, and each
  /// gets copies.
  void AllowCopiesOf(size_t listed) { most_ = std::min(most_, kMostCopies * listed + kFreeCopies); }

  /// A tree whose nodes are among `branches`.
  void AddTree(const std::vector<Branch>& branches, size_t root) {
    roots_.push_back(static_cast<int32_t>(thresholds_.size()));
    struct Task {
      size_t branch;
      std::vector<size_t> places;  ///< In nodes_: what leads there.
    };
    std::vector<Task> tasks = {{root, {}}};
    met_.resize(branches.size());
    while (!tasks.empty()) {
      const Task task = std::move(tasks.back());
      tasks.pop_back();
      for (const size_t place : task.places) nodes_[place] = static_cast<int32_t>(thresholds_.size());
      const Branch& branch = branches[task.branch];
      if (branch.mode == Mode::kLeaf) {
        AddLeaf(branch);
        continue;
      }
      if (met_[task.branch] == roots_.size())
        b_.Invalid("a node of a tree is reached in two ways, or from itself");
      met_[task.branch] = roots_.size();
      std::vector<size_t> yes, no;
      AddBranch(branch, yes, no);
      tasks.push_back({branch.no, no});
      tasks.push_back({branch.yes, yes});
    }
  }

  ValueId Emit(OnnxBuilder& b, ValueId x, const TreeEnsembleAttrs& attrs) const {
    const auto extent = [](const auto& list) { return static_cast<int64_t>(list.size()); };
    const auto words = [&](const char* suffix, const Shape& shape, const std::vector<int32_t>& list) {
      return b.Constant(suffix, TensorData(DType::kI32, shape, list.data()));
    };
    const ValueId nodes = words("nodes", Shape{extent(thresholds_), 4}, nodes_);
    const ValueId thresholds =
        b.Constant("thresholds", MakeConstant(dtype_, Shape{extent(thresholds_)}, thresholds_));
    const ValueId roots = words("roots", Shape{extent(roots_)}, roots_);
    const ValueId targets = words("targets", Shape{extent(targets_)}, targets_);
    const ValueId votes = b.Constant("votes", MakeConstant(dtype_, Shape{extent(votes_)}, votes_));
    return b.Emit("trees", OpCode::kTreeEnsemble, {x, nodes, thresholds, roots, targets, votes}, attrs);
  }

 private:
  static constexpr size_t kMostCopies = 4;
  static constexpr size_t kFreeCopies = 1024;

  void CheckSize() const {
    if (thresholds_.size() + votes_.size() >= most_)
      OnnxBuilder::Unsupported(
          "has trees that become more than {} nodes and votes, because they share nodes or are too many; "
          "give "
          "each tree nodes of its own, or split the forest in parts whose results are added",
          most_);
  }

  size_t AddNode(int64_t feature, int32_t kind, double threshold) {
    CheckSize();
    if (feature < 0 || feature > std::numeric_limits<int32_t>::max())
      b_.Invalid("a node asks for feature {}", feature);
    nodes_.insert(nodes_.end(), {static_cast<int32_t>(feature), kind, 0, 0});
    thresholds_.push_back(threshold);
    return nodes_.size() - 4;
  }

  void AddLeaf(const Branch& leaf) {
    const size_t node = AddNode(0, 0, 0);
    nodes_[node + 2] = static_cast<int32_t>(votes_.size());
    for (const Vote& vote : leaf.votes) {
      CheckSize();
      if (vote.target > std::numeric_limits<int32_t>::max())
        b_.Invalid("a vote is for target {}", vote.target);
      targets_.push_back(static_cast<int32_t>(vote.target));
      votes_.push_back(vote.weight);
    }
    nodes_[node + 3] = static_cast<int32_t>(votes_.size());
  }

  /// The largest number below, in the dtype that x is compared in.
  double Below(double threshold) const {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    if (threshold == kLowest) return std::numeric_limits<double>::quiet_NaN();  // Nothing is.
    if (dtype_ == DType::kF64) return std::nextafter(threshold, kLowest);
    return static_cast<double>(std::nextafterf(static_cast<float>(threshold), -kInfinity));
  }

  /// Every comparison as x <= t or x == t, maybe with the branches exchanged. `yes`, `no`: places in nodes_
  /// that lead to the branches.
  void AddBranch(const Branch& branch, std::vector<size_t>& yes, std::vector<size_t>& no) {
    const Mode mode = branch.mode;
    if (mode == Mode::kMember) {
      // A chain of comparisons that share what they lead to.
      for (size_t i = 0; i < branch.members.size(); ++i) {
        const bool nan = branch.nan_is_yes;
        const size_t node =
            AddNode(branch.feature, kTreeEqual | (nan ? kTreeNaNIsYes : 0), branch.members[i]);
        yes.push_back(node + 2);
        if (i + 1 < branch.members.size()) {
          nodes_[node + 3] = static_cast<int32_t>(thresholds_.size());
        } else {
          no.push_back(node + 3);
        }
      }
      if (branch.members.empty()) b_.Invalid("a node asks for members of an empty set");
      return;
    }
    const bool equal = mode == Mode::kEq || mode == Mode::kNeq;
    const bool exchanged = mode == Mode::kGt || mode == Mode::kGte || mode == Mode::kNeq;
    const bool below = mode == Mode::kLt || mode == Mode::kGte;
    const bool nan_is_true = branch.nan_is_yes || mode == Mode::kNeq;
    const int32_t kind =
        (equal ? kTreeEqual : kTreeLessOrEqual) | (nan_is_true != exchanged ? kTreeNaNIsYes : 0);
    const size_t node = AddNode(branch.feature, kind, below ? Below(branch.threshold) : branch.threshold);
    yes = {node + (exchanged ? 3 : 2)};
    no = {node + (exchanged ? 2 : 3)};
  }

  const OnnxBuilder& b_;
  DType dtype_;
  std::vector<int32_t> nodes_, roots_, targets_;
  std::vector<size_t> met_;  ///< By branch: how many trees there were with the last one that has it.
  std::vector<double> thresholds_, votes_;
  size_t most_ = size_t{1} << 29;
};

TreeAggregate AggregateNamed(const OnnxBuilder& b, const std::string& name) {
  static constexpr std::pair<std::string_view, TreeAggregate> kNames[] = {
      {"SUM", TreeAggregate::kSum},
      {"AVERAGE", TreeAggregate::kAverage},
      {"MIN", TreeAggregate::kMin},
      {"MAX", TreeAggregate::kMax}};
  for (const auto& [known, aggregate] : kNames) {
    if (known == name) return aggregate;
  }
  b.Invalid("attribute 'aggregate_function' is '{}'; SUM, AVERAGE, MIN or MAX was expected", name);
}

/// Integer attributes of the nodes; `fallback` where the list is left out.
std::vector<int64_t> NodeInts(const OnnxBuilder& b, const char* name, size_t count, bool required = true) {
  const auto list = b.IntList(name);
  if (!list && !required) return std::vector<int64_t>(count, 0);
  CheckCount(b, name, list ? list->size() : 0, count, "one for each node");
  return list.value_or(std::vector<int64_t>{});
}

/// The trees of versions 1 to 3: lists of nodes that trees and numbers name. `what`: how the attributes of
/// the votes begin.
void AddNamedTrees(const OnnxBuilder& b, Forest& forest, const std::string& what, int64_t targets) {
  using Key = std::pair<int64_t, int64_t>;
  const std::vector<int64_t> trees = b.IntList("nodes_treeids").value_or(std::vector<int64_t>{});
  const size_t count = trees.size();
  if (count == 0) b.Invalid("it has no nodes (attribute 'nodes_treeids')");
  const auto numbers = NodeInts(b, "nodes_nodeids", count);
  const auto features = NodeInts(b, "nodes_featureids", count);
  const auto yes = NodeInts(b, "nodes_truenodeids", count);
  const auto no = NodeInts(b, "nodes_falsenodeids", count);
  const auto nan = NodeInts(b, "nodes_missing_value_tracks_true", count, false);
  const auto modes = b.StringList("nodes_modes").value_or(std::vector<std::string>{});
  const std::vector<double> values = NumbersOf(b, "nodes_values");
  CheckCount(b, "nodes_modes", modes.size(), count, "one for each node");
  CheckCount(b, "nodes_values", values.size(), count, "one for each node");
  std::map<Key, size_t> places;
  for (size_t i = 0; i < count; ++i) {
    if (!places.emplace(Key{trees[i], numbers[i]}, i).second)
      b.Invalid("node {} of tree {} is there twice", numbers[i], trees[i]);
  }
  const auto place_of = [&](int64_t tree, int64_t number) {
    const auto found = places.find({tree, number});
    if (found == places.end()) b.Invalid("tree {} has no node {}", tree, number);
    return found->second;
  };
  std::vector<Branch> branches(count);
  std::vector<bool> is_child(count, false);
  for (size_t i = 0; i < count; ++i) {
    Branch& branch = branches[i];
    const auto* mode = std::find_if(std::begin(kModes), std::end(kModes),
                                    [&](const auto& row) { return row.first == modes[i]; });
    if (mode == std::end(kModes)) b.Invalid("a node has the mode '{}', which there is not", modes[i]);
    branch.mode = mode->second;
    if (branch.mode == Mode::kLeaf) continue;
    branch.feature = features[i];
    branch.threshold = values[i];
    branch.nan_is_yes = nan[i] != 0;
    branch.yes = place_of(trees[i], yes[i]);
    branch.no = place_of(trees[i], no[i]);
    is_child[branch.yes] = is_child[branch.no] = true;
  }
  const auto vote_trees = b.IntList((what + "_treeids").c_str()).value_or(std::vector<int64_t>{});
  const auto vote_nodes = b.IntList((what + "_nodeids").c_str()).value_or(std::vector<int64_t>{});
  const auto vote_targets = b.IntList((what + "_ids").c_str()).value_or(std::vector<int64_t>{});
  const std::vector<double> weights = NumbersOf(b, what + "_weights");
  for (const size_t other : {vote_nodes.size(), vote_targets.size(), weights.size()})
    CheckCount(b, (what + "_treeids").c_str(), vote_trees.size(), other, "as the lists of nodes and weights");
  for (size_t i = 0; i < weights.size(); ++i) {
    if (vote_targets[i] < 0 || vote_targets[i] >= targets)
      b.Invalid("attribute '{}_ids' names {}, which is none of {}", what, vote_targets[i], targets);
    branches[place_of(vote_trees[i], vote_nodes[i])].votes.push_back({vote_targets[i], weights[i]});
  }
  forest.AllowCopiesOf(count + weights.size());
  std::set<int64_t> rooted;
  for (size_t i = 0; i < count; ++i) {
    if (is_child[i]) continue;
    if (!rooted.insert(trees[i]).second) b.Invalid("tree {} has two roots", trees[i]);
    forest.AddTree(branches, i);
  }
  for (const int64_t tree : trees) {
    if (!rooted.contains(tree)) b.Invalid("tree {} has no root: its nodes lead in a circle", tree);
  }
}

/// x [rows, features], in the type that the trees compare in.
ValueId FeaturesOfTrees(OnnxBuilder& b) {
  const ValueId x = EmitFeatures(b, b.Input(0));
  const bool doubles =
      b.HasAttribute("nodes_values_as_tensor") && b.Tensor("nodes_values_as_tensor")->dtype() == DType::kF64;
  return doubles ? b.CastTo("doubles", x, DType::kF64) : x;
}

ValueId AddBase(OnnxBuilder& b, ValueId scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  return EmitAdd(
      b, "with_base", scores,
      b.Constant("base", MakeConstant(b.DTypeOf(scores), Shape{static_cast<int64_t>(base.size())}, base)));
}

void BuildRegressor(OnnxBuilder& b) {
  const int64_t targets = b.Int("n_targets", 1);
  const ValueId x = FeaturesOfTrees(b);
  Forest forest(b, b.DTypeOf(x));
  AddNamedTrees(b, forest, "target", targets);
  const std::vector<double> base = NumbersOf(b, "base_values");
  if (!base.empty())
    CheckCount(b, "base_values", base.size(), static_cast<size_t>(targets), "one for each target");
  const ValueId sums = forest.Emit(b, x, {targets, AggregateNamed(b, b.String("aggregate_function", "SUM"))});
  const ValueId scores = EmitPostTransform(b, AddBase(b, sums, base), b.String("post_transform", "NONE"));
  b.Output(OpCode::kIdentity, {b.CastTo("result", scores, DType::kF32)});
}

void BuildClassifier(OnnxBuilder& b) {
  const OnnxClasses classes = ClassesOf(b, "classlabels_int64s");
  const std::string transform = b.String("post_transform", "NONE");
  const ValueId x = FeaturesOfTrees(b);
  Forest forest(b, b.DTypeOf(x));
  AddNamedTrees(b, forest, "class", std::max<int64_t>(classes.count(), 1));
  const std::vector<int64_t> voted = b.IntList("class_ids").value_or(std::vector<int64_t>{});
  const std::vector<double> weights = NumbersOf(b, "class_weights");
  const bool one_voted = std::set<int64_t>(voted.begin(), voted.end()).size() == 1;
  std::vector<double> base = NumbersOf(b, "base_values");
  const ValueId sums = forest.Emit(b, x, {std::max<int64_t>(classes.count(), 1), TreeAggregate::kSum});
  if (classes.count() != 2 || !one_voted) {
    if (!base.empty())
      CheckCount(b, "base_values", base.size(), classes.numbers.size(), "one for each class");
    const ValueId scores = AddBase(b, sums, base);
    return OutputClasses(b, classes, EmitBestClass(b, scores), EmitPostTransform(b, scores, transform));
  }
  if (base.size() > 2)
    b.Invalid("attribute 'base_values' has {} numbers; 2 at most were expected, for two classes",
              base.size());
  // Votes for one of two classes alone are the second one's.
  ValueId score = EmitSlice(b, "score", sums, 1, voted[0], voted[0] + 1);
  if (!base.empty()) score = AddBase(b, score, {base.back()});
  const bool shares = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; });
  const ValueId chosen =
      b.Emit("chosen", OpCode::kGreater, {score, b.Scalar("border", b.DTypeOf(score), shares ? 0.5 : 0.0)});
  const ValueId index =
      b.Emit("index", OpCode::kSqueeze, {b.CastTo("number", chosen, DType::kI64)}, AxesAttrs{{1}});
  // Votes for the first class are taken for the second's; those for the second have the first at 0 beside
  // them.
  if (voted[0] == 0) return OutputClasses(b, classes, index, EmitTwoClasses(b, score, shares, transform));
  const ValueId nothing = EmitSlice(b, "nothing", sums, 1, 0, 1);
  const ValueId both = b.Emit("both", OpCode::kConcat, {nothing, score}, AxisAttrs{1});
  OutputClasses(b, classes, index, EmitPostTransform(b, both, transform));
}

std::vector<int64_t> Listed(const OnnxBuilder& b, const char* name, bool required = true) {
  const auto list = b.IntList(name);
  if (!list && required) b.Invalid("attribute '{}' is not there", name);
  return list.value_or(std::vector<int64_t>{});
}

std::vector<double> ListedNumbers(const OnnxBuilder& b, const char* name) {
  const auto tensor = b.Tensor(name);
  return tensor ? tensor->ToDoubles() : std::vector<double>{};
}

/// Sets of members, which NaN ends, in the order of the nodes that ask for them.
/// Returns how many there are.
size_t TakeMembers(const OnnxBuilder& b, std::vector<Branch>& branches) {
  const std::vector<double> all = ListedNumbers(b, "membership_values");
  size_t next = 0;
  for (Branch& branch : branches) {
    if (branch.mode != Mode::kMember) continue;
    while (next < all.size() && !std::isnan(all[next])) branch.members.push_back(all[next++]);
    ++next;
  }
  return all.size();
}

/// Version 5: branches and leaves have numbers of their own, and trees are what roots lead to.
void BuildEnsemble(OnnxBuilder& b) {
  const ValueId x = b.Input(0);
  const DType dtype = b.DTypeOf(x);
  const int64_t targets = b.Int("n_targets", 1);
  const std::vector<double> splits = ListedNumbers(b, "nodes_splits");
  const std::vector<double> modes = ListedNumbers(b, "nodes_modes");
  const std::vector<int64_t> features = Listed(b, "nodes_featureids");
  const size_t count = features.size();
  const auto yes = NodeInts(b, "nodes_truenodeids", count);
  const auto no = NodeInts(b, "nodes_falsenodeids", count);
  const auto yes_is_leaf = NodeInts(b, "nodes_trueleafs", count);
  const auto no_is_leaf = NodeInts(b, "nodes_falseleafs", count);
  const auto nan = NodeInts(b, "nodes_missing_value_tracks_true", count, false);
  CheckCount(b, "nodes_splits", splits.size(), count, "one for each node");
  CheckCount(b, "nodes_modes", modes.size(), count, "one for each node");
  const std::vector<int64_t> leaf_targets = Listed(b, "leaf_targetids");
  const std::vector<double> leaf_weights = ListedNumbers(b, "leaf_weights");
  CheckCount(b, "leaf_weights", leaf_weights.size(), leaf_targets.size(), "one for each leaf");
  // Leaves behind the branches.
  std::vector<Branch> branches(count + leaf_targets.size());
  const auto place = [&](int64_t number, bool leaf) {
    const size_t most = leaf ? leaf_targets.size() : count;
    if (number < 0 || static_cast<size_t>(number) >= most)
      b.Invalid("a node leads to {} {}, of {}", leaf ? "leaf" : "node", number, most);
    return static_cast<size_t>(number) + (leaf ? count : 0);
  };
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) b.Invalid("a node has the mode {}; 0 to 6 was expected", modes[i]);
    branches[i] = {static_cast<Mode>(static_cast<int>(modes[i])),
                   features[i],
                   splits[i],
                   nan[i] != 0,
                   place(yes[i], yes_is_leaf[i] != 0),
                   place(no[i], no_is_leaf[i] != 0)};
  }
  for (size_t i = 0; i < leaf_targets.size(); ++i) {
    if (leaf_targets[i] < 0 || leaf_targets[i] >= targets)
      b.Invalid("attribute 'leaf_targetids' names {}, which is none of {}", leaf_targets[i], targets);
    branches[count + i].votes = {{leaf_targets[i], leaf_weights[i]}};
  }
  Forest forest(b, dtype);
  forest.AllowCopiesOf(2 * branches.size() + TakeMembers(b, branches));
  for (const int64_t root : Listed(b, "tree_roots")) forest.AddTree(branches, place(root, false));
  static constexpr TreeAggregate kAggregates[] = {TreeAggregate::kAverage, TreeAggregate::kSum,
                                                  TreeAggregate::kMin, TreeAggregate::kMax};
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t aggregate = b.Int("aggregate_function", 1);
  const int64_t transform = b.Int("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    b.Invalid("attribute 'aggregate_function' is {} (0 to 3 was expected), 'post_transform' {} (0 to 4)",
              aggregate, transform);
  const ValueId sums = forest.Emit(b, x, {targets, kAggregates[static_cast<size_t>(aggregate)]});
  b.Output(OpCode::kIdentity, {EmitPostTransform(b, sums, kTransforms[static_cast<size_t>(transform)])});
}

constexpr OnnxOp kRows[] = {
    {"TreeEnsembleRegressor", 1, kNewestMlOpset, BuildRegressor},
    {"TreeEnsembleClassifier", 1, kNewestMlOpset, BuildClassifier},
    {"TreeEnsemble", 5, kNewestMlOpset, BuildEnsemble},
};

}  // namespace

std::span<const OnnxOp> OnnxTreeOps() { return kRows; }

}  // namespace skiff
