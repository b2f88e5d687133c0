// Cases of products of matrices, and of what goes along their rows: sums, softmax, norms.
#include <cmath>

#include "conformance_cases.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

void AddMatrixProducts(CaseList& list) {
  const auto fully = [&](const char* name, const Argument& x, int64_t inputs, int64_t outputs, bool bias,
                         bool constant) -> Case& {
    Argument w = Weights({outputs, inputs});
    Argument b = Weights({outputs});
    w.constant = b.constant = constant;
    return list.Add(OpCode::kFullyConnected, name, {x, w, bias ? b : Absent()});
  };
  list.AddHalf(Case(fully("vector", F32({37}), 37, 10, true, true)));
  list.AddHalf(Case(fully("batch", F32({5, 64}), 64, 33, true, true)));
  list.AddHalf(Case(fully("rank_4", F32({2, 3, 4, 15}), 15, 21, false, true)));
  fully("strided", Strided(F32({2, 7, 15}), 6), 15, 21, true, true).output_row_gap = 5;
  fully("clamped", F32({9, 40}), 40, 17, true, true).As<ClampAttrs>() = {0, 1.5f};
  list.AddHalf(Case(fully("dynamic", F32({4, 19}), 19, 23, true, false)));
  fully("dynamic_no_bias_strided", Strided(F32({4, 19}), 2), 19, 23, false, false).output_row_gap = 1;
  fully("one_output", F32({3, 100}), 100, 1, true, true);
  // As many rows as a tile of the kernels, one more, and several blocks of them.
  for (const int64_t rows : {1, 2, 7, 11, 12, 13, 97, 205})
    fully(("rows_" + std::to_string(rows)).c_str(), F32({rows, 21}), 21, rows % 2 == 0 ? 50 : 40, true, true);
  // Higher tiles, of rows at equal distances: one vector of outputs, two, and parts of the last one.
  for (const int64_t rows : {14, 24, 25, 100}) {
    for (const int64_t outputs : {5, 16, 23, 32})
      fully(("even_" + std::to_string(rows) + "x" + std::to_string(outputs)).c_str(), F32({rows, 9}), 9,
            outputs, true, true);
  }
  Case& even = fully("even_strided_clamped", Strided(F32({51, 9}), 5), 9, 16, true, true);
  even.output_row_gap = 3;
  even.As<ClampAttrs>() = {-0.5f, 1};
  // One row meets several panels of outputs at a time, and what is left of them alone.
  for (const int64_t outputs : {64, 128, 145, 277})
    fully(("one_row_x" + std::to_string(outputs)).c_str(), F32({1, 29}), 29, outputs, true, true);
  // By Strassen's way: an odd row, outputs that are left over, and rows that lie apart.
  fully("halves", F32({73, 198}), 198, 283, true, true);
  Case& halves = fully("halves_strided_clamped", Strided(F32({2, 40, 256}), 3), 256, 192, false, true);
  halves.output_row_gap = 5;
  halves.As<ClampAttrs>() = {-0.5f, 1};
  fully("one_row_clamped", F32({1, 29}), 29, 300, false, true).As<ClampAttrs>() = {-0.5f, 1};
  // More weights than a cache holds: cut into blocks, of which the last one is smaller.
  list.AddHalf(Case(fully("blocks", F32({9, 150}), 150, 7001, true, true)));
  Case& blocks = fully("blocks_strided_clamped", Strided(F32({9, 150}), 2), 150, 3601, false, true);
  blocks.output_row_gap = 3;
  blocks.As<ClampAttrs>() = {-0.5f, 1};

  const auto matmul = [&](const char* name, const Argument& a, const Argument& b,
                          bool transposed = false) -> Case& {
    Case& made = list.Add(OpCode::kMatMul, name, {a, b});
    made.As<MatMulAttrs>().transpose_b = transposed;
    return made;
  };
  list.AddHalf(Case(matmul("weights", F32({2, 5, 24}), Weights({24, 31}))));
  matmul("weights_transposed", F32({5, 24}), Weights({31, 24}), true);
  matmul("many_weights", F32({3, 600}), Weights({600, 903}));
  matmul("weights_strided", Strided(F32({2, 5, 24}), 4), Weights({24, 31})).output_row_gap = 3;
  matmul("weights_vector", F32({2, 5, 24}), Weights({24}));
  matmul("vector_weights", F32({24}), Weights({24, 31}));
  list.AddHalf(Case(matmul("matrices", F32({13, 24}), F32({24, 17}))));
  matmul("matrices_transposed", F32({13, 24}), F32({17, 24}), true);
  matmul("vectors", F32({24}), F32({24}));
  matmul("matrix_vector", F32({7, 24}), F32({24}));
  matmul("vector_matrix", F32({24}), F32({24, 9}));
  list.AddHalf(Case(matmul("batches", F32({2, 3, 13, 24}), F32({2, 3, 24, 17}))));
  matmul("batches_transposed", F32({2, 3, 13, 24}), F32({2, 3, 17, 24}), true);
  matmul("broadcast_b", F32({2, 3, 5, 8}), F32({1, 3, 8, 6}));
  matmul("broadcast_a", F32({5, 8}), F32({4, 3, 8, 6}));
  matmul("broadcast_both", F32({2, 1, 5, 8}), F32({1, 3, 8, 6}));
  matmul("batched_weights", F32({2, 3, 5, 8}), Weights({3, 8, 6}));
  matmul("batched_vector", F32({3, 5, 8}), F32({8}));
  // So few rows that matrices are read where they lie: vectors and what is left over, along both axes.
  for (const int64_t inputs : {3, 8, 21, 32, 67}) {
    for (const int64_t outputs : {5, 16, 23, 32, 83}) {
      const std::string name = "few_rows_" + std::to_string(inputs) + "_" + std::to_string(outputs);
      const Argument rows = F32({3, 1 + inputs % 3, inputs});
      matmul(name.c_str(), rows, F32({3, inputs, outputs}));
      matmul((name + "_transposed").c_str(), rows, F32({3, outputs, inputs}), true);
    }
  }
  Case& clamped_row = matmul("few_rows_clamped", F32({2, 1, 24}), F32({2, 24, 37}));
  clamped_row.As<MatMulAttrs>().min = -0.5f;
  clamped_row.As<MatMulAttrs>().max = 1;
  matmul("few_rows_special", F32({2, 1, 21}), WithSpecials(F32({2, 37, 21})), true);
  Case& clamped = matmul("clamped", F32({2, 13, 24}), F32({2, 24, 17}));
  clamped.As<MatMulAttrs>().min = -0.5f;
  clamped.As<MatMulAttrs>().max = 1;
  matmul("strided", Strided(F32({13, 24}), 2), F32({24, 17})).falls_back = "XNNPACK's batch product is dense";
}

