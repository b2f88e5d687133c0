#include "import/known_type.h"

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

/// One node with the types and constants of its inputs, for the rules below.
struct Call {
  const Graph& graph;
  const Node& node;
  const std::vector<KnownType>& types;

  bool Has(size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  KnownType In(size_t i) const { return Has(i) ? types[static_cast<size_t>(node.inputs[i])] : KnownType(); }
  const TensorData* Constant(size_t i) const {
    if (!Has(i)) return nullptr;
    const Value& value = graph.value(node.inputs[i]);
    return value.constant ? &*value.constant : nullptr;
  }
  /// The length of a vector of extents: the rank that it describes.
  int LengthOf(size_t i) const {
    const KnownType in = In(i);
    if (in.rank != 1 || in.extents[0] > kMaxRank) return KnownType::kUnknownRank;
    return in.extents[0] == KnownType::kUnknownExtent ? KnownType::kUnknownRank
                                                      : static_cast<int>(in.extents[0]);
  }
};

KnownType SameAsInput(const Call& call) { return call.In(0); }

KnownType RankOfInput(const Call& call) { return KnownType(call.In(0).dtype, call.In(0).rank); }

KnownType IndicesType(const Call& call) { return KnownType(DType::kI64, call.In(0).rank); }

KnownType CastType(const Call& call) {
  KnownType type = call.In(0);
  type.dtype = static_cast<DType>(call.node.As<CastAttrs>().to);
  return type;
}

KnownType BroadcastTypes(const Call& call, DType dtype) {
  KnownType result(dtype, 0);
  for (size_t i = 0; i < call.node.inputs.size(); ++i) {
    const KnownType in = call.In(i);
    if (!in.HasRank()) return KnownType(dtype);
    KnownType wider(dtype, std::max(result.rank, in.rank));
    for (int axis = 1; axis <= wider.rank; ++axis) {
      const int64_t a = axis <= result.rank ? result.extents[result.rank - axis] : 1;
      const int64_t b = axis <= in.rank ? in.extents[in.rank - axis] : 1;
      wider.extents[wider.rank - axis] =
          a > 1 || b == 1 ? a : (b > 1 || a == 1 ? b : KnownType::kUnknownExtent);
    }
    result = wider;
  }
  return result;
}

KnownType BroadcastType(const Call& call) { return BroadcastTypes(call, call.In(0).dtype); }
KnownType CompareType(const Call& call) { return BroadcastTypes(call, DType::kBool); }
KnownType WhereType(const Call& call) { return BroadcastTypes(call, call.In(1).dtype); }

KnownType MatMulType(const Call& call) {
  const KnownType a = call.In(0);
  const KnownType b = call.In(1);
  if (!a.HasRank() || !b.HasRank()) return KnownType(a.dtype);
  const int batch = std::max({a.rank - 2, b.rank - 2, 0});
  return KnownType(a.dtype, batch + (a.rank > 1 ? 1 : 0) + (b.rank > 1 ? 1 : 0));
}

KnownType ReduceType(const Call& call) {
  const auto& attrs = call.node.As<ReduceAttrs>();
  const KnownType in = call.In(0);
  if (attrs.keep_dims || !in.HasRank()) return KnownType(in.dtype, in.rank);
  if (attrs.axes.size > 0) {
    return KnownType(in.dtype, std::max(0, in.rank - static_cast<int>(attrs.axes.size)));
  }
  return KnownType(in.dtype, attrs.noop_when_empty ? in.rank : 0);
}

KnownType ShapeType(const Call& call) {
  KnownType type(DType::kI64, 1);
  const auto& attrs = call.node.As<ShapeAttrs>();
  if (call.In(0).HasRank()) type.extents[0] = ResolveSlice(call.In(0).rank, attrs.start, attrs.end, 1).count;
  return type;
}

/// Reshape, Expand and Fill: input `i` holds the extents of the output.
KnownType FromExtents(const Call& call, size_t i, DType dtype) {
  KnownType type(dtype, call.LengthOf(i));
  const TensorData* target = call.Constant(i);
  if (target == nullptr || !type.HasRank() || IsFloat(target->dtype())) return type;
  const std::vector<int64_t> extents = target->ToInts();
  for (int axis = 0; axis < type.rank; ++axis) {
    const int64_t extent = extents[static_cast<size_t>(axis)];
    if (extent > 0) type.extents[axis] = extent;
  }
  return type;
}

KnownType ReshapeType(const Call& call) { return FromExtents(call, 1, call.In(0).dtype); }
KnownType FillType(const Call& call) {
  return FromExtents(call, 0, static_cast<DType>(call.node.As<FillAttrs>().dtype));
}

KnownType ExpandType(const Call& call) {
  const int target = call.LengthOf(1);
  const KnownType in = call.In(0);
  if (!in.HasRank() || target == KnownType::kUnknownRank) return KnownType(in.dtype);
  return KnownType(in.dtype, std::max(in.rank, target));
}

KnownType FlattenType(const Call& call) { return KnownType(call.In(0).dtype, 2); }

KnownType SqueezeType(const Call& call) {
  const KnownType in = call.In(0);
  const Ints& axes = call.node.As<AxesAttrs>().axes;
  if (!in.HasRank() || axes.size == 0) return KnownType(in.dtype);
  KnownType type(in.dtype, 0);
  for (int axis = 0; axis < in.rank; ++axis) {
    const bool gone =
        std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return NormalizeAxis(a, in.rank) == axis; });
    if (!gone) type.extents[type.rank++] = in.extents[axis];
  }
  return type;
}

