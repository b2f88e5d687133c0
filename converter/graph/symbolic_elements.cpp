// Shape arithmetic: the elements of small integer tensors, as expressions.
#include <algorithm>
#include <limits>

#include "core/extents.h"
#include "graph/symbolic_hooks.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

int64_t ClampTo(int64_t position, int64_t count) {
  return std::clamp<int64_t>(position < 0 ? position + count : position, 0, count);
}

using Context = InferContext<Dim>;

/// Element `i` of an operand that is broadcast to `count` elements; lists and single numbers only.
const Dim* At(const Elements* list, size_t i) {
  return list->size() == 1 ? &(*list)[0] : i < list->size() ? &(*list)[i] : nullptr;
}

/// The extents without ones in front; nothing where one is not a number.
std::optional<std::vector<int64_t>> PlainExtents(const InferInput<Dim>& input) {
  std::vector<int64_t> extents;
  for (int axis = 0; axis < input.rank; ++axis) {
    if (!input.extents[axis].constant()) return {};
    if (!extents.empty() || input.extents[axis].value != 1) extents.push_back(input.extents[axis].value);
  }
  return extents;
}

/// Whether elements at the same place of the lists meet when the tensors are broadcast: of [2, 1] and [1, 2]
/// they do not.
bool MeetInOrder(const Context& context, const KnownInputs& known) {
  std::optional<std::vector<int64_t>> first;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]->size() == 1) continue;
    const std::optional<std::vector<int64_t>> extents = PlainExtents(context.inputs[i]);
    if (!extents || (first && *first != *extents)) return false;
    first = extents;
  }
  return true;
}

template <class Combine>
std::optional<Elements> Pairwise(const Context& context, const KnownInputs& known, Combine combine) {
  if (!MeetInOrder(context, known)) return {};
  const size_t count = std::max(known[0]->size(), known[1]->size());
  if (known[0]->empty() || known[1]->empty()) return Elements();
  Elements result;
  for (size_t i = 0; i < count; ++i) {
    const Dim* a = At(known[0], i);
    const Dim* b = At(known[1], i);
    if (a == nullptr || b == nullptr) return {};
    std::optional<Dim> combined = combine(*a, *b);
    if (!combined) return {};
    result.push_back(*combined);
  }
  return result;
}

/// Bounds take the ends of 64 bits for infinity. As an element they are numbers: "to the end" of a Slice.
bool IsExtreme(const Dim& element) {
  return element.constant() && (element.value == std::numeric_limits<int64_t>::min() ||
                                element.value == std::numeric_limits<int64_t>::max());
}

/// 1 or 0 where the comparison has one answer for every size.
std::optional<Dim> Decide(OpCode op, const Dim& a, const Dim& b) {
  if (!(a == b) && (IsExtreme(a) || IsExtreme(b))) return {};
  const Bounds difference = (a - b).bounds();
  switch (op) {
    case OpCode::kEqual:
      if (a == b) return Dim(1);
      if (difference.min > 0 || difference.max < 0) return Dim(0);
      return {};
    case OpCode::kLess:
      if (difference.max < 0) return Dim(1);
      if (difference.min >= 0) return Dim(0);
      return {};
    case OpCode::kGreater:
      return Decide(OpCode::kLess, b, a);
    default:
      return {};
  }
}

/// As large as the numbers that stand for infinity, or larger for sizes that the runtime's tensors can have,
/// whose products stay within as many elements: expressions stay there, where 64 bits would wrap around.
bool Overflows(const Dim& element) {
  const Bounds bounds = element.PlausibleBounds(kMaxTensorBytes);
  return bounds.min == std::numeric_limits<int64_t>::min() ||
         bounds.max == std::numeric_limits<int64_t>::max();
}

std::optional<Dim> Calculate(OpCode op, const Dim& a, const Dim& b) {
  switch (op) {
    case OpCode::kAdd:
      return a + b;
    case OpCode::kSub:
      return a - b;
    case OpCode::kMul:
      return a * b;
    case OpCode::kDiv:  // Truncates, which is the floor where nothing is negative.
      if (a.bounds().min < 0 || b.bounds().min <= 0) return {};
      return FloorDivide(a, b);
    case OpCode::kMod:
      if (b.bounds().min <= 0) return {};
      return a - FloorDivide(a, b) * b;
    default:
      return {};
  }
}

std::optional<Dim> Combine(OpCode op, const Dim& a, const Dim& b) {
  switch (op) {
    case OpCode::kMin:
      return MinExtent(a, b);
    case OpCode::kMax:
      return MaxExtent(a, b);
    case OpCode::kEqual:
    case OpCode::kLess:
    case OpCode::kGreater:
      return Decide(op, a, b);
    default:
      if (Overflows(a) || Overflows(b)) return {};
      const std::optional<Dim> result = Calculate(op, a, b);
      return result && !Overflows(*result) ? result : std::nullopt;
  }
}

/// `element` for each place of the result.
std::optional<Elements> Repeated(const Context& context, const Dim& element) {
  const InferOutput<Dim>& out = context.outputs[0];
  Dim count(1);
  for (int i = 0; i < out.rank; ++i) count = count * out.extents[i];
  if (!count.constant() || count.value > kMaxShapeElements) return {};
  return Elements(static_cast<size_t>(count.value), element);
}

}  // namespace

