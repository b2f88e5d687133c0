// TreeEnsemble.
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "eager/kernels/tree_walk.h"

namespace skiff {
namespace {

using namespace eager;

/// Targets whose sums are on the stack at a time; the trees are walked once for each such part.
constexpr int64_t kTargets = 128;

template <class T>
Status VoteForRow(const KernelArgs& args, const Trees<T>& trees, int64_t row, int64_t first) {
  const auto& attrs = args.As<TreeEnsembleAttrs>();
  const TensorView& x = args.inputs[0];
  const int64_t features = x.shape.last();
  const T* const from = x.as<const T>() + row * features;
  const int64_t count = std::min(attrs.targets - first, kTargets);
  TreeSum sums[kTargets];
  for (int64_t tree = 0; tree < trees.root_count; ++tree) {
    const TreeLeaf leaf = trees.Walk(trees.roots[tree], features, from);
    if (leaf.problem != nullptr) return TreeProblem(leaf.problem);
    for (int32_t i = leaf.begin; i < leaf.end; ++i) {
      const int64_t target = trees.targets[i];
      if (target < 0 || target >= attrs.targets) return TreeProblem("a vote is for a target out of range");
      if (target < first || target >= first + count) continue;
      sums[target - first].Add(attrs.aggregate, Load<double>(trees.votes[i]));
    }
  }
  T* const to = args.outputs[0].as<T>() + row * attrs.targets + first;
  for (int64_t i = 0; i < count; ++i) to[i] = Store<T>(sums[i].Of(attrs.aggregate, trees.root_count));
  return OkStatus();
}

}  // namespace

Status KernelTreeEnsemble(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  return VisitFloat(args.op, x.dtype, [&](auto tag) -> Status {
    using T = typename decltype(tag)::Type;
    const Trees<T> trees([&](size_t i) -> const TensorView& { return args.inputs[i]; });
    for (int64_t row = 0; row < x.shape[0]; ++row) {
      for (int64_t first = 0; first < args.As<TreeEnsembleAttrs>().targets; first += kTargets)
        SKIFF_RETURN_IF_ERROR(VoteForRow(args, trees, row, first));
    }
    return OkStatus();
  });
}

}  // namespace skiff
