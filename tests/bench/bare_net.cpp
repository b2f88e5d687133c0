#include "tests/bench/bare_net.h"

#include "graph/error.h"
#include "ops/op_codes.h"
#include "tests/bench/bare_builder.h"

namespace skiff::bench {
namespace {

struct Row {
  OpCode op;
  BareFn add;
};

constexpr Row kRows[] = {
    {OpCode::kConv2d, AddConv2d},
    {OpCode::kFullyConnected, AddFullyConnected},
    {OpCode::kMaxPool2d, AddMaxPool},
    {OpCode::kAveragePool2d, AddAveragePool},
    {OpCode::kAbs, AddUnary},
    {OpCode::kNeg, AddUnary},
    {OpCode::kSigmoid, AddUnary},
    {OpCode::kHardSwish, AddUnary},
    {OpCode::kClamp, AddUnary},
    {OpCode::kHardSigmoid, AddHardSigmoid},
    {OpCode::kSilu, AddSilu},
    {OpCode::kAdd, AddBinary},
    {OpCode::kSub, AddBinary},
    {OpCode::kMul, AddBinary},
    {OpCode::kReduceMean, AddReduceMean},
    {OpCode::kSoftmax, AddSoftmax},
    {OpCode::kTranspose, AddTranspose},
    {OpCode::kReshape, AddReinterpret},
    {OpCode::kFlatten, AddReinterpret},
    {OpCode::kSqueeze, AddReinterpret},
    {OpCode::kUnsqueeze, AddReinterpret},
    {OpCode::kIdentity, AddReinterpret},
    {OpCode::kConcat, AddConcat},
    {OpCode::kSplit, AddSplit},
    {OpCode::kChannelShuffle, AddChannelShuffle},
};

void AddNode(BareBuilder& builder, const PlanNode& node) {
  for (const int32_t output : node.outputs) {
    if (output < 0) Unsupported(node, "outputs that nobody uses");
  }
  if (builder.Out(node, 0).dtype != DType::kF32) Unsupported(node, "elements other than f32");
  for (const Row& row : kRows) {
    if (row.op == node.op->code) return row.add(builder, node);
  }
  Unsupported(node, "this operator");
}

}  // namespace

BareNet::BareNet(const PlanData& plan, unsigned char* arena, pthreadpool_t pool)
    : builder_(new BareBuilder(plan, arena, pool)), pool_(pool) {
  for (const PlanNode& node : plan.nodes) AddNode(*builder_, node);
  builder_->Finish();
  operators_ = builder_->operators();
}

BareNet::~BareNet() = default;

std::vector<std::string> BareNet::Substitutions() const {
  std::vector<std::string> lines;
  for (const auto& [note, count] : builder_->notes()) lines.push_back(fmt::format("{} x {}", count, note));
  return lines;
}

void BareNet::Failed() { Throw(StatusCode::kInternal, "an XNNPACK operator failed while it ran"); }

}  // namespace skiff::bench