std::optional<Elements> ElementsOfShape(const Context& context, const KnownInputs&) {
  const auto& attrs = context.As<ShapeAttrs>();
  const InferInput<Dim>& x = context.inputs[0];
  const int64_t begin = ClampTo(attrs.start, x.rank);
  const int64_t end = ClampTo(attrs.end, x.rank);
  return Elements(x.extents + begin, x.extents + std::max(begin, end));
}

std::optional<Elements> SameElements(const Context&, const KnownInputs& known) { return *known[0]; }

std::optional<Elements> CastElements(const Context& context, const KnownInputs& known) {
  const auto to = static_cast<DType>(context.As<CastAttrs>().to);
  const bool keeps = !IsFloat(context.inputs[0].dtype) && (to == DType::kI64 || to == DType::kI32);
  return keeps ? std::optional(*known[0]) : std::nullopt;
}

std::optional<Elements> ConcatElements(const Context& context, const KnownInputs& known) {
  // Along the first axis that is longer than 1 what is joined lies one behind the other.
  const int64_t axis = context.As<AxisAttrs>().axis;
  for (const InferInput<Dim>& input : context.inputs) {
    const int64_t end = axis < 0 ? axis + input.rank : axis;
    for (int64_t before = 0; before < end; ++before) {
      if (!(input.extents[before] == Dim(1))) return {};
    }
  }
  Elements result;
  for (const Elements* list : known) {
    result.insert(result.end(), list->begin(), list->end());
    if (static_cast<int64_t>(result.size()) > kMaxShapeElements) return {};
  }
  return result;
}

std::optional<Elements> GatherElements(const Context& context, const KnownInputs& known) {
  if (context.inputs[0].rank != 1) return {};
  Elements result;
  const auto count = static_cast<int64_t>(known[0]->size());
  for (const Dim& index : *known[1]) {
    if (!index.constant()) return {};
    const int64_t at = index.value < 0 ? index.value + count : index.value;
    if (at < 0 || at >= count) return {};
    result.push_back((*known[0])[static_cast<size_t>(at)]);
  }
  return result;
}

std::optional<Elements> SliceElements(const Context& context, const KnownInputs& known) {
  if (context.inputs[0].rank != 1) return {};
  for (size_t i = 1; i < known.size(); ++i) {
    if (known[i] != nullptr && (known[i]->size() != 1 || !(*known[i])[0].constant())) return {};
  }
  const int64_t step = known.size() > 4 && known[4] != nullptr ? (*known[4])[0].value : 1;
  const SliceRange range =
      ResolveSlice(static_cast<int64_t>(known[0]->size()), (*known[1])[0].value, (*known[2])[0].value, step);
  Elements result;
  for (int64_t i = 0; i < range.count; ++i)
    result.push_back((*known[0])[static_cast<size_t>(range.start + i * range.step)]);
  return result;
}

std::optional<Elements> WhereElements(const Context& context, const KnownInputs& known) {
  if (!MeetInOrder(context, known)) return {};
  if (std::any_of(known.begin(), known.end(), [](const Elements* list) { return list->empty(); }))
    return Elements();
  size_t count = 1;
  for (const Elements* list : known) count = std::max(count, list->size());
  Elements result;
  for (size_t i = 0; i < count; ++i) {
    const Dim* condition = At(known[0], i);
    if (condition == nullptr || !condition->constant()) return {};
    const Dim* chosen = At(known[condition->value != 0 ? 1 : 2], i);
    if (chosen == nullptr) return {};
    result.push_back(*chosen);
  }
  return result;
}

std::optional<Elements> RepeatedElement(const Context& context, const KnownInputs& known) {
  return known[0]->size() == 1 ? Repeated(context, (*known[0])[0]) : std::nullopt;
}

std::optional<Elements> FilledElements(const Context& context, const KnownInputs&) {
  if (IsFloat(static_cast<DType>(context.As<FillAttrs>().dtype))) return {};
  return Repeated(context, Dim(context.As<FillAttrs>().integer));
}

std::optional<Elements> ReducedElements(const Context& context, const KnownInputs& known) {
  const Elements& list = *known[0];
  if (context.inputs[0].rank != 1) return {};
  const auto& attrs = context.As<ReduceAttrs>();
  if (attrs.axes.size == 0 && attrs.noop_when_empty) return list;
  if (list.empty() && (context.op == OpCode::kReduceMin || context.op == OpCode::kReduceMax)) return {};
  const OpCode step = context.op == OpCode::kReduceProd  ? OpCode::kMul
                      : context.op == OpCode::kReduceSum ? OpCode::kAdd
                      : context.op == OpCode::kReduceMin ? OpCode::kMin
                                                         : OpCode::kMax;
  std::optional<Dim> result = list.empty() ? Dim(step == OpCode::kMul ? 1 : 0) : list[0];
  for (size_t i = 1; i < list.size() && result; ++i) result = Combine(step, *result, list[i]);
  return result ? std::optional(Elements{*result}) : std::nullopt;
}

std::optional<Elements> CombinedElements(const Context& context, const KnownInputs& known) {
  if (context.op == OpCode::kMod && context.As<ModAttrs>().truncate) {
    const bool may_be_negative = std::any_of(known[0]->begin(), known[0]->end(),
                                             [](const Dim& element) { return element.bounds().min < 0; });
    if (may_be_negative) return {};
  }
  return Pairwise(context, known, [&](const Dim& a, const Dim& b) { return Combine(context.op, a, b); });
}

}  // namespace skiff