KnownType UnsqueezeType(const Call& call) {
  const KnownType in = call.In(0);
  const Ints& axes = call.node.As<AxesAttrs>().axes;
  if (!in.HasRank() || in.rank + axes.size > kMaxRank) return KnownType(in.dtype);
  KnownType type(in.dtype, in.rank + static_cast<int>(axes.size));
  int from = 0;
  for (int axis = 0; axis < type.rank; ++axis) {
    const bool added =
        std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return NormalizeAxis(a, type.rank) == axis; });
    if (added) {
      type.extents[axis] = 1;
    } else if (from < in.rank) {
      type.extents[axis] = in.extents[from++];
    }
  }
  return type;
}

KnownType TransposeType(const Call& call) {
  KnownType type = call.In(0);
  const KnownType in = type;
  const Ints& perm = call.node.As<TransposeAttrs>().perm;
  for (int axis = 0; axis < in.rank; ++axis) {
    const int64_t from = perm.size == 0 ? in.rank - 1 - axis : (axis < perm.size ? perm[axis] : -1);
    type.extents[axis] = from >= 0 && from < in.rank ? in.extents[from] : KnownType::kUnknownExtent;
  }
  return type;
}

KnownType ConcatType(const Call& call) {
  KnownType type = call.In(0);
  const int axis = type.HasRank() ? NormalizeAxis(call.node.As<AxisAttrs>().axis, type.rank) : -1;
  if (axis < 0) return KnownType(type.dtype, type.rank);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) {
    const KnownType in = call.In(i);
    const int64_t extent = in.rank == type.rank ? in.extents[axis] : KnownType::kUnknownExtent;
    int64_t& sum = type.extents[axis];
    const bool known = sum != KnownType::kUnknownExtent && extent != KnownType::kUnknownExtent;
    if (!known || __builtin_add_overflow(sum, extent, &sum)) sum = KnownType::kUnknownExtent;
  }
  return type;
}

/// Exact for a slice of a vector by constants, which is what shape arithmetic is made of.
KnownType SliceType(const Call& call) {
  const KnownType in = call.In(0);
  KnownType type(in.dtype, in.rank);
  const TensorData* start = call.Constant(1);
  const TensorData* end = call.Constant(2);
  const TensorData* step = call.Constant(4);
  const bool usable = in.rank == 1 && in.extents[0] >= 0 && start != nullptr && end != nullptr &&
                      start->elements() == 1 && end->elements() == 1 &&
                      (!call.Has(4) || (step != nullptr && step->elements() == 1));
  if (!usable || IsFloat(start->dtype()) || IsFloat(end->dtype())) return type;
  const int64_t stride = step == nullptr ? 1 : step->ToInts()[0];
  if (stride != 0) {
    type.extents[0] = ResolveSlice(in.extents[0], start->ToInts()[0], end->ToInts()[0], stride).count;
  }
  return type;
}

KnownType GatherType(const Call& call) {
  const KnownType in = call.In(0);
  const KnownType indices = call.In(1);
  const int rank = in.rank - 1 + indices.rank;
  if (!in.HasRank() || !indices.HasRank() || in.rank < 1 || rank > kMaxRank) return KnownType(in.dtype);
  KnownType type(in.dtype, rank);
  if (in.rank == 1) std::copy_n(indices.extents, indices.rank, type.extents);
  return type;
}

