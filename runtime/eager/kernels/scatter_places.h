/// Where ScatterElements and ScatterND write: the walk over their updates, for whoever runs them.
#pragma once

#include "eager/kernels/indices.h"
#include "ops/op_codes.h"
#include "ops/shape_rules.h"

namespace skiff::eager {

class ScatterPlaces {
 public:
  ScatterPlaces() = default;
  /// Of a node whose shapes its rule has accepted: `shape` is the output's.
  ScatterPlaces(OpCode op, const ScatterAttrs& attrs, const Shape& shape, const Shape& indices)
      : op_(op), elements_(op == OpCode::kScatterElements) {
    if (elements_) {
      const int axis = NormalizeAxis(attrs.axis, shape.rank());
      along_ = DenseStrides(shape)[static_cast<size_t>(axis)];
      address_.length = 1;
      address_.extents[0] = shape[axis];
      walk_ = ElementWalk(indices, shape, axis);
      runs_ = indices.elements();
      return;
    }
    address_ = TupleAddress(shape, 0, static_cast<int>(indices.last()));
    runs_ = indices.ElementsBetween(0, indices.rank() - 1);
    run_ = shape.ElementsBetween(address_.length, shape.rank());
  }

  /// Before ForEach(): it does not look.
  Status Check(const TensorView& indices) const {
    return CheckIndices(op_, indices, address_.extents, address_.length);
  }

  /// How often ForEach() calls.
  int64_t runs() const { return runs_; }

  /// Calls visit(offset, from, count) for runs of the updates, in their order: `count` elements from `from`
  /// on go to `offset` of the output.
  template <class Visit>
  void ForEach(const TensorView& indices, Visit&& visit) const {
    if (!elements_) {
      for (int64_t i = 0; i < runs_; ++i) visit(address_.Offset(indices, i), i * run_, run_);
      return;
    }
    walk_.ForEachRun([&](const auto& offsets, int64_t count, const auto& strides) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = offsets[0] + i * strides[0];
        const int64_t index = FromEnd(IntegerAt(indices, at), address_.extents[0]);
        visit(offsets[1] + i * strides[1] + index * along_, at, int64_t{1});
      }
    });
  }

 private:
  OpCode op_ = OpCode::kScatterND;
  bool elements_ = false;
  TupleAddress address_{Shape(), 0, 0};
  int64_t runs_ = 0;
  int64_t run_ = 0;
  int64_t along_ = 0;  ///< Elements from one index to the next.
  StridedWalk<2> walk_;
};

}  // namespace skiff::eager
