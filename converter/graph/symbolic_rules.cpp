#include "graph/symbolic_rules.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <optional>

#include "ops/shape_rules.h"

namespace skiff {
namespace {

using Rule = Status (*)(InferContext<Dim>&);

struct Row {
  OpCode op;
  Rule rule;
};

constexpr Row kRules[] = {
#define OP(id, Name, Attrs, min_in, max_in, out, Infer_, ...) {OpCode::k##Name, Infer##Infer_<Dim>},
#include "ops/ops.def"
#undef OP
};

int64_t ClampTo(int64_t position, int64_t count) {
  return std::clamp<int64_t>(position < 0 ? position + count : position, 0, count);
}

using Elements = std::vector<Dim>;
using Context = InferContext<Dim>;

/// Element `i` of an operand that is broadcast to `count` elements; lists and single numbers only.
const Dim* At(const Elements* list, size_t i) {
  return list->size() == 1 ? &(*list)[0] : i < list->size() ? &(*list)[i] : nullptr;
}

template <class Combine>
std::optional<Elements> Pairwise(const KnownInputs& known, Combine combine) {
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

/// 1 or 0 where the comparison has one answer for every size.
std::optional<Dim> Decide(OpCode op, const Dim& a, const Dim& b) {
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

std::optional<Dim> Combine(OpCode op, const Dim& a, const Dim& b) {
  switch (op) {
    case OpCode::kAdd:
      return a + b;
    case OpCode::kSub:
      return a - b;
    case OpCode::kMul:
      return a * b;
    case OpCode::kMin:
      return MinExtent(a, b);
    case OpCode::kMax:
      return MaxExtent(a, b);
    case OpCode::kDiv:  // Truncates, which is the floor where nothing is negative.
      if (a.bounds().min < 0 || b.bounds().min <= 0) return {};
      return FloorDivide(a, b);
    case OpCode::kMod:
      if (b.bounds().min <= 0) return {};
      return a - FloorDivide(a, b) * b;
    default:
      return Decide(op, a, b);
  }
}

std::optional<Elements> ShapeElements(const Context& context) {
  const auto& attrs = context.As<ShapeAttrs>();
  const InferInput<Dim>& x = context.inputs[0];
  const int64_t begin = ClampTo(attrs.start, x.rank);
  const int64_t end = ClampTo(attrs.end, x.rank);
  return Elements(x.extents + begin, x.extents + std::max(begin, end));
}

std::optional<Elements> ConcatElements(const KnownInputs& known) {
  Elements result;
  for (const Elements* list : known) result.insert(result.end(), list->begin(), list->end());
  return result;
}

std::optional<Elements> GatherElements(const KnownInputs& known) {
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

std::optional<Elements> SliceElements(const KnownInputs& known) {
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

std::optional<Elements> WhereElements(const KnownInputs& known) {
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

std::optional<Elements> Repeated(const Context& context, const Dim& element) {
  const InferOutput<Dim>& out = context.outputs[0];
  Dim count(1);
  for (int i = 0; i < out.rank; ++i) count = count * out.extents[i];
  if (!count.constant() || count.value > kMaxShapeElements) return {};
  return Elements(static_cast<size_t>(count.value), element);
}

std::optional<Elements> Product(const KnownInputs& known) {
  Dim product(1);
  for (const Dim& element : *known[0]) product = product * element;
  return Elements{product};
}

std::optional<Elements> Compute(const Context& context, const KnownInputs& known) {
  switch (context.op) {
    case OpCode::kIdentity:
    case OpCode::kReshape:
    case OpCode::kFlatten:
    case OpCode::kSqueeze:
    case OpCode::kUnsqueeze:
      return *known[0];
    case OpCode::kCast: {
      const auto to = static_cast<DType>(context.As<CastAttrs>().to);
      const bool keeps = !IsFloat(context.inputs[0].dtype) && (to == DType::kI64 || to == DType::kI32);
      return keeps ? std::optional(*known[0]) : std::nullopt;
    }
    case OpCode::kConcat:
      return ConcatElements(known);
    case OpCode::kGather:
      return context.inputs[0].rank == 1 ? GatherElements(known) : std::nullopt;
    case OpCode::kSlice:
      return context.inputs[0].rank == 1 ? SliceElements(known) : std::nullopt;
    case OpCode::kWhere:
      return WhereElements(known);
    case OpCode::kExpand:
    case OpCode::kTile:
      return known[0]->size() == 1 ? Repeated(context, (*known[0])[0]) : std::nullopt;
    case OpCode::kFill:
      if (IsFloat(static_cast<DType>(context.As<FillAttrs>().dtype))) return {};
      return Repeated(context, Dim(context.As<FillAttrs>().integer));
    case OpCode::kReduceProd:
      return context.inputs[0].rank == 1 ? Product(known) : std::nullopt;
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kMul:
    case OpCode::kDiv:
    case OpCode::kMod:
    case OpCode::kMin:
    case OpCode::kMax:
    case OpCode::kEqual:
    case OpCode::kLess:
    case OpCode::kGreater:
      return Pairwise(known, [&](const Dim& a, const Dim& b) { return Combine(context.op, a, b); });
    default:
      return {};
  }
}

}  // namespace

template <>
__attribute__((format(printf, 2, 3))) Status InferContext<Dim>::Error(const char* format, ...) const {
  if (message != nullptr) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, kMessageBytes, format, arguments);
    va_end(arguments);
  }
  return Status(StatusCode::kInvalidArgument);
}

Status InferSymbolic(InferContext<Dim>& context) {
  const auto* row = std::lower_bound(std::begin(kRules), std::end(kRules), context.op,
                                     [](const Row& a, OpCode op) { return a.op < op; });
  return row->rule(context);
}

bool OpaqueType(const InferContext<Dim>& context, DType* dtype, int* rank) {
  // How many numbers a list has, even where none of them is known.
  const auto count = [&](size_t i) {
    if (!context.Has(i)) return -1;
    const InferInput<Dim>& list = context.inputs[i];
    if (list.values != nullptr) return static_cast<int>(list.value_count);
    const bool fixed = list.rank == 1 && list.extents[0].constant() && list.extents[0].value <= kMaxRank;
    return fixed ? static_cast<int>(list.extents[0].value) : -1;
  };
  *dtype = context.inputs[0].dtype;
  *rank = -1;
  switch (context.op) {
    case OpCode::kSlice:
    case OpCode::kPad:
    case OpCode::kTile:
    case OpCode::kResize2d:
    case OpCode::kSplit:
      *rank = context.inputs[0].rank;
      break;
    case OpCode::kReshape:
      *rank = count(1);
      break;
    case OpCode::kExpand:
      *rank = count(1) < 0 ? -1 : std::max(context.inputs[0].rank, count(1));
      break;
    case OpCode::kFill:
      *dtype = static_cast<DType>(context.As<FillAttrs>().dtype);
      *rank = count(0);
      break;
    case OpCode::kRange:
      *rank = 1;
      break;
    default:
      break;
  }
  return *rank >= 0 && *rank <= kMaxRank && *dtype != DType::kInvalid;
}

std::vector<Dim> SymbolicElements(const InferContext<Dim>& context, const KnownInputs& known,
                                  bool* computed) {
  *computed = false;
  std::optional<Elements> result;
  if (context.op == OpCode::kShape) {
    result = ShapeElements(context);
  } else if (!known.empty() &&
             std::all_of(known.begin(), known.end(), [](const Elements* list) { return list != nullptr; })) {
    result = Compute(context, known);
  } else if (context.op == OpCode::kSlice && known[0] != nullptr && known[1] != nullptr &&
             known[2] != nullptr) {
    result = Compute(context, known);  // Its axes and steps may be absent.
  }
  if (!result || result->size() > static_cast<size_t>(kMaxShapeElements)) return {};
  *computed = true;
  return *std::move(result);
}

}  // namespace skiff