void AddReductions(CaseList& list) {
  const auto reduce = [&](const char* name, std::initializer_list<int64_t> shape, Ints axes,
                          bool keep = true) {
    for (const OpCode op : {OpCode::kReduceSum, OpCode::kReduceMean}) {
      Case& made = list.Add(op, name, {F32(shape)});
      made.As<ReduceAttrs>().axes = axes;
      made.As<ReduceAttrs>().keep_dims = keep;
      list.AddHalf(Case(made));
    }
  };
  reduce("spatial", {2, 7, 7, 37}, {1, 2});
  reduce("spatial_flat", {2, 7, 7, 37}, {1, 2}, false);
  reduce("last", {5, 6, 131}, {-1});
  reduce("all", {3, 4, 5}, {});
  reduce("first", {9, 20}, {0});
  reduce("split", {3, 4, 5, 6}, {0, 2});
  reduce("extent_one", {2, 1, 1, 12}, {1, 2});
  reduce("eight_axes", {2, 1, 3, 1, 2, 1, 3, 4}, {2, 6});
  for (const OpCode op : {OpCode::kReduceSum, OpCode::kReduceMean}) {
    for (const int64_t rows : {128, 333, 2048}) {
      Case& long_columns =
          list.Add(op, ("long_columns_" + std::to_string(rows)).c_str(), {F32({2, rows, 19}, 0.5, 1)});
      long_columns.As<ReduceAttrs>().axes = {1};
    }
    list.Add(op, "long_columns_of_nothing", {F32({0, 200, 5})}).As<ReduceAttrs>().axes = {1};
    Case& middle = list.Add(op, "long_columns_of_two_axes", {F32({2, 1, 13, 11, 1040})});
    middle.As<ReduceAttrs>().axes = {2, 3};
  }
  for (const OpCode op : {OpCode::kReduceSum, OpCode::kReduceMean}) {
    for (const int64_t axis : {0, 1, 2}) {
      Case& special =
          list.Add(op, ("special_" + std::to_string(axis)).c_str(), {WithSpecials(F32({5, 7, 21}))});
      special.As<ReduceAttrs>().axes = {axis};
      list.AddHalf(Case(special));
    }
  }
  Case& special_softmax = list.Add(OpCode::kSoftmax, "special", {WithSpecials(F32({11, 21}))});
  special_softmax.As<AxisAttrs>().axis = -1;
  list.AddHalf(Case(special_softmax));
  list.Add(OpCode::kReduceMean, "strided", {Strided(F32({2, 3, 3, 8}), 2)}).falls_back =
      "XNNPACK's reduction is dense";

  list.AddHalf(Case(list.Add(OpCode::kSoftmax, "rows", {F32({3, 7, 101}, -9, 9)}))).As<AxisAttrs>().axis = -1;
  list.cases()[list.cases().size() - 2].As<AxisAttrs>().axis = -1;
  Case& strided_softmax = list.Add(OpCode::kSoftmax, "strided", {Strided(F32({6, 11}, -4, 4), 5)});
  strided_softmax.As<AxisAttrs>().axis = 1;
  strided_softmax.output_row_gap = 2;
  Argument masked = F32({2, 6});
  masked.values = {1, -HUGE_VAL, 2, -1e9, -3.4e38, 0.5, 1e30, 1e30, -1e30, 3, 1e30, 0};
  list.Add(OpCode::kSoftmax, "masked", {masked}).As<AxisAttrs>().axis = -1;
  for (const OpCode op : {OpCode::kSoftmax, OpCode::kLogSoftmax}) {
    list.Add(op, "columns", {F32({3, 7, 150}, -9, 9)}).As<AxisAttrs>().axis = 1;
    list.Add(op, "narrow_columns", {F32({2, 300, 5}, -9, 9)}).As<AxisAttrs>().axis = -2;
    list.Add(op, "one_column", {F32({2, 301, 1, 1}, -9, 9)}).As<AxisAttrs>().axis = 1;
    list.Add(op, "few_rows", {F32({3, 40, 9}, -4, 4)}).As<AxisAttrs>().axis = 0;
    list.Add(op, "special_columns", {WithSpecials(F32({21, 11}))}).As<AxisAttrs>().axis = 0;
  }
  Case& one_softmax = list.Add(OpCode::kSoftmax, "one", {F32({6, 1}, -4, 4)});
  one_softmax.As<AxisAttrs>().axis = 1;

  const auto norm = [&](const char* name, const Argument& x, const Argument& scale, const Argument& bias,
                        int64_t axis) -> Case& {
    Case& made = list.Add(OpCode::kLayerNorm, name, {x, scale, bias});
    made.As<NormAttrs>().axis = axis;
    return made;
  };
  list.AddHalf(Case(norm("rows", F32({4, 9, 129}, -3, 5), Weights({129}), Weights({129}), -1)));
  list.AddHalf(Case(norm("no_bias", F32({4, 40}), Weights({40}), Absent(), 1)));
  norm("two_axes", F32({3, 5, 16}, 10, 11), Weights({5, 16}), Weights({5, 16}), 1);
  norm("strided", Strided(F32({4, 33}), 3), Weights({33}), Weights({33}), -1).output_row_gap = 2;
  norm("in_place", F32({4, 64}), Weights({64}), Weights({64}), -1).in_place = 0;
  for (const bool strided : {false, true}) {
    Case& made = list.Add(OpCode::kBatchNorm, strided ? "strided" : "image",
                          {Strided(F32({2, 5, 4, 19}), strided ? 4 : 0), Weights({19}), Weights({19}),
                           Weights({19}), Weights({19}, 0.1, 2)});
    made.As<NormAttrs>().axis = -1;
    made.output_row_gap = strided ? 1 : 0;
    Case special = made;
    special.name += "_special";
    special.inputs[0] = WithSpecials(special.inputs[0]);
    list.cases().push_back(special);
  }
}

}  // namespace

void AddMatrixCases(CaseList& list) {
  AddMatrixProducts(list);
  AddReductions(list);
}

}  // namespace skiff::testing
