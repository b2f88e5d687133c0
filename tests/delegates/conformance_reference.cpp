// Operators that only the reference kernels compute.
#include <limits>

#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

Argument OfType(DType dtype, std::initializer_list<int64_t> shape, double low, double high) {
  Argument argument = F32(shape, low, high);
  argument.dtype = dtype;
  return argument;
}

Argument Indices(std::initializer_list<int64_t> shape, std::initializer_list<double> values) {
  Argument argument = OfType(DType::kI64, shape, 0, 0);
  argument.values = values;
  return argument;
}

Argument Number(int64_t value) { return Indices({}, {static_cast<double>(value)}); }

Argument Constant(Argument argument) {
  argument.constant = true;
  return argument;
}

void AddElementwise(CaseList& list) {
  list.Add(OpCode::kBitwiseNot, "i32", {OfType(DType::kI32, {3, 7}, -99, 99)});
  for (const OpCode op : {OpCode::kIsNaN, OpCode::kIsInf}) {
    Argument special = F32({6});
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    constexpr double kMost = std::numeric_limits<double>::infinity();
    special.values = {0, kNaN, kMost, -kMost, 1, kNaN};
    list.Add(op, "special", {special});
  }
  list.Add(OpCode::kReducePrecision, "f8", {F32({4, 9}, -500, 500)});
  for (const OpCode op : {OpCode::kBitwiseAnd, OpCode::kBitwiseOr, OpCode::kBitwiseXor})
    list.Add(op, "row", {OfType(DType::kI32, {3, 7}, -99, 99), OfType(DType::kI32, {7}, -99, 99)});
  for (const OpCode op : {OpCode::kShiftLeft, OpCode::kShiftRight})
    list.Add(op, "row", {OfType(DType::kU8, {3, 7}, 0, 255), OfType(DType::kU8, {7}, 0, 8)});
}

void AddImages(CaseList& list) {
  list.Add(OpCode::kMaxPool2dIndices, "2x2", {F32({1, 6, 4, 3})}).As<Pool2dAttrs>().kernel = {2, 2};
  list.Add(OpCode::kGridSample2d, "cubic", {F32({2, 5, 4, 3}), F32({2, 3, 6, 2}, -1.2, 1.2)})
      .As<GridSampleAttrs>()
      .mode = GridSampleMode::kCubic;
  auto& attrs =
      list.Add(OpCode::kRoiAlign, "regions", {F32({2, 8, 8, 3}), F32({3, 4}, 0, 7), Indices({3}, {1, 0, 1})})
          .As<RoiAlignAttrs>();
  attrs.height = 3;
  attrs.width = 2;
  attrs.sampling_ratio = 2;
  attrs.mode = RoiAlignMode::kMax;
}

void AddOrders(CaseList& list) {
  Argument sums = F32({4, 9}, 0, 99);
  sums.dtype = DType::kU8;
  list.Add(OpCode::kCumSum, "u8", {sums, Constant(Number(1))});
  list.Add(OpCode::kReverseSequence, "rows", {F32({5, 3, 2}), Indices({3}, {5, 1, 3})});
  list.Add(OpCode::kTrilu, "matrix", {F32({4, 6})});
  list.Add(OpCode::kTrilu, "shifted", {F32({4, 6}), Constant(Number(2))});
}

void AddDraws(CaseList& list) {
  list.Add(OpCode::kDet, "matrices", {F32({3, 5, 5})}).outputs = 2;
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kNormal}) {
    Argument run = Number(3);
    Case& made = list.Add(OpCode::kRandom, distribution == Distribution::kUniform ? "uniform" : "normal",
                          {Integers({3, 7}), run});
    made.As<RandomAttrs>().distribution = distribution;
    made.As<RandomAttrs>().seed = 42;
  }
}

/// No element that is drawn is 0.
void AddCounts(CaseList& list) {
  list.Add(OpCode::kNonZero, "all", {F32({2, 3}), Constant(Number(6))});
  list.Add(OpCode::kNonMaxSuppression, "boxes",
           {F32({1, 5, 4}, 0, 10), F32({1, 2, 5}, 0, 1), Constant(Number(3)), F32({}, 0.2, 0.5),
            F32({}, 0.1, 0.3)})
      .outputs = 3;
  list.Add(OpCode::kUnique, "numbers", {F32({9})}).outputs = 5;
}

void AddShapes(CaseList& list) {
  list.Add(OpCode::kShape, "image", {F32({2, 3, 4})});
  list.Add(OpCode::kFill, "matrix", {Integers({3, 4})}).As<FillAttrs>().value = 2.5f;
  list.Add(OpCode::kRange, "i64", {Constant(Number(2)), Constant(Number(11)), Constant(Number(3))});
}

void AddScatters(CaseList& list) {
  for (const ScatterReduction reduction :
       {ScatterReduction::kAdd, ScatterReduction::kMul, ScatterReduction::kMin, ScatterReduction::kMax}) {
    const std::string name = "reduction_" + std::to_string(static_cast<int>(reduction));
    list.Add(OpCode::kScatterElements, name.c_str(),
             {F32({4, 3}), Indices({2, 3}, {0, 1, 2, 3, 2, 1}), F32({2, 3})})
        .As<ScatterAttrs>()
        .reduction = reduction;
    list.Add(OpCode::kScatterND, name.c_str(), {F32({4, 3}), Indices({2, 1}, {3, 1}), F32({2, 3})})
        .As<ScatterAttrs>()
        .reduction = reduction;
  }
}

}  // namespace

void AddReferenceCases(CaseList& list) {
  const size_t first = list.cases().size();
  AddElementwise(list);
  AddImages(list);
  AddOrders(list);
  AddCounts(list);
  AddShapes(list);
  AddScatters(list);
  AddDraws(list);
  for (size_t i = first; i < list.cases().size(); ++i)
    list.cases()[i].falls_back = "no delegate has a lowering for its types";
}

}  // namespace skiff::testing
