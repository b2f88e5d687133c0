#include "tests/bench/bare_builder.h"

#include <algorithm>

#include "core/platform.h"
#include "graph/error.h"

namespace skiff::bench {

RowLayout LayoutOf(const TensorView& view) {
  const auto length = static_cast<size_t>(view.shape.last());
  return {static_cast<size_t>(view.shape.elements()) / length, length, static_cast<size_t>(view.row_stride)};
}

std::vector<size_t> ExtentsOf(const Shape& shape) {
  std::vector<size_t> extents;
  for (const int64_t extent : shape) {
    if (extent != 1) extents.push_back(static_cast<size_t>(extent));
  }
  return extents;
}

BareBuilder::BareBuilder(const PlanData& plan, unsigned char* arena, pthreadpool_t pool) : pool_(pool) {
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    TensorView view = plan.tensors[i].view;
    const TensorPlacement& placement = plan.placements[i];
    if (!plan.tensors[i].constant) {
      const bool root = placement.view_of == TensorPlacement::kRoot;
      const uint64_t whole = root ? 0 : plan.placements[static_cast<size_t>(placement.view_of)].offset;
      view.data = arena + whole + placement.offset;
      if (placement.row_stride != 0) view.row_stride = placement.row_stride;
    }
    views_.push_back(view);
  }
}

BareBuilder::~BareBuilder() {
  for (xnn_operator_t op : operators_) xnn_delete_operator(op);
  platform::FreeAligned(workspace_);
}

xnn_operator_t* BareBuilder::New() {
  operators_.push_back(nullptr);
  return &operators_.back();
}

void BareBuilder::SetUp(size_t workspace_bytes, std::function<xnn_status(void*)> setup) {
  workspace_bytes_ = std::max(workspace_bytes_, workspace_bytes);
  setups_.push_back(std::move(setup));
}

void BareBuilder::Finish() {
  if (workspace_bytes_ > 0) workspace_ = platform::AllocateAligned(workspace_bytes_);
  for (const auto& setup : setups_) {
    if (setup(workspace_) != xnn_status_success) Throw(StatusCode::kInternal, "XNNPACK refused addresses");
  }
}

const float* BareBuilder::Scalar(float value) {
  scalars_.emplace_back();
  scalars_.back().fill(value);
  return scalars_.back().data();
}

float* BareBuilder::Scratch(int64_t elements) {
  constexpr size_t kReadableTail = 16;
  return scratch_.emplace_back(static_cast<size_t>(elements) + kReadableTail).data();
}

void Check(xnn_status status, const PlanNode& node) {
  if (status == xnn_status_success) return;
  Throw(StatusCode::kInternal, "node '{}' ({}): XNNPACK answers {}", node.name, node.op->name,
        static_cast<int>(status));
}

void Unsupported(const PlanNode& node, const char* what) {
  Throw(StatusCode::kUnsupported, "node '{}' ({}): the bare net has no XNNPACK operators for {}", node.name,
        node.op->name, what);
}

}  // namespace skiff::bench
