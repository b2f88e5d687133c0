// Convolutions, pools and resizing.
#include "conformance_cases.h"
#include "delegates/xnnpack/build.h"
#include "ops/op_codes.h"

namespace skiff::testing {
namespace {

struct ConvolutionShape {
  const char* name;
  int64_t height, width, inputs, outputs, kernel_y, kernel_x, groups;
  Ints strides{1, 1};
  Ints dilations{1, 1};
  Ints pads{0, 0, 0, 0};
  AutoPad auto_pad = AutoPad::kExplicit;
};

const ConvolutionShape kConvolutions[] = {
    {"1x1", 7, 9, 13, 17, 1, 1, 1},
    {"1x1_wide", 5, 5, 64, 96, 1, 1, 1},
    {"1x1_halves", 7, 9, 130, 208, 1, 1, 1},
    {"1x1_stride", 9, 9, 8, 24, 1, 1, 1, {2, 2}},
    {"1x1_pads", 4, 4, 8, 8, 1, 1, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"1x1_groups", 6, 6, 12, 20, 1, 1, 4},
    {"3x3", 8, 8, 16, 16, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_odd_channels", 7, 5, 3, 11, 3, 3, 1, {2, 2}, {1, 1}, {0, 1, 1, 0}},
    {"3x3_dilated", 11, 12, 5, 6, 3, 3, 1, {1, 1}, {2, 3}, {2, 3, 2, 3}},
    // Of nine taps one meets pixels, and a copy with the pads would be much larger than the picture.
    {"3x3_far_apart", 16, 15, 8, 12, 3, 3, 1, {1, 1}, {600, 600}, {600, 600, 600, 600}},
    {"3x3_groups", 8, 8, 12, 18, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_bands", 30, 40, 16, 33, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_many_outputs", 5, 30, 20, 140, 3, 3, 1, {1, 2}, {1, 1}, {1, 0, 0, 1}},
    {"3x3_wide_pads", 4, 5, 8, 40, 3, 3, 1, {1, 1}, {1, 1}, {4, 5, 3, 4}},
    // Winograd convolutions with tiles that reach over the ends: of 4 x 4, of 2 x 2, and enough for each
    // thread.
    {"3x3_tiles", 11, 13, 20, 40, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_small_tiles", 7, 7, 36, 56, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_many_tiles", 62, 66, 16, 24, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_dilated_tiles", 30, 33, 16, 40, 3, 3, 1, {1, 1}, {2, 2}, {2, 2, 2, 2}},
    {"3x3_dilated_small_tiles", 9, 10, 36, 56, 3, 3, 1, {1, 1}, {4, 2}, {4, 2, 4, 2}},
    {"3x3_dilated_many_tiles", 47, 61, 20, 24, 3, 3, 1, {1, 1}, {3, 2}, {1, 4, 7, 0}},
    {"3x3_wide_groups", 9, 10, 48, 120, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_2", 7, 9, 18, 18, 3, 3, 9, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_4", 9, 10, 20, 20, 3, 3, 5, {2, 2}, {1, 1}, {1, 1, 0, 1}},
    {"3x3_groups_of_8", 5, 6, 24, 24, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_8_stride", 12, 3, 40, 40, 3, 3, 5, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_groups_of_16", 6, 5, 32, 32, 3, 3, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_far_weights", 5, 6, 40, 100, 3, 3, 1, {1, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_inside", 9, 15, 6, 20, 3, 3, 1, {2, 1}},
    {"5x2_stride_3_2", 17, 16, 4, 9, 5, 2, 1, {3, 2}, {1, 1}, {3, 0, 1, 2}},
    {"3x3_many_weights", 3, 4, 128, 640, 3, 3, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"7x7_stem", 23, 23, 3, 32, 7, 7, 1, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    // Lines of 32 and 21 outputs, of which higher tiles of the kernels take the first ones.
    {"3x3_stem", 7, 63, 3, 16, 3, 3, 1, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"3x3_stem_two_vectors", 9, 41, 3, 24, 3, 3, 1, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"same_upper", 10, 9, 4, 8, 3, 3, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}, AutoPad::kSameUpper},
    {"same_lower", 10, 9, 4, 8, 4, 4, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}, AutoPad::kSameLower},
    {"one_output_pixel", 5, 5, 6, 7, 5, 5, 1},
    {"stride_beyond_kernel", 13, 13, 4, 4, 2, 2, 1, {3, 4}},
    {"depthwise_1x1", 6, 6, 19, 19, 1, 1, 19},
    {"depthwise_1x1_stride", 6, 6, 19, 19, 1, 1, 19, {2, 2}},
    {"depthwise_3x3", 9, 9, 24, 24, 3, 3, 24, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_3x3_odd", 10, 7, 35, 35, 3, 3, 35, {2, 2}, {1, 1}, {0, 1, 1, 0}},
    {"depthwise_5x5", 12, 12, 16, 16, 5, 5, 16, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {"depthwise_inside", 8, 11, 33, 33, 3, 3, 33},
    {"depthwise_narrow", 9, 3, 40, 40, 3, 3, 40, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_stride", 9, 14, 48, 48, 3, 3, 48, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_wide_pads", 4, 5, 17, 17, 3, 3, 17, {1, 1}, {1, 1}, {4, 5, 3, 4}},
    // A line of several pieces, of which the last ones see pads alone.
    {"depthwise_far_pads", 3, 3, 300, 300, 3, 3, 300, {1, 1}, {1, 1}, {1, 0, 1, 100}},
    {"depthwise_same", 10, 13, 32, 32, 3, 3, 32, {2, 2}, {1, 1}, {0, 0, 0, 0}, AutoPad::kSameUpper},
    {"depthwise_5x5_stride", 11, 10, 20, 20, 5, 5, 20, {2, 2}, {1, 1}, {2, 1, 2, 2}},
    {"depthwise_7x7", 12, 12, 9, 9, 7, 7, 9, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_7x7_tiles", 15, 13, 37, 37, 7, 7, 37, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_7x7_stride", 17, 15, 20, 20, 7, 7, 20, {2, 2}, {1, 1}, {3, 2, 3, 3}},
    {"depthwise_9x9", 14, 15, 90, 90, 9, 9, 90, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {"depthwise_9x9_small", 7, 5, 35, 35, 9, 9, 35, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {"depthwise_9x9_narrow", 9, 2, 16, 16, 9, 9, 16, {1, 1}, {1, 1}, {4, 4, 4, 4}},
    {"depthwise_11x11_stride", 14, 17, 40, 40, 11, 11, 40, {2, 2}, {1, 1}, {5, 4, 5, 5}},
    {"depthwise_1x11", 5, 20, 33, 33, 1, 11, 33, {1, 1}, {1, 1}, {0, 5, 0, 5}},
    {"depthwise_11x1", 20, 5, 33, 33, 11, 1, 33, {1, 1}, {1, 1}, {5, 0, 5, 0}},
    {"depthwise_line", 1, 70, 50, 50, 1, 31, 50, {1, 1}, {1, 1}, {0, 15, 0, 15}},
    {"depthwise_column", 70, 1, 50, 50, 31, 1, 50, {1, 1}, {1, 1}, {15, 0, 15, 0}},
    {"depthwise_column_stride", 70, 1, 50, 50, 9, 1, 50, {3, 2}, {2, 1}, {4, 0, 3, 0}},
    {"depthwise_even", 13, 12, 24, 24, 4, 6, 24, {2, 1}, {1, 1}, {1, 2, 2, 3}},
    {"depthwise_3x3_stride_3", 17, 16, 24, 24, 3, 3, 24, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_dilated_stride", 15, 16, 20, 20, 3, 3, 20, {2, 2}, {2, 3}, {2, 3, 2, 3}},
    {"depthwise_9x9_dilated", 21, 22, 17, 17, 9, 9, 17, {1, 1}, {2, 2}, {8, 8, 8, 8}},
    {"depthwise_9x9_wide_pads", 4, 5, 17, 17, 9, 9, 17, {1, 1}, {1, 1}, {10, 12, 11, 13}},
    {"depthwise_dilated", 14, 14, 8, 8, 3, 3, 8, {1, 1}, {2, 2}, {2, 2, 2, 2}},
    {"depthwise_dilated_unevenly", 7, 12, 21, 21, 3, 3, 21, {1, 1}, {3, 2}, {3, 1, 2, 4}},
    {"depthwise_dilated_beyond", 2, 3, 16, 16, 5, 5, 16, {1, 1}, {3, 4}, {6, 8, 6, 8}},
    {"depthwise_5x5_dilated", 13, 11, 20, 20, 5, 5, 20, {1, 1}, {2, 2}, {4, 4, 4, 4}},
    {"3x3_groups_of_4_dilated", 9, 10, 20, 20, 3, 3, 5, {1, 1}, {2, 2}, {2, 2, 2, 2}},
    {"depthwise_7x7_twice", 14, 15, 19, 38, 7, 7, 19, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {"depthwise_3x3_four_times", 9, 11, 13, 52, 3, 3, 13, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_line_twice", 1, 60, 25, 50, 1, 9, 25, {1, 1}, {1, 1}, {0, 4, 0, 4}},
    {"depthwise_1x1_twice", 5, 6, 24, 48, 1, 1, 24},
    {"depthwise_multiplier", 8, 8, 6, 18, 3, 3, 6, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"depthwise_stride_beyond_kernel", 13, 13, 8, 8, 2, 2, 8, {3, 4}},
};

Case& AddConvolution(CaseList& list, const std::string& name, const ConvolutionShape& s, bool bias,
                     int64_t batch = 1) {
  Case& made = list.Add(OpCode::kConv2d, name.c_str(),
                        {F32({batch, s.height, s.width, s.inputs}),
                         Weights({s.outputs, s.kernel_y, s.kernel_x, s.inputs / s.groups}),
                         bias ? Weights({s.outputs}) : Absent()});
  auto& attrs = made.As<Conv2dAttrs>();
  attrs.strides = s.strides;
  attrs.dilations = s.dilations;
  attrs.pads = s.pads;
  attrs.auto_pad = s.auto_pad;
  attrs.groups = s.groups;
  return made;
}

void AddConvolutions(CaseList& list) {
  for (const ConvolutionShape& shape : kConvolutions) {
    const std::string name = shape.name;
    list.AddHalf(Case(AddConvolution(list, name, shape, true)));
    AddConvolution(list, name + "_no_bias", shape, false, 2);
    Case& clamped = AddConvolution(list, name + "_clamped", shape, true);
    clamped.As<Conv2dAttrs>().min = 0;
    clamped.As<Conv2dAttrs>().max = 0.75f;
    Case& strided = AddConvolution(list, name + "_strided", shape, true, 2);
    strided.inputs[0].row_gap = 5;
    strided.output_row_gap = 3;
  }
  Case& dynamic = AddConvolution(list, "dynamic_weights", kConvolutions[5], true);
  dynamic.inputs[1].constant = false;
  dynamic.falls_back = "XNNPACK packs the weights of a convolution before it runs";
}

void AddTransposed(CaseList& list) {
  struct Transposed {
    const char* name;
    int64_t inputs, outputs, kernel, groups;
    Ints strides{1, 1};
    Ints pads{0, 0, 0, 0};
    Ints output_pads{0, 0};
    Ints dilations{1, 1};
  };
  const Transposed kShapes[] = {
      {"stride_1", 5, 7, 3, 1},
      {"stride_2", 8, 6, 2, 1, {2, 2}},
      {"stride_2_kernel_3", 6, 9, 3, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {"stride_3_2", 4, 4, 4, 1, {3, 2}, {1, 0, 2, 1}},
      {"stride_beyond_kernel", 4, 5, 2, 1, {3, 3}},
      {"groups", 8, 12, 4, 4, {2, 2}, {1, 1, 1, 1}},
      {"dilated", 3, 4, 3, 1, {1, 1}, {1, 1, 1, 1}, {0, 0}, {2, 2}},
  };
  for (const Transposed& s : kShapes) {
    for (const bool strided : {false, true}) {
      Case& made =
          list.Add(OpCode::kConvTranspose2d, (std::string(s.name) + (strided ? "_strided" : "")).c_str(),
                   {F32({2, 6, 5, s.inputs}), Weights({s.outputs, s.kernel, s.kernel, s.inputs / s.groups}),
                    Weights({s.outputs})});
      auto& attrs = made.As<ConvTranspose2dAttrs>();
      attrs.strides = s.strides;
      attrs.pads = s.pads;
      attrs.output_pads = s.output_pads;
      attrs.dilations = s.dilations;
      attrs.groups = s.groups;
      attrs.max = strided ? 1.0f : kInfinity;
      made.inputs[0].row_gap = strided ? 3 : 0;
      made.output_row_gap = strided ? 5 : 0;
      if (!strided) list.AddHalf(Case(made));
    }
  }
  for (const int64_t extent : {1, 2, 3}) {
    Case& small = list.Add(OpCode::kConvTranspose2d, ("small_" + std::to_string(extent)).c_str(),
                           {F32({2, 1, 1, 3}), Weights({5, 4, 4, 3}), Weights({5})});
    auto& attrs = small.As<ConvTranspose2dAttrs>();
    attrs.strides = {4, 4};
    attrs.pads = {1, 0, 3 - extent, 4 - extent};
    if (extent < 3) small.falls_back = "XNNPACK miscounts the rows of a result smaller than its strides";
    list.AddHalf(Case(small));
  }
  Case& wide =
      list.Add(OpCode::kConvTranspose2d, "wide_stride", {F32({1, 17, 1, 1}), Weights({1, 17, 256, 1})});
  auto& attrs = wide.As<ConvTranspose2dAttrs>();
  attrs.strides = {1, 256};
  attrs.pads = {8, 1, 8, 0};
  wide.falls_back = "of each column XNNPACK keeps pointers of a whole tile, too many for 32 bits";
}

struct PoolShape {
  const char* name;
  Ints kernel, strides;
  Ints pads{0, 0, 0, 0};
  bool ceil_mode = false;
  Ints dilations{1, 1};
  AutoPad auto_pad = AutoPad::kExplicit;
};

Case& AddPool(CaseList& list, OpCode op, const std::string& name, const PoolShape& s, int64_t channels) {
  Case& made = list.Add(op, name.c_str(), {F32({2, 11, 10, channels})});
  auto& attrs = made.As<Pool2dAttrs>();
  attrs.kernel = s.kernel;
  attrs.strides = s.strides;
  attrs.pads = s.pads;
  attrs.ceil_mode = s.ceil_mode;
  attrs.dilations = s.dilations;
  attrs.auto_pad = s.auto_pad;
  return made;
}

/// The same of f16.
void AddHalfPool(CaseList& list, Case pool) {
  const Pool2dAttrs& attrs = pool.As<Pool2dAttrs>();
  Case& half = list.AddHalf(pool);
  if (xnnpack::kHasOwnKernels || pool.op != OpCode::kAveragePool2d) return;
  if (attrs.kernel[0] * attrs.kernel[1] > 64) half.falls_back = "XNNPACK adds so many taps in f16";
}

void AddPools(CaseList& list) {
  const PoolShape kShapes[] = {
      {"2x2", {2, 2}, {2, 2}},
      {"3x3", {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"3x3_asymmetric", {3, 3}, {2, 2}, {0, 1, 1, 0}},
      {"3x3_stride_1", {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"ceil", {3, 3}, {2, 2}, {0, 0, 0, 0}, true},
      {"ceil_pads", {3, 3}, {2, 2}, {1, 1, 1, 1}, true},
      {"5x3", {5, 3}, {3, 1}, {2, 1, 2, 1}},
      {"large", {7, 7}, {2, 3}, {3, 3, 3, 3}},
      {"13x5_stride_1", {9, 9}, {1, 1}, {4, 4, 4, 4}},
      {"same", {3, 2}, {2, 2}, {0, 0, 0, 0}, false, {1, 1}, AutoPad::kSameUpper},
      {"global", {11, 10}, {1, 1}},
  };
  for (const OpCode op : {OpCode::kMaxPool2d, OpCode::kAveragePool2d}) {
    for (const PoolShape& shape : kShapes) {
      const std::string name = shape.name;
      AddHalfPool(list, AddPool(list, op, name, shape, 17));
      Case& strided = AddPool(list, op, name + "_strided", shape, 8);
      strided.inputs[0].row_gap = 4;
      strided.output_row_gap = 9;
      if (op != OpCode::kAveragePool2d || shape.ceil_mode) continue;
      Case& counted = AddPool(list, op, name + "_count_pads", shape, 6);
      counted.As<Pool2dAttrs>().count_include_pad = true;
      AddHalfPool(list, counted);
    }
    const char* overhang = "a window reaches beyond the padding that counts, so divisors differ";
    Case& overhanging = AddPool(list, op, "ceil_count_pads", {"", {3, 3}, {2, 2}, {1, 1, 1, 1}, true}, 4);
    overhanging.As<Pool2dAttrs>().count_include_pad = true;
    if (op == OpCode::kAveragePool2d) overhanging.falls_back = overhang;
    Case& one = AddPool(list, op, "1x1", {"", {1, 1}, {2, 2}}, 4);
    one.falls_back = "XNNPACK has no pool of one tap";
  }
  const PoolShape beyond_both = {"", {13, 3}, {1, 1}, {6, 1, 6, 1}};
  Case& average = AddPool(list, OpCode::kAveragePool2d, "beyond_both_ends", beyond_both, 5);
  if (!xnnpack::kHasOwnKernels) average.falls_back = "XNNPACK takes rows above the image for those below it";
  list.AddHalf(Case(average));
  Case& above =
      AddPool(list, OpCode::kAveragePool2d, "far_above", {"", {2048, 1}, {1, 1}, {2047, 0, 0, 0}}, 1);
  above.inputs[0] = F32({1, 1, 2048, 1});
  if (!xnnpack::kHasOwnKernels)
    above.falls_back = "XNNPACK keeps more rows of pointers than 32 bits can count";
  AddPool(list, OpCode::kAveragePool2d, "stride_beyond_kernel", {"", {2, 2}, {3, 4}}, 5);
  AddPool(list, OpCode::kMaxPool2d, "stride_beyond_kernel", {"", {2, 2}, {3, 4}}, 5).falls_back =
      "XNNPACK wants stride <= kernel";
  AddPool(list, OpCode::kMaxPool2d, "dilated", {"", {3, 3}, {1, 1}, {0, 0, 0, 0}, false, {2, 3}}, 5);
  Case& padded =
      AddPool(list, OpCode::kMaxPool2d, "dilated_pads", {"", {3, 3}, {1, 1}, {2, 2, 2, 2}, false, {2, 2}}, 5);
  if (!xnnpack::kHasOwnKernels)
    padded.falls_back = "XNNPACK reads outside the image where a dilated window is padded";
}

/// NaN and infinities in windows and beside them.
void AddSpecialPools(CaseList& list) {
  const PoolShape kShapes[] = {
      {"special_2x2", {2, 2}, {2, 2}},
      {"special_3x3", {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"special_5x5", {5, 5}, {1, 1}, {2, 2, 2, 2}},
      {"special_global", {11, 10}, {1, 1}},
  };
  for (const OpCode op : {OpCode::kMaxPool2d, OpCode::kAveragePool2d}) {
    for (const PoolShape& shape : kShapes) {
      for (const int64_t channels : {1, 3, 6, 33}) {
        Case& made =
            AddPool(list, op, std::string(shape.name) + "_" + std::to_string(channels), shape, channels);
        made.inputs[0] = WithSpecials(made.inputs[0]);
        AddHalfPool(list, made);
        if (op != OpCode::kAveragePool2d || shape.pads[0] == 0) continue;
        Case counted = list.cases()[list.cases().size() - 2];
        counted.name += "_count_pads";
        counted.As<Pool2dAttrs>().count_include_pad = true;
        list.cases().push_back(counted);
        list.AddHalf(counted);
      }
    }
  }
}

/// tolerance.cpp says which of them may lose NaN.
void AddSpecialProducts(CaseList& list) {
  const auto add = [&](Case& made, auto attrs) {
    using Attrs = decltype(attrs);
    made.inputs[0] = WithSpecials(made.inputs[0]);
    list.AddHalf(Case(made));
    Case clamped = list.cases()[list.cases().size() - 2];
    clamped.name += "_clamped";
    clamped.As<Attrs>().min = 0;
    clamped.As<Attrs>().max = 6;
    list.cases().push_back(clamped);
    list.AddHalf(clamped);
  };
  for (const int64_t outputs : {1, 5, 40}) {
    const std::string name = "special_" + std::to_string(outputs);
    add(list.Add(OpCode::kConv2d, name.c_str(),
                 {F32({1, 9, 8, 3}), Weights({outputs, 3, 3, 3}), Weights({outputs})}),
        Conv2dAttrs());
    add(list.Add(OpCode::kConvTranspose2d, name.c_str(),
                 {F32({1, 9, 8, 3}), Weights({outputs, 3, 3, 3}), Weights({outputs})}),
        ConvTranspose2dAttrs());
    add(list.Add(OpCode::kFullyConnected, name.c_str(),
                 {F32({23, 9}), Weights({outputs, 9}), Weights({outputs})}),
        ClampAttrs());
    add(list.Add(OpCode::kFullyConnected, (name + "_dynamic").c_str(),
                 {F32({23, 9}), F32({outputs, 9}), F32({outputs})}),
        ClampAttrs());
    add(list.Add(OpCode::kMatMul, name.c_str(), {F32({23, 9}), Weights({9, outputs})}), MatMulAttrs());
    add(list.Add(OpCode::kMatMul, (name + "_dynamic").c_str(), {F32({23, 9}), F32({9, outputs})}),
        MatMulAttrs());
  }
  for (const int64_t kernel : {1, 3, 5}) {
    Case& depthwise = list.Add(OpCode::kConv2d, ("special_depthwise_" + std::to_string(kernel)).c_str(),
                               {F32({1, 9, 8, 33}), Weights({33, kernel, kernel, 1}), Weights({33})});
    depthwise.As<Conv2dAttrs>().groups = 33;
    add(depthwise, Conv2dAttrs());
  }
}

void AddResizes(CaseList& list) {
  struct Sizes {
    const char* name;
    int64_t height, width;
  };
  const Sizes kSizes[] = {{"up_2x", 12, 10}, {"up_odd", 17, 11}, {"down", 4, 3},
                          {"mixed", 9, 2},   {"same", 6, 5},     {"to_one", 1, 1}};
  struct Mode {
    const char* name;
    ResizeMode mode;
    ResizeCoordinates coordinates;
  };
  const Mode kModes[] = {
      {"linear_half_pixel", ResizeMode::kLinear, ResizeCoordinates::kHalfPixel},
      {"linear_pytorch", ResizeMode::kLinear, ResizeCoordinates::kPytorchHalfPixel},
      {"linear_corners", ResizeMode::kLinear, ResizeCoordinates::kAlignCorners},
      {"linear_asymmetric", ResizeMode::kLinear, ResizeCoordinates::kAsymmetric},
      {"linear_symmetric", ResizeMode::kLinear, ResizeCoordinates::kHalfPixelSymmetric},
      {"cubic_half_pixel", ResizeMode::kCubic, ResizeCoordinates::kHalfPixel},
      {"cubic_pytorch", ResizeMode::kCubic, ResizeCoordinates::kPytorchHalfPixel},
      {"cubic_corners", ResizeMode::kCubic, ResizeCoordinates::kAlignCorners},
      {"nearest_half_pixel", ResizeMode::kNearest, ResizeCoordinates::kHalfPixel},
      {"nearest_asymmetric", ResizeMode::kNearest, ResizeCoordinates::kAsymmetric},
  };
  for (const Mode& mode : kModes) {
    for (const Sizes& sizes : kSizes) {
      Case& made = list.Add(OpCode::kResize2d, (std::string(mode.name) + "_" + sizes.name).c_str(),
                            {Strided(F32({2, 6, 5, 7}), 3), Integers({sizes.height, sizes.width})});
      made.output_row_gap = 2;
      made.As<ResizeAttrs>().mode = mode.mode;
      made.As<ResizeAttrs>().coordinates = mode.coordinates;
      if (mode.mode == ResizeMode::kNearest) made.As<ResizeAttrs>().nearest = ResizeNearest::kFloor;
      const bool of_xnnpack = mode.mode == ResizeMode::kLinear;
      if (of_xnnpack && mode.coordinates == ResizeCoordinates::kPytorchHalfPixel && sizes.height == 1) {
        made.falls_back = "XNNPACK has no special case for one output pixel";
      }
      if (mode.mode != ResizeMode::kCubic && mode.coordinates != ResizeCoordinates::kHalfPixelSymmetric)
        list.AddHalf(Case(made));
    }
  }
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    Case& outside =
        list.Add(OpCode::kResize2d, mode == ResizeMode::kLinear ? "linear_inside" : "cubic_inside",
                 {WithSpecials(F32({2, 6, 5, 20})), Integers({9, 8})});
    outside.As<ResizeAttrs>().mode = mode;
    outside.As<ResizeAttrs>().exclude_outside = true;
  }
  Argument scales = Weights({2});
  scales.values = {2, 3};
  list.Add(OpCode::kResize2d, "scales", {F32({1, 4, 5, 3}), Absent(), scales}).As<ResizeAttrs>().mode =
      ResizeMode::kLinear;
  scales.values = {1.6, 1.6};
  Case& uneven = list.Add(OpCode::kResize2d, "uneven_scales", {F32({1, 4, 5, 3}), Absent(), scales});
  uneven.As<ResizeAttrs>().mode = ResizeMode::kLinear;
  uneven.falls_back = "XNNPACK derives the scale from the extents, which 1.6 x 4 does not";
  Case& wide = list.Add(OpCode::kResize2d, "linear_corners_of_a_million",
                        {F32({1, 1, (1 << 20) + 1, 1}), Integers({1, 4})});
  wide.As<ResizeAttrs>().mode = ResizeMode::kLinear;
  wide.As<ResizeAttrs>().coordinates = ResizeCoordinates::kAlignCorners;
  wide.falls_back = "XNNPACK finds source pixels in f32, and some behind the picture";
}

void AddGridSamples(CaseList& list) {
  struct Pads {
    const char* name;
    GridSamplePadding padding;
  };
  const Pads kPads[] = {{"zeros", GridSamplePadding::kZeros},
                        {"border", GridSamplePadding::kBorder},
                        {"reflection", GridSamplePadding::kReflection}};
  for (const GridSampleMode mode : {GridSampleMode::kLinear, GridSampleMode::kNearest}) {
    for (const Pads& pads : kPads) {
      for (const int64_t channels : {1, 5, 21}) {
        const std::string name = std::string(mode == GridSampleMode::kLinear ? "linear_" : "nearest_") +
                                 pads.name + "_" + std::to_string(channels);
        // More pixels than a thread makes at a time, of more pictures than one of its turns meets.
        Case& made =
            list.Add(OpCode::kGridSample2d, name.c_str(),
                     {Strided(F32({3, 6, 5, channels}), 3), WithSpecials(F32({3, 9, 13, 2}, -1.5, 1.5))});
        made.output_row_gap = 2;
        made.As<GridSampleAttrs>().mode = mode;
        made.As<GridSampleAttrs>().padding = pads.padding;
        made.As<GridSampleAttrs>().align_corners = channels == 5;
      }
    }
  }
  // Infinities and NaN beside the places that are read.
  list.Add(OpCode::kGridSample2d, "specials",
           {WithSpecials(F32({2, 6, 5, 4})), F32({2, 3, 7, 2}, -1.2, 1.2)});
}

/// Regions within the picture, over its ends, outside, smaller than a pixel, and turned around.
void AddRoiAligns(CaseList& list) {
  for (const int64_t ratio : {0, 1, 2, 5}) {
    for (const int64_t channels : {1, 21}) {
      const std::string name = "by_" + std::to_string(ratio) + "_" + std::to_string(channels);
      Argument regions = F32({7, 4});
      regions.values = {0,  0,  7, 8, 1.5, 2, 3.25, 3.5, -3, -2, 12, 9, 20,  20,
                        30, 31, 2, 2, 2,   2, 6.5,  5,   1,  2,  4,  1, 4.5, 7.75};
      Argument images = F32({7}, 0, 0);
      images.dtype = DType::kI64;
      images.values = {0, 1, 1, 0, 1, 0, 1};
      Case& made = list.Add(OpCode::kRoiAlign, name.c_str(), {F32({2, 8, 9, channels}), regions, images});
      made.As<RoiAlignAttrs>().height = 3;
      made.As<RoiAlignAttrs>().width = 2;
      made.As<RoiAlignAttrs>().sampling_ratio = ratio;
      made.As<RoiAlignAttrs>().half_pixel = ratio != 1;
      made.As<RoiAlignAttrs>().spatial_scale = ratio == 5 ? 0.5f : 1.0f;
    }
  }
}

}  // namespace

void AddProductCases(CaseList& list) {
  AddConvolutions(list);
  AddTransposed(list);
  AddPools(list);
  AddSpecialPools(list);
  AddSpecialProducts(list);
  AddResizes(list);
  AddGridSamples(list);
  AddRoiAligns(list);
}

}  // namespace skiff::testing
