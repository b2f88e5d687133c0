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

/// Whether elements of `from` may become part of a value like `like`: no rounding where it must be exact.
bool MayBecome(const Scope& scope, size_t from, size_t like) {
  return scope.whole[from] || (!scope.whole[like] && scope.At(from).dtype() == scope.At(like).dtype());
}

/// `x` changed by the largest element of `by`, its type kept.
Tensor Changed(const Tensor& x, const Tensor& by) {
  const Tensor largest = Cast(ReduceMax(by, {.keep_dims = false}), x.dtype());
  return x.dtype() == DType::kBool ? Xor(x, largest) : x - largest;
}

/// A few steps, and a value of the type of `like` that depends on the last one.
Block DrawBlock(Drawer& draw, Scope inside, size_t like) {
  const size_t outside = inside.size();
  const int wanted = draw.Int(1, 3);
  for (int i = 0; i < wanted; ++i) DrawStep(draw, inside);
  size_t by = inside.size() - 1;
  while (by >= outside && !MayBecome(inside, by, like)) --by;
  if (by < outside) by = like;
  if (draw.AddOne(inside, fmt::format("v{} changed by the largest of v{}", like, by), inside.whole[like],
                  [=](const Tensors& v) { return Changed(v[like], v[by]); }))
    return {inside.steps, inside.size() - 1, inside.whole[like]};
  return {inside.steps, like, inside.whole[like]};
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
struct Rounds {
  size_t limit;
  int most;
  bool decided;

  Tensor Of(const Tensors& v) const {
    const Tensor at_most = Tensor::Scalar(int32_t{most});
    return decided ? Min(Cast(ReduceMax(v[limit], {.keep_dims = false}), DType::kI32), at_most) : at_most;
  }
  std::string Text() const {
    return decided ? fmt::format("max of v{} and {}", limit, most) : std::to_string(most);
  }
};

/// While(x = initial, i = 0): what the rounds make of x, or, where it `collects`, all that x was, one after
/// the other: a loop variable that grows.
Tensor RunWhile(const Block& body, const Rounds& rounds, size_t initial, bool collects, const Tensors& v) {
  const Tensor limit = rounds.Of(v);
  Tensors start{v[initial], Tensor::Scalar(int32_t{0})};
  if (collects) start.push_back(v[initial]);
  return While([&](const Tensors& loop) { return loop[1] < limit; },
               [&](const Tensors& loop) {
                 Tensors values = v;
                 values.insert(values.end(), loop.begin(), loop.begin() + 2);
                 Tensors next{body.Run(values), loop[1] + 1};
                 if (collects) next.push_back(Concat({loop[2], next[0]}, 0));
                 return next;
               },
               start)[collects ? 2 : 0];
}

void DrawWhile(Drawer& draw, Scope& scope) {
  const Ref limit = draw.AnyWhole(scope);
  const Ref initial = draw.Any(scope, [](size_t) { return true; });
  if (scope.depth >= kDeepest || !limit || !initial) return;
  const int most = draw.Int(0, 5);
  const Rounds rounds{*limit, most, draw.Chance(60)};
  const bool collects = scope.At(*initial).shape().rank() > 0 && draw.Chance(40);
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
  draw.AddOne(scope,
              fmt::format("While{}(v{} = v{}, v{} < {}){}", collects ? "Collecting" : "", state, *initial,
                          state + 1, rounds.Text(), body.Text("do", scope.depth)),
              scope.whole[*initial], [=, initial = *initial](const Tensors& v) {
                return RunWhile(body, rounds, initial, collects, v);
              });
}

}  // namespace skiff::eager
