// Elements to where indices say, and single ones from there.
#include <algorithm>
#include <cstring>

#include "delegates/xnnpack/lower/lowerings.h"
#include "eager/kernels/indices.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// A copy of the input, with runs of its own where tuples of indices say. The last of several stays.
class ScatterNDStep final : public Step {
 public:
  using Step::Step;

  Status Reshape() override {
    if (!IsDense(node_)) return Refuse();
    const TensorView& indices = node_.in(1);
    const Shape& shape = node_.out(0).shape;
    address_ = eager::TupleAddress(shape, 0, static_cast<int>(indices.shape.last()));
    tuples_ = indices.shape.ElementsBetween(0, indices.shape.rank() - 1);
    run_bytes_ = shape.ElementsBetween(address_.length, shape.rank()) * DTypeSize(node_.out(0).dtype);
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    const TensorView& indices = node_.in(1);
    SKIFF_RETURN_IF_ERROR(eager::CheckIndices(node_.op(), indices, address_.extents, address_.length));
    const TensorView& y = node_.out(0);
    const auto bytes = static_cast<size_t>(run_bytes_);
    if (y.data != node_.in(0).data)
      std::memcpy(y.data, node_.in(0).data, static_cast<size_t>(y.shape.elements() * DTypeSize(y.dtype)));
    const char* const from = node_.in(2).as<const char>();
    for (int64_t i = 0; i < tuples_; ++i)
      std::memcpy(y.as<char>() + address_.Offset(indices, i) * DTypeSize(y.dtype), from + i * run_bytes_,
                  bytes);
    return OkStatus();
  }

 private:
  eager::TupleAddress address_{Shape(), 0, 0};
  int64_t tuples_ = 0;
  int64_t run_bytes_ = 0;
};

/// Single elements: an index along one axis for each, and the element's own place along the others. Gathers
/// from there, or scatters to there.
template <class T>
class ElementsStep final : public Step {
 public:
  ElementsStep(const NodeView& node, const Environment& environment)
      : Step(node, environment), scatters_(node.op() == OpCode::kScatterElements) {}

  Status Reshape() override {
    if (!IsDense(node_)) return Refuse();
    const Shape& shape = node_.in(0).shape;
    const int axis =
        NormalizeAxis(scatters_ ? node_.As<ScatterAttrs>().axis : node_.As<AxisAttrs>().axis, shape.rank());
    if (axis < 0) return Refuse();
    extent_ = shape[axis];
    along_ = eager::DenseStrides(shape)[static_cast<size_t>(axis)];
    walk_ = eager::ElementWalk(node_.in(1).shape, shape, axis);
    return OkStatus();
  }
  Status Bind(void*) override { return OkStatus(); }

  Status Run() override {
    const TensorView& indices = node_.in(1);
    SKIFF_RETURN_IF_ERROR(eager::CheckIndices(node_.op(), indices, &extent_, 1));
    T* const y = node_.out(0).template as<T>();
    if (scatters_) {
      const T* const x = node_.in(0).template as<const T>();
      if (y != x) std::copy_n(x, node_.out(0).shape.elements(), y);
      const T* const updates = node_.in(2).template as<const T>();
      Walk(indices, [&](int64_t at, int64_t place) { y[place] = updates[at]; });
    } else {
      const T* const x = node_.in(0).template as<const T>();
      Walk(indices, [&](int64_t at, int64_t place) { y[at] = x[place]; });
    }
    return OkStatus();
  }

 private:
  template <class Visit>
  void Walk(const TensorView& indices, const Visit& visit) const {
    walk_.ForEachRun([&](const auto& offsets, int64_t count, const auto& strides) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = offsets[0] + i * strides[0];
        const int64_t index = eager::FromEnd(IntegerAt(indices, at), extent_);
        visit(at, offsets[1] + i * strides[1] + index * along_);
      }
    });
  }

  const bool scatters_;
  int64_t extent_ = 0;
  int64_t along_ = 0;  ///< Elements from one index to the next.
  eager::StridedWalk<2> walk_;
};

}  // namespace

Result<StepPointer> LowerScatterND(const NodeView& node, const Environment& environment) {
  return MakeStep<ScatterNDStep>(node, environment);
}

Result<StepPointer> LowerElements(const NodeView& node, const Environment& environment) {
  switch (DTypeSize(node.in(0).dtype)) {
    case 1:
      return MakeStep<ElementsStep<uint8_t>>(node, environment);
    case 2:
      return MakeStep<ElementsStep<uint16_t>>(node, environment);
    case 4:
      return MakeStep<ElementsStep<uint32_t>>(node, environment);
    case 8:
      return MakeStep<ElementsStep<uint64_t>>(node, environment);
    default:
      return Refuse();
  }
}

}  // namespace skiff::xnnpack