KnownType ArgType(const Call& call) {
  const KnownType in = call.In(0);
  const bool drops = in.HasRank() && in.rank > 0 && !call.node.As<ArgAttrs>().keep_dims;
  return KnownType(DType::kI64, drops ? in.rank - 1 : in.rank);
}

KnownType TestType(const Call& call) {
  KnownType type = call.In(0);
  type.dtype = DType::kBool;
  return type;
}

KnownType GatherElementsType(const Call& call) {
  KnownType type = call.In(1);
  type.dtype = call.In(0).dtype;
  return type;
}

KnownType GatherNDType(const Call& call) {
  const KnownType in = call.In(0);
  const KnownType indices = call.In(1);
  const int64_t length = indices.rank > 0 ? indices.extents[indices.rank - 1] : KnownType::kUnknownExtent;
  const int64_t batch_dims = call.node.As<GatherNDAttrs>().batch_dims;
  if (!in.HasRank() || length < 0 || batch_dims < 0) return KnownType(in.dtype);
  const int64_t rest = in.rank - batch_dims - length;
  return rest < 0 ? KnownType(in.dtype) : KnownType(in.dtype, indices.rank - 1 + static_cast<int>(rest));
}

/// Of the first output; the last states have no axis of steps.
KnownType RecurrentType(const Call& call) { return KnownType(call.In(0).dtype, 3); }

KnownType RangeType(const Call& call) { return KnownType(call.In(0).dtype, 1); }

using Rule = KnownType (*)(const Call&);

/// The rule of an operator whose inputs are not all static; elementwise operators are told by their traits.
Rule PartialRule(OpCode op) {
  static const std::map<OpCode, Rule> kRules = {{OpCode::kCast, CastType},
                                                {OpCode::kEqual, CompareType},
                                                {OpCode::kLess, CompareType},
                                                {OpCode::kLessOrEqual, CompareType},
                                                {OpCode::kGreater, CompareType},
                                                {OpCode::kGreaterOrEqual, CompareType},
                                                {OpCode::kWhere, WhereType},
                                                {OpCode::kConv2d, RankOfInput},
                                                {OpCode::kConvTranspose2d, RankOfInput},
                                                {OpCode::kMaxPool2d, RankOfInput},
                                                {OpCode::kAveragePool2d, RankOfInput},
                                                {OpCode::kResize2d, RankOfInput},
                                                {OpCode::kMaxPool2dIndices, IndicesType},
                                                {OpCode::kGridSample2d, RankOfInput},
                                                {OpCode::kRoiAlign, RankOfInput},
                                                {OpCode::kMatMul, MatMulType},
                                                {OpCode::kSoftmax, SameAsInput},
                                                {OpCode::kLogSoftmax, SameAsInput},
                                                {OpCode::kLayerNorm, SameAsInput},
                                                {OpCode::kBatchNorm, SameAsInput},
                                                {OpCode::kReduceSum, ReduceType},
                                                {OpCode::kReduceMean, ReduceType},
                                                {OpCode::kReduceMax, ReduceType},
                                                {OpCode::kReduceMin, ReduceType},
                                                {OpCode::kReduceProd, ReduceType},
                                                {OpCode::kArgMax, ArgType},
                                                {OpCode::kArgMin, ArgType},
                                                {OpCode::kTopK, RankOfInput},
                                                {OpCode::kCumSum, SameAsInput},
                                                {OpCode::kIsNaN, TestType},
                                                {OpCode::kIsInf, TestType},
                                                {OpCode::kShape, ShapeType},
                                                {OpCode::kReshape, ReshapeType},
                                                {OpCode::kFlatten, FlattenType},
                                                {OpCode::kSqueeze, SqueezeType},
                                                {OpCode::kUnsqueeze, UnsqueezeType},
                                                {OpCode::kIdentity, SameAsInput},
                                                {OpCode::kTranspose, TransposeType},
                                                {OpCode::kConcat, ConcatType},
                                                {OpCode::kSplit, RankOfInput},
                                                {OpCode::kSlice, SliceType},
                                                {OpCode::kGather, GatherType},
                                                {OpCode::kGatherElements, GatherElementsType},
                                                {OpCode::kGatherND, GatherNDType},
                                                {OpCode::kScatterElements, SameAsInput},
                                                {OpCode::kScatterND, SameAsInput},
                                                {OpCode::kReverseSequence, SameAsInput},
                                                {OpCode::kTrilu, SameAsInput},
                                                {OpCode::kLstm, RecurrentType},
                                                {OpCode::kGru, RecurrentType},
                                                {OpCode::kRnn, RecurrentType},
                                                {OpCode::kPad, RankOfInput},
                                                {OpCode::kExpand, ExpandType},
                                                {OpCode::kTile, RankOfInput},
                                                {OpCode::kFill, FillType},
                                                {OpCode::kRange, RangeType}};
  if (const auto found = kRules.find(op); found != kRules.end()) return found->second;
  const OpDef* def = FindOp(op);
  if (def->Is(kUnary)) return SameAsInput;
  return def->Is(kBinary) ? BroadcastType : nullptr;
}

