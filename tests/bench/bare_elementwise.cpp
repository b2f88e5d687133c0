// Elementwise operators, reductions and softmax.
#include "graph/error.h"
#include "ops/op_codes.h"
#include "tests/bench/bare_builder.h"

namespace skiff::bench {
namespace {

/// Extents and addresses of one elementwise operand.
struct Operand {
  std::vector<size_t> shape;
  const float* data = nullptr;
};

Operand OperandOf(const TensorView& view) {
  std::vector<size_t> shape;
  for (const int64_t extent : view.shape) shape.push_back(static_cast<size_t>(extent));
  return {shape, view.as<const float>()};
}

void AppendUnary(BareBuilder& builder, const PlanNode& node, xnn_unary_operator type,
                 const xnn_unary_params& params, const RowLayout& from, const float* x, const RowLayout& to,
                 float* y) {
  Check(xnn_create_unary_elementwise_nc(type, xnn_datatype_fp32, xnn_datatype_fp32, &params, nullptr, nullptr,
                                        0, builder.New()),
        node);
  Check(xnn_reshape_unary_elementwise_nc(builder.op(), from.count, from.length, from.stride, to.stride,
                                         builder.pool()),
        node);
  builder.SetUp(0, [op = builder.op(), x, y](void*) { return xnn_setup_unary_elementwise_nc(op, x, y); });
}

void AppendBinary(BareBuilder& builder, const PlanNode& node, xnn_binary_operator type, const Operand& a,
                  const Operand& b, float* y) {
  Check(
      xnn_create_binary_elementwise_nd(type, xnn_datatype_fp32, nullptr, nullptr, nullptr, 0, builder.New()),
      node);
  Check(xnn_reshape_binary_elementwise_nd(builder.op(), a.shape.size(), a.shape.data(), b.shape.size(),
                                          b.shape.data(), builder.pool()),
        node);
  builder.SetUp(0, [op = builder.op(), a = a.data, b = b.data, y](void*) {
    return xnn_setup_binary_elementwise_nd(op, a, b, y);
  });
}

void AppendClamp(BareBuilder& builder, const PlanNode& node, float min, float max, const TensorView& y) {
  xnn_unary_params params{};
  params.clamp.min = min;
  params.clamp.max = max;
  const RowLayout rows = LayoutOf(y);
  AppendUnary(builder, node, xnn_unary_clamp, params, rows, y.as<const float>(), rows, y.as<float>());
}

void NeedDense(const BareBuilder& builder, const PlanNode& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (builder.Has(node, i) && !builder.In(node, i).dense()) Unsupported(node, "rows that lie apart");
  }
  if (!builder.Out(node, 0).dense()) Unsupported(node, "rows that lie apart");
}

struct UnaryRow {
  OpCode op;
  xnn_unary_operator type;
};
constexpr UnaryRow kUnaryRows[] = {
    {OpCode::kAbs, xnn_unary_abs},         {OpCode::kNeg, xnn_unary_negate},
    {OpCode::kSigmoid, xnn_unary_sigmoid}, {OpCode::kHardSwish, xnn_unary_hardswish},
    {OpCode::kClamp, xnn_unary_clamp},
};

struct BinaryRow {
  OpCode op;
  xnn_binary_operator type;
};
constexpr BinaryRow kBinaryRows[] = {
    {OpCode::kAdd, xnn_binary_add},
    {OpCode::kSub, xnn_binary_subtract},
    {OpCode::kMul, xnn_binary_multiply},
};

}  // namespace

void AddUnary(BareBuilder& builder, const PlanNode& node) {
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  xnn_unary_params params{};
  if (node.op->code == OpCode::kClamp) {
    params.clamp.min = node.attrs->as<ClampAttrs>().min;
    params.clamp.max = node.attrs->as<ClampAttrs>().max;
  }
  for (const UnaryRow& row : kUnaryRows) {
    if (row.op != node.op->code) continue;
    AppendUnary(builder, node, row.type, params, LayoutOf(x), x.as<const float>(), LayoutOf(y),
                y.as<float>());
  }
}

