// Cond and While around steps of their own.
#include "tests/fuzz/random_program.h"
#include "trace/control.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

constexpr int kDeepest = 2;

/// A body: its steps, and which of its values it returns.
struct Block {
  std::vector<Step> steps;
  size_t result = 0;
  bool whole = false;

  Tensor Run(Tensors values) const {
    RunSteps(steps, values);
    return values[result];
  }
  std::string Text(const std::string& name, int depth) const {
    std::string text = fmt::format("\n{:{}}{}:", "", 2 * depth + 1, name);
    for (const Step& step : steps) text += "\n" + step.text;
    return text + fmt::format("\n{:{}}return v{}", "", 2 * depth + 2, result);
  }
};

Scope Inside(const Scope& scope) {
  Scope inside = scope;
  inside.steps.clear();
  ++inside.depth;
  return inside;
}

/// The last value that has the type of `like` with every set of inputs; `like` itself is one.
size_t LastLike(const Scope& scope, size_t like, bool whole) {
  for (size_t value = scope.size(); value-- > like;) {
    bool same = scope.At(value).dtype() == scope.At(like).dtype() && (scope.whole[value] || !whole);
    for (const Tensors& values : scope.values) same = same && values[value].shape() == values[like].shape();
    if (same) return value;
  }
  return like;
}

/// Steps, of which at least one makes a value like `like` from it.
Block DrawBlock(Drawer& draw, Scope inside, size_t like) {
  const bool whole = inside.whole[like];
  const int wanted = draw.Int(0, 3);
  for (int i = 0; i < wanted; ++i) DrawStep(draw, inside);
  const size_t last = LastLike(inside, like, whole);
  const int number = draw.Int(-2, 3);
  if (inside.At(like).dtype() == DType::kBool) {
    draw.AddOne(inside, fmt::format("Xor(v{}, v{})", last, like), true,
                [=](const Tensors& v) { return Xor(v[last], v[like]); });
  } else {
    draw.AddOne(inside, fmt::format("Sub(v{}, v{} - {})", last, like, number), whole,
                [=](const Tensors& v) { return v[last] - (v[like] - number); });
  }
  const size_t result = LastLike(inside, like, whole);
  return {inside.steps, result, inside.whole[result]};
}

/// bool[], from whole numbers.
Tensor Choice(const Tensor& whole, int threshold) {
  return ReduceMax(whole, {.keep_dims = false}) > threshold;
}

}  // namespace

void DrawCond(Drawer& draw, Scope& scope) {
  const Ref condition = draw.AnyWhole(scope);
  const Ref like = draw.Any(scope, [](size_t) { return true; });
  if (scope.depth >= kDeepest || !condition || !like) return;
  const int threshold = draw.Int(-1, 3);
  const Block then = DrawBlock(draw, Inside(scope), *like);
  const Block otherwise = DrawBlock(draw, Inside(scope), *like);
  draw.AddOne(scope,
              fmt::format("Cond(max of v{} > {}){}{}", *condition, threshold, then.Text("then", scope.depth),
                          otherwise.Text("else", scope.depth)),
              then.whole && otherwise.whole, [=, condition = *condition](const Tensors& v) {
                return Cond(
                    Choice(v[condition], threshold), [&] { return then.Run(v); },
                    [&] { return otherwise.Run(v); });
              });
}

/// Up to five rounds; how many is a constant, or decided by whole numbers.
void DrawWhile(Drawer& draw, Scope& scope) {
  const Ref limit = draw.AnyWhole(scope);
  const Ref initial = draw.Any(scope, [](size_t) { return true; });
  if (scope.depth >= kDeepest || !limit || !initial) return;
  const int most = draw.Int(0, 5);
  const bool decided = draw.Chance(60);
  // In the body: the values around it, then the loop's.
  Scope inside = Inside(scope);
  const size_t state = scope.size();
  for (size_t set = 0; set < kInputSets; ++set) {
    inside.values[set].push_back(scope.values[set][*initial]);
    inside.values[set].push_back(Tensor::Scalar(int32_t{0}));
  }
  inside.whole.push_back(scope.whole[*initial]);
  inside.whole.push_back(true);
  const Block body = DrawBlock(draw, inside, state);
  const std::string until = decided ? fmt::format("max of v{} and {}", *limit, most) : std::to_string(most);
  draw.AddOne(scope,
              fmt::format("While(v{} = v{}, v{} < {}){}", state, *initial, state + 1, until,
                          body.Text("do", scope.depth)),
              scope.whole[*initial], [=, limit = *limit, initial = *initial](const Tensors& v) {
                const Tensor most_rounds = Tensor::Scalar(int32_t{most});
                const Tensor rounds =
                    decided ? Min(Cast(ReduceMax(v[limit], {.keep_dims = false}), DType::kI32), most_rounds)
                            : most_rounds;
                return While([&](const Tensors& loop) { return loop[1] < rounds; },
                             [&](const Tensors& loop) {
                               Tensors values = v;
                               values.insert(values.end(), loop.begin(), loop.end());
                               return Tensors{body.Run(values), loop[1] + 1};
                             },
                             {v[initial], Tensor::Scalar(int32_t{0})})[0];
              });
}

}  // namespace skiff::eager