bool CanRunShapeRule(const Call& call, const OpDef& def) {
  for (size_t i = 0; i < call.node.inputs.size(); ++i) {
    if (call.Has(i) && (!call.In(i).IsStatic() || (def.NeedsValues(i) && call.Constant(i) == nullptr))) {
      return false;
    }
  }
  return true;
}

std::vector<KnownType> RunShapeRule(const Call& call, const OpDef& def, const std::string& label) {
  std::vector<InferInput<int64_t>> inputs(call.node.inputs.size());
  std::vector<std::vector<int64_t>> values(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!call.Has(i)) continue;
    const KnownType type = call.In(i);
    inputs[i].present = true;
    inputs[i].dtype = type.dtype;
    inputs[i].rank = type.rank;
    std::copy_n(type.extents, type.rank, inputs[i].extents);
    const TensorData* constant = call.Constant(i);
    if (constant == nullptr || !def.NeedsValues(i)) continue;
    inputs[i].constant = constant->data();
    if (!IsFloat(constant->dtype())) {
      values[i] = constant->ToInts();
      inputs[i].values = values[i].data();
      inputs[i].value_count = constant->elements();
    }
  }
  std::vector<InferOutput<int64_t>> outputs(call.node.outputs.size());
  char message[InferContext<int64_t>::kMessageBytes] = "";
  InferContext<int64_t> context{call.node.op,
                                &call.node.attrs,
                                {inputs.data(), inputs.size()},
                                {outputs.data(), outputs.size()},
                                message};
  if (const Status status = def.infer(context); !status.ok()) {
    Throw(StatusCode::kInvalidModel, "{}: {}", label, message);
  }
  std::vector<KnownType> types;
  for (const InferOutput<int64_t>& output : outputs) {
    KnownType& type = types.emplace_back(output.dtype, output.rank);
    std::copy_n(output.extents, output.rank, type.extents);
  }
  return types;
}

}  // namespace

KnownType::KnownType() { std::fill(std::begin(extents), std::end(extents), kUnknownExtent); }

KnownType::KnownType(DType element, int dimensions) : KnownType() {
  dtype = element;
  rank = dimensions > kMaxRank ? kUnknownRank : dimensions;
}

KnownType KnownType::Of(const Value& value) {
  KnownType type(value.dtype, static_cast<int>(value.dims.size()));
  for (int axis = 0; axis < type.rank; ++axis) {
    const Dim& dim = value.dims[static_cast<size_t>(axis)];
    if (dim.constant()) type.extents[axis] = dim.value;
  }
  return type;
}

bool KnownType::IsStatic() const {
  return dtype != DType::kInvalid && HasRank() &&
         std::all_of(extents, extents + rank, [](int64_t extent) { return extent != kUnknownExtent; });
}

std::vector<KnownType> InferKnownTypes(const Graph& graph, const Node& node,
                                       const std::vector<KnownType>& types, const std::string& label) {
  const OpDef& def = *FindOp(node.op);
  const Call call{graph, node, types};
  if (CanRunShapeRule(call, def)) return RunShapeRule(call, def, label);
  const Rule rule = PartialRule(node.op);
  std::vector<KnownType> outputs(node.outputs.size(), rule == nullptr ? KnownType() : rule(call));
  // Of the operators above, those whose outputs differ.
  if (node.op == OpCode::kTopK && outputs.size() == 2) outputs[1].dtype = DType::kI64;
  for (size_t i = 1; rule == RecurrentType && i < outputs.size(); ++i) outputs[i].rank = 2;
  return outputs;
}

}  // namespace skiff