void AddBinary(BareBuilder& builder, const PlanNode& node) {
  NeedDense(builder, node);
  const TensorView& y = builder.Out(node, 0);
  for (const BinaryRow& row : kBinaryRows) {
    if (row.op != node.op->code) continue;
    AppendBinary(builder, node, row.type, OperandOf(builder.In(node, 0)), OperandOf(builder.In(node, 1)),
                 y.as<float>());
  }
  const auto& clamp = node.attrs->as<ClampAttrs>();
  if (clamp.min == -kInfinity && clamp.max == kInfinity) return;
  AppendClamp(builder, node, clamp.min, clamp.max, y);
  builder.Note(fmt::format("{} with a clamp: binary operator, then clamp over its result", node.op->name));
}

void AddHardSigmoid(BareBuilder& builder, const PlanNode& node) {
  NeedDense(builder, node);
  const auto& attrs = node.attrs->as<HardSigmoidAttrs>();
  const TensorView& y = builder.Out(node, 0);
  Operand x = OperandOf(builder.In(node, 0));
  AppendBinary(builder, node, xnn_binary_multiply, x, {{1}, builder.Scalar(attrs.alpha)}, y.as<float>());
  x.data = y.as<const float>();
  AppendBinary(builder, node, xnn_binary_add, x, {{1}, builder.Scalar(attrs.beta)}, y.as<float>());
  AppendClamp(builder, node, 0, 1, y);
  builder.Note("HardSigmoid: multiply by a constant, add a constant, clamp");
}

void AddSilu(BareBuilder& builder, const PlanNode& node) {
  NeedDense(builder, node);
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  float* sigmoid = builder.Scratch(x.shape.elements());
  AppendUnary(builder, node, xnn_unary_sigmoid, {}, LayoutOf(x), x.as<const float>(), LayoutOf(y), sigmoid);
  Operand factor = OperandOf(x);
  factor.data = sigmoid;
  AppendBinary(builder, node, xnn_binary_multiply, OperandOf(x), factor, y.as<float>());
  builder.Note("Silu: sigmoid, then multiply");
}

void AddReduceMean(BareBuilder& builder, const PlanNode& node) {
  NeedDense(builder, node);
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  const auto& attrs = node.attrs->as<ReduceAttrs>();
  std::vector<int64_t> axes;
  for (const int64_t axis : attrs.axes) axes.push_back(axis < 0 ? axis + x.shape.rank() : axis);
  if (axes.empty()) Unsupported(node, "a mean without axes");
  const Operand from = OperandOf(x);
  Check(xnn_create_reduce_nd(xnn_reduce_mean, xnn_datatype_fp32, nullptr, nullptr, 0, builder.New()), node);
  size_t workspace = 0;
  size_t alignment = 0;
  Check(xnn_reshape_reduce_nd(builder.op(), axes.size(), axes.data(), from.shape.size(), from.shape.data(),
                              &workspace, &alignment, builder.pool()),
        node);
  // Given a workspace, XNNPACK leaves f32 sums there instead of in the output.
  builder.SetUp(
      0, [op = builder.op(), x, y](void*) { return xnn_setup_reduce_nd(op, nullptr, x.data, y.data); });
}

void AddSoftmax(BareBuilder& builder, const PlanNode& node) {
  const TensorView& x = builder.In(node, 0);
  const TensorView& y = builder.Out(node, 0);
  const int64_t axis = node.attrs->as<AxisAttrs>().axis;
  if (axis != -1 && axis != x.shape.rank() - 1) Unsupported(node, "axes other than the last");
  const RowLayout from = LayoutOf(x);
  Check(xnn_create_softmax_nc_f32(0, builder.New()), node);
  Check(xnn_reshape_softmax_nc_f32(builder.op(), from.length, from.stride, LayoutOf(y).stride, from.count,
                                   builder.pool()),
        node);
  builder.SetUp(0, [op = builder.op(), x, y](void*) {
    return xnn_setup_softmax_nc_f32(op, x.as<const float>(), y.as<float>());
  });
}

}  // namespace skiff::bench
